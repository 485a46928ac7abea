"""What a comparison leaves: the page, facts and runs as JSON, a table of runs, and a summary for the terminal."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nearboost.base.disk import write_json, write_text
from nearboost.base.tables import format_csv
from nearboost.compare.records import Json, Run
from nearboost.compare.report import headline
from nearboost.compare.report.facts import Facts
from nearboost.compare.report.page import leaderboard_table, render

COLUMNS = (
    *("data", "features", "method", "protocol", "split", "seed", "status", "reason"),
    *("accuracy", "mean_class_accuracy", "top5", "log_loss", "ece", "mean_auc", "mean_average_precision"),
    *(
        "held_out_accuracy",
        "prototypes",
        "train",
        "queries",
        "fit_seconds",
        "query_seconds",
        "peak_mib",
        "threads",
        "scale",
        "version",
    ),
)
IN_TERMINAL = (
    *("method", "features", "splits", "accuracy", "average_precision", "held_out_accuracy"),
    *("fit_seconds", "query_ms", "prototypes"),
)


def write_report(folder: Path, facts: Facts, runs: Sequence[Run]) -> Path:
    """Write ``report.html``, ``results.json`` and ``results.csv``; return the page's path."""
    results = [run.as_result() for run in runs]
    write_json(folder / "results.json", {"facts": facts.as_json(), "cells": results})
    write_text(folder / "results.csv", _format_results(results))
    write_text(folder / "report.html", render(facts))
    return folder / "report.html"


def shows_curve(folder: Path) -> bool:
    """Whether the report in a folder has a learning curve, which the next one then keeps."""
    try:
        return bool(json.loads((folder / "results.json").read_text(encoding="utf-8"))["facts"]["curve"])
    except (OSError, ValueError, LookupError, TypeError):  # none, or of an earlier version
        return False


def _format_results(results: Sequence[Json]) -> str:
    """One line for each run."""
    flat = ({**one, **(one.get("measures") or {})} for one in results)
    return format_csv(COLUMNS, ([one.get(name) for name in COLUMNS] for one in flat))


def terminal_table(facts: Facts) -> Any:
    """A table of rich: the columns of the page's leaderboard that people ask for first."""
    from rich.table import Table
    from rich.text import Text

    whole, table = leaderboard_table(facts.leaderboard, None), Table()
    places = [place for key in IN_TERMINAL for place, column in enumerate(whole.columns) if column.key == key]
    for column in (whole.columns[place] for place in places):
        title = f"{column.title}, {column.unit}" if column.unit else column.title
        table.add_column(Text(title), justify="right" if column.numeric else "left", overflow="fold")
    for row in whole.rows:
        cells = (row.cells[place] for place in places)
        table.add_row(*(Text(f"{cell.text} ({cell.small})" if cell.small else cell.text or "–") for cell in cells))
    return table


def terminal_summary(facts: Facts) -> str:
    """The headline in one piece."""
    best = headline.best_entry(facts.leaderboard, facts.best)
    name = "" if best is None else f"{headline.label(best, facts.leaderboard)} "
    return f"{name}{headline.sentence(facts.leaderboard, facts.best)}".replace("\u00a0", " ")
