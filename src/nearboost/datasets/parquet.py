"""Parquet tables: a label column, and numbers in the other columns or in one column of lists."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.datasets.dataset import DataError
from nearboost.datasets.tables import FILE_COLUMNS, GROUP_COLUMNS, LABEL_COLUMNS, PART_COLUMNS, LabelTable

MISSING = 'Parquet files need pyarrow; install it with pip install "nearboost[tables]".'


def read_parquet(file: Path) -> tuple[NDArray[Any], LabelTable]:
    """The rows, and the columns of labels, parts, groups and names as text."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise ImportError(MISSING) from error
    try:
        with ParquetFile(file, memory_map=True) as parquet:
            return _rows(file, parquet), _words(file, parquet)
    except (ArrowException, OSError) as error:
        raise DataError(f"{file} is not a readable Parquet file ({str(error).splitlines()[0]}).") from error


def _words(file: Path, parquet: Any) -> LabelTable:
    names = [name for name in parquet.schema_arrow.names if _is_word(name)]
    read = parquet.read(columns=names)
    columns = {name.lower(): ["" if v is None else str(v) for v in read[name].to_pylist()] for name in names}
    return LabelTable(file, columns)


def _rows(file: Path, parquet: Any) -> NDArray[Any]:
    """One group of rows after the other, so that the table is never in memory twice."""
    names = [name for name in parquet.schema_arrow.names if not _is_word(name)]
    if not names:
        raise DataError(f"{file} has no columns of numbers beside {', '.join(parquet.schema_arrow.names)}.")
    rows: NDArray[Any] | None = None
    start = 0
    for batch in parquet.iter_batches(columns=names):
        some = np.column_stack([_numbers(file, name, batch.column(i)) for i, name in enumerate(names)])
        if rows is None:
            rows = np.empty((parquet.metadata.num_rows, some.shape[1]), dtype=some.dtype)
        if some.shape[1] != rows.shape[1]:
            raise DataError(f"{file} has lists of different lengths in {names[0]!r}; expected one length.")
        if not np.can_cast(some.dtype, rows.dtype):  # whole numbers up to here, and now one is missing
            rows = rows.astype(some.dtype)
        rows[start : start + len(some)] = some
        start += len(some)
    if rows is None:
        raise DataError(f"{file} has no rows.")
    return rows


def _numbers(file: Path, name: str, column: Any) -> NDArray[Any]:
    """A column of numbers, or several where its cells are lists of one length."""
    from pyarrow import types
    from pyarrow.compute import list_value_length as value_lengths

    kind = column.type
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        if len(set(value_lengths(column).to_pylist())) > 1:
            raise DataError(f"{file} has lists of different lengths in {name!r}; expected one length.")
        return _numbers(file, name, column.flatten()).reshape(len(column), -1)
    if types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind):
        values = column.to_numpy(zero_copy_only=False)
        return values.astype(np.uint8) if values.dtype == bool else values
    raise DataError(
        f"{file} has {kind} in the column {name!r}; expected numbers, or label, part or group: drop it."
    )


def _is_word(name: str) -> bool:
    return name.lower() in (*LABEL_COLUMNS, *PART_COLUMNS, *GROUP_COLUMNS, *FILE_COLUMNS)
