"""The estimator that all stochastic linear classifiers share: validate, choose, learn."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from nearboost.base.estimator import Estimator
from nearboost.base.rows import row_source
from nearboost.base.threads import count_threads, one_matrix_thread
from nearboost.base.validation import check_choice, check_flag, check_positive, check_whole
from nearboost.linear.choice import FIRST_FACTOR, Setting, Trial
from nearboost.linear.descent import PassOptions, State
from nearboost.linear.judging import HeldOut
from nearboost.linear.kept import Resumable, settled_of
from nearboost.linear.objectives import Objective, check_loss
from nearboost.linear.recipe import Method, Recipe
from nearboost.linear.rows import Problem, check_rows_and_labels, mean_weight
from nearboost.linear.scoring import LinearScores
from nearboost.linear.training import Training
from nearboost.problem.calibration import Calibration, doubt_of, warn_uncalibrated
from nearboost.problem.held_out import find_seed
from nearboost.problem.targets import (
    Coding,
    check_some_count,
    check_two_classes,
    check_weights,
    find_coding,
    number_groups,
    warn_of_one_each,
    weigh_classes,
)

NO_HISTORY: dict[str, list[float]] = {"risk": [], "held_out_accuracy": []}


class StochasticLinearClassifier(Resumable, LinearScores, ClassifierMixin, Estimator):
    """Base of the linear classifiers learned by stochastic steps; each adds its coordinates and its metric."""

    loss: str
    step: float | str
    max_passes: int | None
    batch_size: int
    balanced: bool
    average: bool
    fit_intercept: bool
    early_stopping: bool
    tol: float | None
    calibration: str | None
    class_weight: Any
    memory: float
    random_state: Any
    device: str | None = None
    n_jobs: int | None
    verbose: int

    held_out_accuracy_: float
    _kept: Problem | None = None  # rows of first blocks that were too few

    _named_steps: tuple[str, ...] = ("auto",)

    def _method(self) -> Method:
        raise NotImplementedError

    def _settings(self) -> tuple[Setting, set[str]]:
        """The setting that is given or that the choice starts from, and what is to be chosen."""
        chosen = self.step == "auto"
        every, factor = np.iinfo(np.int64).max, FIRST_FACTOR if chosen else None
        return Setting(every, 0.0, factor, self._scaling()), {"step"} if chosen else set()

    def _scaling(self) -> str:
        """How features are scaled, or the first way that is tried."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None) -> Self:
        """Learn from all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, memmap} of shape (n_samples, n_features)
            Training rows. A memory-mapped file is read in blocks and never copied whole.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Class labels, or a 0/1 matrix with one column per label.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weight of each sample's loss, relative to their mean; 0 leaves the sample out.
        groups : array-like of shape (n_samples,) or None, default=None
            Group labels of samples that belong together, such as frames of one track; they are held out together,
            as equal samples are, of at most 10,000.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        self.check_parameters()
        with unchanged_on_failure(self), one_matrix_thread():
            X, y = check_rows_and_labels(self, X, y, reset=True)
            self._coding = find_coding(y)
            warn_of_one_each(y)
            problem = self._pose(X, y, sample_weight, groups)
            check_learnable(problem, self.balanced)
            self._learn(problem)
            self._settled, self._kept = settled_of(self), None  # later blocks are bound to it
        return self

    def _learn(self, problem: Problem) -> None:
        self._calibration = None
        training = Training(problem, self._method(), self._recipe())
        choice = training.choose(*self._settings())
        outcome = training.run(choice)
        curve = outcome.curve
        self.history_ = dict(NO_HISTORY)
        self._record(curve.risk, curve.accuracy)
        n_held_out = 0 if outcome.held_out is None else len(outcome.held_out.rows)
        self._describe(curve.state, choice.setting, choice.trials, n_held_out, outcome.seconds)
        self._set_weights(curve.state, curve.state.weights)
        self._calibrate(outcome.held_out)

    def _calibrate(self, held_out: HeldOut | None) -> None:
        """Accuracy and probabilities from rows held out; several labels a row keep those of the loss."""
        self.held_out_accuracy_ = float("nan") if held_out is None else held_out.accuracy()
        if self.calibration is None:
            return
        if held_out is None:
            warn_uncalibrated()
        if not self._coding.multilabel:
            nobody = Calibration(self._objective.temperature, doubt_of(0))
            self._calibration = nobody if held_out is None else held_out.calibration()

    def _record(self, risk: list[float], accuracy: list[float] | None = None) -> None:
        """One entry for each pass; accuracies are NaN where no rows were held out."""
        unknown = [float("nan")] * len(risk)
        self.history_ = {
            "risk": self.history_["risk"] + risk,
            "held_out_accuracy": self.history_["held_out_accuracy"] + (accuracy or unknown),
        }

    def _describe(
        self, state: State, setting: Setting, trials: list[Trial], n_held_out: int, seconds: dict[str, float]
    ) -> None:
        """What was chosen, and from what."""
        self.report_ = {
            "loss": state.objective.name,
            "scaling": setting.scaling,
            "rank": setting.rank,
            "damping": float(setting.damping),
            "step": state.schedule.first,
            "n_held_out": n_held_out,
            "trials": [
                {
                    "scaling": trial.setting.scaling,
                    "rank": trial.setting.rank,
                    "damping": float(trial.setting.damping),
                    "step": trial.step,
                    "accuracy": trial.accuracy,
                    "risk": trial.risk,
                }
                for trial in trials
            ],
            "seconds": seconds,
        }

    def _set_weights(self, state: State, V: NDArray[Any]) -> None:
        weights, intercept = state.coordinates.to_features(V.astype(np.float64))
        self.coef_ = np.ascontiguousarray(weights.T, dtype=state.V.dtype)
        self.intercept_ = intercept.astype(state.V.dtype)
        self.classes_, self.n_passes_ = self._coding.classes, len(self.history_["risk"])
        self._state = replace(state, coordinates=state.coordinates.at_rest())
        self._objective = state.objective

    def _pose(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None = None,
        unit: float | None = None,
    ) -> Problem:
        """Rows, labels, groups, and weights in their unit (their mean); rows of weight 0 do not count."""
        rows, coding = row_source(X), self._coding
        labels, groups = coding.encode(y), number_groups(groups, rows.n_rows)
        weights = check_weights(sample_weight, rows.n_rows)
        weights = weights * weigh_classes(self.class_weight, y, coding.classes, coding.multilabel)
        check_some_count(weights)
        unit = mean_weight(weights) if unit is None else unit
        counted = np.flatnonzero(weights > 0)
        return Problem(rows, labels, (weights / unit).astype(rows.dtype), groups, counted, unit)

    def _objective_of(self, coding: Coding) -> Objective:
        """The loss by its name, which must suit the labels."""
        name = self.loss if self.loss != "auto" else "log" if coding.multilabel else "multinomial"
        if name == "multinomial" and coding.multilabel:
            raise ValueError('loss="multinomial" needs one label per sample; use "log" for a matrix of labels.')
        if name == "multinomial" and self.balanced:
            raise ValueError(
                'balanced=True draws rows for each class on its own; use loss="log", not "multinomial".'
            )
        return Objective(name, coding.n_columns)

    def _recipe(self) -> Recipe:
        return Recipe(
            objective=self._objective_of(self._coding),
            step=None if isinstance(self.step, str) else float(self.step),
            n_passes=self.max_passes,
            options=PassOptions(self.batch_size, self.balanced, self.average, find_seed(self.random_state)),
            early_stopping=self.early_stopping,
            tol=self.tol,
            judged=self.calibration is not None,
            memory=self.memory,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        check_loss(self.loss)
        if isinstance(self.step, Real) and not isinstance(self.step, bool):
            check_positive("step", self.step)
        elif self.step not in self._named_steps:
            named = " or ".join(f'"{name}"' for name in self._named_steps)
            raise ValueError(f"step={self.step!r} must be a number above 0 or {named}.")
        check_whole("max_passes", self.max_passes, optional=True)
        check_whole("batch_size", self.batch_size)
        for name in ("balanced", "average", "fit_intercept", "early_stopping"):
            check_flag(name, getattr(self, name))
        if self.tol is not None and not (isinstance(self.tol, Real) and self.tol >= 0):
            raise ValueError(f"tol={self.tol!r} must be a number of at least 0, or None.")
        check_choice("calibration", self.calibration, ("temperature", None))
        check_positive("memory", self.memory)
        count_threads(self.n_jobs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags


@contextmanager
def unchanged_on_failure(estimator: StochasticLinearClassifier) -> Iterator[None]:
    """A fit that fails leaves the estimator as it was."""
    before = estimator.__dict__.copy()
    try:
        yield
    except BaseException:
        estimator.__dict__ = before
        raise


def check_learnable(problem: Problem, balanced: bool) -> None:
    """More than one class must have rows that count; labels may be missing, but not all where they are drawn."""
    classes = problem.labels.classes(problem.ids)
    if not problem.labels.multilabel:
        check_two_classes(classes)
    elif balanced and np.all(classes < 0):
        raise ValueError("balanced=True has nothing to draw, since no row that counts has a label; check y.")
