"""Rows around centres: k-means, of all rows or within classes, with the same numbers for any number of threads.

Rows of a mapped file are read in the same blocks as those in memory, and get the same numbers.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearboost.base.progress import progress_bar
from nearboost.base.rows import RowSource, row_source
from nearboost.base.threads import map_in_threads, one_matrix_thread
from nearboost.base.validation import is_mapped

ROWS_PER_BLOCK = 2048  # a block and its products stay in the cache
NUMBERS_PER_BLOCK = 2**22  # of long rows
ROWS_TO_SEED = 20  # for each centre
STILL = 1e-4  # of the mean squared distance: an improvement not worth another round
ROUNDS_IN_CLASSES = 20


def k_means(
    rows: NDArray[Any] | RowSource,
    n_centers: int,
    seed: int = 0,
    *,
    max_rounds: int = 30,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Centres, and the nearest centre of each row.

    Seeds are spread by k-means++ over some of the rows. A centre that loses all its rows takes over the row that
    lies farthest from its own centre. Rounds end when distances hardly fall; where ``max_rounds`` ends them, the
    nearest centres are those of the round before.
    """
    source = row_source(rows)
    if len(source) < n_centers:
        raise ValueError(f"{n_centers} centres need as many rows; there are {len(source)}, give more of them.")
    centers = _spread_seeds(source, n_centers, seed)
    before = np.inf
    with progress_bar("k-means", max_rounds, verbose) as advance:
        for _ in range(max_rounds):
            labels, distances = nearest_centers(source, centers, n_jobs)
            now = float(distances.mean(dtype=np.float64))
            advance()
            if before - now <= STILL * now:
                break
            before = now
            sums, counts = _sums_by_label(source, labels, n_centers)
            centers = (sums / np.maximum(counts, 1)[:, np.newaxis]).astype(np.float32)
            empty = np.flatnonzero(counts == 0)
            for center, far in zip(empty, np.argsort(-distances, kind="stable")[: len(empty)], strict=True):
                centers[center] = source.part(slice(far, far + 1))[0]
    return centers, labels


def _rows_at_once(rows: RowSource) -> int:
    return max(1, min(ROWS_PER_BLOCK, NUMBERS_PER_BLOCK // max(1, rows.n_features)))


def _sums_by_label(
    rows: RowSource, labels: NDArray[np.integer], n_labels: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Sums of the rows of each label, and how many there are; those below 0 do not count.

    In float64: many float32 rows would lose the digits that tell centres apart.
    """
    from nearboost.kernels.encoding import add_by_label

    sums, counts = np.zeros((n_labels, rows.n_features)), np.zeros(n_labels, dtype=np.int64)
    for start in range(0, len(rows), size := _rows_at_once(rows)):
        block, own = rows.part(slice(start, min(start + size, len(rows)))), labels[start : start + size]
        add_by_label(block[own >= 0], own[own >= 0], sums, counts)
    return sums, counts


def nearest_centers(
    rows: NDArray[Any] | RowSource, centers: NDArray[np.float32], n_jobs: int | None = 1
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The nearest centre of each row, and the squared distance to it, both as float32 products see them.

    Unlike an exact search this may take the second of two centres that are equally near but for rounding. Products
    are taken from the middle of the centres, because far from 0 they would drown distances.
    """
    source = row_source(rows)
    labels, distances = np.empty(len(source), dtype=np.int32), np.empty(len(source), dtype=np.float32)
    size = _rows_at_once(source)
    middle = centers.mean(axis=0)
    centers = centers - middle
    halves = 0.5 * np.square(centers).sum(axis=1)

    def work(start: int) -> None:
        rows = source.part(slice(start, min(start + size, len(source))))
        block = np.asarray(rows - middle, dtype=np.float32)
        scores = block @ centers.T
        scores -= halves  # |x − c|²/2 = |x|²/2 − (xc − |c|²/2): the largest score is the nearest centre
        best = scores.argmax(axis=1)
        part = slice(start, start + len(block))
        labels[part] = best
        gaps = np.square(block).sum(axis=1) - 2 * scores[np.arange(len(block)), best]
        distances[part] = np.maximum(gaps, 0)

    with one_matrix_thread():
        map_in_threads(work, range(0, len(source), size), n_jobs)
    return labels, distances


def _spread_seeds(rows: RowSource, n_centers: int, seed: int) -> NDArray[np.float32]:
    from sklearn.cluster import kmeans_plusplus

    n_rows = min(len(rows), ROWS_TO_SEED * n_centers)
    some = np.sort(np.random.default_rng(seed).permutation(len(rows))[:n_rows])
    with one_matrix_thread():
        centers, _ = kmeans_plusplus(rows.take(some), n_centers, random_state=seed % 2**32)
    return np.ascontiguousarray(centers, dtype=np.float32)


class Clusters(NamedTuple):
    """The cluster of each row, and of each cluster the row nearest to its mean; clusters are numbered by these."""

    of_row: NDArray[np.int32]
    nearest: NDArray[np.int64]


def cluster_classes(
    rows: NDArray[Any], classes: NDArray[np.integer], n_clusters: int, seed: int, n_starts: int = 1
) -> Clusters:
    """So many clusters in all, or a few less, each of rows of one class; a class has as many as suits its size.

    Of several starts the one counts whose rows are nearest to the means of their clusters.
    """
    counts = share_out(np.bincount(classes), min(n_clusters, len(rows)))
    of_row, nearest = np.empty(len(rows), dtype=np.int32), np.empty(0, dtype=np.int64)
    for c in np.flatnonzero(counts):
        members = np.flatnonzero(classes == c)
        own = row_source(rows).only(members) if is_mapped(rows) else row_source(rows[members])
        starts = (_cluster(own, int(counts[c]), seed + start) for start in range(n_starts))
        labels, gaps = min(starts, key=lambda found: float(found[1].sum()))
        by_gap = np.lexsort((gaps, labels))
        first = np.unique(labels[by_gap], return_index=True)[1]
        of_row[members] = len(nearest) + labels
        nearest = np.append(nearest, members[by_gap[first]])
    order = np.argsort(nearest)
    return Clusters(np.argsort(order).astype(np.int32)[of_row], nearest[order])


def _cluster(rows: RowSource, n_clusters: int, seed: int) -> tuple[NDArray[np.int32], NDArray[np.floating]]:
    """The cluster of each row, and its squared distance to the cluster's mean."""
    _, labels = k_means(rows, n_clusters, seed, max_rounds=ROUNDS_IN_CLASSES, n_jobs=1)
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int32)  # the last round may have emptied one
    means, size = cluster_means(rows, labels), _rows_at_once(rows)
    parts = (slice(start, min(start + size, len(rows))) for start in range(0, len(rows), size))
    return labels, np.concatenate([np.square(rows.part(p) - means[labels[p]]).sum(axis=1) for p in parts])


def cluster_means(rows: NDArray[Any] | RowSource, of_row: NDArray[np.integer]) -> NDArray[np.float64]:
    """The mean of the rows of each cluster; rows below cluster 0 are in none."""
    sums, counts = _sums_by_label(row_source(rows), of_row, int(of_row.max()) + 1)
    return sums / counts[:, np.newaxis]


def share_out(sizes: NDArray[np.integer], n_wanted: int) -> NDArray[np.int64]:
    """How many clusters each class gets: by its size, at least one, none for a class without rows."""
    exact = sizes * (n_wanted / sizes.sum())
    counts = np.where(sizes > 0, np.maximum(np.floor(exact), 1), 0).astype(np.int64)
    for place in np.argsort(counts - exact, kind="stable"):  # the largest remainders first
        if counts.sum() >= n_wanted:
            break
        counts[place] += counts[place] < sizes[place]
    for _ in range(counts.sum() - max(n_wanted, np.count_nonzero(sizes))):
        counts[counts.argmax()] -= 1  # what rare classes have too many
    return counts
