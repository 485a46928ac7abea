"""The samples in float32, feature by row, and what products with them are worth."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.codes.bounds import FEATURES_AT_ONCE, ErrorBounds, error_bounds, sum_error
from nearboost.neighbors import MeasuredQueries, MeasuredRows, half_squares

TOP_SCORE = 2.0**31 - 2**7  # for excluded samples; others stay below 2^30, and a code subtracts less than 2^30


class Shadow:
    """Columns (x, ½|x|², 1), one for each sample, so that one product gives ½|x|² − q·x.

    Attributes
    ----------
    columns : float32 array of shape (n_features + 2, n_samples)
    radius : no sample is farther from the origin than this
    """

    def __init__(self, rows: MeasuredRows) -> None:
        self._rows = rows
        points = rows.centred(rows.measured(slice(None))).astype(np.float32)
        halves = half_squares(points)
        self.columns = np.vstack([points.T, halves, np.ones(len(points))]).astype(np.float32)
        self.radius = float(np.sqrt(2 * halves.max())) * (1 + 2.0**-20)

    def first_scores(
        self, queries: MeasuredQueries, own: NDArray[np.int32], values: NDArray[np.float32]
    ) -> ErrorBounds:
        """Put ½|x|² − q·x into ``values``, and the top score where a sample is the query's own."""
        multiply(multipliers(queries.shadow, 0.0), self.columns, values)
        bounds = self._bounds(queries)
        excluded = np.flatnonzero(own >= 0)
        values[excluded, own[excluded]] = TOP_SCORE / bounds.factor[excluded]
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
