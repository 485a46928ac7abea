"""Tables as text and as files: comma-separated values, or Parquet."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nearboost.base.disk import check_target, whole_file
from nearboost.base.errors import UsageError

Columns = Mapping[str, Sequence[Any]]
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")  # of what spreadsheets run


def format_csv(header: Iterable[str] | None, rows: Iterable[Iterable[Any]]) -> str:
    """Lines of comma-separated values; numbers with all their digits, None as nothing. None makes no header.

    Texts that a spreadsheet would run as a formula get an apostrophe before them; `unescaped` takes it off.

    >>> format_csv(["name", "share"], [["a,b", 0.1], ["c", None], ["=1+1", -2]])
    'name,share\\n"a,b",0.1\\nc,\\n\\'=1+1,-2\\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if header is not None:
        writer.writerow([escaped(name) for name in header])
    writer.writerows([escaped(value) for value in row] for row in rows)
    return text.getvalue()


def escaped(value: Any) -> Any:
    """A cell of a table: texts that begin as formulas do, or as escaped texts do, get an apostrophe.

    >>> escaped("@SUM(A1)"), escaped("a-b"), escaped(-1.5)
    ("'@SUM(A1)", 'a-b', -1.5)
    """
    if isinstance(value, str) and value.lstrip("'").startswith(FORMULA_STARTS):
        return f"'{value}"
    return value


def unescaped(text: str) -> str:
    """The text that `escaped` made a cell of.

    >>> unescaped("'=1+1"), unescaped("'quoted'")
    ('=1+1', "'quoted'")
    """
    return text[1:] if text.startswith("'") and text.lstrip("'").startswith(FORMULA_STARTS) else text


def format_columns(columns: Columns, *, named: bool = True) -> str:
    """The same of columns by name."""
    return format_csv(columns if named else None, zip(*columns.values(), strict=True))


def check_table_name(path: Path, *, force: bool = True, endings: tuple[str, ...] = (".csv", ".parquet")) -> None:
    """The ending says what to write; a mistake, and a package that is not there, are reported before any work."""
    if path.suffix.lower() not in endings:
        known = f"{', '.join(endings[:-1])} or {endings[-1]}"
        raise UsageError(f"{path} has no ending that says what to write; use {known}.")
    if path.suffix.lower() == ".parquet":
        needs_parquet()
    check_target(path, force=force)


def write_table(path: Path, columns: Columns) -> None:
    """Write columns to a .csv or .parquet file, as a whole."""
    with table_file(path) as add:
        add(columns)


@contextmanager
def table_file(path: Path) -> Iterator[Callable[[Columns], None]]:
    """Adds lines to a .csv or .parquet file, some after the other, which is there once it is whole."""
    check_table_name(path)
    with whole_file(path) as made, (_csv_file if path.suffix.lower() == ".csv" else _parquet_file)(made) as add:
        yield add


@contextmanager
def _csv_file(made: Path) -> Iterator[Callable[[Columns], None]]:
    with open(made, "w", encoding="utf-8", errors="replace") as file:  # what is no UTF-8 in names becomes "?"

        def add(columns: Columns) -> None:
            file.write(format_columns(columns, named=not file.tell()))

        yield add


@contextmanager
def _parquet_file(made: Path) -> Iterator[Callable[[Columns], None]]:
    pyarrow, parquet = needs_parquet()
    opened: list[Any] = []  # from the first lines on, which tell the types

    def add(columns: Columns) -> None:
        values = {name: list(column) for name, column in columns.items()}
        lines = pyarrow.table(values, schema=opened[0].schema if opened else None)
        if not opened:
            opened.append(parquet.ParquetWriter(made, lines.schema))
        opened[0].write_table(lines)

    try:
        yield add
    finally:
        for writer in opened:
            writer.close()


def needs_parquet() -> tuple[Any, Any]:
    """The package that reads and writes Parquet files, and its part for these."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError('Parquet files need one more package: pip install "nearboost[tables]"') from error
    return pyarrow, parquet
