"""The estimator that all stochastic linear classifiers share: validate, choose, learn."""

from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.metaestimators import available_if

from nearboost.base.threads import count_threads, one_matrix_thread
from nearboost.base.validation import check_choice, check_flag, check_positive, check_weights, check_whole
from nearboost.linear.choice import FIRST_FACTOR, Setting, Trial
from nearboost.linear.descent import Schedule, State, Way
from nearboost.linear.learning import final_risk, run_block, with_smaller_steps
from nearboost.linear.objectives import Objective, check_loss
from nearboost.linear.problem import Problem
from nearboost.linear.projection import Projection
from nearboost.linear.scoring import LinearScores
from nearboost.linear.sources import check_rows, check_rows_and_labels, open_rows
from nearboost.linear.targets import Targets, coding_of
from nearboost.linear.training import Method, Recipe, Training


def _steps_in_batches(classifier: "StochasticLinearClassifier") -> bool:
    if classifier.step == "theory":
        raise AttributeError('step="theory" sums over all rows at each step; use fit, or another step.')
    return True


class StochasticLinearClassifier(LinearScores, ClassifierMixin, BaseEstimator):
    """Linear classifiers learned by stochastic steps; each method adds its coordinates and its metric."""

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
        X : array, sparse matrix or memory-mapped array of shape (n_samples, n_features)
            A memory-mapped file is read in blocks and never copied whole.
        y : labels of shape (n_samples,), or a 0/1 matrix of shape (n_samples, n_labels)
        sample_weight : what each sample's loss counts, relative to their mean; 0 leaves the sample out
        groups : one label per sample for samples that belong together (frames of one track); they are held out
            together
        """
        self._check_parameters()
        X, y = check_rows_and_labels(self, X, y, reset=True)
        self._coding = coding_of(y)
        problem = self._pose(X, y, sample_weight)
        check_learnable(problem)
        with one_matrix_thread():
            self._learn(problem, check_groups(groups, problem.rows.n_rows))
        return self

    def _learn(self, problem: Problem, groups: NDArray[Any] | None) -> None:
        training = Training(problem, self._method(), self._recipe())
        outcome = training.run(training.settle(*self._settings(), groups))
        choice, course = outcome.choice, outcome.course
        self.history_ = {"risk": course.risk, "held_out_accuracy": course.accuracy}
        self._describe(outcome.state, choice.setting, choice.trials, len(choice.held_out), outcome.seconds)
        self._set_weights(outcome.state, course.weights)

    @available_if(_steps_in_batches)
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        hessian_sample: Any = None,
    ) -> Self:
        """One pass over these rows; a first call also measures second moments and chooses what is not given.

        Steps are constant where ``step`` is a number; else they fall as 1/√(1 + t), t counted in first blocks.

        Parameters
        ----------
        X, y, sample_weight : as in `fit`
        classes : all classes that will ever come, in the first call; needless for a matrix of labels
        hessian_sample : rows to measure second moments on, in the first call; None takes ``X``
        """
        first = not hasattr(self, "_state")
        self._check_parameters()
        X, y = check_rows_and_labels(self, X, y, reset=first)
        if not first:
            X = X.astype(self._state.V.dtype, copy=False)  # as the first block came
        if first:
            self._coding = coding_of(y, classes)
            if len(self._coding.classes) < 2 and not self._coding.multilabel:
                raise ValueError(
                    "A first partial_fit needs to know at least two classes; give all of them as classes=."
                )
        problem = self._pose(X, y, sample_weight)
        with one_matrix_thread():
            if first:
                self._begin(problem, hessian_sample)
            self._continue(problem)
        return self

    def _begin(self, problem: Problem, hessian_sample: Any) -> None:
        """Coordinates, metric and step from the first block."""
        others = None
        if hessian_sample is not None:
            rows = open_rows(check_rows(self, hessian_sample, reset=False))
            ids = np.arange(rows.n_rows)
            others = Problem(rows, problem.targets, np.ones(len(ids), dtype=rows.dtype), ids)
        training = Training(problem, self._method(), self._recipe(), others)
        choice = training.settle(*self._settings(), None)
        horizon = training.recipe.count_steps(len(problem.ids), 1)
        self._state = training.begin(choice.setting, Schedule(0.0, horizon=horizon))
        self.history_ = {"risk": [], "held_out_accuracy": choice.rehearsal}
        self._describe(self._state, choice.setting, choice.trials, len(choice.held_out), training.seconds)

    def _continue(self, problem: Problem) -> None:
        state = self._state
        projection = Projection(problem, state.coordinates, self.memory, self.n_jobs, self.verbose)
        if state.schedule.n_steps is not None:  # after `fit`, whose steps have come down to zero
            horizon = max(1, state.schedule.n_steps // state.n_passes)
            state.schedule = Schedule(state.schedule.first, horizon=horizon)
        before = final_risk(state, projection)
        state, risk = with_smaller_steps(lambda trial: run_block(trial, projection, before), state)
        self.history_["risk"].append(risk)
        self._set_weights(state, state.weights)

    def _describe(
        self, state: State, setting: Setting, trials: list[Trial], n_held_out: int, seconds: dict[str, float]
    ) -> None:
        """What was chosen, and from what."""
        self.report_ = {
            "loss": state.objective.name,
            "rank": setting.rank,
            "damping": setting.damping,
            "step": state.schedule.first,
            "n_held_out": n_held_out,
            "trials": [
                {
                    "rank": trial.setting.rank,
                    "damping": trial.setting.damping,
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
        self.classes_, self.n_passes_ = self._coding.classes, state.n_passes
        self._state = replace(state, coordinates=state.coordinates.at_rest())
        self._objective = state.objective

    def _pose(self, X: Any, y: NDArray[Any], sample_weight: ArrayLike | None) -> Problem:
        """Rows, codes and weights; those of weight 0 do not count, the others have weights of mean 1."""
        rows, targets = open_rows(X), self._coding.encode(y)
        weights = check_weights(sample_weight, rows.n_rows) * self._weigh_classes(y)
        ids = np.flatnonzero(weights > 0)
        if not len(ids):
            raise ValueError(
                "sample_weight and class_weight leave no sample that counts; give some a weight above 0."
            )
        weights = weights / weights[ids].max()
        return Problem(rows, targets, (weights / weights[ids].mean()).astype(rows.dtype), ids)

    def _weigh_classes(self, y: NDArray[Any]) -> NDArray[np.float64]:
        if self.class_weight is None:
            return np.ones(len(y))
        if isinstance(self.class_weight, str):
            check_choice("class_weight", self.class_weight, ("balanced", None))
        weights = np.asarray(compute_sample_weight(self.class_weight, y), dtype=np.float64)
        if not np.all(np.isfinite(weights)) or np.any(weights < 0):
            raise ValueError("class_weight must hold finite numbers of at least 0.")
        return weights

    def _recipe(self) -> Recipe:
        seed = 0 if self.random_state is None else self.random_state
        if not isinstance(seed, int | np.integer):
            seed = check_random_state(seed).randint(2**31 - 1)
        multilabel = self._coding.multilabel
        name = self.loss if self.loss != "auto" else "log" if multilabel else "multinomial"
        if name == "multinomial" and multilabel:
            raise ValueError('loss="multinomial" needs one label per sample; use "log" for a matrix of labels.')
        if name == "multinomial" and self.balanced:
            raise ValueError(
                'balanced=True draws rows for each class on its own; use loss="log", not "multinomial".'
            )
        return Recipe(
            objective=Objective(name, self._coding.n_columns),
            step=None if isinstance(self.step, str) else float(self.step),
            n_passes=self.max_passes,
            way=Way(self.batch_size, self.balanced, self.average, int(seed)),
            early_stopping=self.early_stopping,
            tol=self.tol,
            memory=self.memory,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )

    def _check_parameters(self) -> None:
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


def check_groups(groups: ArrayLike | None, n_rows: int) -> NDArray[Any] | None:
    """One group number per row."""
    if groups is None:
        return None
    given = np.asarray(groups)
    if given.shape != (n_rows,):
        raise ValueError(f"groups has shape {given.shape} but there are {n_rows} samples; give one per sample.")
    return np.unique(given, return_inverse=True)[1]


def check_learnable(problem: Problem) -> None:
    """More than one class must have rows that count."""
    targets: Targets = problem.targets
    if not targets.multilabel and len(np.unique(targets.classes(problem.ids))) < 2:
        raise ValueError("All samples that count are of one class; a classifier needs at least two classes.")
