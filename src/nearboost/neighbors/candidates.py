"""Rows that somebody else proposes as neighbours: measured exactly, completed, and judged."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearboost.base.device import is_tensor
from nearboost.base.progress import progress_bar
from nearboost.base.threads import count_useful_threads, map_in_threads
from nearboost.base.validation import check_choice, check_whole
from nearboost.neighbors.exact import QUERIES_PER_PIECE, ExactSearch, Lists, cut
from nearboost.neighbors.graph import Neighbors
from nearboost.neighbors.groups import count_others, own_groups
from nearboost.neighbors.rows import MeasuredRows
from nearboost.neighbors.ruler import NO_ROW

if TYPE_CHECKING:
    from nearboost.neighbors.search import SearchMethod


class Recall(NamedTuple):
    """How much of the exact neighbours a graph has.

    Attributes
    ----------
    share : float
        Mean share of the rows listed that are as near as the exact neighbours.
    standard_error : float
        Its standard error, from the shares of the rows that were looked at.
    n_rows : int
        How many rows were looked at.
    """

    share: float
    standard_error: float
    n_rows: int


class CandidatesMixin:
    """What `NeighborSearch` does with lists of others."""

    rows: MeasuredRows

    @property
    def _backend(self) -> "SearchMethod":
        raise NotImplementedError

    def refine(
        self, candidates: ArrayLike, k: int, groups: ArrayLike | None = None, *, too_short: str = "search"
    ) -> Neighbors:
        """The k nearest of the rows that are proposed for each row, measured exactly.

        Parameters
        ----------
        candidates : array-like of int of shape (n_rows, n_listed)
            Rows proposed as neighbours of each row, in any order; -1 stands for none. A row itself, rows of its
            group and repetitions do not count.
        k : int
            Number of neighbours.
        groups : array-like of int of shape (n_rows,) or None, default=None
            Group of each row, as in `graph`.
        too_short : {"search", "refuse"}, default="search"
            What to do with rows of fewer than k candidates: search for their neighbours exactly, or raise an error
            that names the first of them.

        Returns
        -------
        Neighbors
            Indices and distances, nearest first: a graph for ``fit(X, y, graph=…)``. Where candidates hold the
            exact neighbours of a row, so does its list, to the last bit.
        """
        n_rows = self.rows.n_rows
        check_choice("too_short", too_short, ("search", "refuse"))
        listed = check_candidates(candidates, n_rows)
        own = own_groups(groups, n_rows)
        check_whole("k", k, most=count_others(own), hint="smaller groups")
        found = self._nearest_listed(listed, np.arange(n_rows), own, k)
        short = np.flatnonzero(found.indices[:, -1] == NO_ROW)
        if len(short) and too_short == "refuse":
            n_found = np.count_nonzero(found.indices[short[0]] != NO_ROW)
            raise ValueError(
                f"Row {short[0]} has {n_found} candidates that count, and {len(short):,} rows have fewer than "
                f'k={k}; propose more, or use too_short="search".'
            )
        if len(short):
            found.indices[short], found.distances[short] = self._search_exactly(short, own, k)
        return found

    def recall(
        self,
        graph: Neighbors | ArrayLike,
        n_rows: int = 1000,
        groups: ArrayLike | None = None,
        *,
        random_state: int = 0,
    ) -> Recall:
        """How much of the exact neighbours a graph has, on some rows drawn at random.

        Parameters
        ----------
        graph : Neighbors, or array-like of int of shape (n_rows, n_neighbors)
            The graph, or its rows alone; -1 stands for none. A row at the distance of the last exact neighbour
            counts as one, whichever of equal rows the exact search would list.
        n_rows : int, default=1000
            How many rows to search for exactly; all, if there are no more.
        groups : array-like of int of shape (n_rows,) or None, default=None
            Group of each row, as in `graph`.
        random_state : int, default=0
            Seed of the draw.

        Returns
        -------
        Recall
            The share and its standard error. Where nothing is missed, the error is that of one neighbour missed:
            it is 0 only where all rows were looked at.
        """
        check_whole("n_rows", n_rows)
        total = self.rows.n_rows
        listed = check_candidates(graph.indices if isinstance(graph, Neighbors) else graph, total)
        own, k = own_groups(groups, total), listed.shape[1]
        check_whole("the graph's number of neighbours", k, most=count_others(own))
        n_drawn = min(n_rows, total)
        drawn = np.sort(np.random.default_rng(random_state).choice(total, n_drawn, replace=False))
        found = self._nearest_listed(listed, drawn, own, k).distances
        _, exact = self._search_exactly(drawn, own, k)
        shares = np.mean(found <= exact[:, -1:], axis=1)
        left = np.sqrt((1 - n_drawn / total) / n_drawn)  # nothing is left to chance where all rows are drawn
        deviation = max(np.std(shares), 1 / (k * np.sqrt(n_drawn)))
        return Recall(float(shares.mean()), float(left * deviation), n_drawn)

    def _nearest_listed(
        self, listed: NDArray[np.integer], which: NDArray[np.integer], own: NDArray[np.int32], k: int
    ) -> Neighbors:
        """The k nearest of the rows listed for some rows; where there are fewer, ``NO_ROW`` at infinity."""
        refuse_tensor(self.rows.X)
        rows, lists = self.rows, Lists.empty(len(which), k)
        threads = count_useful_threads(rows.n_jobs, listed.shape[1] * len(which) * rows.n_features)
        threads = threads if rows.stay else 1  # each would read rows into memory
        n_bytes = threads * (rows.query_bytes + 32 * listed.shape[1])
        pieces = list(cut(len(which), rows.fitting(1 / 4, n_bytes, QUERIES_PER_PIECE)))

        def measure(piece: slice) -> None:
            numbers = which[piece]
            queries = rows.queries(rows.source.take(numbers), own[numbers], piece.start)
            proposed = once_each(listed[numbers], numbers, rows.n_rows)
            found = lists[piece]
            rows.keep_nearest(proposed, queries, own, found.indices, found.sums)
            found.sums[:] = rows.to_distances(found.sums, queries.units)

        with progress_bar("Measuring candidates", len(pieces), rows.verbose) as advance:
            map_in_threads(measure, pieces, threads, advance)
        return Neighbors(lists.indices, lists.sums)

    def _search_exactly(
        self, which: NDArray[np.integer], own: NDArray[np.int32], k: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        search = self._backend if self._backend.exact else ExactSearch(self.rows)
        return search.search(self.rows.source.only(which), k, own, own[which])


def refuse_tensor(X: Any) -> None:
    """Listed rows are measured by kernels of the CPU."""
    if is_tensor(X):
        raise ValueError("Listed rows of a tensor are not measured; search in an array, such as tensor.cpu().")


def check_candidates(candidates: ArrayLike, n_rows: int) -> NDArray[np.integer]:
    """A matrix of whole numbers, a list for each row; their range is looked at as they are used."""
    listed = np.asanyarray(candidates)  # a map stays one
    if listed.ndim != 2 or len(listed) != n_rows or not listed.shape[1] or listed.dtype.kind not in "iu":
        raise ValueError(
            f"Candidates must be whole numbers of shape ({n_rows}, number of candidates), a list for each row, "
            f"not {listed.dtype} of shape {listed.shape}."
        )
    return listed


def once_each(listed: NDArray[np.integer], numbers: NDArray[np.integer], n_rows: int) -> NDArray[np.int64]:
    """Sorted lists with -1 for what has been listed before."""
    outside = (listed >= n_rows) | (listed < -1)
    if outside.any():
        line, place = np.argwhere(outside)[0]
        raise ValueError(
            f"Row {listed[line, place]} is proposed for row {numbers[line]}, and there are {n_rows}, numbered "
            "from 0; use -1 for none."
        )
    proposed = np.sort(listed.astype(np.int64), axis=1)
    proposed[:, 1:][proposed[:, 1:] == proposed[:, :-1]] = -1
    return proposed
