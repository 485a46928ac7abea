"""Rows of numbers: .npy files with labels beside them, .npz and .mat files, Parquet and CSV tables."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.datasets.arrays import check_finite, first_line, load_array, load_arrays
from nearboost.datasets.csv_rows import read_csv_rows
from nearboost.datasets.dataset import DataError, Dataset, as_labels
from nearboost.datasets.files import VECTOR_ENDINGS, file_in
from nearboost.datasets.mat import read_mat
from nearboost.datasets.opened import OpenedRows
from nearboost.datasets.parquet import ParquetRows
from nearboost.datasets.tables import FILE_COLUMNS, LABEL_COLUMNS, LabelTable, read_csv, read_rows

ROW_FILES, LABEL_FILES = ("X.npy",), ("y.npy", "labels.npy", "labels.csv", "y.csv")
ROW_NAMES, LABEL_NAMES = ("x", "data", "features"), ("y", "labels", "label", "target")
MOST_LABEL = 2**53  # beyond, floats skip whole numbers
PARTS = ("x_train", "y_train", "x_test", "y_test")
EXPECTED_ARRAYS = "X and y, or X_train, y_train, X_test and y_test"


def read_vectors(path: str | os.PathLike[str]) -> Dataset:
    """Rows of a folder with X.npy, of that file itself, or of an .npz, .mat, .parquet or .csv file."""
    place = Path(path)
    if place.is_dir():
        file = file_in(place, *ROW_FILES)
        if file is None:
            raise DataError(f"{place} has no X.npy; expected X.npy with y.npy or labels.csv beside it.")
        return _read_npy(file, place.resolve().name)
    if not place.is_file():
        raise DataError(f"{place} does not exist; give a folder of images, or a file of rows with its labels.")
    reads = (_read_npy, _read_npz, _read_mat, _read_parquet, _read_csv)
    readers = dict(zip(VECTOR_ENDINGS, reads, strict=True))
    reader = readers.get(place.suffix.lower())
    if reader is None:
        raise DataError(f"{place} is of an unknown kind; expected {', '.join(readers)} or a folder of images.")
    return reader(place, place.stem)


def _read_npy(file: Path, name: str) -> Dataset:
    rows = load_array(file)
    beside = file_in(file.parent, *LABEL_FILES)
    if beside is None:
        raise DataError(f"{file} has no labels; expected {' or '.join(LABEL_FILES)} in {file.parent}.")
    if beside.suffix.lower() == ".npy":
        return vector_dataset(file, name, rows, load_array(beside))
    table = _label_table(beside, len(rows))
    if len(table) != len(rows):
        raise DataError(f"{beside} has {len(table):,} labels for the {len(rows):,} rows of {file.name}.")
    return _with_table(file, name, rows, table)


class RowNames(Sequence[str]):
    """What so many rows without names are called: by number, counted from 0."""

    def __init__(self, n_rows: int) -> None:
        self._numbers = range(n_rows)

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, place: Any) -> Any:
        found = self._numbers[place]
        return f"row {found}" if isinstance(found, int) else [f"row {number}" for number in found]


def names_beside(file: Path, n_rows: int) -> Sequence[str]:
    """What rows without labels are called: as a table of names says where it fits, else by number.

    It is the one beside X.npy, or is in the Parquet file itself.
    """
    if file.suffix.lower() == ".parquet" and file.is_file():
        return ParquetRows(file).words(FILE_COLUMNS).column(FILE_COLUMNS) or RowNames(n_rows)
    beside = file_in(file.parent, "labels.csv") if file.name.lower() == "x.npy" else None
    try:
        named = _label_table(beside, n_rows).column(FILE_COLUMNS) if beside is not None else None
    except DataError:  # labels are not needed
        named = None
    return named if named is not None and len(named) == n_rows else RowNames(n_rows)


def _read_parquet(file: Path, name: str) -> Dataset:
    parquet = ParquetRows(file)
    opened = OpenedRows([parquet], name)
    return _with_table(file, name, np.asarray(opened), parquet.words(), opened.columns)


def _read_csv(file: Path, name: str) -> Dataset:
    found = read_csv_rows(file)
    return _with_table(file, name, found.numbers, found.words, found.columns)


def _with_table(
    file: Path, name: str, rows: NDArray[Any], table: LabelTable, columns: Sequence[str] | None = None
) -> Dataset:
    part, groups = table.part(), table.groups()
    named = table.column(FILE_COLUMNS)
    found = vector_dataset(file, name, rows, np.array(table.labels()), part=part, groups=groups, names=named)
    return replace(found, columns=columns)


def _label_table(file: Path, n_rows: int) -> LabelTable:
    """With named columns, or bare labels, one in a line."""
    lines = read_rows(file)
    is_bare = (
        bool(lines)
        and len(lines[0]) == 1
        and lines[0][0].strip().lower() not in LABEL_COLUMNS
        and len(lines) != n_rows + 1  # one more than rows: the first is the column's own name
    )
    return read_csv(file, ["label"] if is_bare else None)


def _read_npz(file: Path, name: str) -> Dataset:
    arrays = load_arrays(file)
    by_name = {key.lower(): values for key, values in arrays.items()}
    if set(PARTS) <= set(by_name):
        X, y, X_test, y_test = (by_name[key] for key in PARTS)
        return two_parts(file, name, X, y, X_test, y_test)
    rows = next((by_name[key] for key in ROW_NAMES if key in by_name), None)
    labels = next((by_name[key] for key in LABEL_NAMES if key in by_name), None)
    if rows is None or labels is None:
        raise DataError(f"{file} holds {', '.join(arrays) or 'nothing'}; expected {EXPECTED_ARRAYS}.")
    found = vector_dataset(file, name, rows, labels, groups=by_name.get("groups"))
    return found if "shape" not in by_name else found.with_image_shape(by_name["shape"].ravel().tolist())


def _read_mat(file: Path, name: str) -> Dataset:
    try:
        found = read_mat(file)
    except ValueError as error:
        raise DataError(str(error)) from error
    if found.X_test is None or found.y_test is None:
        return vector_dataset(file, name, found.X, found.y)
    return two_parts(file, name, found.X, found.y, found.X_test, found.y_test)


def two_parts(
    file: Path,
    name: str,
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    groups: Any = None,
    notes: tuple[str, ...] = (),
) -> Dataset:
    """Training rows and then test rows."""
    if X.shape[1:] != X_test.shape[1:]:
        raise DataError(f"{file} has training rows of shape {X.shape[1:]} and test rows of {X_test.shape[1:]}.")
    for which, some, their_labels in (("training", X, y), ("test", X_test, y_test)):
        if len(some) != len(their_labels):
            raise DataError(f"{file} has {len(their_labels):,} labels for {len(some):,} {which} rows.")
    rows, labels = np.concatenate([X, X_test]), np.concatenate([y, y_test])
    part = np.repeat(["train", "test"], [len(X), len(X_test)])
    return vector_dataset(file, name, rows, labels, part=part, groups=groups, notes=notes)


def vector_dataset(
    file: Path,
    name: str,
    rows: Any,
    labels: Any,
    *,
    part: Any = None,
    groups: Any = None,
    names: list[str] | None = None,
    notes: tuple[str, ...] = (),
) -> Dataset:
    """A data set of rows; images become rows of their pixels, and labels become text."""
    if rows.ndim < 2 or rows.dtype.kind not in "uif":
        raise DataError(f"{file} has rows of shape {rows.shape} and type {rows.dtype}; expected numbers, n x d.")
    if len(rows) != len(labels):
        raise DataError(
            f"{file} has {len(rows):,} rows for {len(labels):,} labels; one label for each row is needed."
        )
    if groups is not None and np.shape(groups) != (len(rows),):
        raise DataError(
            f"{file} has {len(rows):,} rows for groups of shape {np.shape(groups)}; expected one per row."
        )
    if not rows.size:
        raise DataError(f"{file} has rows of shape {rows.shape}; expected some.")
    shape = rows.shape[1:] if rows.ndim == 3 or (rows.ndim == 4 and rows.shape[3] in (1, 3)) else None
    rows = rows.reshape(len(rows), -1)
    check_finite(file, rows)
    array, classes = _as_classes(file, np.asarray(labels))
    return Dataset(
        name=name,
        kind="vectors",
        items=rows,
        labels=array,
        classes=classes,
        names=names or [f"row {i}" for i in range(len(rows))],
        part=None if part is None else np.asarray(part, dtype=str),
        groups=None if groups is None else np.asarray(groups).astype(str),
        notes=notes,
        image_shape=shape,
    )


def _as_classes(file: Path, labels: NDArray[Any]) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Names; or 0 and 1 for each class, where labels have two dimensions."""
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim == 2:
        if not np.isin(labels, (0, 1)).all():
            raise DataError(
                f"{file} has labels of shape {labels.shape} that are not all 0 or 1; expected one per row."
            )
        return labels.astype(np.int8), tuple(str(i) for i in range(labels.shape[1]))
    if labels.ndim != 1 or labels.dtype.kind not in "uifbUS":
        raise DataError(
            f"{file} has labels of shape {labels.shape} and type {labels.dtype}; expected one per row."
        )
    if labels.dtype.kind == "f":
        if not (np.array_equal(labels, np.rint(labels)) and (np.abs(labels) < MOST_LABEL).all()):  # NaN as well
            raise DataError(
                f"{file} has labels that are not whole numbers; expected class numbers, or names: save those as "
                "text, y.astype(str)."
            )
        labels = labels.astype(np.int64)
    try:
        return as_labels(np.char.decode(labels, "utf-8") if labels.dtype.kind == "S" else labels)
    except (UnicodeError, SystemError) as error:  # the latter where bytes are no letters at all
        raise DataError(f"{file} has labels that are not text ({first_line(error)}); expected UTF-8.") from error
