"""The evidence for the defaults: ``python -m benchmarks.defaults``.

N3 and UNN with their defaults against one change at a time, with all rows, half of them and a tenth of them
kept, and the settings as published. Three random splits, except for ``gtsrb-small``. Prints Markdown tables of
differences in points and writes ``benchmarks/results/defaults.json``; ``--show`` prints what was written last.
"""

import argparse
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.contenders import FIXED_SPLIT
from benchmarks.data import Split, load
from benchmarks.machine import read_results, write_results
from benchmarks.tables import markdown
from nearboost import N3Classifier, Neighbors, NeighborSearch, UNNClassifier

SETS = ("digits", "yaleb", "scene8", "gtsrb-small")  # all of gtsrb would take hours with the slow settings
OURS = {"N3": N3Classifier, "UNN": UNNClassifier}
KEPT = (None, 0.5, 0.1)
WIDEST = 31

CHANGES: dict[str, tuple[Any, ...]] = {
    "n_neighbors": (5, 11, 15, 31, "auto"),
    "n_rounds": (None, "m/C", "2m/C"),
    "vote_weights": ("uniform", "rank", "gaussian"),
    "start": ("zero", "vote"),
    "oracle": ("delta", "decrease", "random"),
    "vote_from": ("prototypes",),  # "auto" is "all" where all rows are kept
}
PUBLISHED = {
    "vote_weights": "uniform", "start": "zero", "oracle": "delta", "n_neighbors": 11, "n_rounds": "m/C",
}  # fmt: skip

Row = dict[str, Any]


def settings(name: str, kept: float | None) -> Iterator[tuple[str, Row]]:
    """The default first, then each change of it, then what was published."""
    defaults = OURS[name]().get_params()
    yield "default", {}
    for parameter, values in CHANGES.items():
        if parameter == "vote_from" and kept is not None:
            continue
        for value in values:
            if value != defaults[parameter]:
                yield f"{parameter}={value}", {parameter: value}
    if kept is None:
        for vote_from in ("prototypes", "all"):
            yield f"published, vote_from={vote_from}", {**PUBLISHED, "vote_from": vote_from}


def measure(split: Split, seed: int) -> Iterator[Row]:
    """All settings on one split, from one graph."""
    graph = NeighborSearch(split.X_train).graph(WIDEST, groups=split.groups_train)
    for name in OURS:
        for kept in KEPT:
            for setting, change in settings(name, kept):
                parameters = {**change, "n_prototypes": kept, "random_state": seed}
                yield {"contender": name, "kept": kept, "setting": setting} | fitted(
                    name, parameters, split, graph
                )


def fitted(name: str, parameters: Row, split: Split, graph: Neighbors) -> Row:
    """One fit: accuracies, prototypes and seconds."""
    n_rows, n_classes = len(split.y_train), len(np.unique(split.y_train))
    rounds = {"m/C": -(-n_rows // n_classes), "2m/C": -(-2 * n_rows // n_classes)}
    if "n_rounds" in parameters:
        parameters = {**parameters, "n_rounds": rounds.get(parameters["n_rounds"])}
    classifier = OURS[name](**parameters)
    start = perf_counter()
    pair = (graph.indices, graph.distances)
    classifier.fit(split.X_train, split.y_train, graph=pair, groups=split.groups_train)
    return {
        "seconds": perf_counter() - start,
        "accuracy": float(np.mean(classifier.predict(split.X_test) == split.y_test)),
        "held_out_accuracy": classifier.held_out_accuracy_,
        "n_neighbors": classifier.n_neighbors_,
        "n_rounds": classifier.n_rounds_,
        "n_prototypes": len(classifier.prototypes_),
    }


def report(rows: list[Row]) -> str:
    """One table in Markdown for each classifier and share kept."""
    return "\n\n".join(
        f"{name}, {'all rows' if kept is None else f'{kept:.0%} kept'}\n\n{_table(rows, name, kept)}"
        for name in OURS
        for kept in KEPT
    )


def _table(rows: list[Row], name: str, kept: float | None) -> str:
    """Accuracies of the default on test rows and, in brackets, held out; points that other settings add."""

    def of(data: str, setting: str) -> list[Row]:
        wanted = {"data": data, "contender": name, "kept": kept, "setting": setting}
        return [row for row in rows if wanted.items() <= row.items()]

    def points(data: str, setting: str) -> NDArray[np.float64]:
        fields = ("accuracy", "held_out_accuracy")
        return 100 * np.array([[row[field] for field in fields] for row in of(data, setting)]).mean(axis=0)

    lines = []
    for setting, _ in settings(name, kept):
        values, sign = [points(data, setting) for data in SETS], "-"
        if setting != "default":
            values, sign = [v - points(data, "default") for v, data in zip(values, SETS, strict=True)], "+"
        cells = [f"{test:{sign}.1f} ({held:{sign}.1f})" for test, held in (*values, np.mean(values, axis=0))]
        prototypes = (np.mean([row["n_prototypes"] for row in of(data, setting)]) for data in SETS)
        lines.append([setting, *cells, ", ".join(f"{count:.0f}" for count in prototypes)])
    return markdown(["setting", *SETS, "mean", "prototypes"], lines)


def main() -> None:
    """Measure, write and print; or print what was written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="splits, where they are drawn")
    parser.add_argument("--show", action="store_true", help="print the last results, measure nothing")
    options = parser.parse_args()
    if not options.show:
        rows = []
        for data in SETS:
            for seed in options.seeds[: 1 if data in FIXED_SPLIT else None]:
                for row in measure(load(data, seed), seed):
                    rows.append({"data": data, "seed": seed, **row})
                    print(*rows[-1].values(), flush=True)
        write_results("defaults", rows)
    print(report(read_results("defaults")))


if __name__ == "__main__":
    main()
