"""The door to search: exact or approximate neighbours.

Nothing outside this package imports its modules. `NeighborSearch` finds the nearest rows and the k-NN graph by one
of ``METHODS``. `MeasuredRows` are the rows it searches: how they are measured, and float32 bounds of their
distances, which exact codes build on as well.
"""

from nearboost.neighbors.clustering import k_means, nearest_centers
from nearboost.neighbors.exact import (
    METRICS,
    ROUNDING,
    UNDERFLOW,
    MeasuredQueries,
    MeasuredRows,
    half_squares,
)
from nearboost.neighbors.graph import Neighbors, as_csr, check_graph, keep_rows, transpose
from nearboost.neighbors.repair import repair_graph
from nearboost.neighbors.search import METHODS, NeighborSearch, SearchMethod
from nearboost.neighbors.sizes import largest_values, powers_of_two

__all__ = [
    "METHODS",
    "METRICS",
    "ROUNDING",
    "UNDERFLOW",
    "MeasuredQueries",
    "MeasuredRows",
    "NeighborSearch",
    "Neighbors",
    "SearchMethod",
    "as_csr",
    "check_graph",
    "half_squares",
    "k_means",
    "keep_rows",
    "largest_values",
    "nearest_centers",
    "powers_of_two",
    "repair_graph",
    "transpose",
]
