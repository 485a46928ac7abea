"""Rows held out in folds: each fold judges what was learned from the others."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.linear.choice import Setting, Trial
from nearboost.linear.coordinates import Coordinates
from nearboost.linear.descent import Schedule, State
from nearboost.linear.learning import Diverged, EvaluationRows, StoppingRule, learn
from nearboost.linear.objectives import Objective
from nearboost.linear.projection import Projection
from nearboost.linear.recipe import Recipe
from nearboost.linear.rows import Problem
from nearboost.problem.calibration import Calibration, calibrate

MOST_HELD_OUT, MOST_LEARNED = 4_096, 8_192  # rows that a trial is measured on and learns from
MOST_JUDGED = 32_768  # rows that a judge learns from once all is chosen

Begin = Callable[[Setting, Schedule, Coordinates], State]


@dataclass(frozen=True)
class HeldOut:
    """Scores of rows of a problem by weights that were learned without them."""

    problem: Problem
    rows: NDArray[np.int64]
    scores: NDArray[Any]

    def accuracy(self) -> float:
        """The share of the rows that is right, by weight; of labels where there are several."""
        return self.problem.labels.accuracy(self.scores, self.rows, self.problem.weights[self.rows])

    def calibration(self) -> Calibration:
        """What makes probabilities of scores of single-label rows."""
        labels, weights = self.problem.labels.take(self.rows), self.problem.weights[self.rows]
        return calibrate(self.scores.astype(np.float64), labels, weights.astype(np.float64))[0]

    def losses(self, objective: Objective) -> NDArray[np.float64]:
        """The log-loss of each row with calibrated probabilities: scores of any size may be as good. For several
        labels a row, the mean loss. Times the weight of the row, whose mean is 1."""
        labels, weights = self.problem.labels, self.problem.weights[self.rows].astype(np.float64)
        if labels.multilabel:
            losses = objective.loss.value(labels.signs(self.rows) * self.scores).mean(axis=1)
        else:
            probabilities = self.calibration().probabilities(self.scores)
            losses = -np.log(probabilities[np.arange(len(self.rows)), labels.classes(self.rows)])
        return np.asarray(losses * (weights / weights.mean()))


@dataclass(frozen=True)
class Verdict:
    """What a fold says of a setting: scores of its rows, and its accuracy after each pass."""

    held_out: HeldOut
    step: float
    accuracies: list[float]


class Fold:
    """Rows held out, and rows that learn without them, in the same coordinates.

    A row of a class that is not among the learners cannot be judged and is left out.
    """

    def __init__(
        self,
        problem: Problem,
        held_out: NDArray[np.int64],
        coordinates: Coordinates,
        recipe: Recipe,
        memory: float,
        most_learned: int = MOST_LEARNED,
    ) -> None:
        self.n_passes = recipe.passes(len(problem.ids))
        generator = np.random.default_rng(recipe.options.seed)
        remaining = problem.without(held_out)
        learners = remaining.only(generator.permutation(remaining.ids)[:most_learned])
        self.schedule = Schedule(0.0, n_steps=recipe.count_steps(len(learners.ids), self.n_passes))
        self.coordinates = coordinates
        self.learners = Projection(learners, coordinates, memory, recipe.n_jobs, device=recipe.device)
        most = min(MOST_HELD_OUT, self.learners.pool)
        rows = np.sort(generator.permutation(held_out)[:most])
        if not problem.labels.multilabel:
            rows = rows[np.isin(problem.labels.classes(rows), problem.labels.classes(learners.ids))]
        self.evaluated = EvaluationRows(problem, rows, self.learners.project(rows), recipe.objective)

    def judge(self, setting: Setting, begin: Begin) -> Verdict | None:
        """Learn without the rows and score them; None where the steps diverge."""
        state = begin(setting, self.schedule, self.coordinates)
        try:
            curve = learn(state, self.learners.first(setting.rank), StoppingRule(self.n_passes), self.evaluated)
        except Diverged:
            return None
        evaluated = self.evaluated
        held_out = HeldOut(evaluated.problem, evaluated.rows, evaluated.scores(state.weights))
        return Verdict(held_out, state.schedule.first, curve.accuracy)


def pool(verdicts: list[Verdict]) -> HeldOut:
    """All rows that some folds have judged."""
    parts = [verdict.held_out for verdict in verdicts]
    rows, scores = (np.concatenate([getattr(part, name) for part in parts]) for name in ("rows", "scores"))
    return HeldOut(parts[0].problem, rows, scores)


def as_trial(setting: Setting, verdicts: list[Verdict | None], step: float, objective: Objective) -> Trial:
    """What all folds say of a setting: nothing good where it diverged in one of them."""
    agreed = [verdict for verdict in verdicts if verdict is not None]
    if len(agreed) < len(verdicts):
        return Trial(setting, step, 0.0, np.inf)
    held_out = pool(agreed)
    losses = held_out.losses(objective)
    return Trial(setting, step, held_out.accuracy(), float(losses.mean()), losses)
