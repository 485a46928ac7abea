"""Data sets as files that people have: one reader for each layout."""

from nearboost.datasets.dataset import DataError, Dataset
from nearboost.datasets.layouts import open_dataset
from nearboost.datasets.mat import MatRows, read_mat

__all__ = ["DataError", "Dataset", "MatRows", "open_dataset", "read_mat"]
