"""The methods that SLND is compared with, in the same loop: only coordinates and metric differ."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nearboost.base import entries
from nearboost.base.entries import Integer, Misfit, Nullable, Number
from nearboost.base.schema import Schema
from nearboost.base.validation import check_choice, check_whole
from nearboost.linear.blocks import BlockwiseLinearClassifier
from nearboost.linear.coordinates import Coordinates, Features
from nearboost.linear.descent import FixedMetric, Metric
from nearboost.linear.kept import MOST_COUNTED, linear_schema
from nearboost.linear.moments import draw_sample, measure_mean, measure_moment, spreads
from nearboost.linear.objectives import Objective
from nearboost.linear.recipe import Method, Recipe
from nearboost.linear.rows import Problem

Array = NDArray[np.float64]

SCALINGS = ("none", "standard", "diagonal", "quasi-newton")
MEASURED = ("about_zero", "centre", "scale", "factor")  # that coordinates are made of
LEAST_CURVATURE = 0.01  # of its bound: the learned metric gives no step more than 100 times as long


@dataclass(frozen=True)
class OwnFeatures(Method):
    """Steps along the features themselves, in one of the scalings."""

    scaling: str
    n_samples: int | None
    intercept: bool
    skip: int

    def coordinates(self, problem: Problem, recipe: Recipe) -> dict[str, Coordinates]:
        rows, sample = problem.rows, draw_sample(problem.ids, self.n_samples, recipe.options.seed)
        moment, factor = measure_moment(
            rows, sample, problem.weights, intercept=self.intercept, memory=recipe.memory, n_jobs=recipe.n_jobs
        )
        centre, scale = np.zeros(rows.n_features), np.ones(rows.n_features)
        if self.scaling == "standard":
            centre = measure_mean(rows, sample, problem.weights, factor)
            scale = spreads(moment.diagonal()[: rows.n_features], centre, moment.dtype)
        return {self.scaling: Features(moment, moment.diagonal(), centre, scale, factor, self.intercept)}

    def metric(self, coordinates: Coordinates, objective: Objective, damping: float) -> Metric:
        if self.scaling in ("none", "standard"):
            return FixedMetric(np.ones((len(coordinates.second_moments), 1)))
        bound = objective.curvature * coordinates.second_moments[:, np.newaxis]
        if self.scaling == "diagonal":
            return FixedMetric(inverse(bound))
        return LearnedDiagonal(bound, objective, self.skip)


class LearnedDiagonal:
    """The diagonal of each class's Hessian: a running mean of F''(margin) x_j², looked at every ``skip`` batches.

    After the idea of the erratum of SGD-QN (2010): the quotient of differences in the first paper does not tell
    features apart where none of them is zero. The mean begins with the bound F''(0) E[x_j²] as its first look.
    """

    interval: int | None

    def __init__(self, bound: Array, objective: Objective, skip: int) -> None:
        self.values, self.interval = inverse(bound), skip
        self._bound, self._objective = bound, objective
        self.mean, self.n_looks = bound, 1

    def resume(self, mean: Array, n_looks: int) -> None:
        """Go on from what was learned before."""
        self.mean, self.n_looks = mean, n_looks
        self.values = inverse(np.maximum(self.mean, LEAST_CURVATURE * self._bound))

    def observe(self, Z: NDArray[Any], V: NDArray[Any]) -> None:
        """A look at the last batch."""
        seen = (Z.astype(np.float64) ** 2).T @ self._objective.curvatures(Z @ V) / len(Z)
        n_looks = self.n_looks + 1
        self.resume(self.mean + (seen - self.mean) / n_looks, n_looks)


def inverse(diagonal: Array) -> Array:
    """1/d, and 0 for features that are always zero."""
    return np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)


class LinearSGDClassifier(BlockwiseLinearClassifier):
    """Linear classifier learned by stochastic gradient descent on scaled features: SLND without the eigenvectors.

    Parameters
    ----------
    loss : {"auto", "log", "hinge", "binlog", "mat", "squared", "multinomial"}, default="auto"
        A calibrated loss for each class against the rest, or "multinomial", the log loss of the softmax over all
        classes. "auto" means "multinomial", or "log" for multilabel ``y``.
    scaling : {"none", "standard", "diagonal", "quasi-newton"}, default="none"
        How features are scaled. "none" is plain SGD. "standard" is SGD-P: zero mean and unit variance. "diagonal"
        is diagonal SLND: plain SGD on features divided by √(F''(0) E[x²]). "quasi-newton" is SGD-QN, which learns
        a diagonal metric for each class as it goes.
    skip : int, default=16
        Batches between two looks at the curvature by "quasi-newton".
    hessian_samples : int or None, default=None
        Number of rows, drawn from all, that the second moments are measured on. None means 10,000, or all if
        fewer.
    step : float or "auto", default="auto"
        Step size η, which multiplies the sum over a batch. A number stays constant. "auto" is chosen on held-out
        rows and decreases linearly to zero.
    max_passes : int or None, default=None
        Maximum number of passes over the rows. None means 5, or more for few rows (at most 100).
    batch_size : int, default=64
        Rows per step.
    balanced : bool, default=False
        In each pass, each class learns only from its own rows and as many others, as published.
    average : bool, default=False
        The weights are the mean over all steps after the first pass.
    fit_intercept : bool, default=True
        Append a constant 1 to the features.
    early_stopping : bool, default=False
        Keep a held-out part out of all learning, to pick the best pass and to stop constant steps.
    tol : float or None, default=1e-4
        Stop constant steps when three passes improve the risk (with ``early_stopping``, the held-out accuracy) by
        no more than this. Decreasing steps always run down to zero. None stops only at ``max_passes``.
    calibration : {"temperature", None}, default="temperature"
        How scores become probabilities, for one label a row: the softmax at a temperature fitted on held-out rows,
        mixed with a uniform share of at least 1/(n + 2) for n of them. None takes the loss's own probabilities,
        and judges no rows beyond those that choose.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class's rows, as in scikit-learn.
    memory : float, default=1.5e9
        Bytes for the projected rows; if they need more, each pass projects them again. Second-moment matrices get
        a quarter of it.
    random_state : int, RandomState or None, default=None
        Seed of every draw. None means 0, so that fits repeat.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    verbose : int, default=0
        Shows progress bars on standard error when above 0.

    Attributes
    ----------
    coef_ : ndarray of shape (n_columns, n_features)
        Weights of the features, one row per class (one in all for two classes).
    intercept_ : ndarray of shape (n_columns,)
        Constant terms of the scores.
    classes_ : ndarray of shape (n_classes,)
        Class labels; column numbers for multilabel ``y``.
    history_ : dict
        "risk" of each pass and "held_out_accuracy" after it. Without ``early_stopping``, held-out rows take part
        in the learning, and the accuracies are those of the chosen trial; they are NaN if nothing was held out.
    held_out_accuracy_ : float
        Accuracy on rows held out in turn, by weights learned without them: of up to 10,000 rows on all, in five
        folds; of more on a part, by weights of at most 32,768 other rows. NaN, with a warning, if no class has two
        rows in different groups; NaN after `partial_fit`.
    temperature_ : float
        Temperature of the probabilities; NaN if they are the loss's own.
    report_ : dict
        What was chosen, every trial, and the seconds spent (not in a model from a file).
    n_passes_ : int
        Number of passes made.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (``n_features_in_``,)
        Names of the features seen during `fit`, if ``X`` had string column names.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nearboost import LinearSGDClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = LinearSGDClassifier(scaling="standard").fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.94
    True
    """

    model_schema: ClassVar[Schema] = linear_schema(
        "LinearSGDClassifier",
        {
            "about_zero": entries.Array("float64", ("n_coordinates",), low=0),
            "centre": entries.Array("float64", ("n_features",)),
            "scale": entries.Array("float64", ("n_features",), above=0),
            "factor": Number(above=0),
            "curvatures": Nullable(entries.Array("float64", ("n_coordinates", None), low=0)),
            "n_looks": Integer(1, MOST_COUNTED),
        },
    )

    def __init__(
        self,
        loss: str = "auto",
        *,
        scaling: str = "none",
        skip: int = 16,
        hessian_samples: int | None = None,
        step: float | str = "auto",
        max_passes: int | None = None,
        batch_size: int = 64,
        balanced: bool = False,
        average: bool = False,
        fit_intercept: bool = True,
        early_stopping: bool = False,
        tol: float | None = 1e-4,
        calibration: str | None = "temperature",
        class_weight: Any = None,
        memory: float = 1.5e9,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.scaling = scaling
        self.skip = skip
        self.hessian_samples = hessian_samples
        self.step = step
        self.max_passes = max_passes
        self.batch_size = batch_size
        self.balanced = balanced
        self.average = average
        self.fit_intercept = fit_intercept
        self.early_stopping = early_stopping
        self.tol = tol
        self.calibration = calibration
        self.class_weight = class_weight
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _coordinate_entries(self) -> dict[str, Any]:
        coordinates, metric = self._state.coordinates, self._state.metric
        assert isinstance(coordinates, Features)
        mean, n_looks = (metric.mean, metric.n_looks) if isinstance(metric, LearnedDiagonal) else (None, 1)
        measured = {name: getattr(coordinates, name) for name in MEASURED}
        return {**measured, "curvatures": mean, "n_looks": n_looks}

    def _resume(self, state: Mapping[str, Any], objective: Objective) -> tuple[Coordinates, Metric]:
        if len(state["about_zero"]) != state["n_features_in_"] + self.fit_intercept:
            raise Misfit("must have a second moment for each feature, and one for the constant")
        measured = {name: state[name] for name in MEASURED}
        coordinates = Features(moment=None, **measured, intercept=bool(self.fit_intercept))
        metric, mean = self._method().metric(coordinates, objective, 0.0), state["curvatures"]
        if isinstance(metric, LearnedDiagonal):
            if mean is None or mean.shape[1] not in (1, objective.n_columns):
                raise Misfit("must have the curvatures that it learned")
            metric.resume(mean, state["n_looks"])
        return coordinates, metric

    def _scaling(self) -> str:
        return self.scaling

    def _method(self) -> Method:
        return OwnFeatures(self.scaling, self.hessian_samples, self.fit_intercept, self.skip)

    def check_parameters(self) -> None:
        super().check_parameters()
        check_choice("scaling", self.scaling, SCALINGS)
        check_whole("skip", self.skip)
        check_whole("hessian_samples", self.hessian_samples, least=2, optional=True)
