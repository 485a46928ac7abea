"""Data sets as people have them: one reader per layout."""

from nearboost.datasets.dataset import DataError, Dataset
from nearboost.datasets.layouts import open_dataset
from nearboost.datasets.mat import MatRows, read_mat
from nearboost.datasets.opened import OpenedRows, open_rows

__all__ = ["DataError", "Dataset", "MatRows", "OpenedRows", "open_dataset", "open_rows", "read_mat"]
