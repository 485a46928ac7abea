"""Few prototypes instead of all rows: centres of each class in the metric."""

import numpy as np
from numpy.typing import NDArray

from nearboost.ensemble.code_heads import CodedRows
from nearboost.neighbors import k_means, nearest_centers

MOST_ROUNDS = 20
Indices = NDArray[np.int64]


def share_out(sizes: Indices, n_prototypes: int) -> Indices:
    """How many prototypes each class gets: by its size, at least one, none for a class without rows."""
    exact = sizes * (n_prototypes / sizes.sum())
    counts = np.where(sizes > 0, np.maximum(np.floor(exact), 1), 0).astype(np.int64)
    for place in np.argsort(counts - exact, kind="stable"):  # the largest remainders first
        if counts.sum() >= n_prototypes:
            break
        counts[place] += counts[place] < sizes[place]
    for _ in range(counts.sum() - max(n_prototypes, np.count_nonzero(sizes))):
        counts[counts.argmax()] -= 1  # what rare classes have too many
    return counts


def class_centres(
    rows: NDArray[np.float32], classes: Indices, n_classes: int, share: float, seed: int
) -> tuple[CodedRows, Indices]:
    """Centres of each class, and the row nearest to each centre."""
    counts = share_out(np.bincount(classes, minlength=n_classes), max(1, round(share * len(rows))))
    centres, nearest = [], []
    for c in np.flatnonzero(counts):
        members = np.flatnonzero(classes == c)
        found, _ = k_means(rows[members], int(counts[c]), seed, max_rounds=MOST_ROUNDS, n_jobs=1)
        centres.append(found)
        nearest.append(members[nearest_centers(found, rows[members])[0]])
    coded = CodedRows(
        np.concatenate(centres), np.repeat(np.arange(n_classes), counts), n_classes, np.ones(int(counts.sum()))
    )
    return coded, np.concatenate(nearest)
