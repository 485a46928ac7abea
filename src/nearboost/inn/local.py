"""Codes over the nearest samples of each query alone."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.progress import Advance
from nearboost.base.threads import count_threads, map_in_threads
from nearboost.inn.bounds import error_bounds
from nearboost.inn.series import Series, Terms
from nearboost.neighbors import NeighborSearch
from nearboost.neighbors.exact import WORTH_THREADS, largest_values, powers_of_two

QUERIES_PER_PIECE = 256


class LocalTerms:
    """Picks terms among the ``n_near`` samples nearest to the query, under L2 or L1."""

    def __init__(self, search: NeighborSearch, series: Series, n_near: int) -> None:
        self.search = search
        self.series = series
        self.n_near = n_near

    def pick(self, Q: NDArray[Any], own: NDArray[np.int32], advance: Advance) -> Terms:
        rows = self.search.rows
        numbers = np.arange(len(rows.X), dtype=np.int32)
        found = self.search.search(Q, self.n_near, query_groups=own, groups=numbers)
        near = np.sort(found.indices, axis=1)  # ties go to the lower index
        terms = Terms.of(len(Q), self.series)

        def pick_piece(start: int) -> None:
            piece = slice(start, start + QUERIES_PER_PIECE)
            self._pick(Q[piece], near[piece], found.distances[piece, -1], terms[piece])
            advance(len(Q[piece]))

        large = near.size * rows.X.shape[1] >= WORTH_THREADS
        pieces = range(0, len(Q), QUERIES_PER_PIECE)
        map_in_threads(pick_piece, pieces, count_threads(rows.n_jobs) if large else 1)
        return terms

    def _pick(self, Q: NDArray[Any], near: NDArray[np.int32], reach: NDArray[np.float64], terms: Terms) -> None:
        """Terms of queries among samples not farther than ``reach``; lengths are in units of it."""
        from nearboost.kernels import inn as kernels

        rows = self.search.rows
        units = powers_of_two(np.maximum(largest_values(Q), rows.largest))
        measured = np.divide(Q, units[:, np.newaxis], dtype=np.float64)
        scales = np.divide(units, reach, out=np.ones(len(Q)), where=reach > 0)
        with np.errstate(over="ignore"):  # what overflows is far
            A = 2 * np.linalg.norm(measured, axis=1) * scales + 1
        bounds = error_bounds(rows.X.shape[1], rows.error, 1 + 2.0**-20, 0.0, A)
        start = bounds.start if rows.metric == "l2" else np.full(len(Q), np.inf)  # no bound: all are measured
        kernels.code_locally(
            near, rows.X, measured, units, scales, rows.code, self.series.weights,
            self.series.regularization, self.series.tolerance, bounds.factor, start, bounds.row, bounds.term,
            bounds.measuring, terms.picks, terms.counts,
        )  # fmt: skip
