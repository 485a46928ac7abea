"""Data sets as files that people have: one reader for each layout."""

from nearboost.datasets.mat import MatRows, read_mat

__all__ = ["MatRows", "read_mat"]
