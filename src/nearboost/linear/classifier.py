"""The estimator that all stochastic linear classifiers share: validate, choose, learn."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

from nearboost.base.threads import count_threads, one_matrix_thread
from nearboost.base.validation import check_flag, check_positive, check_whole
from nearboost.linear.choice import FIRST_FACTOR, Setting, Trial
from nearboost.linear.descent import PassOptions, Schedule, State
from nearboost.linear.kept import Resumable, settled_of
from nearboost.linear.learning import final_risk, run_block, with_smaller_steps
from nearboost.linear.objectives import Objective, check_loss
from nearboost.linear.projection import Projection
from nearboost.linear.rows import (
    Problem,
    announce_coding,
    check_rows,
    check_rows_and_labels,
    mean_weight,
    open_rows,
)
from nearboost.linear.scoring import LinearScores
from nearboost.linear.training import Method, Recipe, Training
from nearboost.problem.held_out import find_seed
from nearboost.problem.targets import (
    Coding,
    check_some_count,
    check_two_classes,
    check_weights,
    find_coding,
    number_groups,
    unique_values,
    weigh_classes,
)

NO_HISTORY: dict[str, list[float]] = {"risk": [], "held_out_accuracy": []}


def _steps_in_batches(classifier: "StochasticLinearClassifier") -> bool:
    if classifier.step == "theory":
        raise AttributeError('step="theory" sums over all rows at each step; use fit, or another step.')
    return True


class StochasticLinearClassifier(Resumable, LinearScores, ClassifierMixin, BaseEstimator):
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
    class_weight: Any
    memory: float
    random_state: Any
    n_jobs: int | None
    verbose: int

    _named_steps: tuple[str, ...] = ("auto",)

    def _method(self) -> Method:
        raise NotImplementedError

    def _settings(self) -> tuple[Setting, set[str]]:
        """The setting that is given or that the choice starts from, and what is to be chosen."""
        chosen = self.step == "auto"
        return Setting(rank=np.iinfo(np.int64).max, damping=0.0, factor=FIRST_FACTOR if chosen else None), (
            {"step"} if chosen else set()
        )

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
            Group labels of samples that belong together, such as frames of one track; they are held out together.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        self.check_parameters()
        with unchanged_on_failure(self), one_matrix_thread():
            X, y = check_rows_and_labels(self, X, y, reset=True)
            self._coding = find_coding(y)
            problem = self._pose(X, y, sample_weight, groups)
            check_learnable(problem, self.balanced)
            self._learn(problem)
            self._settled = settled_of(self)  # later blocks are bound to it
        return self

    def _learn(self, problem: Problem) -> None:
        training = Training(problem, self._method(), self._recipe())
        outcome = training.run(training.choose(*self._settings()))
        choice, curve = outcome.choice, outcome.curve
        self.history_ = dict(NO_HISTORY)
        self._record(curve.risk, curve.accuracy)
        self._describe(curve.state, choice.setting, choice.trials, len(choice.held_out), outcome.seconds)
        self._set_weights(curve.state, curve.state.weights)

    @available_if(_steps_in_batches)
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        hessian_sample: Any = None,
    ) -> Self:
        """Make one pass over these rows; the first call also measures second moments and chooses what is not
        given.

        Steps are constant if ``step`` is a number; otherwise they decrease as 1/√(1 + t), with t counted in first
        blocks. Later calls keep the parameters of the first, or of `fit`: only ``class_weight``, ``memory``,
        ``n_jobs`` and ``verbose`` may change. ``max_passes``, ``early_stopping`` and ``tol`` are not used.

        Parameters
        ----------
        X : {array-like, sparse matrix, memmap} of shape (n_samples, n_features)
            Rows of this block.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Class labels, or a 0/1 matrix with one column per label.
        classes : array-like or None, default=None
            All classes that will ever come; required in the first call unless ``y`` is multilabel.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weight of each sample's loss, relative to their mean in the first block.
        hessian_sample : array-like of shape (n_rows, n_features) or None, default=None
            Rows that the first call measures second moments on; None takes ``X``.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        first = not hasattr(self, "_state")
        self.check_parameters()
        self._check_continued(first, classes)
        with unchanged_on_failure(self), one_matrix_thread():
            X, y = check_rows_and_labels(self, X, y, reset=first)
            if first:
                self._coding = announce_coding(y, classes)
                problem = self._pose(X, y, sample_weight)
                self._begin(problem, hessian_sample)
                self._settled = settled_of(self)  # later blocks are bound to it
            else:
                X = X.astype(self._state.V.dtype, copy=False)  # as the first block came
                problem = self._pose(X, y, sample_weight, unit=self._state.unit)
            self._continue(problem)
        return self

    def _begin(self, problem: Problem, hessian_sample: Any) -> None:
        """Coordinates, metric and step from the first block."""
        others = None
        if hessian_sample is not None:
            rows = open_rows(check_rows(self, hessian_sample, reset=False))
            ids, groups = np.arange(rows.n_rows), number_groups(None, rows.n_rows)
            others = Problem(rows, problem.labels, np.ones(len(ids), dtype=rows.dtype), groups, ids)
        training = Training(problem, self._method(), self._recipe(), others)
        choice = training.choose(*self._settings())
        horizon = training.recipe.count_steps(len(problem.ids), 1)
        self._state = training.begin(choice.setting, Schedule(0.0, horizon=horizon))
        self.history_ = dict(NO_HISTORY)
        self._describe(self._state, choice.setting, choice.trials, len(choice.held_out), training.seconds)

    def _continue(self, problem: Problem) -> None:
        state = self._state.copy()
        projection = Projection(problem, state.coordinates, self.memory, self.n_jobs, self.verbose)
        if state.schedule.n_steps is not None:  # after `fit`, whose steps have come down to zero
            horizon = max(1, state.n_steps // state.n_passes)
            state.schedule = Schedule(state.schedule.first, horizon=horizon)
        before = final_risk(state, projection)
        state, risk = with_smaller_steps(lambda trial: run_block(trial, projection, before), state)
        self._record([risk])
        self._set_weights(state, state.weights)

    def _check_continued(self, first: bool, classes: ArrayLike | None) -> None:
        """What blocks can be learned with, and that a later one comes with what the first one settled."""
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            raise ValueError('class_weight="balanced" cannot be known from a block; give partial_fit a dict.')
        if first:
            return
        for name, settled in self._settled.items():
            given = getattr(self, name)
            if given is not settled and given != settled:
                raise ValueError(
                    f"{name}={given!r} was {settled!r} when learning began, and partial_fit goes on with that; "
                    "set it back, or start again with fit or a clone."
                )
        if classes is not None and not self._coding.multilabel:
            names = unique_values("classes", classes)[0]
            if not np.array_equal(names, self.classes_):
                raise ValueError(f"classes={names} must be those of the first call, {self.classes_}, or None.")

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
            "rank": setting.rank,
            "damping": float(setting.damping),
            "step": state.schedule.first,
            "n_held_out": n_held_out,
            "trials": [
                {
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
        rows, coding = open_rows(X), self._coding
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
