"""Rows in clusters: k-means for visual words and to start mixtures, and the expectation step of mixtures.

Both give the same numbers for any number of threads.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import kmeans_plusplus

from nearboost.base.progress import progress_bar
from nearboost.base.threads import map_in_threads, one_matrix_thread
from nearboost.base.validation import check_map

ROWS_PER_BLOCK = 2048  # a block and its products stay in the cache
ROWS_PER_PIECE = 2**16  # a thread's share; sums are added piece by piece, in order
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
    n_rows = min(len(rows), ROWS_TO_SEED * n_centers)
    some = np.sort(np.random.default_rng(seed).permutation(len(rows))[:n_rows])
    with one_matrix_thread():
        centers, _ = kmeans_plusplus(rows[some], n_centers, random_state=seed % 2**32)
    return np.ascontiguousarray(centers, dtype=np.float32)


class Mixture(NamedTuple):
    """Parameters: shares, means and variances of the components, in standardised features."""

    weights: NDArray[np.float64]
    means: NDArray[np.float64]
    variances: NDArray[np.float64]


class Scale(NamedTuple):
    """What standardises a feature: its mean and one over its deviation over all rows."""

    mean: NDArray[np.float64]
    inverse: NDArray[np.float64]


class Sums(NamedTuple):
    """What an EM round needs of the rows: shares, share-weighted rows and squares, log-likelihood."""

    counts: NDArray[np.float64]
    moments: NDArray[np.float64]
    log_likelihood: float


class Posterior:
    """Shares of the components in rows, by one matrix product a block."""

    def __init__(self, mixture: Mixture, scale: Scale, dtype: Any = np.float32) -> None:
        weights, means, variances = mixture
        precisions = 1 / variances
        exponents = np.square(means) * precisions - np.log(precisions) + np.log(2 * np.pi)
        # the density of original features is larger by their units
        constants = np.log(weights) - 0.5 * exponents.sum(axis=1) + np.log(scale.inverse).sum()
        self.scale = scale
        self.matrix = np.hstack([means * precisions, -0.5 * precisions]).astype(dtype)
        self.constants = constants[:, np.newaxis].astype(dtype)

    def room(self, n_rows: int) -> NDArray[Any]:
        """Where a block's standardised rows and squares lie."""
        return np.empty((n_rows, self.matrix.shape[1]), dtype=self.matrix.dtype)

    def shares(self, rows: NDArray[Any], room: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Posterior probabilities, components x rows, and log-densities of the rows; fills ``room``."""
        from nearboost.kernels.encoding import standardise

        standardise(rows, *self.scale, room)
        logs = self.matrix @ room.T
        logs += self.constants
        largest = logs.max(axis=0)
        logs -= largest
        shares = np.exp(logs, out=logs)
        totals = shares.sum(axis=0)
        shares /= totals
        return shares, largest + np.log(totals)


def pieces(n_rows: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def moments_of(X: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and deviation of each feature, 1 where it is constant, in float64 without a copy of X."""
    check_map(X)
    mean = X.mean(axis=0, dtype=np.float64)
    squares = np.zeros_like(mean)
    for piece in pieces(len(X), ROWS_PER_PIECE):
        check_map(X)
        squares += np.square(X[piece] - mean).sum(axis=0)
    deviation = np.sqrt(squares / len(X))
    return mean, np.where(deviation > 1e-12 * np.abs(mean), deviation, 1.0)


def expected_sums(X: NDArray[Any], posterior: Posterior, n_jobs: int | None) -> Sums:
    """One pass over the rows."""

    def work(piece: slice) -> Sums:
        counts, moments, log_likelihood = np.zeros(len(posterior.matrix)), np.zeros(posterior.matrix.shape), 0.0
        room = posterior.room(ROWS_PER_BLOCK)
        for block in pieces(piece.stop - piece.start, ROWS_PER_BLOCK):
            check_map(X)
            rows = X[piece][block]
            shares, logs = posterior.shares(rows, room[: len(rows)])
            counts += shares.sum(axis=1)
            moments += shares @ room[: len(rows)]
            log_likelihood += float(logs.sum(dtype=np.float64))
        return Sums(counts, moments, log_likelihood)

    parts = map_in_threads(work, pieces(len(X), ROWS_PER_PIECE), n_jobs)
    counts, moments, log_likelihoods = zip(*parts, strict=True)
    return Sums(sum(counts), sum(moments), sum(log_likelihoods))
