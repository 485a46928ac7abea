"""Cells for single-cell tools: the h5ad file of AnnData, written with h5py alone."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.disk import whole_file


def write_h5ad(
    path: Path, features: NDArray[np.float32], columns: Mapping[str, Sequence[Any]], names: Sequence[str]
) -> None:
    """Write a matrix of cells with what is known of each.

    Parameters
    ----------
    path : Path
        File to write, as a whole.
    features : ndarray of float32 of shape (n_cells, n_numbers)
        Descriptors, which become X.
    columns : mapping
        A column for each thing known of a cell, which become obs.
    names : sequence of str
        A name for each number, which become var.
    """
    try:
        import h5py
    except ImportError as error:
        raise ImportError('h5ad files need one more package: pip install "nearboost[h5ad]"') from error
    cells = [f"{i}-{o}" for i, o in zip(columns["ImageNumber"], columns["ObjectNumber"], strict=True)]
    with whole_file(path) as made, h5py.File(made, "w", track_order=False) as file:
        file.attrs.update({"encoding-type": "anndata", "encoding-version": "0.1.0"})
        matrix = file.create_dataset("X", data=np.asarray(features, dtype=np.float32))
        matrix.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
        _frame(file, "obs", cells, columns, h5py)
        _frame(file, "var", names, {}, h5py)


def _frame(file: Any, name: str, index: Sequence[str], columns: Mapping[str, Sequence[Any]], h5py: Any) -> None:
    """A data frame as AnnData 0.2.0 lays it out; slashes would be groups of HDF5."""
    group = file.create_group(name)
    order = np.array([column.replace("/", "_") for column in columns], dtype=h5py.string_dtype())
    group.attrs.update({"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index"})
    group.attrs.create("column-order", order)
    for column, values in {"_index": index, **columns}.items():
        numbers = np.asarray(values)
        texts = numbers.dtype.kind not in "biuf"
        data = np.array([str(v) for v in values], dtype=h5py.string_dtype()) if texts else numbers
        made = group.create_dataset(column.replace("/", "_"), data=data)
        kind = "string-array" if texts else "array"
        made.attrs.update({"encoding-type": kind, "encoding-version": "0.2.0"})
