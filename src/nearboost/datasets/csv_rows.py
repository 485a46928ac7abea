"""Tables as .csv files: names of columns in the first line, then numbers, and words such as labels."""

from array import array
from collections.abc import Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearboost.datasets.dataset import DataError, join_names
from nearboost.datasets.parquet import is_word
from nearboost.datasets.tables import LABEL_COLUMNS, LabelTable, cell, check_width, numbered_lines


class CsvRows(NamedTuple):
    """The columns of numbers of a .csv file as a matrix, the others, and what the former are called."""

    numbers: NDArray[np.float64]
    words: LabelTable
    columns: list[str]


def read_csv_rows(file: Path) -> CsvRows:
    """The rows of a .csv file.

    Labels, parts, groups and names are in the columns that are called so, as in Parquet; where none is called
    label, the only other column that begins with text is taken for it.
    """
    lines = numbered_lines(file)
    names = _column_names(file, next(lines, (0, []))[1])
    first = next(lines, None)
    if first is None:
        raise DataError(f"{file} has no rows below its first line; expected some.")
    check_width(file, *first, names)
    texts = _text_columns(names, first[1])
    values = [place for place in range(len(names)) if place not in texts]
    if not values:
        raise DataError(f"{file} has no columns of numbers beside {join_names(names)}.")
    numbers, words = array("d"), [list[str]() for _ in texts]
    for number, line in chain([first], lines):
        check_width(file, number, line, names)
        try:
            numbers.extend([float(line[place]) for place in values])
        except ValueError:
            place = next(place for place in values if not _is_number(line[place]))
            raise _no_number(file, number, names[place], cell(line[place])) from None
        for place, column in zip(texts, words, strict=True):
            column.append(cell(line[place]))
    columns = {names[place].lower(): column for place, column in zip(texts, words, strict=True)}
    rows = np.frombuffer(numbers).reshape(-1, len(values))
    return CsvRows(rows, LabelTable(file, columns), [names[place] for place in values])


def _column_names(file: Path, header: Sequence[str]) -> list[str]:
    """What the first line says, which must be names: none missing, none twice; numbers among them rise."""
    names = [cell(name) for name in header]
    if not names:
        raise DataError(f"{file} is empty; expected a line with names of columns, and a line for each row.")
    numbers = [float(name) for name in names if _is_number(name)]
    if not all(one < other for one, other in pairwise(numbers)):
        raise DataError(f"{file} begins with a line of values; put one with names before it, such as x1,x2,label.")
    if "" in names:
        raise DataError(
            f"{file} has no name for column {names.index('') + 1}; give it one, or drop it if it numbers the rows."
        )
    small = [name.lower() for name in names]
    twice = next((name for name in small if small.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"{file} has two columns called {twice!r}; give one of them another name.")
    return names


def _text_columns(names: Sequence[str], first: Sequence[str]) -> list[int]:
    """Places of the columns of words; ``first`` is the first line below the names."""
    known = [place for place, name in enumerate(names) if is_word(name)]
    if any(name.lower() in LABEL_COLUMNS for name in names):
        return known
    texts = [place for place, text in enumerate(first) if place not in known and text and not _is_number(text)]
    return sorted(known + texts) if len(texts) == 1 else known


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _no_number(file: Path, number: int, name: str, text: str) -> DataError:
    if not text:
        return DataError(
            f"{file} has no value in line {number} of the column {name!r}; fill it in, or drop the line."
        )
    cure = (
        "write decimals with a point"
        if _is_number(text.replace(",", "."))
        else "or a column called label; encode such a column as 0 and 1 for each value, or drop it"
    )
    return DataError(f"{file} has {text!r} in line {number} of the column {name!r}; expected a number, {cure}.")
