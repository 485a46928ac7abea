"""The points of an experiment, asked by what they are of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.experiment import Experiment


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

    def __init__(self, experiment: Experiment, cells: Sequence[dict[str, Any]]) -> None:
        self.experiment = experiment
        self.points = [
            Point(cell["panel"], cell["line"], point["x"], cell["split"], point["measures"])
            for cell in cells
            for point in cell.get("points", ())
            if point.get("measures")
        ]

    def values(self, key: str | None = None, **wanted: str) -> list[float]:
        """A measure on each split, in units of its column."""
        shown = self.experiment.shown[0]
        if key is not None:
            shown = next(one for one in self.experiment.shown if one.key == key)
        found = [
            point.measures.get(shown.key)
            for point in self.points
            if all(getattr(point, name) == value for name, value in wanted.items())
        ]
        return [shown.scale * value for value in found if isinstance(value, int | float)]

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
