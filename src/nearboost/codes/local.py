"""Codes over the nearest samples of each query alone.

Samples that do not lie in memory as they are measured are read for some queries at a time.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.progress import Advance, silent
from nearboost.base.threads import count_threads, count_useful_threads, map_in_threads
from nearboost.codes.scores import QUERIES_PER_PIECE, Shadow, Workspace, error_bounds, in_pieces
from nearboost.codes.series import Groups, Series, Terms
from nearboost.neighbors import MeasuredRows, NeighborSearch, largest_values, powers_of_two


class NearestSamples:
    """Finds the samples nearest to a query, under L2.

    They are those that `NeighborSearch` would find, but come from scores of all samples at once: it keeps sorted
    lists, which is best for few neighbours and not for a hundred.
    """

    def __init__(self, rows: MeasuredRows) -> None:
        self.rows = rows

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the shadow, which is rebuilt when needed."""
        return {name: value for name, value in self.__dict__.items() if name != "shadow"}

    @cached_property
    def shadow(self) -> Shadow:
        return Shadow(self.rows)

    def find(
        self, Q: NDArray[Any], n_near: int, groups: Groups, own: Groups, workspace: Workspace
    ) -> NDArray[np.int32]:
        """The nearest samples of other groups, in rising order; there must be as many."""
        from nearboost.kernels import inn_local as kernels

        queries = self.rows.queries(Q, own)
        bounds = self.shadow.first_scores(queries, groups, workspace.values)
        near = np.empty((len(Q), n_near), dtype=np.int32)
        kernels.find_near(
            workspace.values, bounds.factor, workspace.scores, bounds.start + bounds.measuring, groups,
            own, self.rows.X, queries.measured, queries.units, near,
        )  # fmt: skip
        return near


@dataclass(frozen=True)
class LocalTerms:
    """Picks terms among the ``n_near`` samples nearest to the query, under L2."""

    near: NearestSamples
    series: Series
    n_near: int

    def pick(self, Q: NDArray[Any], groups: Groups, own: Groups, advance: Advance) -> Terms:
        terms, rows = Terms.empty(len(Q), self.series), self.near.rows

        def pick_piece(piece: slice, workspace: Workspace) -> None:
            near = self.near.find(Q[piece], self.n_near, groups, own[piece], workspace)
            code_near(rows, self.series, Q[piece], near, terms[piece])

        in_pieces(pick_piece, len(Q), self.near.shadow.columns, rows.n_jobs, advance)
        return terms


@dataclass(frozen=True)
class LocalSearchedTerms:
    """Picks terms among the ``n_near`` samples that a search finds nearest: for L1, from files, on a GPU."""

    search: NeighborSearch
    series: Series
    n_near: int

    def pick(self, Q: NDArray[Any], groups: Groups, own: Groups, advance: Advance) -> Terms:
        found = self.search.search(Q, self.n_near, query_groups=own, groups=groups)
        return pick_among(self.search.rows, self.series, Q, found.indices, advance)


def pick_among(
    rows: MeasuredRows, series: Series, Q: NDArray[Any], near: NDArray[np.int32], advance: Advance = silent
) -> Terms:
    """Terms of queries among some samples for each, which stand in any order."""
    terms = Terms.empty(len(Q), series)
    n_jobs = count_useful_threads(rows.n_jobs, near.size * rows.n_features)
    size = QUERIES_PER_PIECE
    if not rows.stay:  # the samples near a piece are read together
        near_bytes = near.shape[1] * rows.n_features * rows.source.dtype.itemsize
        size = rows.fitting(1 / 4, near_bytes * count_threads(n_jobs), QUERIES_PER_PIECE)

    def pick_piece(start: int) -> None:
        piece = slice(start, start + size)
        code_near(rows, series, Q[piece], np.sort(near[piece], axis=1), terms[piece])
        advance(len(near[piece]))

    map_in_threads(pick_piece, range(0, len(Q), size), n_jobs)
    return terms


def code_near(
    rows: MeasuredRows,
    series: Series,
    Q: NDArray[Any],
    near: NDArray[np.int32],
    terms: Terms,
) -> None:
    """Terms of queries among samples in rising order; lengths are in units of the farthest one's distance."""
    if rows.stay:
        _code_among(rows, rows.X, series, Q, near, terms)
        return
    numbers, places = np.unique(near, return_inverse=True)  # in the same order
    among = places.reshape(near.shape).astype(np.int32)
    _code_among(rows, rows.source.take(numbers), series, Q, among, terms)
    picked = np.arange(terms.picks.shape[1]) < terms.counts[:, np.newaxis]
    terms.picks[:] = numbers[np.where(picked, terms.picks, 0)]


def _code_among(
    rows: MeasuredRows, X: NDArray[Any], series: Series, Q: NDArray[Any], near: NDArray[np.int32], terms: Terms
) -> None:
    from nearboost.kernels import inn_local as kernels

    units = powers_of_two(np.maximum(largest_values(Q), rows.largest))
    measured = np.divide(Q, units[:, np.newaxis], dtype=np.float64)
    reach = np.empty(len(Q))
    kernels.find_reach(near, X, measured, units, reach)
    scales = np.divide(1.0, reach, out=np.ones(len(Q)), where=reach > 0)
    with np.errstate(over="ignore"):  # what overflows is far
        A = 2 * np.linalg.norm(measured, axis=1) * scales + 1
    bounds = error_bounds(rows.n_features, rows.error, 1 + 2.0**-20, 0.0, A)
    start = bounds.start if rows.metric == "l2" else np.full(len(Q), np.inf)  # no bound: all are measured
    kernels.code_locally(
        near, X, measured, units, scales, rows.code, series.weights, series.regularization,
        series.tolerance, bounds.factor, start, bounds.row, bounds.term, bounds.measuring,
        terms.picks, terms.counts,
    )  # fmt: skip
