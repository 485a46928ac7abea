"""The points of an experiment, and the facts of its table or figure: ours beside the paper's."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

import numpy as np

from papers.experiment import Experiment
from papers.printed import Number, Printed, library

Facts = dict[str, Any]


def smallest(values: Sequence[float]) -> float | None:
    """The smallest value; None if there are none."""
    return min(values, default=None)


def largest(values: Sequence[float]) -> float | None:
    """The largest value; None if there are none."""
    return max(values, default=None)


@dataclass(frozen=True)
class Point:
    """One measured value: of a line on a panel, at one value of what varies, on one split."""

    panel: str
    line: str
    x: str
    split: int
    measures: dict[str, Any]


class Results:
    """All points, and what they come to over the splits."""

    def __init__(self, experiment: Experiment, runs: Sequence[dict[str, Any]]) -> None:
        self.experiment = experiment
        self.points = [
            Point(run["panel"], run["line"], point["x"], run["split"], point["measures"])
            for run in runs
            for point in run.get("points", ())
            if point.get("measures")
        ]

    def values(self, key: str | None = None, **wanted: str) -> list[float]:
        """A measure on each split, in units of its column."""
        measure = self.experiment.measures[0]
        if key is not None:
            measure = next(one for one in self.experiment.measures if one.key == key)
        found = [
            point.measures.get(measure.key)
            for point in self.points
            if all(getattr(point, name) == value for name, value in wanted.items())
        ]
        return [measure.scale * value for value in found if isinstance(value, int | float)]

    def mean(
        self, line: str, x: str | None = None, panel: str | None = None, key: str | None = None
    ) -> float | None:
        """The mean over the splits; None where nothing was measured."""
        given = {"line": line, "x": x, "panel": panel}
        values = self.values(key, **{name: value for name, value in given.items() if value is not None})
        return float(np.mean(values)) if values else None

    def lead(
        self, one: str, other: str, x: str | None = None, panel: str | None = None, key: str | None = None
    ) -> float | None:
        """By how much one line is above another."""
        above, below = self.mean(one, x, panel, key), self.mean(other, x, panel, key)
        return None if above is None or below is None else above - below

    def course(self, line: str, panel: str | None = None, key: str | None = None) -> dict[str, float]:
        """The means along a line, in the order of what varies."""
        labels = [self.experiment.label(x) for x in self.experiment.xs]
        means = {x: self.mean(line, x, panel, key) for x in labels}
        return {x: mean for x, mean in means.items() if mean is not None}

    def best(self, line: str, panel: str | None = None, key: str | None = None) -> float | None:
        """The largest mean along a line."""
        return max(self.course(line, panel, key).values(), default=None)

    def leads(self, one: str, other: str, panel: str | None = None) -> list[float]:
        """By how much one line is above another, all along."""
        found = (self.lead(one, other, self.experiment.label(x), panel) for x in self.experiment.xs)
        return [lead for lead in found if lead is not None]

    def ratio(self, one: str, other: str, key: str) -> float | None:
        """How many times as much of a measure one line has as another."""
        above, below = self.mean(one, key=key), self.mean(other, key=key)
        return None if not above or not below else above / below


def printed_for(experiment: Experiment) -> Printed:
    """The table or figure in print; nothing for an experiment of our own beside several."""
    return library().find(experiment.beside[0] if len(experiment.beside) == 1 else experiment.name)


def make_facts(experiment: Experiment, runs: Sequence[dict[str, Any]]) -> Facts:
    """Everything that is shown, as plain numbers and texts."""
    printed, titles = printed_for(experiment), [measure.title for measure in experiment.measures]
    results = Results(experiment, runs)
    ours = values_by_cell(results)
    return {
        "name": experiment.name,
        "about": experiment.about,
        "paper": str(library().papers.get(printed.paper, "")),
        "place": printed.place,
        "measure": printed.measure if printed.name == experiment.name and printed.measure else ", ".join(titles),
        "varies": experiment.varies,
        "is_figure": experiment.is_figure,
        "not_drawn": [measure.title for measure in experiment.measures if not measure.drawn],
        **table(printed, ours),
        "claims": claims(experiment, results),
        "failed": [
            {key: run[key] for key in ("panel", "line", "split", "reason")}
            for run in runs
            if run["status"] != "done"
        ],
        "impossible": impossible(runs),
        "notes": list(experiment.notes),
    }


def values_by_cell(results: Results) -> dict[tuple[str, str], list[float]]:
    """Our values of each row and column over the splits, in the order in which they are shown."""
    experiment = results.experiment
    found: dict[tuple[str, str], list[float]] = {}
    for point in results.points:
        for measure in experiment.measures:
            value = point.measures.get(measure.key)
            named = value if isinstance(value, dict) else {measure.title: value}
            for title, number in named.items():
                names = {"panel": point.panel, "line": point.line, "x": point.x, "measure": title}
                place = (experiment.row.format(**names), experiment.column.format(**names))
                if number is not None:
                    found.setdefault(place, []).append(measure.scale * float(number))
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


def claims(experiment: Experiment, results: Results) -> list[Facts]:
    """What prose states, and ours where it can be computed; of several tables only what can be."""
    found = []
    names = experiment.beside or (experiment.name,)
    for number in [number for name in names for number in library().find(name).stated]:
        if len(names) > 1 and number.text not in experiment.claims:
            continue
        compute = experiment.claims.get(number.text)
        ours = compute(results) if compute is not None and results.points else None
        found.append({"text": number.text, "ours": ours, "paper": as_facts(number)})
    return found


def impossible(runs: Sequence[dict[str, Any]]) -> list[Facts]:
    """Points that these data do not allow, each once."""
    found = {
        (run["panel"], run["line"], point["x"]): point["reason"]
        for run in runs
        for point in run.get("points", ())
        if point.get("reason")
    }
    return [{"panel": panel, "line": line, "x": x, "reason": reason} for (panel, line, x), reason in found.items()]
