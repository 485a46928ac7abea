"""From a problem and a recipe to weights: coordinates, choice, judges, projection, passes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from nearboost.base.progress import Advance, progress_bar
from nearboost.base.threads import map_in_threads
from nearboost.linear.choice import Setting, Trial, choose
from nearboost.linear.coordinates import Coordinates
from nearboost.linear.descent import Schedule, State
from nearboost.linear.judging import MOST_JUDGED, Fold, HeldOut, Verdict, as_trial, pool
from nearboost.linear.learning import EvaluationRows, LearningCurve, StoppingRule, learn, with_smaller_steps
from nearboost.linear.projection import Projection
from nearboost.linear.recipe import Method, Recipe
from nearboost.linear.rows import Problem
from nearboost.problem.held_out import SHARE

Array = NDArray[np.float64]

FEW = 512  # rows, up to which all folds judge, and those that choose are measured apart
ENOUGH_CHOOSE, ENOUGH_JUDGED = 200, 1_024  # rows that choose of few, and that judge of more


@dataclass(frozen=True)
class Choice:
    """The setting, the folds that chose it or may stop learning, the folds that are to judge it then, and its
    trials, with what the folds that chose it said."""

    setting: Setting
    deciding: list[NDArray[np.int64]]
    judging: list[NDArray[np.int64]]
    trials: list[Trial] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)


@dataclass(frozen=True)
class Outcome:
    """What was learned, scores of rows held out (None where nobody judged), and seconds."""

    curve: LearningCurve
    held_out: HeldOut | None
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
        self.coordinates: Mapping[str, Coordinates] = method.coordinates(hessian_problem or problem, recipe)
        self.few = len(problem.ids) <= FEW and not recipe.early_stopping and hessian_problem is None
        self._moments = {name: coordinates.second_moments for name, coordinates in self.coordinates.items()}
        self._tick("coordinates")

    def _tick(self, name: str) -> None:
        now = perf_counter()
        self.seconds[name], self._since = now - self._since, now

    def choose(self, start: Setting, free: set[str]) -> Choice:
        """Choose what is free, on rows held out."""
        start, free = self.method.narrowed(self.coordinates[start.scaling], start, free)
        held_out = free or self.recipe.judged or self.recipe.early_stopping
        choice = Choice(start.within(self._moments), *(self._deal() if held_out else ([], [])))
        if free and choice.deciding:
            choice = self._try_settings(choice, start, free)
        self._tick("choice")
        return choice

    def _deal(self) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
        """Folds that choose, and folds that only judge: of few rows so many fifths as are needed choose and the
        others judge, else one fifth chooses and so many of the others judge as are needed."""
        n_rows, parts = len(self.problem.ids), self.problem.deal_parts(self.recipe.options.seed)
        fifths = [np.sort(np.concatenate(parts[fold::SHARE])) for fold in range(min(SHARE, len(parts)))]
        n_deciding = -(-ENOUGH_CHOOSE * SHARE // n_rows) if self.few else 1
        n_judging = SHARE if self.few else -(-ENOUGH_JUDGED * SHARE // n_rows)
        return fifths[:n_deciding], fifths[n_deciding:][:n_judging]

    def _apart(self, part: NDArray[np.int64]) -> Mapping[str, Coordinates]:
        """Coordinates that know nothing of some rows. Of many rows nobody learns much from the span of a few, and
        coordinates are measured once."""
        return self.method.coordinates(self.problem.without(part), self.recipe) if self.few else self.coordinates

    def judge(self, choice: Choice, step: float) -> HeldOut | None:
        """Scores of held-out rows with the chosen setting; None where nothing could be held out.

        A ``step`` that was given is that with which the passes over all rows did not diverge.
        """
        recipe, setting, folds = self.recipe, choice.setting, choice.judging
        known = choice.verdicts if self.few else []
        if self.few and not known:
            folds = choice.deciding + folds
        if recipe.step is not None:
            self.recipe = recipe = replace(recipe, step=step)

        def judge(part: NDArray[np.int64]) -> Verdict | None:
            coordinates = self._apart(part)[setting.scaling].first(setting.rank)
            fold = Fold(self.problem, part, coordinates, recipe, recipe.memory / len(folds), MOST_JUDGED)
            return fold.judge(setting, self.begin)

        with progress_bar("Judging", len(folds), recipe.verbose) as advance:
            new = map_in_threads(judge, folds, recipe.n_jobs, advance)
        verdicts = known + [one for one in new if one is not None]
        self._tick("judging")
        return pool(verdicts) if sum(len(verdict.held_out.rows) for verdict in verdicts) else None

    def run(self, choice: Choice) -> Outcome:
        """Learn from all rows, or from all but those held out for early stopping."""
        recipe, problem, objective = self.recipe, self.problem, self.recipe.objective
        stopping = choice.deciding[0] if recipe.early_stopping and choice.deciding else problem.ids[:0]
        problem = problem.without(stopping)
        coordinates = self.coordinates[choice.setting.scaling].first(choice.setting.rank)
        projection = Projection(problem, coordinates, recipe.memory, recipe.n_jobs, recipe.verbose, recipe.device)
        held_out = None
        if len(stopping):
            held_out = EvaluationRows(problem, stopping, projection.project(stopping), objective)
        self._tick("projection")
        n_rows, n_passes = len(problem.ids), recipe.passes(len(problem.ids))
        tol = None if recipe.step is None else recipe.tol  # chosen steps are to come down to zero
        stop = StoppingRule(n_passes, tol, by_accuracy=held_out is not None)
        state = self.begin(
            choice.setting, Schedule(0.0, n_steps=recipe.count_steps(n_rows, n_passes)), coordinates
        )
        with progress_bar("Learning", n_passes * n_rows, recipe.verbose) as advance:
            _, curve = with_smaller_steps(lambda state: learn(state, projection, stop, held_out, advance), state)
        self._tick("passes")
        judged = None
        if held_out is not None:
            judged = HeldOut(problem, stopping, held_out.scores(curve.state.weights))
        else:
            curve.accuracy = choice.verdicts[0].accuracies[: len(curve.risk)] if choice.verdicts else []
            if recipe.judged:
                judged = self.judge(choice, curve.state.schedule.first)
        return Outcome(curve, judged, self.seconds)

    def begin(self, setting: Setting, schedule: Schedule, coordinates: Coordinates) -> State:
        """Where steps start: at zero, with a constant step where it is given, else with that of the setting."""
        recipe, coordinates = self.recipe, coordinates.first(setting.rank)
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

    def _try_settings(self, choice: Choice, start: Setting, free: set[str]) -> Choice:
        """Trials on a part of the rows, several at a time."""
        recipe, problem, deciding = self.recipe, self.problem, choice.deciding
        memory = recipe.memory / (len(deciding) * len(self.coordinates))
        folds: dict[str, list[Fold]] = {scaling: [] for scaling in self.coordinates}
        for part in deciding:
            for scaling, coordinates in self._apart(part).items():
                folds[scaling].append(Fold(problem, part, coordinates, recipe, memory))
        known: dict[Setting, list[Verdict]] = {}

        def attempt(setting: Setting) -> Trial:
            verdicts = [fold.judge(setting, self.begin) for fold in folds[setting.scaling]]
            known[setting] = [verdict for verdict in verdicts if verdict is not None]
            step = self.begin(setting, Schedule(0.0), self.coordinates[setting.scaling]).schedule.first
            return as_trial(setting, verdicts, step, recipe.objective)

        def attempt_all(settings: list[Setting], advance: Advance) -> list[Trial]:
            return map_in_threads(attempt, settings, recipe.n_jobs, advance)

        n_judged = sum(len(fold.evaluated.rows) for fold in folds[start.scaling])
        if not n_judged:
            return choice
        room = recipe.memory / (len(problem.ids) * problem.rows.dtype.itemsize)  # coordinates of every row
        best, trials = choose(start, self._moments, free, attempt_all, n_judged, room, recipe.verbose)
        return replace(choice, setting=best, trials=trials, verdicts=known[best])
