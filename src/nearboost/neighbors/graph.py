"""Who is near whom: the answer of a search, as compressed sparse rows, transposed, or brought along by users."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearboost.base.maps import in_memory
from nearboost.base.validation import is_mapped


@dataclass(frozen=True)
class Neighbors:
    """Who is near whom: nearest first, ties in distance to the lower index.

    Attributes
    ----------
    indices : ndarray of shape (n_queries, n_neighbors), int32
        Rows of the searched set.
    distances : ndarray of shape (n_queries, n_neighbors), float64
        Euclidean ("l2"), Manhattan ("l1") or 1 − cos ("cosine").

    Examples
    --------
    >>> import numpy as np
    >>> from nearboost import NeighborSearch
    >>> found = NeighborSearch(np.array([[0.0], [1.0], [4.0]])).graph(1)
    >>> found.indices.ravel().tolist(), found.distances.ravel().tolist()
    ([1, 0, 1], [1.0, 1.0, 3.0])
    """

    indices: NDArray[np.int32]
    distances: NDArray[np.float64]

    @property
    def n_neighbors(self) -> int:
        """Number of neighbours per query."""
        return self.indices.shape[1]

    def first(self, k: int) -> "Neighbors":
        """The k nearest, as views.

        Parameters
        ----------
        k : int
            Number of neighbours to keep.

        Returns
        -------
        Neighbors
            The first k columns.
        """
        if not 1 <= k <= self.n_neighbors:
            raise ValueError(f"k={k} is not between 1 and the {self.n_neighbors} neighbours available.")
        return Neighbors(self.indices[:, :k], self.distances[:, :k])


def as_csr(neighbors: Neighbors) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """The k-NN graph as compressed sparse rows.

    Parameters
    ----------
    neighbors : Neighbors
        The graph.

    Returns
    -------
    indptr : ndarray of shape (n_rows + 1,)
        Row pointers, int32 unless there are too many edges.
    indices : ndarray of shape (n_edges,), int32
        Columns.
    """
    n_rows, k = neighbors.indices.shape
    indptr = np.arange(n_rows + 1, dtype=np.int64) * k
    if indptr[-1] <= np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)
    return indptr, np.ascontiguousarray(neighbors.indices).ravel()


def transpose(
    indptr: NDArray[Any], indices: NDArray[np.int32], weights: NDArray[np.float64], n_columns: int
) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[np.float64]]:
    """The transpose of a sparse matrix, its columns in increasing order within each row.

    Parameters
    ----------
    indptr : ndarray of shape (n_rows + 1,)
        Row pointers.
    indices : ndarray of shape (n_entries,), int32
        Columns.
    weights : ndarray of shape (n_entries,)
        Values.
    n_columns : int
        Number of columns of the matrix.

    Returns
    -------
    tuple of three ndarrays
        Row pointers, columns and values of the transpose.
    """
    from nearboost.kernels import search as kernels

    new_indptr = np.zeros(n_columns + 1, dtype=np.int64)
    new_indices = np.empty(len(indices), dtype=np.int32)
    new_weights = np.empty(len(indices))
    kernels.transpose_csr(
        np.ascontiguousarray(indptr, dtype=np.int64),
        np.ascontiguousarray(indices, dtype=np.int32),
        np.ascontiguousarray(weights, dtype=np.float64),
        new_indptr,
        new_indices,
        new_weights,
    )
    return new_indptr.astype(indptr.dtype, copy=False), new_indices, new_weights


def check_graph(graph: tuple[ArrayLike, ArrayLike] | Neighbors, n_rows: int, k: int) -> Neighbors:
    """Validate a precomputed graph over the training rows.

    Parameters
    ----------
    graph : Neighbors or tuple (indices, distances)
        The graph; lists are sorted by distance and hold no row's own number.
    n_rows : int
        Number of training rows.
    k : int
        Least number of neighbours per row.

    Returns
    -------
    Neighbors
        A copy, with int32 indices and float64 distances: what was checked stays as it was.
    """
    try:
        given_indices, given_distances = (
            (graph.indices, graph.distances) if isinstance(graph, Neighbors) else graph
        )
    except (TypeError, ValueError):
        raise ValueError("A precomputed graph is a pair (indices, distances) of arrays.") from None
    indices, distances = (
        in_memory(one) if is_mapped(one) else np.asarray(one) for one in (given_indices, given_distances)
    )
    if indices.shape != distances.shape or indices.ndim != 2:
        raise ValueError(
            "The graph's indices and distances must be matrices of one shape, "
            f"not {indices.shape} and {distances.shape}."
        )
    if len(indices) != n_rows:
        raise ValueError(f"The graph has {len(indices)} rows for {n_rows} training samples; give one row each.")
    if indices.shape[1] < k:
        raise ValueError(f"n_neighbors={k} needs a graph of at least {k} columns; it has {indices.shape[1]}.")
    if indices.dtype.kind not in "iu":
        raise ValueError(f"The graph's indices must be integers, not {indices.dtype}.")
    if distances.dtype.kind not in "fiu":
        raise ValueError(f"The graph's distances must be real numbers, not {distances.dtype}.")
    distances = distances.astype(np.float64)
    refuse_rows((indices < 0) | (indices >= n_rows), f"lists an index outside 0 to {n_rows - 1}")
    refuse_rows(indices == np.arange(n_rows)[:, np.newaxis], "lists itself; leave each row out of its own list")
    ordered = np.sort(indices, axis=1)
    refuse_rows(ordered[:, 1:] == ordered[:, :-1], "lists a neighbour twice")
    refuse_rows(
        ~((distances >= 0) & (distances < np.inf)), "has a distance that is not a finite number of at least 0"
    )
    refuse_rows(distances[:, 1:] < distances[:, :-1], "is not sorted; list the nearest first")
    return Neighbors(indices.astype(np.int32), distances)


def refuse_rows(wrong: NDArray[np.bool_], what: str) -> None:
    """Name the first row of a graph with something wrong in it."""
    rows = wrong.any(axis=1)
    if rows.any():
        raise ValueError(f"Row {int(np.argmax(rows))} of the graph {what}.")


def keep_rows(neighbors: Neighbors, kept: NDArray[np.int64]) -> Neighbors:
    """The graph among some of its rows: the nearest kept neighbours of each, as many as every row has."""
    new_index = np.full(len(neighbors.indices), -1)
    new_index[kept] = np.arange(len(kept))
    indices, distances = new_index[neighbors.indices[kept]], neighbors.distances[kept]
    k = int((indices >= 0).sum(axis=1).min())
    first = np.argsort(indices < 0, axis=1, kind="stable")[:, :k]
    return Neighbors(
        np.take_along_axis(indices, first, axis=1).astype(np.int32),
        np.take_along_axis(distances, first, axis=1),
    )
