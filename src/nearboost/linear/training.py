"""From a problem and a recipe to weights: coordinates, choice, projection, passes."""

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nearboost.base.progress import Advance, progress_bar
from nearboost.base.threads import map_in_threads
from nearboost.linear.choice import MOST_HELD_OUT, MOST_LEARNED, Setting, Trial, choose
from nearboost.linear.coordinates import Coordinates
from nearboost.linear.descent import Metric, PassOptions, Schedule, State
from nearboost.linear.learning import (
    Diverged,
    EvaluationRows,
    LearningCurve,
    StoppingRule,
    learn,
    with_smaller_steps,
)
from nearboost.linear.objectives import Objective
from nearboost.linear.projection import Projection
from nearboost.linear.rows import Problem

Array = NDArray[np.float64]

FEWEST_PASSES, MOST_PASSES = 5, 100
ENOUGH_ROWS = 128_000  # rows seen in all passes together, where they are few


class Method(Protocol):
    """What tells the methods apart: where steps are taken, and in which metric."""

    def coordinates(self, problem: Problem, recipe: "Recipe") -> Coordinates:
        """Measured once, on a sample of the rows."""

    def metric(self, coordinates: Coordinates, objective: Objective, damping: float) -> Metric:
        """The diagonal of the metric in these coordinates."""


@dataclass(frozen=True)
class Recipe:
    """All settings of `fit`, in plain numbers. A step of None is chosen and decays."""

    objective: Objective
    step: float | None
    n_passes: int | None
    options: PassOptions
    early_stopping: bool
    tol: float | None
    memory: float
    n_jobs: int | None
    verbose: int

    def passes(self, n_rows: int) -> int:
        """As given, or so many that small sets are seen often enough."""
        if self.n_passes is not None:
            return self.n_passes
        return int(np.clip(-(-ENOUGH_ROWS // n_rows), FEWEST_PASSES, MOST_PASSES))

    def count_steps(self, n_rows: int, n_passes: int) -> int:
        """Batches of all passes."""
        return n_passes * -(-n_rows // self.options.batch_size)


@dataclass(frozen=True)
class Choice:
    """The setting, the trials it comes from, the rows held out for them, and the best trial's accuracies."""

    setting: Setting
    trials: list[Trial]
    held_out: NDArray[np.int64]
    accuracies: list[float]


@dataclass(frozen=True)
class Outcome:
    """What was learned, and how."""

    curve: LearningCurve
    choice: Choice
    seconds: dict[str, float]


def step_unit(coordinates: Coordinates, metric: Array, curvature: float, batch_size: int) -> float:
    """1/(F''(0) (b λ + t)), λ the largest eigenvalue and t the trace of E[z zᵀ] in the metric.

    Where F has its largest curvature, twice this step is the last that does not diverge: the batch pulls with b λ
    along the leading direction, and with t each row along itself.
    """
    trace = float(coordinates.second_moments @ metric)
    return 1.0 / (curvature * max(batch_size * coordinates.sharpness(metric) + trace, np.finfo(float).tiny))


class Training:
    """One fit: keeps what the steps towards it share."""

    def __init__(
        self, problem: Problem, method: Method, recipe: Recipe, hessian_problem: Problem | None = None
    ) -> None:
        self.problem, self.method, self.recipe = problem, method, recipe
        self.seconds: dict[str, float] = {}
        self._since = perf_counter()
        self.coordinates = method.coordinates(hessian_problem or problem, recipe)
        self._tick("coordinates")

    def _tick(self, name: str) -> None:
        now = perf_counter()
        self.seconds[name], self._since = now - self._since, now

    def choose(self, start: Setting, free: set[str]) -> Choice:
        """Choose what is free, on rows held out."""
        start = replace(start, rank=min(start.rank, len(self.coordinates.second_moments)))
        choice = Choice(start, [], self.problem.ids[:0], [])
        if free or self.recipe.early_stopping:
            choice = replace(choice, held_out=self.problem.hold_out(self.recipe.options.seed))
            if free and len(choice.held_out):
                choice = self._try_settings(choice, free)
        self._tick("choice")
        return choice

    def run(self, choice: Choice) -> Outcome:
        """Learn from all rows, or from all but those held out for early stopping."""
        recipe, problem, objective = self.recipe, self.problem, self.recipe.objective
        if recipe.early_stopping:
            problem = problem.without(choice.held_out)
        coordinates = self.coordinates.first(choice.setting.rank)
        projection = Projection(problem, coordinates, recipe.memory, recipe.n_jobs, recipe.verbose)
        held_out = None
        if recipe.early_stopping and len(choice.held_out):
            held_out = EvaluationRows(problem, choice.held_out, projection.project(choice.held_out), objective)
        self._tick("projection")
        n_rows, n_passes = len(problem.ids), recipe.passes(len(problem.ids))
        tol = None if recipe.step is None else recipe.tol  # chosen steps are to come down to zero
        stop = StoppingRule(n_passes, tol, by_accuracy=held_out is not None)
        state = self.begin(choice.setting, Schedule(0.0, n_steps=recipe.count_steps(n_rows, n_passes)))
        with progress_bar("Learning", n_passes * n_rows, recipe.verbose) as advance:
            _, curve = with_smaller_steps(lambda state: learn(state, projection, stop, held_out, advance), state)
        curve.accuracy = curve.accuracy or choice.accuracies[: len(curve.risk)]
        self._tick("passes")
        return Outcome(curve, choice, self.seconds)

    def begin(self, setting: Setting, schedule: Schedule) -> State:
        """Where steps start: at zero, with a constant step where it is given, else with that of the setting."""
        recipe, coordinates = self.recipe, self.coordinates.first(setting.rank)
        metric = self.method.metric(coordinates, recipe.objective, setting.damping)
        if recipe.step is not None:
            schedule = Schedule(recipe.step)
        else:
            assert setting.factor is not None
            curvature, size = recipe.objective.curvature, recipe.options.batch_size
            unit = step_unit(coordinates, metric.values[:, 0], curvature, size)
            schedule = replace(schedule, first=setting.factor * unit)
        shape = (len(coordinates.second_moments), self.problem.labels.n_columns)
        V = np.zeros(shape, dtype=self.problem.rows.dtype)
        return State(coordinates, recipe.objective, metric, schedule, recipe.options, V, self.problem.unit)

    def _try_settings(self, choice: Choice, free: set[str]) -> Choice:
        """Trials on a part of the rows, several at a time."""
        recipe, problem = self.recipe, self.problem
        remaining, generator = problem.without(choice.held_out), np.random.default_rng(recipe.options.seed)
        learners = remaining.only(generator.permutation(remaining.ids)[:MOST_LEARNED])
        wide = Projection(learners, self.coordinates, recipe.memory, recipe.n_jobs)
        evaluated = np.sort(generator.permutation(choice.held_out)[: min(MOST_HELD_OUT, wide.pool)])
        held_out = EvaluationRows(problem, evaluated, wide.project(evaluated), recipe.objective)
        n_passes = recipe.passes(len(problem.ids))
        schedule = Schedule(0.0, n_steps=recipe.count_steps(len(learners.ids), n_passes))
        accuracies: dict[Setting, list[float]] = {}

        def attempt(setting: Setting) -> Trial:
            state = self.begin(setting, schedule)
            try:
                curve = learn(state, wide.first(setting.rank), StoppingRule(n_passes), held_out)
            except Diverged:
                return Trial(setting, state.schedule.first, 0.0, np.inf)
            accuracies[setting] = curve.accuracy
            return Trial(setting, state.schedule.first, curve.accuracy[-1], held_out.risk(state.weights))

        def attempt_all(settings: list[Setting], advance: Advance) -> list[Trial]:
            return map_in_threads(attempt, settings, recipe.n_jobs, advance)

        second_moments = self.coordinates.second_moments
        room = recipe.memory / (len(problem.ids) * problem.rows.dtype.itemsize)  # coordinates of every row
        best, trials = choose(
            choice.setting, second_moments, free, attempt_all, len(evaluated), room, recipe.verbose
        )
        return Choice(best, trials, choice.held_out, accuracies.get(best, []))
