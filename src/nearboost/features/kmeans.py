"""k-means, for visual words and to start mixtures: the same centres for any number of threads."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import kmeans_plusplus

from nearboost.base.progress import progress_bar
from nearboost.neighbors import NeighborSearch
from nearboost.neighbors.exact import one_matrix_thread

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
    lies farthest from its own centre. Rounds end when distances hardly fall.
    """
    from nearboost.kernels.mixture import add_by_label

    if len(rows) < n_centers:
        raise ValueError(f"{n_centers} centres need as many rows; there are {len(rows)}, give more of them.")
    centers = _spread_seeds(rows, n_centers, seed)
    before = np.inf
    with progress_bar("k-means", max_rounds, verbose) as advance:
        for _ in range(max_rounds):
            found = NeighborSearch(centers, n_jobs=n_jobs).search(rows, 1)
            labels, distances = found.indices[:, 0], found.distances[:, 0]
            now = float(np.square(distances).mean())
            advance()
            if before - now <= STILL * now:
                break
            before = now
            sums, counts = np.zeros(centers.shape), np.zeros(n_centers, dtype=np.int64)
            add_by_label(rows, labels, sums, counts)
            centers = (sums / np.maximum(counts, 1)[:, np.newaxis]).astype(np.float32)
            empty = np.flatnonzero(counts == 0)
            centers[empty] = rows[np.argsort(-distances, kind="stable")[: len(empty)]]
    return centers, labels


def _spread_seeds(rows: NDArray[Any], n_centers: int, seed: int) -> NDArray[np.float32]:
    n_rows = min(len(rows), ROWS_TO_SEED * n_centers)
    some = np.sort(np.random.default_rng(seed).permutation(len(rows))[:n_rows])
    with one_matrix_thread():
        centers, _ = kmeans_plusplus(rows[some], n_centers, random_state=seed % 2**32)
    return np.ascontiguousarray(centers, dtype=np.float32)
