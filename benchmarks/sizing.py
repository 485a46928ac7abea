"""What size needs what: ``python -m benchmarks.sizing --rows 1e7 --features 768 --classes 1000 --cores 64``.

Prints time, memory and money of each step, and which step takes longest, by `benchmarks.sizing_model` from a few
constants:

- ``--measure`` measures those of one core of this machine and keeps them, with the machine, in
  ``benchmarks/results/sizing.json`` (a few minutes of processor time; ``--measure loading`` some of them anew);
- those of a GPU are of one run of `benchmarks.gpu` on an H200.

``--compare`` prints what the model foretells of other benchmarks beside what they measured.
"""

import argparse
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np

from benchmarks.fitting import blobs, child
from benchmarks.larger import near_by_value
from benchmarks.machine import read_results, write_results
from benchmarks.sizing_compared import SECONDS, compared, comparisons
from benchmarks.sizing_model import (
    HOUR,
    Constants,
    Size,
    Step,
    projected_rows,
    search_seconds,
    steps_of,
    unn_longer_up_to,
)
from benchmarks.spectra import Spectrum
from benchmarks.tables import markdown
from nearboost import INNClassifier, N3Classifier, NeighborSearch, SLNDClassifier, UNNClassifier
from nearboost.base.threads import one_matrix_thread
from nearboost.features import DiagonalGMM

# Measuring.

FIRST_FIT = """
import json
from time import process_time
import numpy as np
from nearboost import N3Classifier
rng = np.random.default_rng(0)
X, y = rng.standard_normal((1_000, 16)), rng.integers(5, size=1_000)
start = process_time()
N3Classifier(n_jobs=1).fit(X, y)
first = process_time()
N3Classifier(n_jobs=1).fit(X, y)
print(json.dumps({"loading": 2 * first - start - process_time()}))
"""


def seconds_of(call: Callable[[], Any], times: int = 3) -> float:
    """Processor seconds, the median of some."""
    found = []
    for _ in range(times):
        start = process_time()
        call()
        found.append(process_time() - start)
    return median(found)


def measure(parts: Sequence[str]) -> Constants:
    return {name: float(value) for part in parts for name, value in PARTS[part]().items()}


def loading_constant() -> Constants:
    """What the first fit of a process takes longer: kernels are loaded."""
    return {"loading": median(child(FIRST_FIT)["loading"] for _ in range(3))}


def search_constants(metric: str, narrow: int = 64, wide: int = 512) -> Constants:
    """Two widths tell what a pair of rows costs, and what a feature of it."""
    rng, (n_queries, n_rows) = np.random.default_rng(0), (4_096, 32_768)
    times = []
    for width in (narrow, wide):
        X = rng.standard_normal((n_rows, width), dtype=np.float32)
        search = NeighborSearch(X, metric, n_jobs=1, copy=False)
        search.search(X[:1], 13)  # makes the copies
        made = seconds_of(lambda X=X: NeighborSearch(X, metric, n_jobs=1, copy=False).search(X[:1], 13))
        times.append(seconds_of(lambda s=search, Q=X[:n_queries]: s.search(Q, 13)) / (n_queries * n_rows))
    feature = (times[1] - times[0]) / (wide - narrow)
    return {
        f"{metric} feature": feature,
        f"{metric} pair": max(0.0, times[0] - narrow * feature),
        f"{metric} number": made / (n_rows * wide),
    }


def query_constant(n_features: int = 4_096, n_queries: int = 4_000) -> Constants:
    """Of few rows a search takes as long as queries are prepared for, and their nearest are measured."""
    X = np.random.default_rng(0).standard_normal((n_queries, n_features), dtype=np.float32)
    search = NeighborSearch(X[:16], n_jobs=1, copy=False)
    return {"query number": seconds_of(lambda: search.search(X, 13)) / X.size}


def file_constants(n_rows: int = 2_048, narrow: int = 512, wide: int = 8_192) -> Constants:
    """N3 of a file on a given graph, at two widths: what comes on top of learning are two readings of the file."""
    times = []
    for width in (narrow, wide):
        X, y = Spectrum(width, 20).rows(n_rows)
        graph = near_by_value(X[:, 0].astype(np.float64), 11)
        with TemporaryDirectory() as folder:
            np.save(Path(folder) / "X.npy", X)
            mapped = np.load(Path(folder) / "X.npy", mmap_mode="r")
            model = N3Classifier(10, n_rounds=10, n_jobs=1, memory=2.0**25)
            times.append(seconds_of(lambda m=model, X=mapped, y=y, g=graph: m.fit(X, y, graph=g)))
    return {"file number": (times[1] - times[0]) / (2 * n_rows * (wide - narrow))}


def default_slnd_constant(n_rows: int = 3_000, n_features: int = 8_192) -> Constants:
    """The default fit to a file: most of it projects rows, to choose a setting as well as to learn."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "X.npy"
        y = np.load(Spectrum(n_features, 50).save(file, n_rows))
        X = np.load(file, mmap_mode="r")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a small sample
            took = seconds_of(lambda: SLNDClassifier(memory=2.0**26, n_jobs=1).fit(X, y))
    return {"SLND number": took / (projected_rows(n_rows) * n_features)}


def code_constants(few: int = 100, many: int = 1_000, n_queries: int = 300, n_features: int = 8_192) -> Constants:
    """Few and many samples tell what a number of a query costs, and what its product with a sample does."""
    X, y = Spectrum(n_features, 20).rows(many + n_queries)
    times = []
    for n_samples in (few, many):
        model = INNClassifier(n_jobs=1).fit(X[:n_samples], y[:n_samples])
        model.predict_proba(X[many:][:20])
        times.append(seconds_of(lambda m=model: m.predict_proba(X[many:])) / (n_queries * n_features))
    product = (times[1] - times[0]) / (many - few)
    return {"code product": product, "code number": times[0] - few * product}


def mixture_constants(n_rows: int = 1_024, n_features: int = 32_768, n_components: int = 16) -> Constants:
    """Few and many rounds tell what a round costs, and what the start does."""
    X, _ = Spectrum(n_features, 20).rows(n_rows)
    few, many = 2, 12
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rounds that do not converge
        models = [DiagonalGMM(n_components, max_iter=n_rounds, tol=1e-300, n_jobs=1) for n_rounds in (few, many)]
        times = [seconds_of(lambda m=model: m.fit(X)) / (X.size * n_components) for model in models]
    of_round = (times[1] - times[0]) / (models[1].n_iter_ - models[0].n_iter_)
    return {"mixture round": of_round, "mixture start": times[0] - models[0].n_iter_ * of_round}


def boosting_constants(few: int = 100, many: int = 1_000, n_rows: int = 40_000) -> Constants:
    """Few and many classes tell what a row costs and what each class of it; few and many rounds what a round does.

    Those are rounds of a whole fit, which learns on held-out folds as well.
    """
    rounds = {}
    X, y = blobs(n_rows // 2, 16, n_rows // 200)
    graph = NeighborSearch(X, n_jobs=1).graph(13)
    for name, classifier in (("N3", N3Classifier), ("UNN", UNNClassifier)):
        short, long = (fit_seconds(classifier, n_rounds, X, y, graph) for n_rounds in (20, 80))
        rounds[name] = max(0.0, long - short) / (60 * (n_rows // 200))
    times, n_rounds = [], 20
    for n_classes in (few, many):
        X, y = blobs(n_rows, 16, n_classes)
        took = fit_seconds(N3Classifier, n_rounds, X, y, NeighborSearch(X, n_jobs=1).graph(13))
        times.append(took - n_classes * n_rounds * rounds["N3"])
    of_class = max(0.0, (times[1] - times[0]) / (n_rows * (many - few)))
    return {
        "boost row": max(0.0, times[0] / n_rows - few * of_class),
        "boost row and class": of_class,
        "N3 round": rounds["N3"],
        "UNN round and row": rounds["UNN"] / (n_rows // 2),
    }


def fit_seconds(classifier: Any, n_rounds: int, X: Any, y: Any, graph: Any) -> float:
    """Of a fit on a graph."""
    model = classifier(11, n_rounds=n_rounds, n_jobs=1, vote_from="all")
    return seconds_of(lambda: model.fit(X, y, graph=graph))


def slnd_constants(n_rows: int = 40_000, n_features: int = 256, rank: int = 128, n_classes: int = 50) -> Constants:
    X, y = blobs(n_rows, n_features, n_classes)
    V = np.random.default_rng(0).standard_normal((n_features, rank), dtype=np.float32)
    with one_matrix_thread():
        product = seconds_of(lambda: X @ V) / (n_rows * n_features * rank)
    settings = {"rank": rank, "damping": 0.01, "step": 1e-4, "calibration": None, "tol": None, "n_jobs": 1}
    one, four = (
        seconds_of(lambda n=n: SLNDClassifier(scaling="none", max_passes=n, **settings).fit(X, y)) for n in (1, 4)
    )
    return {"product": product, "pass": (four - one) / (3 * n_rows * rank * n_classes)}


PARTS: dict[str, Callable[[], Constants]] = {
    "search": lambda: search_constants("l2") | search_constants("l1") | query_constant(),
    "boosting": boosting_constants,
    "slnd": lambda: slnd_constants() | default_slnd_constant(),
    "files": file_constants,
    "codes": code_constants,
    "mixtures": mixture_constants,
    "loading": loading_constant,
}


def check(known: Constants) -> list[tuple[str, float, float]]:
    """Other sizes than those of the constants: processor seconds that one core took, and what the model says."""
    rng, found = np.random.default_rng(1), []
    for metric, n_queries, width in (
        ("l2", 4_000, 256),
        ("cosine", 4_000, 128),
        ("l1", 2_000, 512),
        ("l1", 2_000, 64),
    ):
        X = rng.standard_normal((50_000, width), dtype=np.float32)
        took = seconds_of(lambda X=X, m=metric, n=n_queries: NeighborSearch(X, m, n_jobs=1).search(X[:n], 13), 3)
        foretold = search_seconds(known, n_queries, Size(len(X), width, metric=metric))
        found.append((f"{n_queries:,} in {len(X):,} x {width}, {metric}", took, foretold))
    X, y = blobs(20_000, 300, 300)
    size = Size(len(X), 300, classes=300, rounds=100)
    graph, n3, unn, *_ = steps_of(known, size)
    near = NeighborSearch(X, n_jobs=1)
    found.append(("graph of 20,000 x 300", seconds_of(lambda: near.graph(13), 3), graph.seconds))
    lists = near.graph(13)
    for step, classifier in ((n3, N3Classifier), (unn, UNNClassifier)):
        took = fit_seconds(classifier, 100, X, y, lists)
        found.append((f"{step.name} of 20,000 rows, 300 classes, 100 rounds", took, step.seconds))
    return found


# Printing.


def span(seconds: float) -> str:
    for unit, length in (("days", 86_400.0), ("h", HOUR), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:,.1f} s"


def table_of(steps: list[Step], options: argparse.Namespace) -> str:
    longest = max(step.time(options.cores, options.gpus) for step in steps)
    rows = []
    for step in steps:
        time = step.time(options.cores, options.gpus)
        price = step.money(options.price_core, options.price_gpu)
        mark = "longest" if time == longest else ""
        rows.append([step.name, step.runs_on, span(time), f"{step.bytes / 1e9:,.1f} GB", f"{price:,.2f}", mark])
    return markdown(["step", "on", "time", "memory", "price", ""], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--features", type=int, default=768)
    parser.add_argument("--k", type=int, default=13, help="neighbours of each row")
    parser.add_argument("--classes", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=50, help="rounds of boosting for each class")
    parser.add_argument("--queries", type=float, default=0)
    parser.add_argument("--rank", type=int, default=256, help="directions of SLND")
    parser.add_argument("--metric", choices=("l2", "cosine", "l1"), default="l2")
    parser.add_argument("--number", type=int, choices=(2, 4, 8), default=4, help="bytes of a number in the file")
    parser.add_argument("--memory", type=float, help="bytes that a search of a file may take")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--gpus", type=int, default=0)
    parser.add_argument("--price-core", type=float, default=0.05, help="of a core for an hour")
    parser.add_argument("--price-gpu", type=float, default=3.0, help="of a GPU for an hour")
    parser.add_argument("--measure", nargs="*", choices=PARTS, help="all, or those constants that are named")
    parser.add_argument("--compare", action="store_true")
    options = parser.parse_args()
    if options.measure is not None:
        kept = read_results("sizing") if options.measure else {"constants": {}}
        measured = kept["constants"] | measure(options.measure or tuple(PARTS))
        write_results("sizing", {"constants": measured, "checks": check(measured)}, merged=bool(options.measure))
        print("\n".join(f"{name}: {value:.3g} s" for name, value in measured.items()))
        return
    known: Constants = read_results("sizing")["constants"]
    if options.compare:
        checks = [(name, SECONDS, *values) for name, *values in read_results("sizing")["checks"]]
        print(compared([*checks, *comparisons(known)]))
        return
    fields = ("rows", "features", "k", "classes", "rounds", "queries", "rank", "metric", "number", "memory")
    size = Size(**{name: getattr(options, name) for name in fields})
    on = f"{options.cores} cores at {options.price_core} and {options.gpus} GPUs at {options.price_gpu} an hour"
    print(f"Predictions for rows of {size.rows * size.features * size.number / 1e9:,.1f} GB on {on}.\n")
    print(table_of(steps_of(known, size, options.gpus), options))
    print(f"\nUNN's rounds take longer than its graph up to {unn_longer_up_to(known, size):,.0f} rows.")


if __name__ == "__main__":
    main()
