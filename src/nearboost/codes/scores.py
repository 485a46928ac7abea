"""Scores of all samples for a few queries at a time: float32 products, and how far they may be off.

A score tells samples apart by their distance to a query, see `nearboost.kernels.inn`. Bounds say how far it may be
from what measuring in float64 would give: among samples within the bound, measured distances decide, so that codes
are exact. Queries come a few at a time, so that their scores stay in the caches and memory stays bounded.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearboost.base.progress import Advance
from nearboost.base.threads import count_useful_threads, map_in_threads, one_matrix_thread
from nearboost.neighbors import ROUNDING, UNDERFLOW, MeasuredQueries, MeasuredRows, half_squares

DOUBLE_ROUNDING = 2.0**-53
FEATURES_AT_ONCE = 256
QUERIES_PER_PIECE = 64
SCORES_PER_PIECE = 2**24
NUMBERS_AT_ONCE = 2**22  # of samples, on their way into the shadow


class ErrorBounds(NamedTuple):
    """Of a score, in its own units: at the start, more with each term, more with the growth (1+λ)^t.

    All lengths are in the scale of the scores, from their origin: rows no longer than R, a query of length r.
    Measuring sees the rows where they were given, which may be far from that origin: A bounds those lengths.
    """

    start: Any  # of the product q·x
    row: float  # of one row of half squared distances, for a weight of 1; not yet in units
    term: Any  # of taking it into account
    measuring: Any
    factor: Any  # units of the scores in 1


def sum_error(n_features: int) -> float:
    """Relative, of a float32 sum over groups of features, each in any order, and of all that is rounded around."""
    n_roundings = min(n_features, FEATURES_AT_ONCE) + n_features / FEATURES_AT_ONCE + 16
    return n_roundings * ROUNDING / (1 - n_roundings * ROUNDING)


def error_bounds(n_features: int, error: float, R: float, r: Any, A: Any) -> ErrorBounds:
    """``error`` is the relative one of a product of row and query."""
    # |½|x|² − q·x − ½|s − x|²| ≤ R(r + R/2) + 2R², and 32-bit integers hold at least 2^30 such.
    factor = np.ldexp(1.0, 30 - np.frexp(R * (r + 2.5 * R))[1])
    # The product; and the rows, the query and the origin as rounded to float64.
    start = error * R * (r + R) + n_features * UNDERFLOW * (1 + r) + 8 * DOUBLE_ROUNDING * A * (r + R)
    # ½|s − x|² ≤ 2R² as a product, then its factor and their product as rounded to float32.
    row = 2 * error * R**2 + 4 * ROUNDING * R**2 + n_features * UNDERFLOW
    # q_(t+1) = (1+λ)q_t − λs is rounded five times, relative to (1+λ)^t·A at most; times 2R, that bounds what it
    # can do to the comparison of two rows. A unit is lost where a number becomes an integer.
    term = 16 * DOUBLE_ROUNDING * A * R
    # ½|q_t − x|²/(1+λ)^(t−1) ≤ ½(r + 2R)²(1+λ)^(t−1), a sum over the features.
    measuring = (n_features + 8) * DOUBLE_ROUNDING * (r + 2 * R) ** 2
    return ErrorBounds(start * factor + 1, row, term * factor + 1, measuring * factor, factor)


class Shadow:
    """Columns (x, ½|x|², 1), one for each sample, so that one product gives ½|x|² − q·x.

    Attributes
    ----------
    columns : float32 array of shape (n_features + 2, n_samples)
    radius : no sample is farther from the origin than this
    """

    def __init__(self, rows: MeasuredRows) -> None:
        self._rows = rows
        self.columns = np.ones((rows.n_features + 2, rows.n_rows), dtype=np.float32)
        largest = 0.0
        for start in range(0, rows.n_rows, size := max(1, NUMBERS_AT_ONCE // rows.n_features)):
            part = slice(start, min(start + size, rows.n_rows))
            points = rows.centred(rows.placed_rows(part)).astype(np.float32)
            halves = half_squares(points)
            self.columns[:-2, part], self.columns[-2, part] = points.T, halves
            largest = max(largest, float(halves.max()))
        self.radius = float(np.sqrt(2 * largest)) * (1 + 2.0**-20)

    def first_scores(
        self, queries: MeasuredQueries, groups: NDArray[np.int32], values: NDArray[np.float32]
    ) -> ErrorBounds:
        """Put ½|x|² − q·x into ``values``, and the top score where a sample is of the query's group."""
        from nearboost.kernels.inn import TOP_SCORE

        multiply(multipliers(queries.shadow, 0.0), self.columns, values)
        bounds = self._bounds(queries)
        own = queries.groups[:, np.newaxis]
        if np.any(own >= 0):
            tops = (TOP_SCORE / bounds.factor).astype(np.float32)
            np.copyto(values, tops[:, np.newaxis], where=groups == own)
        return bounds

    def _bounds(self, queries: MeasuredQueries) -> ErrorBounds:
        rows, n_features = self._rows, self._rows.X.shape[1]
        with np.errstate(over="ignore"):  # what overflows is far
            lengths = np.linalg.norm(queries.measured, axis=1) * (queries.units / rows.unit) * rows.scale
            A = lengths + np.linalg.norm(rows.centre) * rows.scale + self.radius
            r = np.linalg.norm(queries.shadow.astype(np.float64), axis=1)
            bounds = error_bounds(n_features, sum_error(n_features), self.radius, r, A)
        bounds.start[np.isinf(queries.bases)] = np.inf
        return bounds

    def half_squares_from(self, samples: NDArray[np.integer], within: slice) -> NDArray[Any]:
        """½|s − x|² of some samples s to those of a range."""
        others, columns = self.columns[:, samples], self.columns[:, within]
        products = np.empty((len(samples), columns.shape[1]), dtype=np.float32)
        multiply(multipliers(others[:-2].T, others[-2]), columns, products)
        return products


def multipliers(points: NDArray[np.float32], constants: NDArray[np.float32] | float) -> NDArray[np.float32]:
    """Rows (−s, 1, c), whose products with columns (x, ½|x|², 1) are ½|x|² − s·x + c."""
    rows = np.empty((len(points), points.shape[1] + 2), dtype=np.float32)
    rows[:, :-2] = -points
    rows[:, -2] = 1.0
    rows[:, -1] = constants
    return rows


def multiply(rows: NDArray[np.float32], columns: NDArray[np.float32], products: NDArray[np.float32]) -> None:
    """The matrix product, a group of features after the other: its error is that of a group, see `sum_error`."""
    np.dot(rows[:, :FEATURES_AT_ONCE], columns[:FEATURES_AT_ONCE], out=products)
    for start in range(FEATURES_AT_ONCE, len(columns), FEATURES_AT_ONCE):
        group = slice(start, start + FEATURES_AT_ONCE)
        products += rows[:, group] @ columns[group]


class Workspace(NamedTuple):
    """Where one thread keeps the scores of all samples for some queries: as products come, and as kernels want."""

    values: NDArray[np.float32]
    scores: NDArray[np.int32]


def in_pieces(
    work: Callable[[slice, Workspace], None],
    n_queries: int,
    columns: NDArray[np.float32],
    n_jobs: int | None,
    advance: Advance,
    n_scores: int | None = None,
) -> None:
    """Call ``work`` for pieces of the queries, several at a time, each with room for products with all columns.

    There are as many scores as columns, or ``n_scores`` where they are padded.
    """
    n_samples = columns.shape[1]
    threads = count_useful_threads(n_jobs, n_queries * columns.size)
    size = max(1, min(QUERIES_PER_PIECE, SCORES_PER_PIECE // n_samples, -(-n_queries // threads)))
    pieces = [slice(start, min(start + size, n_queries)) for start in range(0, n_queries, size)]
    idle = [
        Workspace(
            np.empty((size, n_samples), dtype=np.float32), np.empty((size, n_scores or n_samples), dtype=np.int32)
        )
        for _ in pieces[:threads]
    ]

    def work_on(piece: slice) -> None:
        own, n = idle.pop(), piece.stop - piece.start
        work(piece, Workspace(own.values[:n], own.scores[:n]))
        idle.append(own)
        advance(n)

    with one_matrix_thread():
        map_in_threads(work_on, pieces, threads)
