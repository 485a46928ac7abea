"""The one way to ask for neighbours, whichever method finds them."""

from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearboost.base.device import check_one_device, is_device_name, is_tensor, open_device, place_tensor
from nearboost.base.disk import check_folder
from nearboost.base.errors import warn_caller
from nearboost.base.rows import RowSource, row_source
from nearboost.base.threads import count_threads
from nearboost.base.validation import check_choice, check_positive, check_whole, is_mapped
from nearboost.neighbors.approximate import HNSW
from nearboost.neighbors.candidates import CandidatesMixin, refuse_tensor
from nearboost.neighbors.exact import ExactSearch, Lists, read_queries
from nearboost.neighbors.gpu import GPUSearch
from nearboost.neighbors.graph import Neighbors
from nearboost.neighbors.groups import check_groups, count_others, number_alike, own_groups
from nearboost.neighbors.kept import block_size, find_into
from nearboost.neighbors.rows import MeasuredRows, TensorRows, as_rows
from nearboost.neighbors.ruler import METRICS, NO_ROW

SPARE_COLUMNS = 2  # one row in 4,000 loses more of 13 neighbours when 1% of the rows go


class SearchMethod(Protocol):
    """What a back end of `NeighborSearch` implements.

    Parameters
    ----------
    rows : MeasuredRows
        The rows to search. Missing libraries and devices are reported here.

    Attributes
    ----------
    metrics : tuple of str
        Metrics that it can search by.
    exact : bool
        Whether it finds the very rows that "exact" finds, to the last bit.
    """

    metrics: ClassVar[tuple[str, ...]]
    exact: ClassVar[bool]

    def __init__(self, rows: MeasuredRows) -> None:
        """Prepare to search these rows; missing libraries and devices are reported here."""

    def search(
        self, Q: RowSource, k: int, groups: NDArray[np.int32], query_groups: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The k nearest allowed rows of each query.

        A row is not allowed if its group is the query's. Distances are those of `MeasuredRows`; of equal ones, the
        lower index comes first.

        Parameters
        ----------
        Q : RowSource
            The queries, which may lie in a mapped file: to be taken some at a time, as float32 or float64.
        k : int
            Number of neighbours.
        groups : ndarray of int32, of shape (n_rows,) or (0,)
            Group of each row; empty if all queries may choose from all rows.
        query_groups : ndarray of int32, of shape (n_queries,)
            Group of each query; -1 may choose from all rows.

        Returns
        -------
        indices : ndarray of shape (n_queries, k), int32
            Rows, nearest first; ``NO_ROW`` where there are too few.
        distances : ndarray of shape (n_queries, k)
            Their distances; inf where there are too few.
        """


METHODS: dict[str, Any] = {"exact": ExactSearch, "hnsw": HNSW, "gpu": GPUSearch}


def find_method(name: str) -> Any:
    """The method of a name that `check_method` has passed."""
    return GPUSearch if is_device_name(name) else METHODS[name]


def check_method(parameter: str, name: Any, metric: str | None = None) -> None:
    """Raise an error unless ``name`` is a method, and one that can search by ``metric``, if that is given."""
    if not is_device_name(name):
        check_choice(parameter, name, METHODS)
    metrics = find_method(name).metrics
    if metric is not None and metric not in metrics:
        known = ", ".join(map(repr, metrics))
        raise ValueError(f"{parameter}={name!r} cannot search by metric={metric!r}; use one of {known}.")


def method_here(name: str) -> str:
    """The method of a fitted search: without its device "exact", which answers the same, and a warning."""
    if is_device_name(name):
        try:
            open_device(name)
        except (ImportError, ValueError) as error:
            warn_caller(f"Fitted with {name!r}, this searches by 'exact' here, with the same answers: {error}")
            return "exact"
    return name


class NeighborSearch(CandidatesMixin):
    """Nearest rows of a fixed set; ties in distance go to the lower index.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features), or RowSource
        The rows to search, dense and finite. A memory-mapped file is read where it is, in blocks, and refused once
        it was cut short. float16 rows stay as they are, and so do tensors of PyTorch on the device of a ``method``
        that works there: these are not copied.
    metric : {"l2", "cosine", "l1"}, default="l2"
        Distance between rows: Euclidean, 1 − cos, or Manhattan.
    method : {"exact", "hnsw", "gpu"}, default="exact"
        "hnsw" looks at a few promising rows only, through FAISS (an optional dependency), and may miss neighbours;
        the distances of those it finds are exact. "gpu", or "gpu:1" for the second, finds what "exact" finds,
        through PyTorch (an optional dependency); "torch:cpu" does so on its CPU tensors, slowly, for tests.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores. Results do not depend on it.
    verbose : int, default=0
        Shows a progress bar on standard error when above 0.
    copy : bool, default=True
        Copy rows that lie in memory, so that nobody can change them later. False saves that memory, n_rows x
        n_features numbers beside the float32 ones that an exact search makes; then leave ``X`` alone.
    memory : float or None, default=None
        Bytes to work in, beside rows that lie in memory and what is found; None means half of what is free. Where
        an exact search has not enough for float32 numbers of all rows, and for all rows of a mapped file, it makes
        them anew for each part of the queries. For "gpu" these are bytes of the device. Results do not depend on
        it.

    Examples
    --------
    >>> from nearboost import NeighborSearch
    >>> found = NeighborSearch([[0.0], [1.0], [4.0]]).search([[1.5]], 2)
    >>> found.indices, found.distances
    (array([[1, 0]], dtype=int32), array([[0.5, 1.5]]))
    """

    def __init__(
        self,
        X: ArrayLike | RowSource,
        metric: str = "l2",
        *,
        method: str = "exact",
        n_jobs: int | None = None,
        verbose: int = 0,
        copy: bool = True,
        memory: float | None = None,
    ) -> None:
        check_choice("metric", metric, METRICS)
        check_method("method", method, metric)
        check_positive("memory", memory, optional=True)
        count_threads(n_jobs)
        if isinstance(X, RowSource):
            X = X.in_any_order()
        X = place_tensor(X, method)
        rows = as_rows(X, method, n_jobs)
        if not len(rows):
            raise ValueError("There are no rows to search; give one at least.")
        if not rows.shape[1]:
            raise ValueError("The rows have no features to be measured by; give one at least.")
        self.rows: Any
        if is_tensor(rows):
            self.rows = TensorRows(rows, metric, verbose, memory)
        else:
            if copy and np.may_share_memory(rows, X) and not is_mapped(rows):
                rows = rows.copy()
            self.rows = MeasuredRows(rows, metric, n_jobs, verbose, memory)
        self.method = method
        _ = self._backend  # made now, not with the first query

    def __getstate__(self) -> dict[str, Any]:
        """Everything but what lies on a device."""
        left_out = "_backend" if is_device_name(self.method) else ""
        return {name: value for name, value in self.__dict__.items() if name != left_out}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, method=method_here(state["method"]))

    @cached_property
    def _backend(self) -> SearchMethod:
        """Rebuilt when a model is loaded from a file."""
        method = find_method(self.method)
        return GPUSearch(self.rows, self.method) if method is GPUSearch else method(self.rows)

    @property
    def share_proved(self) -> float:
        """Share of the lists of the last search that "gpu" proved with the rows it proposed first.

        More rows were measured for the others. NaN for other methods, and before the first search.
        """
        return self._backend.share_proved if isinstance(self._backend, GPUSearch) else float("nan")

    def search(
        self,
        Q: ArrayLike | RowSource,
        k: int,
        *,
        query_groups: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Neighbors:
        """The k nearest rows of each query.

        Parameters
        ----------
        Q : array-like of shape (n_queries, n_features), or RowSource
            The queries; those of a mapped file are read some at a time.
        k : int
            Number of neighbours.
        query_groups : array-like of int of shape (n_queries,) or None, default=None
            Group of each query: any integer from 0 on, or a negative one for none. No row is a neighbour of a
            query of its own group.
        groups : array-like of int of shape (n_rows,) or None, default=None
            Group of each searched row; given together with ``query_groups``.

        Returns
        -------
        Neighbors
            Indices and distances, nearest first.
        """
        check_whole("n_neighbors", k)
        rows: Any = Q if isinstance(Q, RowSource) else as_rows(Q, self.method)
        if is_tensor(rows):
            assert isinstance(self._backend, GPUSearch)
            check_one_device(self._backend.device, rows.device)
        queries, n_rows = row_source(rows), len(self.rows.X)
        self._check_features(queries)
        if k > n_rows:
            raise ValueError(f"n_neighbors={k} needs at least {k} rows to search; use {n_rows} or fewer.")
        if (groups is None) != (query_groups is None):
            raise ValueError("groups and query_groups belong together; give both or neither.")
        if groups is None or query_groups is None:
            return self._search(queries, k, np.empty(0, dtype=np.int32), np.full(len(queries), -1, np.int32))
        named = check_groups(groups, n_rows), check_groups(query_groups, len(queries))
        return self._search(queries, k, *number_alike(*named))

    def measure(self, Q: NDArray[Any], candidates: NDArray[np.integer]) -> Neighbors:
        """The distances of some rows listed for each query, nearest first.

        Parameters
        ----------
        Q : ndarray of shape (n_queries, n_features)
            The queries.
        candidates : ndarray of int of shape (n_queries, n_listed)
            Rows, each once in a list; -1 stands for none.

        Returns
        -------
        Neighbors
            Indices and distances; where there was none, row 0 at an infinite distance.
        """
        refuse_tensor(self.rows.X)
        given = row_source(as_rows(Q))
        self._check_features(given)
        if len(candidates) != len(given):
            raise ValueError(f"There are {len(candidates)} lists for {len(given)} queries; give one for each.")
        nobody = np.full(len(given), -1, dtype=np.int32)
        queries = read_queries(self.rows, given, slice(0, len(given)), nobody)
        found = Lists.empty(*candidates.shape)
        self.rows.keep_nearest(candidates, queries, np.empty(0, dtype=np.int32), found.indices, found.sums)
        distances = self.rows.to_distances(found.sums, queries.units)
        return Neighbors(np.where(found.indices == NO_ROW, 0, found.indices), distances)

    def graph(
        self,
        k: int,
        groups: ArrayLike | None = None,
        *,
        spare_columns: bool = False,
        into: str | PathLike[str] | None = None,
    ) -> Neighbors:
        """The k nearest other rows of each row; duplicates of a row count as others.

        Parameters
        ----------
        k : int
            Number of neighbours.
        groups : array-like of int of shape (n_rows,) or None, default=None
            Group of each row: any integer from 0 on, or a negative one for none. Rows of one group are not
            neighbours.
        spare_columns : bool, default=False
            Find a few neighbours more, as far as there are rows: with them a graph is repaired without a search
            when rows go. Those of "hnsw" cannot be repaired, and have none.
        into : str, path or None, default=None
            A folder, new or empty, that keeps what is found, block by block. After an interruption, of whatever
            kind, the same call goes on there; another data set, k, metric or grouping is refused.

        Returns
        -------
        Neighbors
            Indices and distances, nearest first.
        """
        check_whole("n_neighbors", k)
        n_rows = len(self.rows.X)
        if k >= n_rows:
            cure = f"use {n_rows - 1} or fewer" if n_rows > 1 else "give more rows"
            raise ValueError(f"n_neighbors={k} needs more than {n_rows} training samples; {cure}.")
        own = own_groups(groups, n_rows)
        if spare_columns and find_method(self.method).exact:
            k = max(k, min(k + SPARE_COLUMNS, count_others(own)))
        if into is None:
            return self._search(self.rows.source, k, own, own)
        check_folder(into)  # before all rows are read
        if count_others(own) < k:  # before anything is kept; of a part, rows would be numbered anew
            refuse_groups(k, int(np.argmax(np.bincount(own)[own])), count_others(own))

        def find(numbers: NDArray[np.integer]) -> Neighbors:
            return self._search(self.rows.source.only(numbers), k, own, own[numbers])

        method = "exact" if find_method(self.method).exact else self.method
        block = block_size(self.rows, self.method)
        return find_into(Path(into), find, self.rows, int(k), own, method, block)

    def _check_features(self, queries: RowSource) -> None:
        n_features = self.rows.n_features
        if queries.n_features != n_features:
            raise ValueError(
                f"The queries have {queries.n_features} features and the searched rows {n_features}; "
                "give queries of the same features."
            )

    def _search(
        self, Q: RowSource, k: int, groups: NDArray[np.int32], query_groups: NDArray[np.int32]
    ) -> Neighbors:
        indices, distances = self._backend.search(Q, k, groups, query_groups)
        short = np.flatnonzero(indices[:, -1] == NO_ROW)
        if short.size:
            refuse_groups(k, int(short[0]), int(np.count_nonzero(indices[short[0]] != NO_ROW)))
        if indices.min(initial=0) < 0 or indices.max(initial=0) >= len(self.rows.X):
            raise ValueError(f"method={self.method!r} found rows that there are not; its back end is broken.")
        return Neighbors(indices, distances)


def refuse_groups(k: int, row: int, n_others: int) -> None:
    """Say that a row has too few others to be its neighbours."""
    raise ValueError(
        f"n_neighbors={k} needs as many rows of other groups, but row {row} has only {n_others}; "
        f"use {f'{n_others} or fewer, or ' if n_others else ''}smaller groups."
    )
