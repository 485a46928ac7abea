"""The leaderboard for people at a terminal: who, how good, at what cost."""

from collections.abc import Mapping
from typing import Any

from nearboost.compare.report import headline
from nearboost.pages import tables

SHOWN = ("method", "features", "splits", "accuracy", "average_precision", "fit_seconds", "query_ms", "prototypes")


def as_table(facts: Mapping[str, Any]) -> Any:
    """A table of rich: the columns of the page's leaderboard that people ask for first."""
    from rich.table import Table
    from rich.text import Text

    whole = tables.leaderboard(facts["leaderboard"], None)
    shown = Table()
    places = [place for key in SHOWN for place, column in enumerate(whole.columns) if column.key == key]
    for column in (whole.columns[place] for place in places):
        title = f"{column.title}, {column.unit}" if column.unit else column.title
        shown.add_column(Text(title), justify="right" if column.numeric else "left", overflow="fold")
    for row in whole.rows:
        cells = (row.cells[place] for place in places)
        shown.add_row(*(Text(f"{cell.text} {cell.small}".strip() or "–") for cell in cells))
    return shown


def summary(facts: Mapping[str, Any]) -> str:
    """The headline in one piece."""
    rows = facts["leaderboard"]
    best = headline.best_row(rows, facts["best"])
    name = "" if best is None else f"{headline.label(best, rows)} "
    return f"{name}{headline.sentence(rows, facts['best'])}".replace("\u00a0", " ")
