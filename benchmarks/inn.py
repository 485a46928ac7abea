"""Iterative nearest neighbours against one nearest-neighbour search: ``python -m benchmarks.inn``.

Codes of 62 terms (λ = 0.05) on the traffic signs, in multiples of the time that FAISS takes for the nearest
neighbours alone. FAISS runs in a process of its own, in turn with ours in each round, on the same number of
threads; the tables show medians. It has two ways to search, a direct scan for few queries and matrix products for
many: the tables name the one it took. Also measured: how the time grows with the samples and with the terms.
Prints tables in Markdown and writes ``benchmarks/results/inn.json``.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import Split, load
from benchmarks.machine import read_results, write_results
from benchmarks.tables import markdown
from nearboost import INNClassifier, INNCoder

REGULARIZATION = 0.05
NEIGHBORHOOD = 100
SIZES = (2_500, 5_000, 10_000, 20_000, 39_209)
TERMS = (1, 2, 8, 16, 31, 62)

# A worker of its own: one search for each number of queries on its standard input, one line of JSON for each.
WORKER = """
import json, sys
from time import perf_counter
import faiss, numpy as np
problem, threads, every = np.load(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
faiss.omp_set_num_threads(threads)
queries = np.ascontiguousarray(problem["queries"][::every])
index = faiss.IndexFlatL2(queries.shape[1])
index.add(problem["samples"])
products = queries.size >= faiss.cvar.distance_compute_blas_threshold
for _ in sys.stdin:
    start = perf_counter()
    _, found = index.search(queries, 1)
    seconds = perf_counter() - start
    path = "products" if products else "direct"
    print(json.dumps({"seconds": seconds, "path": path, "options": faiss.get_compile_options()}), flush=True)
"""


class Case(NamedTuple):
    name: str
    every: int  # one in so many test rows
    threads: int
    target_exact: float  # times FAISS
    target_local: float


CASES = (Case("every sixth test row", 6, 2, 5, 2), Case("all test rows", 1, 1, 12, 3))


class Faiss:
    """FAISS in its own process."""

    def __init__(self, file: Path, threads: int, every: int) -> None:
        command = [sys.executable, "-c", WORKER, str(file), str(threads), str(every)]
        count = {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
        self._process = subprocess.Popen(
            command, env=os.environ | count, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def search(self) -> dict[str, Any]:
        """Seconds of one search, and the way it went."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print("search", file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


@contextmanager
def faiss_beside(split: Split, threads: int, every: int) -> Iterator[Faiss]:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "problem.npz"
        np.savez(file, samples=split.X_train, queries=split.X_test)
        faiss = Faiss(file, threads, every)
        faiss.search()  # warm
        try:
            yield faiss
        finally:
            faiss.close()


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = perf_counter()
    answer = call()
    return perf_counter() - start, answer


def run(case: Case, split: Split, rounds: int) -> dict[str, Any]:
    """All methods to code the same queries, and FAISS, in turn."""
    queries = np.ascontiguousarray(split.X_test[:: case.every])
    truth = split.y_test[:: case.every]
    settings = {"regularization": REGULARIZATION, "n_jobs": case.threads}
    exact = INNCoder(**settings).fit(split.X_train)
    local = INNCoder(**settings, neighborhood=NEIGHBORHOOD).fit(split.X_train)
    residual = INNClassifier(**settings, decision="residual").fit(split.X_train, split.y_train)
    calls: dict[str, Callable[[], Any]] = {
        "exact": lambda: exact.transform(queries),
        "local": lambda: local.transform(queries),
        "residual": lambda: residual.predict(queries),
    }
    for call in (exact.transform, local.transform, residual.predict):  # compile, and bring memory in
        call(queries[:300])
    seconds: dict[str, list[float]] = {name: [] for name in ("faiss", *calls)}
    answers: dict[str, Any] = {}
    with faiss_beside(split, case.threads, case.every) as faiss:
        for _ in range(rounds):
            answer = faiss.search()
            seconds["faiss"].append(answer["seconds"])
            for name, call in calls.items():
                time, answers[name] = timed(call)
                seconds[name].append(time)
    medians = {name: median(times) for name, times in seconds.items()}
    members = np.eye(split.y_train.max() + 1)[split.y_train]
    labels = {name: (answers[name] @ members).argmax(axis=1) for name in ("exact", "local")}
    labels["residual"] = answers["residual"]
    return {
        **case._asdict(),
        "n_queries": len(queries),
        "n_terms": exact.terms_,
        "faiss_path": answer["path"],
        "faiss_options": answer["options"],
        "gram_seconds": exact.gram_seconds_,
        "seconds": seconds,
        "medians": medians,
        "times_faiss": {name: medians[name] / medians["faiss"] for name in calls},
        "accuracy": {name: float((elected == truth).mean()) for name, elected in labels.items()},
        "same_label_locally": float((labels["exact"] == labels["local"]).mean()),
        "samples_in_a_code": answers["exact"].nnz / len(queries),
    }


def microseconds(samples: NDArray[np.float32], queries: NDArray[np.float32], rounds: int, terms: int) -> float:
    """A query's share of `transform` on one thread, after a first call."""
    coder = INNCoder(REGULARIZATION, max_terms=terms, n_jobs=1).fit(samples)
    coder.transform(queries)
    return 1e6 / len(queries) * median(timed(lambda: coder.transform(queries))[0] for _ in range(rounds))


def growth(split: Split, rounds: int) -> dict[str, Any]:
    """Microseconds a query: by samples, by terms, and with room for a tenth of the distances."""
    queries = np.ascontiguousarray(split.X_test[::12])
    order = np.random.default_rng(0).permutation(len(split.X_train))
    by_samples = []
    for n in SIZES:
        samples = np.ascontiguousarray(split.X_train[order[:n]])
        first, all_terms = (microseconds(samples, queries, rounds, terms) for terms in (1, TERMS[-1]))
        by_samples.append({"n_samples": n, "first_term": first, "all_terms": all_terms})
    by_terms = [
        {"n_terms": terms, "microseconds": microseconds(split.X_train, queries, rounds, terms)} for terms in TERMS
    ]
    room = 2 * len(split.X_train) ** 2 / 10
    coder = INNCoder(REGULARIZATION, n_jobs=1, gram_memory=room).fit(split.X_train)
    times = [1e6 / len(queries) * timed(lambda: coder.transform(queries))[0] for _ in range(2)]
    return {"by_samples": by_samples, "by_terms": by_terms, "with_room_for_a_tenth": times}


def report(results: dict[str, Any]) -> str:
    """The tables in Markdown, and the verdicts."""
    names = {"exact": "all samples", "local": f"nearest {NEIGHBORHOOD}", "residual": "each class alone"}
    speed, verdicts = [], []
    for case in results["cases"]:
        medians, ratios = case["medians"], case["times_faiss"]
        where = f"{case['name']} ({case['n_queries']:,}), {case['threads']} thread{'s' * (case['threads'] > 1)}"
        speed.append([where, f"FAISS 1-NN, {case['faiss_path']}", f"{medians['faiss']:.2f}", "1.0", ""])
        for name, label in names.items():
            accuracy = f"{100 * case['accuracy'][name]:.1f}"
            speed.append(["", f"INN, {label}", f"{medians[name]:.2f}", f"{ratios[name]:.1f}", accuracy])
        for name, target in (("exact", case["target_exact"]), ("local", case["target_local"])):
            verdict = "met" if ratios[name] <= target else "missed"
            verdicts.append(f"{where}, {names[name]}: {ratios[name]:.1f} times FAISS, target {target}: {verdict}")
    first = results["cases"][0]
    verdicts.append(
        f"all distances between samples computed in {first['gram_seconds']:.1f} s, once in fit; "
        f"{100 * first['same_label_locally']:.1f}% of the labels are the same in the neighbourhood"
    )
    by_samples = [
        [f"{r['n_samples']:,}", f"{r['first_term']:.0f}", f"{r['all_terms']:.0f}"]
        for r in results["growth"]["by_samples"]
    ]
    by_terms = [[str(r["n_terms"]), f"{r['microseconds']:.0f}"] for r in results["growth"]["by_terms"]]
    before, after = results["growth"]["with_room_for_a_tenth"]
    return "\n\n".join(
        [
            markdown(["", "what", "s", "times FAISS", "accuracy"], speed),
            "\n".join(f"- {verdict}" for verdict in verdicts),
            markdown(["samples", "first term, µs", f"{TERMS[-1]} terms, µs"], by_samples),
            markdown(["terms", f"µs a query, {SIZES[-1]:,} samples"], by_terms),
            f"With room for a tenth of the distances: {before:.0f} µs a query at first, {after:.0f} afterwards.",
        ]
    )


def main() -> None:
    """Measure, write and print; or print what was written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--show", action="store_true", help="print the last results, measure nothing")
    options = parser.parse_args()
    if not options.show:
        split = load("gtsrb")
        before = os.getloadavg()
        payload = {
            "regularization": REGULARIZATION,
            "neighborhood": NEIGHBORHOOD,
            "load_before": before,
            "cases": [run(case, split, options.rounds) for case in CASES],
            "growth": growth(split, options.rounds),
            "load_after": os.getloadavg(),
        }
        write_results("inn", payload)
    print(report(read_results("inn")))


if __name__ == "__main__":
    main()
