"""Tables as text and as files: comma-separated values, or Parquet."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nearboost.base.disk import check_target, whole_file, write_text
from nearboost.base.errors import UsageError

Columns = Mapping[str, Sequence[Any]]
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")  # of what spreadsheets run


def format_csv(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Lines of comma-separated values; numbers with all their digits, None as nothing.

    Texts that a spreadsheet would run as a formula get an apostrophe before them; `unescaped` takes it off.

    >>> format_csv(["name", "share"], [["a,b", 0.1], ["c", None], ["=1+1", -2]])
    'name,share\\n"a,b",0.1\\nc,\\n\\'=1+1,-2\\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
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


def format_columns(columns: Columns) -> str:
    """The same of columns by name."""
    return format_csv(columns, zip(*columns.values(), strict=True))


def check_table_name(path: Path, *, force: bool = True) -> None:
    """The ending says what to write; a mistake, and a package that is not there, are reported before any work."""
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise UsageError(f"{path} has no ending that says what to write; use .csv or .parquet.")
    if path.suffix.lower() == ".parquet":
        needs_parquet()
    check_target(path, force=force)


def write_table(path: Path, columns: Columns) -> None:
    """Write columns to a .csv or .parquet file, as a whole."""
    check_table_name(path)
    if path.suffix.lower() == ".csv":
        write_text(path, format_columns(columns))
        return
    pyarrow, parquet = needs_parquet()
    with whole_file(path) as made:
        parquet.write_table(pyarrow.table({name: list(values) for name, values in columns.items()}), made)


def needs_parquet() -> tuple[Any, Any]:
    """The package that reads and writes Parquet files, and its part for these."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError('Parquet files need one more package: pip install "nearboost[tables]"') from error
    return pyarrow, parquet
