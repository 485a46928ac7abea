"""Rows around centres: k-means, with the same numbers for any number of threads."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.progress import progress_bar
from nearboost.base.threads import map_in_threads, one_matrix_thread

ROWS_PER_BLOCK = 2048  # a block and its products stay in the cache
ROWS_TO_SEED = 20  # for each centre
STILL = 1e-4  # of the mean squared distance: an improvement not worth another round


def k_means(
    rows: NDArray[Any],
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
    from nearboost.kernels.encoding import add_by_label

    if len(rows) < n_centers:
        raise ValueError(f"{n_centers} centres need as many rows; there are {len(rows)}, give more of them.")
    centers = _spread_seeds(rows, n_centers, seed)
    before = np.inf
    with progress_bar("k-means", max_rounds, verbose) as advance:
        for _ in range(max_rounds):
            labels, distances = nearest_centers(rows, centers, n_jobs)
            now = float(distances.mean(dtype=np.float64))
            advance()
            if before - now <= STILL * now:
                break
            before = now
            # Sums in float64: many float32 rows would lose the digits that tell centres apart.
            sums, counts = np.zeros(centers.shape), np.zeros(n_centers, dtype=np.int64)
            add_by_label(rows, labels, sums, counts)
            centers = (sums / np.maximum(counts, 1)[:, np.newaxis]).astype(np.float32)
            empty = np.flatnonzero(counts == 0)
            if len(empty):
                centers[empty] = rows[np.argsort(-distances, kind="stable")[: len(empty)]]
    return centers, labels


def nearest_centers(
    rows: NDArray[Any], centers: NDArray[np.float32], n_jobs: int | None = 1
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The nearest centre of each row, and the squared distance to it, both as float32 products see them.

    Unlike an exact search this may take the second of two centres that are equally near but for rounding. Products
    are taken from the middle of the centres, because far from 0 they would drown distances.
    """
    labels, distances = np.empty(len(rows), dtype=np.int32), np.empty(len(rows), dtype=np.float32)
    middle = centers.mean(axis=0)
    centers = centers - middle
    halves = 0.5 * np.square(centers).sum(axis=1)

    def work(start: int) -> None:
        block = np.asarray(rows[start : start + ROWS_PER_BLOCK] - middle, dtype=np.float32)
        scores = block @ centers.T
        scores -= halves  # |x − c|²/2 = |x|²/2 − (xc − |c|²/2): the largest score is the nearest centre
        best = scores.argmax(axis=1)
        part = slice(start, start + len(block))
        labels[part] = best
        gaps = np.square(block).sum(axis=1) - 2 * scores[np.arange(len(block)), best]
        distances[part] = np.maximum(gaps, 0)

    with one_matrix_thread():
        map_in_threads(work, range(0, len(rows), ROWS_PER_BLOCK), n_jobs)
    return labels, distances


def _spread_seeds(rows: NDArray[Any], n_centers: int, seed: int) -> NDArray[np.float32]:
    from sklearn.cluster import kmeans_plusplus

    n_rows = min(len(rows), ROWS_TO_SEED * n_centers)
    some = np.sort(np.random.default_rng(seed).permutation(len(rows))[:n_rows])
    with one_matrix_thread():
        centers, _ = kmeans_plusplus(rows[some], n_centers, random_state=seed % 2**32)
    return np.ascontiguousarray(centers, dtype=np.float32)
