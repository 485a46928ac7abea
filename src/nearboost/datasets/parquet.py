"""Tables of Arrow: a label column, and numbers in the other columns or in columns of lists."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.tables import needs_parquet
from nearboost.datasets.arrays import first_line
from nearboost.datasets.dataset import DataError
from nearboost.datasets.tables import FILE_COLUMNS, GROUP_COLUMNS, LABEL_COLUMNS, PART_COLUMNS, LabelTable

READ_AHEAD = 2**20  # bytes of each column
WORDS = (*LABEL_COLUMNS, *PART_COLUMNS, *GROUP_COLUMNS, *FILE_COLUMNS)


class ParquetRows:
    """The numbers of one Parquet file, read some rows at a time; see `nearboost.datasets.opened.Shard`.

    Parameters
    ----------
    file : its path
    columns : those to take; None takes all but labels, parts, groups and names of files
    """

    def __init__(self, file: Path, columns: Sequence[str] | None = None) -> None:
        self.name = str(file)
        with self._open() as parquet:
            self.columns = number_columns(self.name, parquet.schema_arrow.names, columns)
            self.n_rows = parquet.metadata.num_rows
            schema = parquet.schema_arrow
            self.dtype = number_type(self.name, [schema.field(name) for name in self.columns])
        self.n_features = 0  # not known yet
        self.n_features = next((rows.shape[1] for rows in self.batches(1)), 0)

    def batches(self, size: int) -> Iterator[NDArray[Any]]:
        """All rows in order, at most so many at a time, as numbers of ``dtype``."""
        start = 0
        with self._open() as parquet:
            for batch in parquet.iter_batches(size, columns=self.columns):
                columns = [batch.column(name) for name in self.columns]
                yield joined(self.name, start, self.columns, columns, self.n_features)
                start += len(batch)

    def words(self, called: Collection[str] = WORDS) -> LabelTable:
        """The columns of labels, parts, groups and names as text, or only those ``called`` so."""
        with self._open() as parquet:
            names = [name for name in parquet.schema_arrow.names if name.lower() in called]
            read = parquet.read(columns=names)
        columns = {name.lower(): [_as_word(value) for value in read[name].to_pylist()] for name in names}
        return LabelTable(Path(self.name), columns)

    @contextmanager
    def _open(self) -> Iterator[Any]:
        pyarrow, parquet = needs_parquet()
        try:
            with parquet.ParquetFile(self.name, buffer_size=READ_AHEAD, pre_buffer=False) as opened:
                yield opened
        except (pyarrow.ArrowException, OSError, KeyError) as error:  # of a column that is gone
            raise DataError(f"{self.name} is not a readable Parquet file ({first_line(error)}).") from error


def _as_word(value: Any) -> str:
    """As text: whole numbers alike whatever type they have, and nothing for what is missing.

    >>> _as_word(2.0), _as_word(2), _as_word(0.5), _as_word(float("nan"))
    ('2', '2', '0.5', '')
    """
    if value is None or value != value:
        return ""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


class FragmentRows:
    """The numbers of a piece of an Arrow dataset, likewise; of Parquet, a whole group of rows is in memory."""

    def __init__(self, dataset: Any, fragment: Any, columns: Sequence[str] | None = None) -> None:
        self.name = str(getattr(fragment, "path", "The dataset"))
        self._schema, self._fragment = dataset.schema, fragment
        self.columns = number_columns(self.name, self._schema.names, columns)
        self.dtype = number_type(self.name, [self._schema.field(name) for name in self.columns])
        self.n_rows = fragment.count_rows()
        self.n_features = 0  # not known yet
        self.n_features = next((rows.shape[1] for rows in self.batches(1)), 0)

    def batches(self, size: int) -> Iterator[NDArray[Any]]:
        """All rows in order, at most so many at a time, as numbers of ``dtype``."""
        pyarrow, _ = needs_parquet()
        start = 0
        reading = {"columns": self.columns, "batch_readahead": 0, "fragment_readahead": 0, "use_threads": False}
        try:
            for batch in self._fragment.to_batches(self._schema, batch_size=size, **reading):
                columns = [batch.column(name) for name in self.columns]
                if len(batch):
                    yield joined(self.name, start, self.columns, columns, self.n_features)
                start += len(batch)
        except (pyarrow.ArrowException, OSError, KeyError) as error:  # of a column that is gone
            raise DataError(f"{self.name} cannot be read ({first_line(error)}).") from error


def number_columns(name: str, there: Sequence[str], wanted: Sequence[str] | None) -> list[str]:
    """The columns to take numbers from."""
    missing = sorted(set(wanted or ()) - set(there))
    if missing:
        raise DataError(f"{name} has no column {missing[0]!r}; its columns are {', '.join(there)}.")
    taken = list(wanted) if wanted is not None else [one for one in there if not is_word(one)]
    if not taken:
        raise DataError(f"{name} has no columns of numbers beside {', '.join(there)}.")
    twice = next((one for one in taken if list(there).count(one) > 1), None)
    if twice is not None:
        raise DataError(f"{name} has two columns called {twice!r}; give one of them another name.")
    return taken


def number_type(name: str, fields: Sequence[Any]) -> np.dtype[Any]:
    """The type of numbers that holds those of all columns."""
    from pyarrow import types

    found = []
    for field in fields:
        kind = innermost(field.type)
        if not (types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind)):
            raise DataError(
                f"{name} has {field.type} in the column {field.name!r}; expected numbers, or a column called "
                "label, part or group; rename it, encode it as 0 and 1 for each value, or drop it."
            )
        found.append(np.uint8 if types.is_boolean(kind) else kind.to_pandas_dtype())
    return np.result_type(*found)


def innermost(kind: Any) -> Any:
    """The type of the numbers in a column of numbers or of lists."""
    from pyarrow import BaseExtensionType

    while is_listed(kind) or isinstance(kind, BaseExtensionType):
        kind = kind.value_type if is_listed(kind) else kind.storage_type
    return kind


def is_listed(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def joined(file: str, start: int, names: Sequence[str], columns: Sequence[Any], n_features: int) -> NDArray[Any]:
    """Columns side by side as a matrix, whose first row is row ``start`` of the file and of the right length."""
    parts = [as_matrix(file, start, name, column) for name, column in zip(names, columns, strict=True)]
    rows = parts[0] if len(parts) == 1 else np.column_stack(parts)
    if n_features and rows.shape[1] != n_features:
        raise different_lengths(file, names[0], start, rows.shape[1], n_features)
    return rows


def as_matrix(file: str, start: int, name: str, column: Any, per_row: int = 1) -> NDArray[Any]:
    """A column of numbers, or of lists of one length, as a matrix; so many of its cells are of one row."""
    from pyarrow.compute import list_value_length as value_lengths

    while hasattr(column, "storage"):
        column = column.storage
    if column.null_count:
        row = start + int(np.argmax(column.is_null().to_numpy(zero_copy_only=False))) // per_row
        raise DataError(f"{file} holds no value in row {row} of the column {name!r}; fill it in, or drop the row.")
    if is_listed(column.type):
        lengths = value_lengths(column).to_numpy(zero_copy_only=False)
        odd = np.flatnonzero(lengths != lengths[0])
        if len(odd):
            row = start + int(odd[0]) // per_row
            raise different_lengths(file, name, row, int(lengths[odd[0]]), int(lengths[0]))
        inner, per_row = column.flatten(), per_row * max(1, int(lengths[0]))
        if inner.null_count:
            row = start + int(np.argmax(inner.is_null().to_numpy(zero_copy_only=False))) // per_row
            raise DataError(f"{file} holds a list with a gap in row {row} of the column {name!r}; fill it in.")
        return as_matrix(file, start, name, inner, per_row).reshape(len(column), -1)
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return (values.astype(np.uint8) if values.dtype == bool else values).reshape(-1, 1)


def different_lengths(file: str, name: str, row: int, found: int, expected: int) -> DataError:
    return DataError(
        f"{file} has lists of different lengths in {name!r}: {found:,} numbers in row {row}, {expected:,} before; "
        "expected one length."
    )


def is_word(name: str) -> bool:
    """Whether a column is no feature: labels, parts, groups, names of files."""
    return name.lower() in WORDS
