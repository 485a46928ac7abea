"""Tables 2.3 to 2.5 of the thesis on other images: ``python -m benchmarks.bag_tables``.

Bags of features (2,500 dense SIFT descriptors an image, 500 words), half of the images of each class to train and
the others to test, three random splits: soft UNN as published, UNN with our defaults, k-NN, support vector
machines and boosted stumps, on 5, 10 and 15 scene classes and on 10, 20, ..., 100 classes of Caltech-101.
Words are learned once for each split and set, from the training images of all its classes. Accuracies are means of
the classes' own; times are processor seconds of one thread, without the features.

Prints Markdown tables and writes ``benchmarks/results/bag_tables.json`` after each number of classes; what is
there already is not run again, unless with ``--fresh``. ``--show`` prints what was written last.
"""

import argparse
from collections.abc import Callable
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score, pairwise_distances
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.data import CACHE, SCENES, data_folder, scene_paths
from benchmarks.machine import RESULTS, read_results, write_results
from benchmarks.stumps import GentleStumps
from benchmarks.tables import markdown, percent
from nearboost import KNNClassifier, UNNClassifier
from nearboost.features import BagOfFeatures, DenseSIFT

NAME = "bag_tables"
N_CLASSES = {"scenes": (5, 10, 15), "caltech": tuple(range(10, 101, 10))}
KS = [1, 3, 5, 7, 11, 15]
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)
PAPER = {
    "classes": (10, 20, 30, 40, 50, 60, 100),
    "k-NN": (76.38, 57.28, 45.00, 40.27, 36.09, 32.30, 24.67),
    "RBF-SVM": (83.85, 67.65, 58.21, 53.45, 47.81, 44.09, 35.31),
    "boosted stumps": (75.37, 58.21, 45.57, 37.75, 32.41, 29.01, 26.72),
    "soft UNN, published": (84.28, 70.44, 58.49, 51.07, 46.34, 41.80, 31.61),
}

Row = dict[str, Any]


class KernelMachine:
    """A support vector machine with a Gaussian kernel; C and γ by folds, features scaled to [0, 1] before.

    Distances are computed once for all settings. γ is in units of one over their mean.
    """

    costs, widths = (1.0, 10.0, 100.0), (0.5, 2.0, 8.0)

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> "KernelMachine":
        self.low, self.range = X.min(axis=0), np.maximum(np.ptp(X, axis=0), 1e-9)
        self.rows = self._scaled(X)
        squares = pairwise_distances(self.rows, metric="sqeuclidean")
        self.unit = 1 / squares.mean()
        right = {}
        for width in self.widths:
            kernel = np.exp(-width * self.unit * squares)
            for cost in self.costs:
                right[cost, width] = np.mean([
                    balanced_accuracy_score(
                        y[test],
                        SVC(C=cost, kernel="precomputed", cache_size=1000)
                        .fit(kernel[np.ix_(train, train)], y[train])
                        .predict(kernel[np.ix_(test, train)]),
                    )
                    for train, test in FOLDS.split(X, y)
                ])  # fmt: skip
        self.cost, self.width = max(right, key=lambda pair: right[pair])
        self.machine = SVC(C=self.cost, kernel="precomputed", cache_size=1000)
        self.machine.fit(np.exp(-self.width * self.unit * squares), y)
        return self

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        squares = pairwise_distances(self._scaled(X), self.rows, metric="sqeuclidean")
        return self.machine.predict(np.exp(-self.width * self.unit * squares))

    def _scaled(self, X: NDArray[Any]) -> NDArray[np.float64]:
        return ((X - self.low) / self.range).astype(np.float64)


def by_folds(model: Any, **settings: list[Any]) -> GridSearchCV:
    """The model with the settings that are best on folds of the training rows."""
    return GridSearchCV(model, settings, cv=FOLDS, scoring="balanced_accuracy")


# Alg. 1 of the thesis, 2m/C rounds a class and soft votes at query time; k, λ and the rounds are not stated there.
PUBLISHED = UNNClassifier(metric="l1", start="zero", calibration=None, n_jobs=1)
CONTENDERS: dict[str, Callable[[], Any]] = {
    "k-NN": lambda: by_folds(KNNClassifier(metric="l1", n_jobs=1), n_neighbors=KS),
    "RBF-SVM": KernelMachine,
    "boosted stumps": GentleStumps,
    "soft UNN, published": lambda: by_folds(PUBLISHED, n_neighbors=[11, 31], soft_lambda=[0.1, 0.5]),
    "UNN": lambda: UNNClassifier(metric="l1", n_jobs=1),
}


def paths_of(data: str) -> tuple[list[Path], NDArray[np.intp]]:
    """The images of all classes, in the order in which classes join, and their classes."""
    if data == "scenes":
        paths = scene_paths(max(N_CLASSES[data]))
        return paths, np.array([SCENES.index(path.parent.name) for path in paths])
    folders = sorted(folder for folder in (data_folder() / "caltech101").iterdir() if folder.is_dir())
    order = np.random.default_rng(0).permutation(len(folders))[: max(N_CLASSES[data])]
    of_classes = [sorted(folders[i].glob("*.jpg")) for i in order]
    return [path for some in of_classes for path in some], np.repeat(
        np.arange(len(order)), list(map(len, of_classes))
    )


def halves(y: NDArray[np.intp], seed: int) -> NDArray[np.bool_]:
    """Whether an image is for training: half of each class."""
    rng, in_training = np.random.default_rng(seed), np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        members = rng.permutation(np.flatnonzero(y == label))
        in_training[members[: len(members) // 2]] = True
    return in_training


def bags(data: str, seed: int, n_jobs: int) -> tuple[NDArray[np.float32], NDArray[np.intp], NDArray[np.bool_]]:
    """Rows of all images, their classes, and who is for training; rows from the cache where they lie there."""
    paths, y = paths_of(data)
    in_training, file = halves(y, seed), CACHE / f"bags-{data}-{seed}.npy"
    if not file.exists():
        sets = DenseSIFT(n_points=2500).transform(paths)
        words = BagOfFeatures(500, n_jobs=n_jobs, max_descriptors=100_000)
        words.fit(sets.take(np.flatnonzero(in_training)))
        file.parent.mkdir(parents=True, exist_ok=True)
        np.save(file, words.transform(sets))
    return np.load(file), y, in_training


def contend(X: NDArray[Any], y: NDArray[Any], in_training: NDArray[np.bool_]) -> list[Row]:
    """All contenders on some of the classes."""
    train, test, rows = X[in_training], X[~in_training], []
    for name, make in CONTENDERS.items():
        start = process_time()
        model = make().fit(train, y[in_training])
        fitted = process_time()
        predicted = model.predict(test)
        asked = process_time()
        rows.append({
            "contender": name, "accuracy": float(balanced_accuracy_score(y[~in_training], predicted)),
            "n_train": len(train), "n_test": len(test), "fit_s": fitted - start, "query_s": asked - fitted,
        })  # fmt: skip
    return rows


def measure(seeds: list[int], fresh: bool, n_jobs: int) -> None:
    there = RESULTS / f"{NAME}.json"
    rows: list[Row] = [] if fresh or not there.exists() else read_results(NAME)["rows"]
    for data, seed in product(N_CLASSES, seeds):
        X, y, in_training = bags(data, seed, n_jobs)
        for n_classes in N_CLASSES[data]:
            key = {"data": data, "n_classes": n_classes, "seed": seed}
            if any(all(row[field] == key[field] for field in key) for row in rows):
                continue
            some = y < n_classes
            with threadpool_limits(1):
                found = contend(X[some], y[some], in_training[some])
            rows += [{**key, **row} for row in found]
            write_results(NAME, {"rows": rows})
            print(key, *(f"{row['contender']} {100 * row['accuracy']:.1f}" for row in found), sep=", ", flush=True)


def report(rows: list[Row]) -> str:
    """The tables in Markdown."""

    def cells(data: str, contender: str, field: str) -> list[list[float]]:
        return [
            [row[field] for row in rows
             if (row["data"], row["n_classes"], row["contender"]) == (data, n_classes, contender)]
            for n_classes in N_CLASSES[data]
        ]  # fmt: skip

    tables = []
    for data, counts in N_CLASSES.items():
        header = [str(n_classes) for n_classes in counts]
        accuracy = [[name, *map(percent, cells(data, name, "accuracy"))] for name in CONTENDERS]
        tables.append(markdown([f"{data}, %", *header], accuracy))
        for field, title in (("fit_s", "fit, s"), ("query_s", "all queries, s")):
            first = next(iter(CONTENDERS))
            sizes = cells(data, first, "n_train" if field == "fit_s" else "n_test")
            lines = [["images", *(f"{some[0]:,}" for some in sizes)]]
            for name in CONTENDERS:
                lines.append([name, *(f"{np.median(some):.2f}" for some in cells(data, name, field))])
            tables.append(markdown([f"{data}, {title}", *header], lines))
    lines = [[name, *(f"{value:.1f}" for value in values)] for name, values in PAPER.items() if name != "classes"]
    tables.append(markdown(["the thesis, SUN, %", *map(str, PAPER["classes"])], lines))
    return "\n\n".join(tables)


def main() -> None:
    """Measure what is missing, write and print; or print what was written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--n-jobs", type=int, default=1, help="threads that describe images")
    parser.add_argument("--fresh", action="store_true", help="run everything again")
    parser.add_argument("--show", action="store_true", help="print the last results, measure nothing")
    options = parser.parse_args()
    if not options.show:
        measure(options.seeds, options.fresh, options.n_jobs)
    print(report(read_results(NAME)["rows"]))


if __name__ == "__main__":
    main()
