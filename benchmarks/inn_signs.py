"""Table 2 of the INN paper: ``python -m benchmarks.inn_signs``.

Traffic signs in eigenfaces, linear discriminants and the projections that keep a graph of codes, and ten
classifiers on each, beside the paper's accuracies. The shrinkage of the discriminants and the settings of the SVMs
are chosen on tracks held out of the training rows. SRC is asked about 1,000 fixed test rows. Times are CPU seconds
on one thread. Prints tables in Markdown and writes ``benchmarks/results/inn_signs.json`` after each cell;
``--show`` prints what was written last.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.model_selection import GroupShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks.data import Split, load
from benchmarks.inn_methods import NEIGHBOURS, Row, after, classify, timed, warm_up
from benchmarks.machine import read_results, write_results
from benchmarks.tables import markdown
from nearboost import SRLP, INNClassifier, INNProjection, eigenfaces, regularized_lda

SHRINKAGES = (0.001, 0.01, 0.03, 0.1, 0.3, 0.5)
N_SPARSE_QUERIES = 1000

# Table 2 of the paper, in %; of several solvers of SRC the best.
PAPER = {
    "eigenfaces 300": {"NN": 66.05, "INNC": 77.70, "SRC": 85.31},
    "SRLP 99": {"NN": 89.54, "INNC": 93.64, "SRC": 93.94, "linear SVM": 87.87, "intersection SVM": 89.51,
                "polynomial SVM": 92.76, "RBF SVM": 92.43},
    "INNLP 99": {"NN": 89.35, "INNC": 93.61, "SRC": 93.74},
    "LDA 42": {"NN": 91.84, "INNC": 93.64, "SRC": 93.01, "linear SVM": 87.00, "intersection SVM": 86.30,
               "polynomial SVM": 92.49, "RBF SVM": 92.46},
}  # fmt: skip


class IntersectionMap(TransformerMixin, BaseEstimator):
    """Features whose dot products are Σ min(x, y) of positive and of negative parts, x on a grid of each feature.

    Between grid points the map is piecewise linear, as in Maji and Berg, "Max-margin additive classifiers for
    detection" (2009).
    """

    def __init__(self, n_steps: int = 6) -> None:
        self.n_steps = n_steps

    def fit(self, X: NDArray[Any], y: Any = None) -> "IntersectionMap":
        """Take the largest value of each feature."""
        self.tops_ = np.abs(X).max(axis=0) / self.n_steps
        return self

    def transform(self, X: NDArray[Any]) -> NDArray[np.float32]:
        """Each part as the steps it has climbed, the last one partly."""
        climbed = np.concatenate([np.maximum(X, 0), np.maximum(-X, 0)], axis=1) / np.tile(self.tops_, 2)
        steps = np.clip(climbed[:, :, np.newaxis] - np.arange(self.n_steps), 0, 1)
        return (steps * np.sqrt(np.tile(self.tops_, 2))[:, np.newaxis]).reshape(len(X), -1).astype(np.float32)


SIGN_PROJECTIONS: dict[str, Callable[[], Any]] = {
    "eigenfaces 300": lambda: eigenfaces(300),
    "SRLP 99": lambda: after(SRLP(99, n_jobs=1)),
    "INNLP 99": lambda: after(INNProjection(99, n_jobs=1)),
}
MACHINES: dict[str, tuple[ClassifierMixin, list[dict[str, Any]]]] = {  # and what is chosen for each
    "linear SVM": (LinearSVC(), [{"C": C} for C in (0.1, 1, 10)]),
    "intersection SVM": (
        make_pipeline(IntersectionMap(), LinearSVC()),
        [{"linearsvc__C": C} for C in (0.1, 1)],
    ),
    "polynomial SVM": (
        SVC(kernel="poly", coef0=1, cache_size=1000),
        [{"C": C, "gamma": g, "degree": d} for C in (1, 10) for g in (1, 4) for d in (3, 5)],
    ),
    "RBF SVM": (SVC(cache_size=1000), [{"C": C, "gamma": g} for C in (10, 100) for g in (0.5, 1, 2, 4)]),
}


def held_out(split: Split, every: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Some training rows to learn from, and some of other tracks to choose by."""
    rows = np.arange(0, len(split.y_train), every)
    tracks = split.groups_train[rows]
    learn, judge = next(GroupShuffleSplit(1, test_size=0.3, random_state=0).split(rows, None, tracks))
    return rows[learn], rows[judge]


def accuracy(model: Any, X: NDArray[Any], y: NDArray[Any]) -> float:
    return float((model.predict(X) == y).mean())


def choose_shrinkage(split: Split) -> Row:
    """The shrinkage of the discriminants with the best INNC on held-out tracks, every second row."""
    learn, judge = held_out(split, 2)
    tried = {}
    for shrinkage in SHRINKAGES:
        model = make_pipeline(regularized_lda(42, shrinkage=shrinkage), INNClassifier(neighborhood=100))
        model.fit(split.X_train[learn], split.y_train[learn])
        tried[shrinkage] = accuracy(model, split.X_train[judge], split.y_train[judge])
    return {"tried": tried, "chosen": max(tried, key=lambda shrinkage: tried[shrinkage])}


def choose_machine(name: str, X: NDArray[Any], split: Split) -> ClassifierMixin:
    """An SVM with the settings that are best on held-out tracks, every eighth row."""
    model, settings = MACHINES[name]
    learn, judge = held_out(split, 8)
    scores = []
    for setting in settings:
        tried = clone(model).set_params(**setting).fit(X[learn], split.y_train[learn])
        scores.append(accuracy(tried, X[judge], split.y_train[judge]))
    return clone(model).set_params(**settings[int(np.argmax(scores))])


def measure(cells: list[Row]) -> None:
    """The cells of the table that are not there yet."""
    split = load("gtsrb-24x24")
    warm_up()
    shrinkage = choose_shrinkage(split)
    projections = SIGN_PROJECTIONS | {"LDA 42": lambda: regularized_lda(42, shrinkage=shrinkage["chosen"])}
    fixed = np.sort(np.random.default_rng(0).permutation(len(split.y_test))[:N_SPARSE_QUERIES])
    done = {(cell["projection"], cell["method"]) for cell in cells}
    for name, make in projections.items():
        projection = make()
        seconds, _ = timed(projection.fit, split.X_train, split.y_train)
        X, Q = (projection.transform(rows).astype(np.float32) for rows in (split.X_train, split.X_test))
        for method in (*NEIGHBOURS, *MACHINES):
            if (name, method) in done:
                continue
            if method in NEIGHBOURS:
                model, chosen = clone(NEIGHBOURS[method]), {}
            else:
                model = choose_machine(method, X, split)
                chosen = {key: model.get_params()[key] for key in MACHINES[method][1][0]}
            some = fixed if method == "SRC" else slice(None)
            cell = classify(model, (X, split.y_train), (Q[some], split.y_test[some]))
            cells.append({"projection": name, "projection_seconds": seconds, "method": method, **chosen, **cell})
            write_results("inn_signs", {"shrinkage": shrinkage, "cells": cells})


def report(results: Row) -> str:
    """Accuracies with the paper's in brackets, and times."""
    cells = {(cell["projection"], cell["method"]): cell for cell in results["cells"]}
    projections = list(dict.fromkeys(cell["projection"] for cell in results["cells"]))
    methods = [method for method in (*NEIGHBOURS, *MACHINES) if (projections[0], method) in cells]

    def figure(projection: str, method: str) -> str:
        paper = PAPER[projection].get(method)
        return f"{100 * cells[projection, method]['accuracy']:.1f}" + (f" ({paper:.1f})" if paper else "")

    def times(projection: str, method: str) -> str:
        cell = cells[projection, method]
        return f"{cell['fit_seconds']:.1f} / {cell['query_microseconds']:,.0f}"

    learned = [f"{cells[projection, methods[0]]['projection_seconds']:.0f}" for projection in projections]
    tables = [
        markdown(
            ["accuracy, % (paper)", *projections], [[m, *(figure(p, m) for p in projections)] for m in methods]
        ),
        markdown(
            ["s to fit / µs a query", *projections],
            [["projection, s", *learned], *([m, *(times(p, m) for p in projections)] for m in methods)],
        ),
    ]
    return "\n\n".join([*tables, f"Shrinkage of LDA on held-out tracks: {results['shrinkage']}"])


def main() -> None:
    """Measure, write and print; or print what was written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true", help="print the last results, measure nothing")
    parser.add_argument("--resume", action="store_true", help="keep the cells that were written, measure others")
    options = parser.parse_args()
    if not options.show:
        with threadpool_limits(1):
            measure(read_results("inn_signs")["cells"] if options.resume else [])
    print(report(read_results("inn_signs")))


if __name__ == "__main__":
    main()
