"""Passes until it is enough: the learning curve, when to stop, and what happens when steps diverge."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from nearboost.base.progress import Advance, silent
from nearboost.base.rows import Block
from nearboost.linear.descent import Schedule, State, run_pass
from nearboost.linear.objectives import Objective
from nearboost.linear.projection import Projection, narrow
from nearboost.linear.rows import Problem

PATIENCE = 3  # passes without an improvement after which learning stops
MOST_HALVINGS = 50
LOOKED_AT = 1024  # rows whose risk is measured after the last pass


class EvaluationRows:
    """Rows in their coordinates, on which accuracy and risk are measured."""

    def __init__(self, problem: Problem, rows: NDArray[np.int64], Z: Block, objective: Objective) -> None:
        self.problem, self.rows, self.Z, self.objective = problem, rows, Z, objective
        self.weights = problem.weights[rows]

    def accuracy(self, V: NDArray[Any]) -> float:
        """The share of the rows that V gets right; NaN without rows."""
        if not len(self.rows):
            return float("nan")
        return self.problem.labels.accuracy(self.scores(V), self.rows, self.weights)

    def risk(self, V: NDArray[Any]) -> float:
        """Their mean loss."""
        return self.objective.risk(self.scores(V), self.problem.labels, self.rows, self.weights)

    def scores(self, V: NDArray[Any]) -> NDArray[Any]:
        """Of each row, one column for each class."""
        return narrow(self.Z, len(V)) @ V.astype(self.Z.dtype, copy=False)


@dataclass(frozen=True)
class StoppingRule:
    """When to stop: after so many passes, or when three of them improve nothing by more than ``tol``.

    What has to improve is the risk, or the accuracy on held-out rows if ``by_accuracy``, which picks the pass.
    """

    n_passes: int
    tol: float | None = None
    by_accuracy: bool = False


@dataclass
class LearningCurve:
    """Risk of each pass, accuracy on held-out rows if there are any, and the state that counts."""

    state: State
    risk: list[float] = field(default_factory=list)
    accuracy: list[float] = field(default_factory=list)


class Diverged(Exception):
    """The risk passed all bounds."""


def learn(
    state: State,
    projection: Projection,
    stop: StoppingRule,
    held_out: EvaluationRows | None = None,
    advance: Advance = silent,
) -> LearningCurve:
    """Passes until the stop; the last counts, or the one with the best accuracy where that stops them."""
    curve, best, waited = LearningCurve(state), -np.inf, 0
    for _ in range(stop.n_passes):
        curve.risk.append(run_checked_pass(state, projection, advance))
        if held_out is not None:
            curve.accuracy.append(held_out.accuracy(state.weights))
        score = curve.accuracy[-1] if stop.by_accuracy else -curve.risk[-1]
        waited = 0 if score > best + (stop.tol or 0.0) else waited + 1
        if stop.by_accuracy and score >= best:  # of equals the last, whose steps were the shortest
            curve.state = state.copy()
        best = max(best, score)
        if stop.tol is not None and waited >= PATIENCE:
            break
    check_converging(curve.state, final_risk(curve.state, projection))
    return curve


def run_checked_pass(state: State, projection: Projection, advance: Advance = silent) -> float:
    """`run_pass`, with an eye on the risk."""
    with np.errstate(over="ignore", invalid="ignore"):
        risk = run_pass(state, projection, advance)
    check_converging(state, risk)
    return risk


def check_converging(state: State, risk: float) -> None:
    """The risk must be one that steps towards the data can have."""
    if not (risk <= state.objective.hopeless and np.isfinite(state.V).all()):
        raise Diverged


def run_block(state: State, projection: Projection, before: float) -> float:
    """`run_pass` over a block, checked by the risk it leaves: what it found, ``before``, is not its own doing."""
    with np.errstate(over="ignore", invalid="ignore"):
        risk = run_pass(state, projection)
    after = final_risk(state, projection)
    if not (after <= max(before, state.objective.hopeless) and np.isfinite(state.V).all()):
        raise Diverged
    return risk


def final_risk(state: State, projection: Projection) -> float:
    """The risk of some rows after the last step, which no pass has seen."""
    rows, Z = projection.thinned(LOOKED_AT)
    with np.errstate(over="ignore", invalid="ignore"):
        return EvaluationRows(projection.problem, rows, Z, state.objective).risk(state.weights)


def with_smaller_steps(attempt: Callable[[State], Any], state: State) -> tuple[State, Any]:
    """What ``attempt`` makes of a copy of the state; where it diverges, again with half the step and a warning."""
    for n_halvings in range(MOST_HALVINGS):
        trial = state.copy()
        try:
            result = attempt(trial)
        except Diverged:
            state.schedule = state.schedule.halved()
            continue
        if n_halvings and state.schedule.constant:  # a step that fit chose is none of the user's business
            warn_of(n_halvings, state.schedule)
        return trial, result
    raise ValueError(
        f"The steps diverge even when halved {MOST_HALVINGS} times, to {state.schedule.first:.3g}; use "
        'step="auto", and scale the features if they are very large.'
    )


def warn_of(n_halvings: int, schedule: Schedule) -> None:
    """Say that the steps were too long."""
    times = "once" if n_halvings == 1 else f"{n_halvings} times"
    warnings.warn(
        f"The steps diverged and were halved {times}, to {schedule.first:.3g}; "
        'use step="auto" or a smaller number.',
        ConvergenceWarning,
        stacklevel=2,
    )
