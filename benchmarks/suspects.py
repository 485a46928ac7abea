"""Planted wrong labels among right ones: ``python -m benchmarks.suspects``.

Of 300 items, drawn 20 times, five get the label of another class at random. Items are ranked by the held-out
probability of their label, as `nearboost suspects` does, and, for comparison, by how much likelier another class
is. Counted are the planted labels among the first ten, and, among those said to be likely wrong, how many are and
should be. Prints a Markdown table and writes ``benchmarks/results/suspects.json``; ``--show`` prints what was
written last. Fisher vectors are learned from all images, without labels.
"""

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from benchmarks.data import data_folder
from benchmarks.machine import read_results, write_results
from benchmarks.tables import markdown
from nearboost.catalogue.descriptors import describe, find_descriptor
from nearboost.datasets import open_dataset
from nearboost.models.mislabelled import judge_labels, judge_rows

N_DRAWS, N_ITEMS, N_PLANTED, FIRST = 20, 300, 5, 10

Rows = NDArray[Any]


def scenes(features: str) -> tuple[Rows, NDArray[np.int64]]:
    """The training part of Scene-15 by some features."""
    dataset = open_dataset(data_folder() / "scene15", duplicates=False)
    train = dataset.take(np.asarray(dataset.part) == "train")
    found = describe(train.images(keep_pixels=True), find_descriptor(features), train=range(len(train)))
    return np.asarray(found.X), train.codes()


SETS = {
    "digits": lambda: load_digits(return_X_y=True),
    "scenes, Fisher": lambda: scenes("fisher"),
    "scenes, Gist": lambda: scenes("gist"),
}


def draw(X: Rows, y: NDArray[np.int64], seed: int) -> dict[str, float]:
    """One draw: what is found of what was planted."""
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(y), N_ITEMS, replace=False)
    planted, n_classes, labels = rng.choice(N_ITEMS, N_PLANTED, replace=False), y.max() + 1, y[rows].copy()
    labels[planted] = (labels[planted] + rng.integers(1, n_classes, N_PLANTED)) % n_classes
    judged = judge_labels(judge_rows(X[rows], labels, n_classes, None, None, 0), labels)
    by_lead = np.argsort(judged.own - judged.other, kind="stable")
    likely = judged.order[: judged.n_likely]
    return {
        "found": int(np.isin(planted, judged.order[:FIRST]).sum()),
        "found_by_lead": int(np.isin(planted, by_lead[:FIRST]).sum()),
        "likely": judged.n_likely,
        "expected": judged.n_likely * (judged.share or 0.0),
        "right": int(np.isin(likely, planted).sum()),
        "accuracy": float((judged.said == y[rows]).mean()),
    }


def main() -> None:
    """Measure and write, or show."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true", help="print what was written last")
    if not parser.parse_args().show:
        loaded = {name: load() for name, load in SETS.items()}
        found = {name: [draw(X, y, seed) for seed in range(N_DRAWS)] for name, (X, y) in loaded.items()}
        write_results("suspects", found)
    header = ("set", "accuracy", "of 5 in the first 10", "4 or 5", "by lead", "likely wrong", "expected", "are")
    rows = []
    for name, draws in read_results("suspects").items():
        mean = {key: float(np.mean([one[key] for one in draws])) for key in draws[0]}
        often = sum(one["found"] >= N_PLANTED - 1 for one in draws)
        shown = (mean[key] for key in ("found_by_lead", "likely", "expected", "right"))
        first = (f"{mean['accuracy']:.2f}", f"{mean['found']:.2f}", f"{often} of {len(draws)}")
        rows.append((name, *first, *(f"{value:.2f}" for value in shown)))
    print(markdown(header, rows))


if __name__ == "__main__":
    main()
