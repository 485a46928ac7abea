"""Nearest neighbours: exact and approximate search, the k-NN graph and its transpose."""

from nearboost.neighbors.exact import METRICS
from nearboost.neighbors.graph import as_csr, check_graph, transpose
from nearboost.neighbors.record import Neighbors
from nearboost.neighbors.search import METHODS, NeighborSearch

__all__ = ["METHODS", "METRICS", "NeighborSearch", "Neighbors", "as_csr", "check_graph", "transpose"]
