"""Searching and fitting within little memory: ``python -m benchmarks.larger``.

A mapped file of float32 rows (`benchmarks.spectra`), by default 16,384 x 32,768 (2 GiB), and ``--memory`` bytes to
work in. Each part runs in a process of its own, whose peak of resident memory is what the system counted:

1. graph: 11 neighbours of each row, exactly.
2. fit: N3 on that graph or, with ``--graph near``, on one of rows that follow each other by their first value.
3. predict: that model's answers to 2,048 rows of another file.

Prints a table in Markdown and writes ``benchmarks/results/larger.json``; parts and files not asked for stay as
they were written. Files are made in ``--folder``, where a later run finds them, or else in one that is
removed afterwards. `benchmarks.larger_rows` measures what else reads such files.
"""

import argparse
import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.apart import Row, measure, run_apart, timed
from benchmarks.machine import RESULTS, read_results, write_results
from benchmarks.spectra import Spectrum
from benchmarks.tables import markdown
from nearboost import N3Classifier
from nearboost.neighbors import NeighborSearch

PARTS = ("graph", "fit", "predict")
K, CLASSES, QUERIES = 11, 50, 2_048


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--rows", type=int, default=16_384)
    parser.add_argument("--features", type=int, default=32_768)
    parser.add_argument("--memory", type=float, default=2.0**28)
    parser.add_argument("--graph", choices=("exact", "near"), default="exact")
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--apart", help=argparse.SUPPRESS)  # the part that this process is to run
    options = parser.parse_args()
    if options.apart:
        print(json.dumps(run(options)))
        return
    shape = f"{options.rows} x {options.features}"
    results = read_results("larger") if (RESULTS / "larger.json").exists() else {}
    with nullcontext(options.folder) if options.folder else TemporaryDirectory() as folder:
        options.folder = Path(folder)
        make_files(options)
        for part in options.parts:
            row = run_apart("benchmarks.larger", part, options)
            results.setdefault(shape, {})[part] = row
            print(part, row, flush=True)
            write_results("larger", results, merged=True)
    print(report(results))


def make_files(options: argparse.Namespace) -> None:
    """Rows, their labels, queries, and where no exact one is asked for, a graph."""
    source = Spectrum(options.features, CLASSES)
    for name, n_rows, first_block in (("X", options.rows, 0), ("Q", QUERIES, 10**6)):
        if not (options.folder / f"{name}_y.npy").exists():
            source.save(options.folder / f"{name}.npy", n_rows, first_block)
    if options.graph == "near" and not (options.folder / "graph.npz").exists():
        first = np.load(options.folder / "X.npy", mmap_mode="r")[:, 0].astype(np.float64)
        np.savez(options.folder / "graph.npz", *near_by_value(first, K))


def near_by_value(values: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """A graph that is quick to make: neighbours in the order of one value."""
    order, n_rows = np.argsort(values, kind="stable"), len(values)
    places = np.clip(np.arange(n_rows) - k // 2, 0, n_rows - k - 1)[:, np.newaxis] + np.arange(k + 1)
    gaps = np.abs(values[order][places] - values[order][:, np.newaxis])
    gaps[places == np.arange(n_rows)[:, np.newaxis]] = np.inf  # itself, which comes last and is left out
    nearest = np.argsort(gaps, axis=1, kind="stable")[:, :k]
    indices, distances = np.empty((n_rows, k), dtype=np.int32), np.empty((n_rows, k))
    indices[order] = order[np.take_along_axis(places, nearest, axis=1)]
    distances[order] = np.take_along_axis(gaps, nearest, axis=1)
    return indices, distances


def run(options: argparse.Namespace) -> Row:
    """What this process measures: seconds, the most resident memory, and that of a process that does nothing."""
    part: Callable[[argparse.Namespace], Row] = {"graph": find_graph, "fit": fit, "predict": predict}[
        options.apart
    ]
    return measure(lambda: part(options), options.memory)


def opened(options: argparse.Namespace, name: str) -> tuple[np.ndarray, np.ndarray]:
    rows = np.load(options.folder / f"{name}.npy", mmap_mode="r")
    return rows, np.load(options.folder / f"{name}_y.npy")


def find_graph(options: argparse.Namespace) -> Row:
    X, _ = opened(options, "X")
    found, took = timed(lambda: NeighborSearch(X, memory=options.memory).graph(K))
    np.savez(options.folder / "graph.npz", found.indices, found.distances)
    return took


def fitted(options: argparse.Namespace) -> N3Classifier:
    X, y = opened(options, "X")
    with np.load(options.folder / "graph.npz") as kept:
        graph = kept["arr_0"], kept["arr_1"]
    return N3Classifier(10, n_rounds=100, memory=options.memory).fit(X, y, graph=graph)


def fit(options: argparse.Namespace) -> Row:
    model, took = timed(lambda: fitted(options))
    return {**took, "held_out_accuracy": model.held_out_accuracy_}


def predict(options: argparse.Namespace) -> Row:
    model = fitted(options)
    Q, y = opened(options, "Q")
    labels, took = timed(lambda: model.predict(Q))
    return {**took, "rows": len(Q), "accuracy": float((labels == y).mean())}


def report(results: Row) -> str:
    """The table in Markdown."""
    table = [
        [
            shape,
            part,
            *(f"{row[name]:.2f}" for name in ("memory_gb", "peak_gb", "idle_gb")),
            *(f"{row[name]:.0f}" if name in row else "" for name in ("seconds", "processor_seconds")),
            f"{row['load']:.0f}" if "load" in row else "",
        ]
        for shape, parts in results.items()
        for part, row in parts.items()
    ]
    return markdown(
        ["rows", "part", "memory, GB", "peak, GB", "of it idle, GB", "seconds", "of processors", "load"], table
    )


if __name__ == "__main__":
    main()
