"""The door to search: exact or approximate neighbours.

Nothing outside this package imports its modules. `NeighborSearch` finds the nearest rows and the k-NN graph by one
of ``METHODS``. `MeasuredRows` are the rows it searches: how they are measured, and float32 bounds of their
distances, which exact codes build on as well.
"""

from nearboost.neighbors.candidates import Recall
from nearboost.neighbors.clustering import Clusters, cluster_classes, cluster_means, k_means, nearest_centers
from nearboost.neighbors.graph import Neighbors, as_csr, check_graph, keep_rows, transpose
from nearboost.neighbors.groups import count_others, own_groups
from nearboost.neighbors.repair import repair_graph
from nearboost.neighbors.rows import MeasuredRows, as_rows
from nearboost.neighbors.ruler import (
    METRICS,
    ROUNDING,
    UNDERFLOW,
    MeasuredQueries,
    half_squares,
    largest_values,
    powers_of_two,
    row_norms,
)
from nearboost.neighbors.search import (
    METHODS,
    NeighborSearch,
    SearchMethod,
    check_method,
    find_method,
    method_here,
)

__all__ = [
    "METHODS",
    "METRICS",
    "ROUNDING",
    "UNDERFLOW",
    "Clusters",
    "MeasuredQueries",
    "MeasuredRows",
    "NeighborSearch",
    "Neighbors",
    "Recall",
    "SearchMethod",
    "as_csr",
    "as_rows",
    "check_graph",
    "check_method",
    "cluster_classes",
    "cluster_means",
    "count_others",
    "find_method",
    "half_squares",
    "k_means",
    "keep_rows",
    "largest_values",
    "method_here",
    "nearest_centers",
    "own_groups",
    "powers_of_two",
    "repair_graph",
    "row_norms",
    "transpose",
]
