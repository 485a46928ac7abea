"""What `add` and `forget` cost beside a new fit: ``python -m benchmarks.changes``.

50,000 rows of 128 features in 20 classes, of which 1% go or come. Rows are Gaussian in 16 dimensions, spread over
the 128 with a little noise: as with descriptors, and not with Gaussians in 128 dimensions, no row is the
neighbour of thousands. ``--isotropic`` takes Gaussians in 128 dimensions instead.

1. The repair of the neighbour graph against a new one, with and without spare columns.
2. The whole call against a fit on the same rows, for each boosted classifier, beside learning alone on a given
   graph; and whether the changed model equals the fitted one.

Seconds are those of the processor, of all threads, so that other work on the machine counts little; both sides are
measured in turn, and ratios are of medians. Prints Markdown tables and writes ``benchmarks/results/changes.json``;
``--show`` prints what was written last.
"""

import argparse
import os
from collections.abc import Callable
from statistics import median
from time import process_time
from typing import Any

import numpy as np
from sklearn.base import clone

from benchmarks.machine import read_results, write_results
from benchmarks.tables import markdown
from nearboost import MAPBoostClassifier, MLNNClassifier, N3Classifier, NeighborSearch, UNNClassifier
from nearboost.neighbors import repair_graph

N_ROWS, N_FEATURES, N_INSIDE, N_CLASSES, CHANGED = 50_000, 128, 16, 20, 500
K, SPARE = 11, 2
TARGETS = {"forget": 0.2, "forget, spare columns": 0.05, "add": 0.05, "add, spare columns": 0.05}
CLASSIFIERS: dict[str, tuple[Any, float]] = {
    "N3": (N3Classifier(K), 0.35),
    "MLNN": (MLNNClassifier(K), 0.5),
    "MAPBoost": (MAPBoostClassifier(K), 0.5),
    "UNN": (UNNClassifier(K), 0.7),
}

Row = dict[str, Any]


def seconds(call: Callable[[], Any]) -> float:
    """Processor time of all threads."""
    start = process_time()
    call()
    return process_time() - start


def in_turn(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The median time of each call."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(seconds(call))
    return {name: median(found) for name, found in times.items()}


def rows_and_changes(isotropic: bool) -> tuple[Any, Any, Any]:
    """All rows with their classes, the last of which come later; and which of the first stay."""
    rng, n_rows = np.random.default_rng(0), N_ROWS + CHANGED
    y = rng.integers(N_CLASSES, size=n_rows)
    inside = rng.standard_normal((N_CLASSES, N_INSIDE))[y] + rng.standard_normal((n_rows, N_INSIDE))
    spread = inside @ rng.standard_normal((N_INSIDE, N_FEATURES)) / np.sqrt(N_INSIDE)
    noise = rng.standard_normal((n_rows, N_FEATURES))
    X = spread + 0.3 * noise
    if isotropic:
        X = rng.standard_normal((N_CLASSES, N_FEATURES))[y] * np.sqrt(N_INSIDE / N_FEATURES) + noise
    return X.astype(np.float32), y, np.sort(rng.permutation(N_ROWS)[CHANGED:])


def repairs(rounds: int, isotropic: bool) -> Row:
    """A new graph, the price of spare columns, and repairs."""
    X, _, stay = rows_and_changes(isotropic)
    first, everyone = X[:N_ROWS], np.arange(N_ROWS)
    NeighborSearch(X[:2_000]).graph(K)  # loads the kernels
    graphs = {"": NeighborSearch(first).graph(K), ", spare columns": NeighborSearch(first).graph(K + SPARE)}
    calls: dict[str, Callable[[], Any]] = {
        "new graph": lambda: NeighborSearch(first).graph(K),
        "new graph, spare columns": lambda: NeighborSearch(first).graph(K + SPARE),
    }
    for kind, graph in graphs.items():
        calls[f"forget{kind}"] = lambda g=graph: repair_graph(g, first, stay, NeighborSearch(first[stay]), K)
        calls[f"add{kind}"] = lambda g=graph: repair_graph(g, first, everyone, NeighborSearch(X), K)
    return in_turn(calls, rounds)


def whole_calls(rounds: int, isotropic: bool) -> list[Row]:
    """Seconds of fits and of changes, and whether these end alike."""
    X, y, stay = rows_and_changes(isotropic)
    gone = np.setdiff1d(np.arange(N_ROWS), stay)
    results = []
    for name, (model, target) in CLASSIFIERS.items():
        clone(model).fit(X[:2_000], y[:2_000])  # loads the kernels
        fitted = clone(model).fit(X[:N_ROWS], y[:N_ROWS])
        made: dict[str, Any] = {}
        calls = {
            "fit": lambda m=model, made=made: made.update(fit=clone(m).fit(X[stay], y[stay])),
            "learning": lambda m=model, made=made: clone(m).fit(X[stay], y[stay], graph=made["fit"].neighbors_),
            "forget": lambda f=fitted, made=made: made.update(forget=f.forget(gone)),
            "add": lambda f=fitted: f.add(X[N_ROWS:], y[N_ROWS:]),
        }
        found = in_turn(calls, rounds)
        scores = [made[side].decision_function(X[:1_000]) for side in ("fit", "forget")]
        results.append({"classifier": name, "target": target, "equal": bool(np.array_equal(*scores)), **found})
    return results


def report(results: Row) -> str:
    """The tables in Markdown."""
    repaired, new = results["repairs"], results["repairs"]["new graph"]
    graphs = [
        [name, f"{time:.2f}", f"{time / new:.3f}", f"{TARGETS[name]:g}" if name in TARGETS else ""]
        for name, time in repaired.items()
    ]
    calls = [
        [
            row["classifier"],
            f"{row['fit']:.1f}",
            f"{row['learning'] / row['fit']:.2f}",
            f"{row['forget'] / row['fit']:.2f}",
            f"{row['add'] / row['fit']:.2f}",
            f"{row['target']:g}",
            "yes" if row["equal"] else "no",
        ]
        for row in results["whole_calls"]
    ]
    return "\n\n".join(
        [
            markdown(["graph", "processor s", "of a new one", "target"], graphs),
            markdown(
                ["classifier", "fit, processor s", "learning alone", "forget", "add", "target", "equal"], calls
            ),
        ]
    )


def main() -> None:
    """Measure, write and print; or print what was written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--isotropic", action="store_true", help="rows with as many inner dimensions as features")
    parser.add_argument("--show", action="store_true", help="print the last results, measure nothing")
    options = parser.parse_args()
    isotropic = options.isotropic
    name = "changes-isotropic" if isotropic else "changes"
    if not options.show:
        before = os.getloadavg()
        graphs, calls = repairs(2 * options.rounds + 1, isotropic), whole_calls(options.rounds, isotropic)
        found = {"repairs": graphs, "whole_calls": calls}
        write_results(name, {"load_before": before, **found, "load_after": os.getloadavg()})
    print(report(read_results(name)))


if __name__ == "__main__":
    main()
