"""The facts of a table or figure: ours beside the paper's."""

from collections.abc import Sequence
from statistics import mean, stdev
from typing import Any

from papers.experiment import Experiment
from papers.papers import Number, Printed, library
from papers.results import Results

Facts = dict[str, Any]


def make_facts(experiment: Experiment, cells: Sequence[dict[str, Any]]) -> Facts:
    """Everything that is shown, as plain numbers and texts."""
    printed = library().printed[experiment.name]
    results = Results(experiment, cells)
    ours = values_by_cell(results)
    return {
        "name": experiment.name,
        "about": experiment.about,
        "paper": str(library().papers[printed.paper]),
        "place": printed.place,
        "measure": printed.measure,
        "varies": experiment.varies,
        "is_figure": experiment.is_figure,
        **table(printed, ours),
        "claims": claims(experiment, printed, results),
        "failed": [
            {key: cell[key] for key in ("panel", "line", "split", "reason")}
            for cell in cells
            if cell["status"] != "done"
        ],
        "impossible": impossible(cells),
        "notes": list(experiment.notes),
    }


def values_by_cell(results: Results) -> dict[tuple[str, str], list[float]]:
    """Our values of each row and column over the splits, in the order in which they are shown."""
    experiment = results.experiment
    found: dict[tuple[str, str], list[float]] = {}
    for point in results.points:
        for shown in experiment.shown:
            value = point.measures.get(shown.key)
            named = value if isinstance(value, dict) else {shown.title: value}
            for measure, number in named.items():
                names = {"panel": point.panel, "line": point.line, "x": point.x, "measure": measure}
                place = (experiment.row.format(**names), experiment.column.format(**names))
                if number is not None:
                    found.setdefault(place, []).append(shown.scale * float(number))
    return found


def table(printed: Printed, ours: dict[tuple[str, str], list[float]]) -> Facts:
    """Rows and columns of both, ours first; a cell has ours, the paper's, or both."""
    theirs = {(number.row, number.column): number for number in printed.cells}
    theirs |= {(n.row, n.column): n for n in printed.stated if (n.row, n.column) in ours}
    rows = dict.fromkeys(row for row, _ in (*ours, *theirs))
    columns = list(dict.fromkeys((*printed.columns, *(column for _, column in ours))))
    return {
        "columns": columns,
        "rows": [
            {
                "name": row,
                "cells": [
                    {"ours": summary(ours.get((row, column))), "paper": as_facts(theirs.get((row, column)))}
                    for column in columns
                ],
            }
            for row in rows
        ],
    }


def summary(values: list[float] | None) -> Facts | None:
    """Mean and deviation over splits."""
    if not values:
        return None
    return {"mean": mean(values), "deviation": stdev(values) if len(values) > 1 else None, "values": values}


def as_facts(number: Number | None) -> Facts | None:
    """A number in print."""
    if number is None:
        return None
    return {
        "value": number.value,
        "deviation": number.deviation,
        "relation": number.relation,
        "place": number.place,
        "measure": number.measure,
        "text": str(number),
    }


def claims(experiment: Experiment, printed: Printed, results: Results) -> list[Facts]:
    """What prose states, and ours where it can be computed."""
    found = []
    for number in printed.stated:
        compute = experiment.claims.get(number.text)
        ours = compute(results) if compute is not None and results.points else None
        found.append({"text": number.text, "ours": ours, "paper": as_facts(number)})
    return found


def impossible(cells: Sequence[dict[str, Any]]) -> list[Facts]:
    """Points that these data do not allow, each once."""
    found = {
        (cell["panel"], cell["line"], point["x"]): point["reason"]
        for cell in cells
        for point in cell.get("points", ())
        if point.get("reason")
    }
    return [{"panel": panel, "line": line, "x": x, "reason": reason} for (panel, line, x), reason in found.items()]
