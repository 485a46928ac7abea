"""What `benchmarks.prototypes` compares with: k-NN on all rows and on fewer rows.

Fewer rows come from a *reduction*, ``(split, share, seed) -> Prototypes``; `knn_predictions` lets any
prototypes vote.
"""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from benchmarks.data import Split

KS = (1, 3, 5, 11)
FIXED_SPLIT = ("gtsrb", "gtsrb-small")


class Prototypes(NamedTuple):
    """Rows that vote, and their labels."""

    X: NDArray[np.float32]
    y: NDArray[np.int64]


Reduction = Callable[[Split, float, int], Prototypes]


def knn_predictions(
    prototypes: Prototypes, queries: NDArray, ks: Sequence[int] = KS
) -> dict[int, NDArray[np.int64]]:
    """Labels by k-NN for every k in ``ks``, from one exact search; of equal votes, the smallest label wins."""
    ks = [k for k in ks if k <= len(prototypes.y)]
    search = NearestNeighbors(n_neighbors=max(ks), algorithm="brute").fit(prototypes.X)
    indices = search.kneighbors(queries, return_distance=False)
    classes, codes = np.unique(prototypes.y, return_inverse=True)
    predictions = {}
    for k in ks:
        votes = np.zeros((len(queries), len(classes)))
        np.add.at(votes, (np.arange(len(queries))[:, None], codes[indices[:, :k]]), 1)
        predictions[k] = classes[votes.argmax(axis=1)]
    return predictions


def all_rows(split: Split, share: float = 1.0, seed: int = 0) -> Prototypes:
    """Every training row, whatever the share."""
    return Prototypes(split.X_train, split.y_train)


def random_share(split: Split, share: float, seed: int) -> Prototypes:
    """A random share of every class, at least one row of each."""
    rng = np.random.default_rng(seed)
    kept = [
        rng.choice(np.flatnonzero(split.y_train == label), size, replace=False)
        for label, size in class_sizes(split.y_train, share).items()
    ]
    rows = np.sort(np.concatenate(kept))
    return Prototypes(split.X_train[rows], split.y_train[rows])


def cluster_centroids(split: Split, share: float, seed: int) -> Prototypes:
    """The k-means centres of every class, as many as the share says (imbalanced-learn with its KMeans)."""
    from imblearn.under_sampling import ClusterCentroids

    sizes = class_sizes(split.y_train, share)
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


def reduce_and_vote(contender: str, reduction: Reduction, split: Split, share: float, seed: int) -> dict[str, Any]:
    """One row of the table: k-NN on what a reduction keeps, for every k."""
    start = perf_counter()
    prototypes = reduction(split, share, seed)
    reduced = perf_counter()
    predictions = knn_predictions(prototypes, split.X_test)
    return {
        "contender": contender,
        "n_prototypes": len(prototypes.y),
        "accuracy": {f"k={k}": float(np.mean(labels == split.y_test)) for k, labels in predictions.items()},
        "fit_seconds": reduced - start,
        "predict_seconds": perf_counter() - reduced,
    }


def class_sizes(y: NDArray[np.int64], share: float) -> dict[int, int]:
    """How many rows of each class make the share, at least one."""
    labels, counts = np.unique(y, return_counts=True)
    return {int(label): max(1, round(share * int(count))) for label, count in zip(labels, counts, strict=True)}
