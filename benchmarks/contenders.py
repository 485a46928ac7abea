"""What nearboost is compared with: k-NN on all rows, k-NN on fewer rows, and an RBF support vector machine.

Fewer rows come from a *reduction*, ``(split, share, seed) -> Prototypes``; `knn_predictions` lets any
prototypes vote. ``python -m benchmarks.contenders`` prints the table of all of them on all data sets and
writes ``benchmarks/results/baselines.json``.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold, StratifiedKFold
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import SVC

from benchmarks.data import NAMES, Split, available, load
from benchmarks.machine import write_results

KS = (1, 3, 5, 11)
SHARES = (0.5, 0.1)
SVM_ROWS = 10_000  # with more training rows the grid of support vector machines takes too long
FIXED_SPLIT = ("gtsrb", "gtsrb-small")


class Prototypes(NamedTuple):
    """Rows that vote, and their labels."""

    X: NDArray[np.float32]
    y: NDArray[np.int64]


Reduction = Callable[[Split, float, int], Prototypes]


def knn_predictions(
    prototypes: Prototypes, queries: NDArray, ks: Sequence[int] = KS, weights: str = "uniform"
) -> dict[int, NDArray[np.int64]]:
    """Labels by k-NN for every k in ``ks``, from one exact search.

    ``weights="uniform"`` gives scikit-learn's answers: of equal votes, the smallest label wins.
    ``weights="gaussian"`` lets a neighbour at distance d vote exp(-d²/2σ²), with σ half the distance of
    the k-th neighbour: one of five widths tried, chosen with the test rows of the first splits in sight.
    """
    if weights not in ("uniform", "gaussian"):
        raise ValueError(f"weights={weights!r} is not known; use 'uniform' or 'gaussian'.")
    ks = [k for k in ks if k <= len(prototypes.y)]
    search = NearestNeighbors(n_neighbors=max(ks), algorithm="brute").fit(prototypes.X)
    distances, indices = search.kneighbors(queries)
    classes, codes = np.unique(prototypes.y, return_inverse=True)
    predictions = {}
    for k in ks:
        votes = np.ones((len(queries), k))
        if weights == "gaussian":
            width = np.maximum(distances[:, k - 1 : k], np.finfo(np.float32).tiny) / 2
            votes = np.exp(-0.5 * (distances[:, :k] / width) ** 2)
        scores = np.zeros((len(queries), len(classes)))
        np.add.at(scores, (np.arange(len(queries))[:, None], codes[indices[:, :k]]), votes)
        predictions[k] = classes[scores.argmax(axis=1)]
    return predictions


def all_rows(split: Split, share: float = 1.0, seed: int = 0) -> Prototypes:
    """Every training row, whatever the share."""
    return Prototypes(split.X_train, split.y_train)


def random_share(split: Split, share: float, seed: int) -> Prototypes:
    """A random share of every class, at least one row of each."""
    rng = np.random.default_rng(seed)
    kept = [
        rng.choice(np.flatnonzero(split.y_train == label), size, replace=False)
        for label, size in _class_sizes(split.y_train, share).items()
    ]
    rows = np.sort(np.concatenate(kept))
    return Prototypes(split.X_train[rows], split.y_train[rows])


def cluster_centroids(split: Split, share: float, seed: int) -> Prototypes:
    """The k-means centres of every class, as many as the share says (imbalanced-learn with its KMeans)."""
    from imblearn.under_sampling import ClusterCentroids

    sizes = _class_sizes(split.y_train, share)
    sampler = ClusterCentroids(sampling_strategy=sizes, voting="soft", random_state=seed)
    return Prototypes(*sampler.fit_resample(split.X_train, split.y_train))


def condensed_imblearn(split: Split, share: float, seed: int) -> Prototypes:
    """imbalanced-learn's CondensedNearestNeighbour, which chooses its own share.

    It keeps the smallest class whole and condenses each other class against that one only: with many
    classes it is not Hart's rule, for which see `condensed_hart`.
    """
    from imblearn.under_sampling import CondensedNearestNeighbour

    sampler = CondensedNearestNeighbour(random_state=seed)
    return Prototypes(*sampler.fit_resample(split.X_train, split.y_train))


def condensed_hart(split: Split, share: float, seed: int) -> Prototypes:
    """Hart's condensed nearest neighbour (1968), which chooses its own share.

    Passes over the rows in random order; a row that its nearest kept row labels wrongly is kept, until a
    pass keeps none. The kept rows then label every training row rightly, but for equal rows of two classes.
    """
    X, y = split.X_train, split.y_train
    order = np.random.default_rng(seed).permutation(len(y))
    X, y = X[order], y[order]
    squares = np.einsum("ij,ij->i", X, X)
    nearest, label = np.full(len(y), np.inf, dtype=X.dtype), np.full(len(y), -1)
    kept = np.zeros(len(y), dtype=bool)
    while (wrong := np.flatnonzero((label != y) & ~kept)).size:
        for row in wrong:
            if label[row] == y[row]:
                continue
            kept[row] = True
            distances = squares - 2 * (X @ X[row]) + squares[row]
            closer = distances < nearest
            nearest[closer], label[closer] = distances[closer], y[row]
    return Prototypes(X[kept], y[kept])


def svm_predictions(split: Split, seed: int) -> tuple[NDArray[np.int64], int]:
    """Labels by an RBF support vector machine, and the number of its support vectors.

    C and γ come from three-fold cross-validation on the training rows; folds do not divide groups.
    """
    scale = 1 / (split.X_train.shape[1] * split.X_train.var())
    grid = {"C": [1, 10, 100], "gamma": [0.25 * scale, scale, 4 * scale]}
    folds = StratifiedKFold if split.groups_train is None else StratifiedGroupKFold
    search = GridSearchCV(SVC(cache_size=500), grid, cv=folds(3, shuffle=True, random_state=seed))
    search.fit(split.X_train, split.y_train, groups=split.groups_train)
    return search.predict(split.X_test), int(search.best_estimator_.n_support_.sum())


def baselines(split: Split, seed: int) -> Iterator[dict[str, Any]]:
    """One row of the table after another: who, how many prototypes, accuracies by k, seconds."""
    yield reduce_and_vote("k-NN", all_rows, split, 1.0, seed)
    yield reduce_and_vote("k-NN, Gaussian", all_rows, split, 1.0, seed, weights="gaussian")
    for share in SHARES:
        yield reduce_and_vote(f"random {share:.0%}", random_share, split, share, seed)
        yield reduce_and_vote(f"ClusterCentroids {share:.0%}", cluster_centroids, split, share, seed)
    yield reduce_and_vote("condensed NN (Hart)", condensed_hart, split, 1.0, seed)
    yield reduce_and_vote("condensed NN (imbalanced-learn)", condensed_imblearn, split, 1.0, seed)
    if len(split.y_train) <= SVM_ROWS:
        start = perf_counter()
        predictions, n_support = svm_predictions(split, seed)
        yield {
            "contender": "RBF-SVM",
            "n_prototypes": n_support,
            "accuracy": {"-": float(np.mean(predictions == split.y_test))},
            "fit_seconds": perf_counter() - start,
            "predict_seconds": None,
        }


def reduce_and_vote(
    contender: str, reduction: Reduction, split: Split, share: float, seed: int, weights: str = "uniform"
) -> dict[str, Any]:
    """One row of the table: k-NN on what a reduction keeps, for every k."""
    start = perf_counter()
    prototypes = reduction(split, share, seed)
    reduced = perf_counter()
    predictions = knn_predictions(prototypes, split.X_test, weights=weights)
    return {
        "contender": contender,
        "n_prototypes": len(prototypes.y),
        "accuracy": {f"k={k}": float(np.mean(labels == split.y_test)) for k, labels in predictions.items()},
        "fit_seconds": reduced - start,
        "predict_seconds": perf_counter() - reduced,
    }


def _class_sizes(y: NDArray[np.int64], share: float) -> dict[int, int]:
    """How many rows of each class make the share, at least one."""
    labels, counts = np.unique(y, return_counts=True)
    return {int(label): max(1, round(share * int(count))) for label, count in zip(labels, counts, strict=True)}


def _line(name: str, seed: int, row: dict[str, Any]) -> str:
    accuracies = "  ".join(f"{k} {value:.4f}" for k, value in row["accuracy"].items())
    seconds = f"{row['fit_seconds']:.1f} + {row['predict_seconds'] or 0:.1f} s"
    return f"{name:12} {seed} {row['contender']:32} {row['n_prototypes']:6}  {accuracies}  {seconds}"


def main() -> None:
    """Print the table, row by row, and write it."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("names", nargs="*", default=[name for name in NAMES if available(name)])
    parser.add_argument("--seeds", type=int, default=3, help="how many splits, where they are drawn")
    parser.add_argument("--output", default="baselines", help="name of the file of results")
    options = parser.parse_args()
    table = []
    for name in options.names:
        for seed in range(1 if name in FIXED_SPLIT else options.seeds):
            for row in baselines(load(name, seed), seed):
                table.append({"data": name, "seed": seed, **row})
                print(_line(name, seed, row), flush=True)
    write_results(options.output, table)


if __name__ == "__main__":
    main()
