"""Accuracy against the share of prototypes kept: ``python -m benchmarks.prototypes``.

N3 and UNN with their defaults, and N3 with centroids, against k-NN on all rows, on a random share, on k-means
centres and on condensed rows; all keep the same number of prototypes. Five random splits, except for ``gtsrb``,
which has one and whose tracks are given to `fit` as groups. k-NN runs with k = 1, 3, 5 and 11; its figure is that
of the k with the best mean *on the test rows*, which favours it. Prints Markdown tables and the aims, and writes
``benchmarks/results/prototypes.json``; ``--show`` prints what was written last.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks.contenders import (
    FIXED_SPLIT,
    all_rows,
    class_sizes,
    cluster_centroids,
    condensed_hart,
    condensed_imblearn,
    random_share,
    reduce_and_vote,
)
from benchmarks.data import Split, load
from benchmarks.machine import read_results, write_results
from benchmarks.tables import markdown, percent
from nearboost import N3Classifier, UNNClassifier

SETS = ("digits", "yaleb", "scene15", "gtsrb")
SHARES = (1.0, 0.5, 0.2, 0.1, 0.05)
CENTROIDS = "N3, centroids"
OURS = {"N3": N3Classifier, CENTROIDS: partial(N3Classifier, prototypes="centroids"), "UNN": UNNClassifier}
REDUCTIONS = {"k-NN, random rows": random_share, "k-NN, ClusterCentroids": cluster_centroids}
CONDENSED = {
    "condensed NN (Hart)": condensed_hart,
    "condensed NN (imbalanced-learn)": condensed_imblearn,
}

Row = dict[str, Any]


def measure_ours(names: Iterable[str], split: Split, seed: int) -> Iterator[Row]:
    """Some of ours on one split, row by row."""
    for name in names:
        for share in shares_of(name):
            yield {"share": share, **boosted(name, split, share, seed)}


def shares_of(ours: str) -> tuple[float, ...]:
    """What is kept: centroids are few by nature."""
    return SHARES[2:] if ours == CENTROIDS else SHARES


def measure_others(split: Split, seed: int) -> Iterator[Row]:
    """The other contenders; ``share`` is None where the contender chooses it."""
    yield {"share": 1.0, **reduce_and_vote("k-NN", all_rows, split, 1.0, seed)}
    for name, reduction in REDUCTIONS.items():
        for share in SHARES[1:]:
            yield {"share": share, **reduce_and_vote(name, reduction, split, share, seed)}
    for name, reduction in CONDENSED.items():
        yield {"share": None, **reduce_and_vote(name, reduction, split, 1.0, seed)}


def boosted(name: str, split: Split, share: float, seed: int) -> Row:
    """One of ours with its defaults; with a share of 1 every row votes and nothing is pruned."""
    n_kept = sum(class_sizes(split.y_train, share).values())
    classifier = OURS[name](n_prototypes=None if share == 1 else n_kept, random_state=seed)
    start = perf_counter()
    classifier.fit(split.X_train, split.y_train, groups=split.groups_train)
    fitted = perf_counter()
    accuracy = float(np.mean(classifier.predict(split.X_test) == split.y_test))
    return {
        "contender": name,
        "n_prototypes": len(split.y_train) if share == 1 else len(classifier.prototypes_),
        "n_leveraged": int(np.count_nonzero(np.diff(classifier.coefficients_.indptr))),
        "accuracy": {"default": accuracy},
        "held_out_accuracy": classifier.held_out_accuracy_,
        "n_neighbors": classifier.n_neighbors_,
        "n_rounds": classifier.n_rounds_,
        "fit_seconds": fitted - start,
        "predict_seconds": perf_counter() - fitted,
    }


class Table:
    """The rows of a run, asked by data set, contender and share."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows

    def of(self, data: str, contender: str, share: float | None) -> list[Row]:
        """One row per split."""
        wanted = (data, contender, share)
        return [row for row in self.rows if (row["data"], row["contender"], row["share"]) == wanted]

    def values(self, data: str, contender: str, share: float | None, field: str) -> list[Any]:
        """One field, split by split."""
        return [row[field] for row in self.of(data, contender, share)]

    def accuracies(self, data: str, contender: str, share: float | None) -> tuple[str, list[float]]:
        """The k with the best mean accuracy, and its accuracies split by split."""
        found = self.values(data, contender, share, "accuracy")
        common = [k for k in found[0] if all(k in accuracies for accuracies in found)]
        best = max(common, key=lambda k: np.mean([accuracies[k] for accuracies in found]))
        return best, [accuracies[best] for accuracies in found]

    def accuracy(self, data: str, contender: str, share: float | None) -> float:
        """The mean of `accuracies`."""
        return float(np.mean(self.accuracies(data, contender, share)[1]))

    def gap(self, data: str, contender: str, share: float) -> float:
        """How far held-out accuracy is above test accuracy, on the mean of the splits."""
        held_out = np.mean(self.values(data, contender, share, "held_out_accuracy"))
        return float(held_out - self.accuracy(data, contender, share))


class Aim(NamedTuple):
    """``margin(table, set, ours)`` is by how much the aim is met (0 or more) or missed on a set."""

    text: str
    n_sets: int
    margin: Callable[[Table, str, str], float]


def _lead(table: Table, data: str, ours: str, share: float, other: str, other_share: float) -> float:
    return round(table.accuracy(data, ours, share) - table.accuracy(data, other, other_share), 9)


AIMS = (
    Aim(
        "half kept: within 0.5 points of the best k-NN", 3,
        lambda table, data, ours: _lead(table, data, ours, 0.5, "k-NN", 1.0) + 0.005,
    ),
    Aim(
        "half kept: ahead of the best k-NN", 2,
        lambda table, data, ours: _lead(table, data, ours, 0.5, "k-NN", 1.0) - 1e-9,
    ),
    Aim(
        "a tenth kept: 5 points over k-NN on a random tenth", 3,
        lambda table, data, ours: _lead(table, data, ours, 0.1, "k-NN, random rows", 0.1) - 0.05,
    ),
    Aim(
        "a tenth kept: not below ClusterCentroids + k-NN", 2,
        lambda table, data, ours: _lead(table, data, ours, 0.1, "k-NN, ClusterCentroids", 0.1),
    ),
    Aim(
        "all, half, a tenth kept: held-out accuracy within 3 points of test accuracy", 4,
        lambda table, data, ours: 0.03 - max(abs(table.gap(data, ours, share)) for share in (1.0, 0.5, 0.1)),
    ),
)  # fmt: skip


AIMS_OF_CENTROIDS = (
    *(
        Aim(
            f"{share:.0%} kept: ahead of ClusterCentroids + k-NN", 3,
            lambda table, data, ours, share=share: _lead(
                table, data, ours, share, "k-NN, ClusterCentroids", share
            ) - 1e-9,
        )
        for share in SHARES[2:]
    ),
    Aim(
        "held-out accuracy within 3 points of test accuracy", 4,
        lambda table, data, ours: 0.03 - max(abs(table.gap(data, ours, share)) for share in SHARES[2:]),
    ),
)  # fmt: skip


def verdicts(table: Table) -> list[Row]:
    """Each aim for each of ours, with its margins by set."""
    found = []
    for ours in OURS:
        for aim in AIMS_OF_CENTROIDS if ours == CENTROIDS else AIMS:
            margins = {data: aim.margin(table, data, ours) for data in SETS}
            met_on = [data for data, margin in margins.items() if margin >= 0]
            found.append({
                "contender": ours, "aim": aim.text, "needed": aim.n_sets, "margins": margins,
                "met_on": met_on, "met": len(met_on) >= aim.n_sets,
            })  # fmt: skip
    return found


def report(results: Row) -> str:
    """The tables in Markdown: accuracies, what our classifiers chose, and the aims."""
    table = Table(results["rows"])
    return "\n\n".join([_accuracies(table), _choices(table), _aims(results["aims"])])


def _accuracies(table: Table) -> str:
    def cell(data: str, contender: str, share: float | None) -> str:
        k, values = table.accuracies(data, contender, share)
        chosen = f" ({k})" if k.startswith("k=") else ""
        kept = ""
        if share is None:
            rows, kept_rows = table.values(data, "k-NN", 1.0, "n_prototypes"), table.of(data, contender, None)
            kept = f", {np.mean([row['n_prototypes'] for row in kept_rows]) / np.mean(rows):.0%} kept"
        return f"{percent(values)}{chosen}{kept}"

    lines = []
    for share in SHARES:
        contenders = ["k-NN"] if share == 1 else list(REDUCTIONS)
        for contender in (*contenders, *(ours for ours in OURS if share in shares_of(ours))):
            lines.append([f"{share:.0%}", contender, *(cell(data, contender, share) for data in SETS)])
    for contender in CONDENSED:
        lines.append(["its own", contender, *(cell(data, contender, None) for data in SETS)])
    return markdown(["kept", "contender", *SETS], lines)


def _choices(table: Table) -> str:
    lines = []
    for data in SETS:
        for ours in OURS:
            for share in shares_of(ours):
                rows = table.of(data, ours, share)
                held_out = [row["held_out_accuracy"] for row in rows]
                seconds = (np.median([row[step] for row in rows]) for step in ("fit_seconds", "predict_seconds"))
                lines.append([
                    f"{data}, {ours}", f"{share:.0%}", percent(table.accuracies(data, ours, share)[1]),
                    percent(held_out), f"{100 * table.gap(data, ours, share):+.1f}",
                    *(_each(row[field] for row in rows) for field in ("n_neighbors", "n_rounds")),
                    *(f"{time:.2f}" for time in seconds),
                ])  # fmt: skip
    header = ["", "kept", "test", "held out", "gap", "neighbours", "rounds", "fit, s", "predict, s"]
    return markdown(header, lines)


def _each(values: Iterable[int]) -> str:
    """One number where all splits agree, else all of them."""
    return ", ".join(map(str, dict.fromkeys(values)))


def _aims(found: list[Row]) -> str:
    lines = [
        [
            row["contender"], row["aim"], f"{len(row['met_on'])} of {row['needed']} needed",
            *(f"{100 * row['margins'][data]:+.1f}" for data in SETS), "met" if row["met"] else "missed",
        ]
        for row in found
    ]  # fmt: skip
    return markdown(["", "aim", "sets", *SETS, "verdict"], lines)


def main() -> None:
    """Measure, write and print; or print what was written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--seeds", type=int, nargs="+", default=[10, 11, 12, 13, 14], help="splits, where they are drawn"
    )
    parser.add_argument(
        "--ours",
        nargs="*",
        choices=OURS,
        help="measure ours alone, or some of them; keep the others' last results",
    )
    parser.add_argument("--show", action="store_true", help="print the last results, measure nothing")
    parser.add_argument("--output", default="prototypes", help="name of the results")
    options = parser.parse_args()
    if not options.show:
        alone, names = options.ours is not None, options.ours or list(OURS)
        kept = read_results(options.output)["rows"] if alone else []
        rows = [row for row in kept if row["contender"] not in names]
        for data in SETS:
            for seed in options.seeds[: 1 if data in FIXED_SPLIT else None]:
                split = load(data, seed)
                others = () if alone else measure_others(split, seed)
                for row in chain(measure_ours(names, split, seed), others):
                    rows.append({"data": data, "seed": seed, **row})
                    print(data, seed, row["contender"], row["share"], row["accuracy"], flush=True)
        write_results(options.output, {"rows": rows, "aims": verdicts(Table(rows))}, merged=alone)
    print(report(read_results(options.output)))


if __name__ == "__main__":
    main()
