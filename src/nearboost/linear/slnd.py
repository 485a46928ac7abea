"""SLND: stochastic low-rank Newton descent."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.progress import progress_bar
from nearboost.base.validation import check_not_negative, check_positive, check_whole
from nearboost.linear.base import NO_HISTORY, StochasticLinearClassifier
from nearboost.linear.choice import RANKS, Setting
from nearboost.linear.coordinates import Coordinates, Eigenvectors
from nearboost.linear.descent import FixedMetric, Metric, Schedule, State
from nearboost.linear.moments import draw_sample, leading_eigenpairs, measure_moment
from nearboost.linear.objectives import Objective
from nearboost.linear.problem import Problem
from nearboost.linear.projection import Projection
from nearboost.linear.theory import MOST_ROWS, diagnose, run_theory
from nearboost.linear.training import Method, Recipe, Training

FIRST_RANK, FIRST_DAMPING = 256, 0.01  # where the choice starts


@dataclass(frozen=True)
class LowRankNewton(Method):
    """The leading eigenvectors of the second moment, each direction scaled by 1/(F''(0)(D + μ D₁))."""

    rank: int | None
    n_samples: int | None
    intercept: bool

    def coordinates(self, problem: Problem, recipe: Recipe) -> Coordinates:
        sample = draw_sample(problem.ids, self.n_samples, recipe.way.seed)
        moment, scale = measure_moment(
            problem.rows,
            sample,
            problem.weights,
            intercept=self.intercept,
            memory=recipe.memory,
            n_jobs=recipe.n_jobs,
        )
        values, vectors = leading_eigenpairs(moment, max(RANKS) if self.rank is None else self.rank)
        if not len(values):
            raise ValueError("X is zero everywhere, so there is no direction to learn in; check X.")
        if self.rank is not None and len(values) < self.rank:
            warnings.warn(
                f"rank={self.rank} is more than the {len(values)} directions in which the rows differ from zero; "
                f"{len(values)} are used.",
                UserWarning,
                stacklevel=2,
            )
        vectors[: problem.rows.n_features] *= scale
        return Eigenvectors(vectors, values, self.intercept)

    def metric(self, coordinates: Coordinates, objective: Objective, damping: float) -> Metric:
        moments = coordinates.second_moments
        return FixedMetric((1.0 / (objective.curvature * (moments + damping * moments[0])))[:, np.newaxis])


class SLNDClassifier(StochasticLinearClassifier):
    """Linear classifiers by stochastic low-rank Newton descent.

    Each step follows the gradient of a few rows in the metric of the inverse second-moment matrix, cut to its
    leading eigenvectors. In their coordinates a step costs O(rank); all classes learn as one matrix.

    Parameters
    ----------
    loss : {"auto", "log", "hinge", "binlog", "mat", "squared", "multinomial"}
        A calibrated loss for each class against the rest, or "multinomial", the log loss of the softmax of all
        classes. "auto" is "multinomial", or "log" for a matrix of labels.
    rank : int or None
        Number of eigenvectors. None: chosen on held-out rows, 512 at most.
    damping : float or None
        μ in D + μ D₁: directions with a second moment below this share of the largest learn more slowly. 0 as
        published. None: chosen on held-out rows.
    hessian_samples : int or None
        Rows to measure the second moment on, drawn from all; None takes 10,000, or all of fewer.
    step : "auto", "theory" or float
        η, which multiplies the sum over a batch. A number stays constant, between 1/n_samples and
        1/√n_samples as published. "auto" is chosen on held-out rows and falls in a line to zero. "theory" is eq.
        (C.8) of the thesis, with sums over all rows at each step: small sets only.
    epsilon : float
        ε of eq. (C.8), between 0 and 1.
    max_passes : int or None
        At most so many times through all rows. None: 5, and more for few rows (100 at most); 1 for "theory".
    batch_size : int
        Rows of a step.
    balanced : bool
        Whether each class learns, in each pass, from its own rows and as many others only, as published.
    average : bool
        Whether the weights are the mean over all steps since the first pass.
    fit_intercept : bool
        Whether a constant 1 is appended to the features.
    early_stopping : bool
        Whether a held-out part stays out of all learning, picks the best pass, and stops constant steps.
    tol : float or None
        Stop constant steps when three passes improve the risk by no more than this, or with ``early_stopping``
        the held-out accuracy. Falling steps come down to zero. None: only ``max_passes`` stops.
    class_weight : dict, "balanced" or None
        What the rows of each class count.
    memory : float
        Bytes for rows in the leading directions; where they need more, each pass makes them anew. Second-moment
        matrices get a quarter of it.
    random_state : int, RandomState or None
        Seed of all draws; None is 0, so that fits repeat.
    n_jobs : int or None
        Threads; None means all cores.
    verbose : int
        Above 0, progress bars on standard error.

    Attributes
    ----------
    coef_, intercept_ : weights of the features, one row for each class (one in all for two classes)
    classes_ : names of the classes
    eigenvalues_ : the largest eigenvalues of the second-moment matrix, falling
    rank_, damping_, step_ : as given or as chosen; the step is the first
    history_ : {"risk": of each pass, "held_out_accuracy": after each pass}. Without ``early_stopping`` held-out
        rows take part in the learning, and their accuracies are those of the chosen trial. They are NaN where
        nothing was held out: with rank, damping and step all given, in blocks, and with ``step="theory"``
    report_ : what was chosen, all trials, and seconds
    diagnostics_ : with ``step="theory"``, quantiles of the measured γ_t of the weak separability assumption
    n_passes_ : passes made
    n_features_in_ : number of features

    Notes
    -----
    Chapter 4 of the thesis of W. Bel Haj Ali. As published: ``loss="log"`` or "hinge", ``damping=0``, a number as
    ``step``. The other settings, and all that is chosen, are not in the thesis.
    Sums weigh rows by ``sample_weight`` divided by its mean.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nearboost import SLNDClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SLNDClassifier().fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.94
    True
    """

    _named_steps = ("auto", "theory")

    def __init__(
        self,
        loss: str = "auto",
        *,
        rank: int | None = None,
        damping: float | None = None,
        hessian_samples: int | None = None,
        step: float | str = "auto",
        epsilon: float = 0.5,
        max_passes: int | None = None,
        batch_size: int = 64,
        balanced: bool = False,
        average: bool = False,
        fit_intercept: bool = True,
        early_stopping: bool = False,
        tol: float | None = 1e-4,
        class_weight: Any = None,
        memory: float = 1.5e9,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.rank = rank
        self.damping = damping
        self.hessian_samples = hessian_samples
        self.step = step
        self.epsilon = epsilon
        self.max_passes = max_passes
        self.batch_size = batch_size
        self.balanced = balanced
        self.average = average
        self.fit_intercept = fit_intercept
        self.early_stopping = early_stopping
        self.tol = tol
        self.class_weight = class_weight
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _method(self) -> Method:
        return LowRankNewton(self.rank, self.hessian_samples, self.fit_intercept)

    def _settings(self) -> tuple[Setting, set[str]]:
        given, free = super()._settings()
        if self.step == "theory":
            return Setting(given.rank if self.rank is None else self.rank, self.damping or 0.0, None), set()
        free |= {name for name in ("rank", "damping") if getattr(self, name) is None}
        rank = FIRST_RANK if self.rank is None else self.rank
        return Setting(rank, FIRST_DAMPING if self.damping is None else self.damping, given.factor), free

    def _learn(self, problem: Problem, groups: NDArray[Any] | None) -> None:
        if hasattr(self, "diagnostics_"):  # of an earlier fit
            del self.diagnostics_
        if self.step == "theory":
            self._learn_by_theory(problem)
        else:
            super()._learn(problem, groups)

    def _learn_by_theory(self, problem: Problem) -> None:
        recipe = replace(self._recipe(), step=1.0)
        self._check_theory(recipe.objective, problem)
        training = Training(problem, self._method(), recipe)
        setting = training.settle(*self._settings(), None).setting
        state = training.begin(setting, Schedule(1.0))
        Z = Projection(problem, state.coordinates, np.inf, self.n_jobs).project(problem.ids).astype(np.float64)
        n_passes = self.max_passes or 1
        generator = np.random.default_rng(recipe.way.seed)
        order = np.concatenate([generator.permutation(len(Z)) for _ in range(n_passes)])
        with progress_bar("Learning", len(order), self.verbose) as advance:
            course = run_theory(
                problem, Z, recipe.objective, state.metric.values[:, 0], self.epsilon, order, advance
            )
        state.n_passes, state.V = n_passes, course.V.astype(problem.rows.dtype)
        self.diagnostics_ = diagnose(course)
        self.history_ = dict(NO_HISTORY)
        self._record(course.risks[len(Z) :: len(Z)].mean(axis=1).tolist())
        self._describe(state, setting, [], 0, training.seconds)
        self._set_weights(state, course.V)

    def _check_theory(self, objective: Objective, problem: Problem) -> None:
        if objective.softmax:
            raise ValueError('step="theory" is for one class against the rest; use loss="log" or "hinge".')
        if self.balanced or self.average or self.early_stopping:
            raise ValueError(
                'step="theory" sums over all rows at each step; use balanced=False, average=False and '
                "early_stopping=False."
            )
        if len(problem.ids) > MOST_ROWS:
            raise ValueError(
                f'step="theory" sums over all {len(problem.ids)} rows at each step; use step="auto", or at most '
                f"{MOST_ROWS} rows."
            )

    def _describe(self, state: State, setting: Setting, *others: Any) -> None:
        super()._describe(state, setting, *others)
        self.eigenvalues_ = state.coordinates.second_moments
        self.rank_, self.damping_, self.step_ = len(self.eigenvalues_), setting.damping, state.schedule.first

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole("rank", self.rank, optional=True)
        check_whole("hessian_samples", self.hessian_samples, least=2, optional=True)
        if self.damping is not None:
            check_not_negative("damping", self.damping)
        check_positive("epsilon", self.epsilon)
        if self.epsilon >= 1:
            raise ValueError(f"epsilon={self.epsilon!r} must lie between 0 and 1.")
