"""Data sets as people have them: one reader per layout."""

from nearboost.datasets.dataset import DataError, Dataset
from nearboost.datasets.layouts import open_dataset
from nearboost.datasets.mat import MatRows, read_mat

__all__ = ["DataError", "Dataset", "MatRows", "open_dataset", "read_mat"]
