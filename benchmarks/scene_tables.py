"""Table 3 of the INN paper, on Scene-15: ``python -m benchmarks.scene_tables``.

100 images of each class to train and 100 others to test, three random splits. NBNN, NBINN and NBSR on `Nimble`
features, by one search for the 100 nearest training descriptors that all three share, and once more with the
mirror images of the training images beside them; INN-SPM, ScSPM and LLC on dense SIFT with a linear support
vector machine, one class against the rest, squared hinge, C by folds of the training images. All that is learned
is learned from the training images of a split.

The three by a neighbourhood are also compared with their exact selves, 20 images of a class to train and 20 to
test.

Prints Markdown tables and writes ``benchmarks/results/scene_tables.json`` after each part; parts that are there
already are not run again, unless with ``--fresh``. ``--show`` prints what was written last.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import LinearSVC

from benchmarks.data import SCENES, scene_paths
from benchmarks.machine import RESULTS, read_results, write_results
from benchmarks.nearby import Nearby
from benchmarks.tables import markdown, percent
from nearboost import NaiveBayesNN
from nearboost.base.images import needs, read_image
from nearboost.features.nimble import Nimble
from nearboost.features.pyramid import SpatialPyramid
from nearboost.features.sift import DenseSIFT

NAME = "scene_tables"
PAPER = {"NBNN": 74.2, "NBINN": 78.2, "NBSR": 77.8, "INN-SPM": 81.4, "ScSPM": 80.3}
VOTED = {"NBNN": "nn", "NBINN": "inn", "NBSR": "l1"}
PYRAMIDS = {"INN-SPM": "inn", "LLC": "llc", "ScSPM": "sparse"}
PER_CLASS, FEW_PER_CLASS = 100, 20
NEIGHBORHOOD = 100
LONGEST_SIDE = 300
MIRRORED = ", mirrored"
PARTS = ("NBNN", "NBNN" + MIRRORED, *PYRAMIDS, "agreement")
COSTS = [3.0, 10.0, 30.0, 100.0]

Row = dict[str, Any]


@dataclass(frozen=True)
class Images:
    """Paths and classes of the training and of the test images."""

    train: list[Path]
    y_train: NDArray[np.intp]
    test: list[Path]
    y_test: NDArray[np.intp]


def images(seed: int, per_class: int = PER_CLASS) -> Images:
    """As many random images of each class to train and to test, both parts of the files pooled."""
    rng = np.random.default_rng(seed)
    paths = scene_paths(len(SCENES))
    by_class = [[path for path in paths if path.parent.name == scene] for scene in SCENES]
    drawn = [[of_class[i] for i in rng.permutation(len(of_class))[: 2 * per_class]] for of_class in by_class]
    y = np.repeat(np.arange(len(SCENES)), per_class)
    train, test = ([path for some in drawn for path in some[part::2]] for part in (0, 1))
    return Images(train, y, test, y)


def scored(truth: NDArray[np.intp], predicted: NDArray[np.intp]) -> Row:
    return {
        "accuracy": float(accuracy_score(truth, predicted)),
        "per_class": float(balanced_accuracy_score(truth, predicted)),
    }


class Stopwatch:
    """Processor seconds since it was last asked, of all threads together."""

    def __init__(self) -> None:
        self.last = process_time()

    def __call__(self) -> float:
        before, self.last = self.last, process_time()
        return self.last - before


class Changed(Sequence[NDArray[Any]]):
    """Images that are read when asked for, and changed."""

    def __init__(self, paths: list[Path], change: Callable[[NDArray[Any]], NDArray[Any]]) -> None:
        self.paths, self.change = paths, change

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, i: Any) -> Any:
        return self.change(read_image(self.paths[i]))


def mirrored(pixels: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(pixels[:, ::-1])


def resized(pixels: NDArray[Any]) -> NDArray[Any]:
    """With a longest side of `LONGEST_SIDE`."""
    cv2 = needs("cv2")
    factor = LONGEST_SIDE / max(pixels.shape[:2])
    method = cv2.INTER_AREA if factor < 1 else cv2.INTER_CUBIC
    return np.asarray(cv2.resize(pixels, None, fx=factor, fy=factor, interpolation=method))


def voted(split: Images, n_jobs: int, both_ways: bool) -> list[Row]:
    """NBNN, NBINN and NBSR by one search."""
    watch = Stopwatch()
    nimble = Nimble(n_jobs=n_jobs).fit(split.train)
    learning = watch()
    known: list[Sequence[Any]] = [split.train, *([Changed(split.train, mirrored)] if both_ways else [])]
    train = [one.values for some in known for one in nimble.transform(some)]
    test = [one.values for one in nimble.transform(split.test)]
    describing = watch() / (len(train) + len(test))
    nearby = Nearby(train, np.tile(split.y_train, len(known)), NEIGHBORHOOD, n_jobs)
    found = nearby.search(test)
    searching = watch() / len(test)
    rows = []
    for name, representation in VOTED.items():
        scores = nearby.scores(representation, found)
        rows.append({
            "method": name + MIRRORED * both_ways, **scored(split.y_test, scores.argmax(axis=1)),
            "learning_s": learning,
            "describing_ms": 1000 * describing, "searching_ms": 1000 * searching,
            "deciding_ms": 1000 * watch() / len(test),
        })  # fmt: skip
    return rows


def agreement(seed: int, n_jobs: int) -> list[Row]:
    """Labels by a neighbourhood against labels by all descriptors, and the shared search against separate ones."""
    split = images(seed, FEW_PER_CLASS)
    nimble = Nimble(n_jobs=n_jobs).fit(split.train)
    train, test = ([one.values for one in nimble.transform(paths)] for paths in (split.train, split.test))
    nearby = Nearby(train, split.y_train, NEIGHBORHOOD, n_jobs)
    found = nearby.search(test)
    rows = []
    for name, representation in VOTED.items():
        watch = Stopwatch()
        exact = NaiveBayesNN(representation, neighborhood=None, n_jobs=n_jobs).fit(train, split.y_train)
        by_all = exact.decision_function(test)
        seconds = watch()
        near = NaiveBayesNN(representation, neighborhood=NEIGHBORHOOD, n_jobs=n_jobs).fit(train, split.y_train)
        by_near = near.decision_function(test)
        seconds_near = watch()
        labels, shared = by_near.argmax(axis=1), nearby.scores(representation, found)
        rows.append({
            "method": name,
            "same_labels": float(np.mean(labels == by_all.argmax(axis=1))),
            "near": scored(split.y_test, labels), "exact": scored(split.y_test, by_all.argmax(axis=1)),
            "near_ms": 1000 * seconds_near / len(test), "exact_ms": 1000 * seconds / len(test),
            "shared_search_gap": float(np.abs(shared - by_near).max() / np.abs(by_near).max()),
        })  # fmt: skip
    return rows


def pooled(split: Images, coding: str, n_jobs: int) -> Row:
    """One coding of dense SIFT, pooled over a pyramid, with a linear classifier."""
    sift = DenseSIFT(step=8, bin_sizes=(4,))
    sets = [sift.transform(Changed(paths, resized)) for paths in (split.train, split.test)]
    watch = Stopwatch()
    pyramid = SpatialPyramid(coding, n_jobs=n_jobs).fit(sets[0])
    learning = watch()
    train, test = (pyramid.transform(some) for some in sets)
    coding_time = watch() / (len(train) + len(test))
    train, test = in_own_span(train, test)
    machine = linear_machine().fit(train, split.y_train)
    fitting = watch()
    return {
        **scored(split.y_test, machine.predict(test)), "cost": machine.best_params_["C"],
        "validated": float(machine.best_score_), "learning_s": learning,
        "describing_ms": 1000 * coding_time, "fitting_s": fitting,
    }  # fmt: skip


def linear_machine() -> GridSearchCV:
    """A linear support vector machine, squared hinge, one class against the rest; C is chosen by folds."""
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    return GridSearchCV(LinearSVC(dual=False), {"C": COSTS}, cv=folds)


def in_own_span(train: NDArray[Any], test: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The same rows in an orthogonal basis of the training rows: all products with training rows are kept.

    A linear machine is a sum of training rows, so it is the same one; 1,500 numbers a row are faster than 21,504.
    """
    values, vectors = np.linalg.eigh((train @ train.T).astype(np.float64))
    kept = values > 1e-9 * values[-1]
    basis = vectors[:, kept] / np.sqrt(values[kept])
    return (train @ train.T) @ basis, (test @ train.T) @ basis


def already(fresh: bool) -> dict[str, list[Row]]:
    """What an earlier run has written."""
    if fresh or not (RESULTS / f"{NAME}.json").exists():
        return {"rows": [], "agreement": []}
    return dict(read_results(NAME))


def measure(methods: Sequence[str], seeds: Sequence[int], fresh: bool, n_jobs: int) -> None:
    """Run what is missing, method by method."""
    results = already(fresh)
    rows = results["rows"]

    def missing(seed: int, name: str) -> bool:
        return not any(row["seed"] == seed and row["method"] == name for row in rows)

    def add(seed: int, found: list[Row]) -> None:
        rows.extend({"seed": seed, **row} for row in found)
        write_results(NAME, results)
        for row in found:
            print(seed, row, flush=True)

    for name, seed in product((name for name in methods if name != "agreement"), seeds):
        if missing(seed, name):
            split = images(seed)
            pooling = PYRAMIDS.get(name)
            if pooling:
                add(seed, [{"method": name, **pooled(split, pooling, n_jobs)}])
            else:
                add(seed, voted(split, n_jobs, both_ways=name.endswith(MIRRORED)))
    if "agreement" in methods and not results["agreement"]:
        results["agreement"] = agreement(seeds[0], n_jobs)
    write_results(NAME, results)


def report(results: Row) -> str:
    """The tables in Markdown."""

    def values(name: str, field: str) -> list[float]:
        return [row[field] for row in results["rows"] if row["method"] == name]

    def mean(name: str, field: str, digits: int = 0) -> str:
        found = values(name, field)
        return f"{np.mean(found):,.{digits}f}" if found else ""

    votes = [*VOTED, *(name + MIRRORED for name in VOTED)]
    methods = [name for name in (*votes, *PYRAMIDS) if values(name, "accuracy")]
    accuracies = [
        [name, f"{PAPER[name]:.1f}" if name in PAPER else "", percent(values(name, "accuracy")),
         percent(values(name, "per_class"))]
        for name in methods
    ]  # fmt: skip
    by_votes = [
        [name, *(mean(name, field) for field in ("learning_s", "describing_ms", "searching_ms")),
         mean(name, "deciding_ms", 1)]
        for name in methods if name in votes
    ]  # fmt: skip
    by_pooling = [
        [name, *(mean(name, field) for field in ("learning_s", "describing_ms", "fitting_s")),
         ", ".join(f"{cost:g}" for cost in values(name, "cost"))]
        for name in methods if name in PYRAMIDS
    ]  # fmt: skip
    exact = [
        [row["method"], f"{100 * row['same_labels']:.1f}", f"{100 * row['near']['accuracy']:.1f}",
         f"{100 * row['exact']['accuracy']:.1f}", f"{row['near_ms']:,.0f}", f"{row['exact_ms']:,.0f}"]
        for row in results["agreement"]
    ]  # fmt: skip
    return "\n\n".join([
        markdown(["accuracy, %", "paper", "overall", "mean of classes"], accuracies),
        markdown(["processor time", "filters, s", "describing, ms", "search, ms", "deciding, ms"], by_votes),
        markdown(["processor time", "words, s", "describing, ms", "machine, s", "C"], by_pooling),
        markdown(["20 a class", "same labels, %", "nearest 100, %", "all, %", "ms", "ms, all"], exact),
    ])  # fmt: skip


def main() -> None:
    """Measure what is missing, write and print; or print what was written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--methods", nargs="+", choices=PARTS, default=PARTS, help="NBNN stands for all three votes"
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--n-jobs", type=int, default=1, help="threads; the results are the same for any number")
    parser.add_argument("--fresh", action="store_true", help="run all parts again")
    parser.add_argument("--show", action="store_true", help="print the last results, measure nothing")
    options = parser.parse_args()
    if not options.show:
        measure(options.methods, options.seeds, options.fresh, options.n_jobs)
    print(report(read_results(NAME)))


if __name__ == "__main__":
    main()
