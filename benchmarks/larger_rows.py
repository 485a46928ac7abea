"""What reads rows of a file in blocks, and its memory: ``python -m benchmarks.larger_rows``.

A mapped file of float32 rows (`benchmarks.spectra`), by default 16,384 x 32,768 (2 GiB), and ``--memory`` bytes to
search in. Each part runs in a process of its own, whose peak of resident memory is what the system counted:

1. inn near: INN fitted to the file with ``neighborhood=30``, and its answers to ``--queries`` rows of the file.
2. inn few: INN fitted to ``--samples`` rows in memory, and its probabilities of all rows of the file, into a map.
3. n3 few: the same of N3.
4. gmm: a mixture of 16 Gaussians of all rows, of at most 10 rounds, and the component of each row.
5. slnd: SLND learned from all rows, and their classes.

``--limit`` ends a part after so many seconds, and the results say so. The file is made in ``--folder``, unless it
is there, and removed afterwards if it was made. Prints a table in Markdown and writes
``benchmarks/results/larger_rows.json``; parts and files not asked for stay as they were written.
"""

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.apart import Row, measure, run_apart
from benchmarks.machine import RESULTS, read_results, write_results
from benchmarks.spectra import Spectrum
from benchmarks.tables import markdown
from nearboost import INNClassifier, N3Classifier, SLNDClassifier
from nearboost.features import DiagonalGMM

PARTS = ("inn near", "inn few", "n3 few", "gmm", "slnd")
CLASSES, NEAR = 50, 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--rows", type=int, default=16_384)
    parser.add_argument("--features", type=int, default=32_768)
    parser.add_argument("--memory", type=float, default=2.0**28)
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--queries", type=int, default=2_048)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--limit", type=float, default=None)
    parser.add_argument("--apart", help=argparse.SUPPRESS)  # the part that this process is to run
    options = parser.parse_args()
    if options.apart:
        print(json.dumps(run(options)))
        return
    results = read_results("larger_rows") if (RESULTS / "larger_rows.json").exists() else {}
    with TemporaryDirectory() as own:
        options.folder = Path(own) if options.folder is None else options.folder
        made = make_file(options)
        for part in options.parts:
            row = run_apart("benchmarks.larger_rows", part, options, options.limit)
            results.setdefault(f"{options.rows} x {options.features}", {})[part] = row
            print(part, row, flush=True)
            write_results("larger_rows", results, merged=True)
        for path in made:
            path.unlink()
    print(report(results))


def make_file(options: argparse.Namespace) -> list[Path]:
    """Rows and their classes, written block by block; the files that were made."""
    rows = options.folder / "X.npy"
    if (options.folder / "X_y.npy").exists():
        return []
    return [rows, Spectrum(options.features, CLASSES).save(rows, options.rows)]


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
    start = perf_counter()
    model = INNClassifier(neighborhood=NEAR, gram_memory=options.memory).fit(X, y)
    fitted = perf_counter() - start
    start = perf_counter()
    right = model.predict(X[: options.queries]) == y[: options.queries]  # each row is its own nearest sample
    return {
        "fit_seconds": fitted,
        "seconds": perf_counter() - start,
        "queries": options.queries,
        "fit_and_own_accuracy": float(right.mean()),
    }


def answer_all(model: Any, options: argparse.Namespace, X: np.ndarray, y: np.ndarray) -> Row:
    model.fit(np.array(X[: options.samples]), y[: options.samples])
    shape = len(X), len(model.classes_)
    out = np.lib.format.open_memmap(options.folder / "out.npy", "w+", np.float64, shape)
    start = perf_counter()
    model.predict_proba(X, out=out)
    took = perf_counter() - start
    right = model.classes_[out.argmax(axis=1)] == y
    (options.folder / "out.npy").unlink()
    accuracy = float(right[options.samples :].mean())
    return {"seconds": took, "samples": options.samples, "queries": len(X), "accuracy": accuracy}


def mixture(options: argparse.Namespace, X: np.ndarray, y: np.ndarray) -> Row:
    warnings.simplefilter("ignore")  # ten rounds are few
    start = perf_counter()
    model = DiagonalGMM(16, max_iter=10).fit(X)
    fitted = perf_counter() - start
    start = perf_counter()
    model.predict(X)
    return {
        "fit_seconds": fitted,
        "seconds": perf_counter() - start,
        "queries": len(X),
        "log_likelihood": model.log_likelihood_,
        "rounds": model.n_iter_,
    }


def slnd(options: argparse.Namespace, X: np.ndarray, y: np.ndarray) -> Row:
    start = perf_counter()
    model = SLNDClassifier(memory=options.memory).fit(X, y)
    fitted = perf_counter() - start
    start = perf_counter()
    right = model.predict(X) == y
    return {
        "fit_seconds": fitted,
        "seconds": perf_counter() - start,
        "queries": len(X),
        "fit_and_own_accuracy": float(right.mean()),
        "held_out_accuracy": float(model.held_out_accuracy_),
    }


def report(results: Row) -> str:
    """The table in Markdown."""
    rows = [
        [
            shape,
            part,
            *(f"{row[name]:.2f}" if name in row else "not finished" for name in ("peak_gb", "idle_gb")),
            *(f"{row[name]:.0f}" if name in row else "" for name in ("fit_seconds", "seconds", "queries")),
        ]
        for shape, parts in results.items()
        for part, row in parts.items()
    ]
    return markdown(["rows", "part", "peak, GB", "of it idle, GB", "fit, s", "answers, s", "of rows"], rows)


if __name__ == "__main__":
    main()
