"""Rows that come in blocks: what the first ones settle, and one pass over each."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse, vstack
from sklearn.utils.metaestimators import available_if

from nearboost.base.rows import RowSource, check_rows, row_source
from nearboost.base.threads import one_matrix_thread
from nearboost.linear.classifier import NO_HISTORY, StochasticLinearClassifier, unchanged_on_failure
from nearboost.linear.descent import Schedule
from nearboost.linear.kept import settled_of
from nearboost.linear.learning import final_risk, run_block, with_smaller_steps
from nearboost.linear.projection import Projection
from nearboost.linear.rows import Problem, announce_coding, check_rows_and_labels
from nearboost.linear.tensors import as_type
from nearboost.linear.training import Training
from nearboost.problem.targets import Labels, number_groups, unique_values

FEWEST, MOST = 128, 1_024  # rows that are enough to begin with


def _steps_in_batches(classifier: StochasticLinearClassifier) -> bool:
    if classifier.step == "theory":
        raise AttributeError('step="theory" sums over all rows at each step; use fit, or another step.')
    return True


class BlockwiseLinearClassifier(StochasticLinearClassifier):
    """A linear classifier that also learns from one block after the other."""

    _n_begun: int  # rows that coordinates and step come from

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

        A first block that is too small for this is kept. As rows grow to twice their number both are done again
        from all of them, until there are enough: two for each feature, but at least 128 and at most 1,024.
        A model file keeps such rows, and no others.

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
                self._coding, self.history_ = announce_coding(y, classes), dict(NO_HISTORY)
                problem = self._pose(X, y, sample_weight)
                self._begin(problem, hessian_sample)
                self._settled = settled_of(self)  # later blocks are bound to it
                self._keep(problem if hessian_sample is None else None)
                if self._kept is not None:
                    self._kept = joined(self._kept)  # what is given stays the user's
            else:
                X = as_type(X, self._state.V.dtype)  # as the first block came
                problem = self._take_up(self._pose(X, y, sample_weight, unit=self._state.unit))
            self._continue(problem)
        return self

    def _keep(self, problem: Problem | None) -> None:
        """Rows that are too few for what the first call settles; none where they are enough."""
        few = problem is not None and len(problem.ids) < enough_rows(problem, self.memory)
        self._kept = problem if few else None

    def _take_up(self, block: Problem) -> Problem:
        """The rows to go on with: a later block, or all so far, where they begin anew."""
        if self._kept is None:
            return block
        n_begun, together = self._n_begun, joined(self._kept, block)
        self._keep(together)
        if self._kept is not None and len(together.ids) < 2 * n_begun:
            return block
        self._begin(together, None)
        return together

    def _begin(self, problem: Problem, hessian_sample: Any) -> None:
        """Coordinates, metric and step from the first rows."""
        others = None
        if hessian_sample is not None:
            rows = row_source(check_rows(self, hessian_sample, reset=False))
            ids, groups = np.arange(rows.n_rows), number_groups(None, rows.n_rows)
            others = Problem(rows, problem.labels, np.ones(len(ids), dtype=rows.dtype), groups, ids)
        training = Training(problem, self._method(), self._recipe(), others)
        choice = training.choose(*self._settings())
        self._calibration, self.held_out_accuracy_ = None, float("nan")
        horizon = training.recipe.count_steps(len(problem.ids), 1)
        coordinates = training.coordinates[choice.setting.scaling]
        self._state = training.begin(choice.setting, Schedule(0.0, horizon=horizon), coordinates)
        self._n_begun = len(problem.ids)
        self._describe(self._state, choice.setting, choice.trials, 0, training.seconds)

    def _continue(self, problem: Problem) -> None:
        state = self._state.copy()
        projection = Projection(
            problem, state.coordinates, self.memory, self.n_jobs, self.verbose, self._recipe().device
        )
        if state.schedule.n_steps is not None:  # after `fit`, whose steps have come down to zero
            horizon = max(1, state.n_steps // state.n_passes)
            state.schedule = Schedule(state.schedule.first, horizon=horizon)
        before = final_risk(state, projection)
        state, risk = with_smaller_steps(lambda trial: run_block(trial, projection, before), state)
        self._record([risk])
        self._set_weights(state, state.weights)
        self.held_out_accuracy_ = float("nan")  # that of weights which are no more

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


def enough_rows(problem: Problem, memory: float) -> float:
    """From so many rows on, coordinates are settled: a quarter of ``memory`` is all that others may take."""
    n_features = problem.rows.n_features
    room = memory / 4 / (n_features * problem.rows.dtype.itemsize)
    return min(max(2 * (n_features + 1), FEWEST), MOST, np.inf if issparse(problem.rows.X) else room)


def joined(*problems: Problem) -> Problem:
    """The rows of problems that count, as one, in arrays of its own."""
    labels, unit = problems[0].labels, problems[0].unit
    blocks = [problem.rows.take(problem.ids) for problem in problems]
    X = csr_array(vstack(blocks)) if any(map(issparse, blocks)) else np.concatenate(blocks)
    members = csr_array(vstack([problem.labels.members[problem.ids] for problem in problems]))
    labels = Labels(members, labels.n_classes, labels.multilabel)
    weights = np.concatenate([problem.weights[problem.ids] for problem in problems])
    ids = np.arange(len(weights))
    return Problem(RowSource(X), labels, weights, number_groups(None, len(ids)), ids, unit)
