"""The expectation step of mixtures, with the same numbers for any number of threads, from memory or from a map."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearboost.base.rows import RowSource
from nearboost.base.threads import count_threads, map_in_threads

ROWS_PER_BLOCK, NUMBERS_PER_BLOCK = 2048, 2**21  # a block and its products stay in the cache
ROWS_PER_PIECE, NUMBERS_PER_PIECE = 2**16, 2**24  # a thread's share; sums are added piece by piece, in order


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


def block_rows(rows: RowSource) -> int:
    """Most rows of a block."""
    return max(1, min(ROWS_PER_BLOCK, NUMBERS_PER_BLOCK // rows.n_features))


def row_pieces(rows: RowSource) -> list[slice]:
    """All rows, in pieces of whole blocks."""
    fitting = max(1, NUMBERS_PER_PIECE // rows.n_features // block_rows(rows)) * block_rows(rows)
    return pieces(len(rows), min(ROWS_PER_PIECE, fitting))


def mean_of(rows: RowSource, parts: list[slice]) -> NDArray[np.float64]:
    """Mean of each feature, in float64, from sums over some parts after the other."""
    total = np.zeros(rows.n_features)
    for piece in parts:
        total += rows.part(piece).sum(axis=0, dtype=np.float64)
    return total / len(rows)


def moments_of(rows: RowSource) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and deviation of each feature, 1 where it is constant, in float64."""
    mean = mean_of(rows, row_pieces(rows))
    squares = np.zeros_like(mean)
    for piece in row_pieces(rows):
        squares += np.square(rows.part(piece) - mean).sum(axis=0)
    deviation = np.sqrt(squares / len(rows))
    return mean, np.where(deviation > 1e-12 * np.abs(mean), deviation, 1.0)


def expected_sums(source: RowSource, posterior: Posterior, n_jobs: int | None) -> Sums:
    """One pass over the rows."""

    def work(piece: slice) -> Sums:
        counts, moments, log_likelihood = np.zeros(len(posterior.matrix)), np.zeros(posterior.matrix.shape), 0.0
        size = block_rows(source)
        room = posterior.room(size)
        for start in range(piece.start, piece.stop, size):
            rows = source.part(slice(start, min(start + size, piece.stop)))
            shares, logs = posterior.shares(rows, room[: len(rows)])
            counts += shares.sum(axis=1)
            moments += shares @ room[: len(rows)]
            log_likelihood += float(logs.sum(dtype=np.float64))
        return Sums(counts, moments, log_likelihood)

    waiting, total = row_pieces(source), Sums(np.zeros(()), np.zeros(()), 0.0)
    at_once = 2 * count_threads(n_jobs)  # so that few sums are in memory
    for first in range(0, len(waiting), at_once):
        for part in map_in_threads(work, waiting[first : first + at_once], n_jobs):
            logs = total.log_likelihood + part.log_likelihood
            total = Sums(total.counts + part.counts, total.moments + part.moments, logs)
    return total
