"""What reads rows of a file in blocks, and its memory: ``python -m benchmarks.larger_rows``.

A mapped file of float32 rows (`benchmarks.spectra`), by default 16,384 x 32,768 (2 GiB), and ``--memory`` bytes to
search in. Each part runs in a process of its own, whose peak of resident memory is what the system counted:

1. inn near: INN fitted to the file with ``neighborhood=30``, and its answers to ``--queries`` rows of the file.
2. inn few: INN fitted to ``--samples`` rows in memory, and its probabilities of all rows of the file, into a map.
3. n3 few: the same of N3.
4. gmm: a mixture of 16 Gaussians of all rows, of at most ``--rounds`` rounds, and the component of each row.
5. slnd: SLND learned from all rows, and their classes.

``--limit`` ends a part after so many seconds; the results say so, and the peak until then. The file is made in
``--folder``, where a later run finds it, or else in one that is removed afterwards. Prints a table in Markdown and
writes ``benchmarks/results/larger_rows.json``; parts and files not asked for stay as they were written.
"""

import argparse
import json
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.apart import Row, measure, run_apart, timed
from benchmarks.machine import RESULTS, read_results, write_results
from benchmarks.spectra import Spectrum
from benchmarks.tables import markdown
from nearboost import INNClassifier, N3Classifier, SLNDClassifier
from nearboost.features import DiagonalGMM

PARTS = ("inn near", "inn few", "n3 few", "gmm", "slnd")
CLASSES, NEAR = 50, 30
COUNTED = ("fit_seconds", "fit_processor_seconds", "seconds", "processor_seconds", "queries", "load")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--rows", type=int, default=16_384)
    parser.add_argument("--features", type=int, default=32_768)
    parser.add_argument("--memory", type=float, default=2.0**28)
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--queries", type=int, default=2_048)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--limit", type=float, default=None)
    parser.add_argument("--apart", help=argparse.SUPPRESS)  # the part that this process is to run
    options = parser.parse_args()
    if options.apart:
        print(json.dumps(run(options)))
        return
    shape = f"{options.rows} x {options.features}"
    with nullcontext(options.folder) if options.folder else TemporaryDirectory() as folder:
        options.folder = Path(folder)
        if not (options.folder / "X_y.npy").exists():
            Spectrum(options.features, CLASSES).save(options.folder / "X.npy", options.rows)
        for part in options.parts:
            row = run_apart("benchmarks.larger_rows", part, options, options.limit)
            print(part, row, flush=True)
            # other parts may run beside this one
            results = read_results("larger_rows") if (RESULTS / "larger_rows.json").exists() else {}
            results.setdefault(shape, {})[part] = row
            write_results("larger_rows", results, merged=True)
    print(report(results))


def run(options: argparse.Namespace) -> Row:
    """What this process measures: seconds, the most resident memory, and that of a process that does nothing."""
    parts: dict[str, Callable[[argparse.Namespace, np.ndarray, np.ndarray], Row]] = {
        "inn near": inn_near,
        "inn few": lambda *given: answer_all(INNClassifier(), *given),
        "n3 few": lambda *given: answer_all(N3Classifier(10, n_rounds=100, memory=given[0].memory), *given),
        "gmm": mixture,
        "slnd": slnd,
    }
    X, y = np.load(options.folder / "X.npy", mmap_mode="r"), np.load(options.folder / "X_y.npy")
    return measure(lambda: parts[options.apart](options, X, y), options.memory)


def inn_near(options: argparse.Namespace, X: np.ndarray, y: np.ndarray) -> Row:
    model = INNClassifier(neighborhood=NEAR, gram_memory=options.memory)
    _, fitting = timed(lambda: model.fit(X, y), "fit_")
    labels, took = timed(lambda: model.predict(X[: options.queries]))  # each row is its own nearest sample
    right = labels == y[: options.queries]
    return {**fitting, **took, "queries": options.queries, "fit_and_own_accuracy": float(right.mean())}


def answer_all(model: Any, options: argparse.Namespace, X: np.ndarray, y: np.ndarray) -> Row:
    model.fit(np.array(X[: options.samples]), y[: options.samples])
    shape = len(X), len(model.classes_)
    file = options.folder / f"{options.apart} answers.npy"
    out = np.lib.format.open_memmap(file, "w+", np.float64, shape)
    _, took = timed(lambda: model.predict_proba(X, out=out))
    right = model.classes_[out.argmax(axis=1)] == y
    file.unlink()
    accuracy = float(right[options.samples :].mean())
    return {**took, "samples": options.samples, "queries": len(X), "accuracy": accuracy}


def mixture(options: argparse.Namespace, X: np.ndarray, y: np.ndarray) -> Row:
    warnings.simplefilter("ignore")  # so few rounds
    model = DiagonalGMM(16, max_iter=options.rounds)
    _, fitting = timed(lambda: model.fit(X), "fit_")
    _, took = timed(lambda: model.predict(X))
    told = {"log_likelihood": model.log_likelihood_, "rounds": model.n_iter_}
    return {**fitting, **took, "queries": len(X), **told}


def slnd(options: argparse.Namespace, X: np.ndarray, y: np.ndarray) -> Row:
    model = SLNDClassifier(memory=options.memory)
    _, fitting = timed(lambda: model.fit(X, y), "fit_")
    labels, took = timed(lambda: model.predict(X))
    told = {"fit_and_own_accuracy": float((labels == y).mean())}
    return {**fitting, **took, "queries": len(X), **told, "held_out_accuracy": float(model.held_out_accuracy_)}


def report(results: Row) -> str:
    """The table in Markdown."""
    rows = [
        [
            shape,
            part,
            *(f"{row[name]:.2f}" if name in row else "not finished" for name in ("peak_gb", "idle_gb")),
            *(f"{row[name]:.0f}" if name in row else "" for name in COUNTED),
        ]
        for shape, parts in results.items()
        for part, row in parts.items()
    ]
    return markdown(
        [
            "rows",
            "part",
            "peak, GB",
            "of it idle, GB",
            "fit, s",
            "of processors",
            "answers, s",
            "of processors",
            "of rows",
            "load",
        ],
        rows,
    )


if __name__ == "__main__":
    main()
