"""Records to tables: columns without a value left out, the best of each column marked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from nearboost.pages import numbers

WIDTHS = (20, 28, 36, 44, 52, 60, 70, 79)  # of a box, in rem; narrower ones show each row as a block
LETTER, PADDING = 0.49, 1.0  # of a table's text, in rem
MOST_LETTERS = 40
FIRST, TEXT = 8.25, 5.5  # rem that the style sheet gives to texts, which break

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """What stands in a column: a record's key, a title, and how its numbers are written (None for text)."""

    key: str
    title: str
    write: Callable[[float], str] | None = None
    unit: str = ""
    better: Literal["high", "low"] | None = None
    about: str = ""
    spread: bool = True  # whether the interval stands beside the mean

    @property
    def numeric(self) -> bool:
        return self.write is not None


@dataclass(frozen=True)
class Cell:
    """Text, the value to sort by (None where it is unknown), and the interval beside it."""

    text: str
    value: float | str | None
    small: str = ""
    best: bool = False


@dataclass(frozen=True)
class Row:
    """Cells, whether they stand out, and the place on the page that the first one leads to."""

    cells: list[Cell]
    marked: bool = False
    link: str | None = None


@dataclass(frozen=True)
class Table:
    caption: str
    columns: list[Column]
    rows: list[Row]

    @property
    def room(self) -> int | None:
        """The least of the widths in which all columns stand side by side; None where there is none."""
        needed = sum(map(self._width, range(len(self.columns))))
        return next((width for width in WIDTHS if needed <= width), None)

    def _width(self, place: int) -> float:
        """About how many rem a column takes."""
        words = self.columns[place].title.split()
        if not self.columns[place].numeric:
            return max(FIRST if place == 0 else TEXT, PADDING + LETTER * max(map(len, words)))
        cells = [row.cells[place] for row in self.rows]
        texts = [cell.text[:MOST_LETTERS] for cell in cells] + [
            cell.small[: int(0.85 * len(cell.small))] for cell in cells
        ]
        return PADDING + LETTER * max(map(len, [*words, *texts]))


def make_table(
    caption: str,
    columns: Sequence[Column],
    records: Sequence[Record],
    *,
    marked: Sequence[bool] | None = None,
    links: Sequence[str | None] | None = None,
    mark_best: bool = False,
) -> Table:
    """One row for each record, in the order given. The first column names the row and always stays."""
    filled = [_fill(column, records, mark_best=mark_best) for column in columns]
    known = [n for n, cells in enumerate(filled) if n == 0 or any(cell.value is not None for cell in cells)]
    rows = [
        Row([filled[n][row] for n in known], bool(marked and marked[row]), links[row] if links else None)
        for row in range(len(records))
    ]
    return Table(caption, [columns[n] for n in known], rows)


def _fill(column: Column, records: Sequence[Record], *, mark_best: bool) -> list[Cell]:
    """The cells of a column. Equal as written counts as equally good."""
    cells = [_cell(column, record.get(column.key)) for record in records]
    values = [cell.value for cell in cells if isinstance(cell.value, float)]
    if not mark_best or column.better is None or len(values) < 2 or column.write is None:
        return cells
    best = column.write(max(values) if column.better == "high" else min(values))
    return [Cell(cell.text, cell.value, cell.small, best=cell.text == best) for cell in cells]


def between(low: str, high: str) -> str:
    """A range in few letters; numbers with a sign need a word between them."""
    return f"{low} to {high}" if {"−", "+"} & {*low, *high} else f"{low}–{high}"


def _cell(column: Column, measure: Any) -> Cell:
    if column.write is None:
        return Cell("", None) if measure is None else Cell(str(measure), str(measure))
    value = numbers.mean(measure)
    if value is None:
        return Cell("", None)
    ends = numbers.interval(measure) if column.spread else None
    return Cell(column.write(value), value, "" if ends is None else between(*map(column.write, ends)))
