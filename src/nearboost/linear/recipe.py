"""What a fit is told: the settings in plain numbers, and what tells the methods apart."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from nearboost.linear.choice import Setting
from nearboost.linear.coordinates import Coordinates
from nearboost.linear.descent import Metric, PassOptions
from nearboost.linear.objectives import Objective
from nearboost.linear.rows import Problem

FEWEST_PASSES, MOST_PASSES = 5, 40
ENOUGH_ROWS = 32_000  # rows seen in all passes together, where they are few


class Method(Protocol):
    """What tells the methods apart: where steps are taken, and in which metric."""

    def coordinates(self, problem: Problem, recipe: "Recipe") -> Mapping[str, Coordinates]:
        """Measured once, on a sample of the rows: those of each scaling that is given or to be tried."""

    def metric(self, coordinates: Coordinates, objective: Objective, damping: float) -> Metric:
        """The diagonal of the metric in these coordinates."""

    def narrowed(self, coordinates: Coordinates, start: Setting, free: set[str]) -> tuple[Setting, set[str]]:
        """Where the choice starts in these coordinates, and what of the free is still to be chosen."""
        return start, free


@dataclass(frozen=True)
class Recipe:
    """All settings of `fit`, in plain numbers. A step of None is chosen and decays."""

    objective: Objective
    step: float | None
    n_passes: int | None
    options: PassOptions
    early_stopping: bool
    tol: float | None
    judged: bool
    memory: float
    n_jobs: int | None
    verbose: int
    device: Any = None

    def passes(self, n_rows: int) -> int:
        """As given, or so many that small sets are seen often enough."""
        if self.n_passes is not None:
            return self.n_passes
        return int(np.clip(-(-ENOUGH_ROWS // n_rows), FEWEST_PASSES, MOST_PASSES))

    def count_steps(self, n_rows: int, n_passes: int) -> int:
        """Batches of all passes."""
        return n_passes * -(-n_rows // self.options.batch_size)
