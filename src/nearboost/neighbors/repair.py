"""A k-NN graph after rows have gone or come: what a new search would find, for a fraction of its price."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearboost.base.rows import row_source
from nearboost.neighbors.exact import ExactSearch
from nearboost.neighbors.graph import Neighbors
from nearboost.neighbors.groups import count_others, own_groups
from nearboost.neighbors.ruler import powers_of_two
from nearboost.neighbors.search import NeighborSearch, find_method

FEW = 0.01  # of the rows: so many may be searched for the sake of a spare column


def repair_graph(
    graph: Neighbors,
    X: NDArray[Any],
    kept: NDArray[np.integer],
    search: NeighborSearch,
    k: int,
    groups: ArrayLike | None = None,
) -> Neighbors:
    """The graph over rows that stay and new ones, from that of before; `NeighborSearch.graph` gives the same bits.

    Rows are searched anew where too few of their neighbours stay; to the lists of others new rows are offered.
    What HNSW found cannot be repaired, because its lists depend on all rows; then all are searched.

    Parameters
    ----------
    graph : Neighbors
        What `NeighborSearch.graph` found by the same metric and method; as many columns as there are.
    X : ndarray of shape (n_rows_before, n_features)
        The rows that it was found among.
    kept : ndarray of int
        Numbers of those rows that stay, rising.
    search : NeighborSearch
        Over the rows that stay, followed by the new ones.
    k : int
        Number of neighbours needed.
    groups : array-like of int of shape (n_rows,) or None, default=None
        Group of each row of ``search``, or -1 for none; rows that stay are grouped as before.

    Returns
    -------
    Neighbors
        k columns, and more where nearly all rows have them.
    """
    rows, n_stay = search.rows, len(kept)
    own = own_groups(groups, len(rows.X))
    most = min(graph.n_neighbors, count_others(own))
    # Rows too large or too small to be squared are measured in units of the largest, which may have gone or come.
    same_units = rows.metric == "cosine" or powers_of_two(float(max(-X.min(), X.max()))) == rows.unit
    if not find_method(search.method).exact or most < k or not same_units:
        return search.graph(k, groups, spare_columns=True)
    indices, distances, lengths = without_gone(graph, kept)
    width = choose_width(lengths, k, most)
    whole, exact, source = lengths >= width, ExactSearch(rows), row_source(rows.X)
    found = np.empty((len(own), width), dtype=np.int32), np.empty((len(own), width))
    found[0][:n_stay], found[1][:n_stay] = indices[:, :width], distances[:, :width]
    if n_stay < len(own) and whole.any():
        place = np.flatnonzero(whole)
        known = np.ascontiguousarray(found[0][place])
        found[0][place], found[1][place] = exact.search_on(
            source.only(place), width, own, own[place], known, n_stay
        )
    anew = np.append(np.flatnonzero(~whole), np.arange(n_stay, len(own)))
    if len(anew):
        found[0][anew], found[1][anew] = exact.search(source.only(anew), width, own, own[anew])
    return Neighbors(*found)


def without_gone(
    graph: Neighbors, kept: NDArray[np.integer]
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.integer]]:
    """Lists of the rows that stay, by their new numbers, those that stay first; and how many do.

    What is left of a list is the beginning of the new one: dropping rows changes neither the order of the others
    nor what lies beyond them.
    """
    number = np.full(len(graph.indices), -1, dtype=np.int32)
    number[kept] = np.arange(len(kept))
    indices, distances = number[graph.indices[kept]], graph.distances[kept]
    gone = indices < 0
    lengths = graph.n_neighbors - gone.sum(axis=1)
    touched = np.flatnonzero(lengths < graph.n_neighbors)
    order = np.argsort(gone[touched], axis=1, kind="stable")
    for values in (indices, distances):
        values[touched] = np.take_along_axis(values[touched], order, axis=1)
    return indices, distances, lengths


def choose_width(lengths: NDArray[np.integer], k: int, most: int) -> int:
    """The most columns for which few rows are searched, but no fewer than k."""
    spare = [width for width in range(k + 1, most + 1) if (lengths < width).sum() <= FEW * len(lengths)]
    return max(spare, default=k)
