"""SLND: stochastic low-rank Newton descent."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from nearboost.base.device import is_device_name, open_device
from nearboost.base.entries import Array, Fields, Misfit, Number
from nearboost.base.progress import progress_bar
from nearboost.base.schema import Schema
from nearboost.base.validation import check_choice, check_not_negative, check_positive, check_whole
from nearboost.linear.blocks import BlockwiseLinearClassifier
from nearboost.linear.choice import Setting
from nearboost.linear.classifier import NO_HISTORY
from nearboost.linear.coordinates import Coordinates, Eigenvectors, WithRemainder
from nearboost.linear.descent import Metric, Schedule, State
from nearboost.linear.kept import Figures, linear_schema
from nearboost.linear.newton import SCALINGS, LowRankNewton
from nearboost.linear.objectives import Objective
from nearboost.linear.projection import Projection
from nearboost.linear.recipe import Method, Recipe
from nearboost.linear.rows import Problem
from nearboost.linear.theory import MOST_ROWS, diagnose, run_theory
from nearboost.linear.training import Training

FIRST_RANK, FIRST_DAMPING = 256, 0.01  # where the choice starts


class SLNDClassifier(BlockwiseLinearClassifier):
    """Linear classifier learned by stochastic low-rank Newton descent (SLND).

    Each step follows the gradient of a few rows in the metric of the inverse second-moment matrix, truncated to
    its leading eigenvectors. In their coordinates a step costs O(rank). All classes are learned as one matrix.

    Parameters
    ----------
    loss : {"auto", "log", "hinge", "binlog", "mat", "squared", "multinomial"}, default="auto"
        A calibrated loss for each class against the rest, or "multinomial", the log loss of the softmax over all
        classes. "auto" means "multinomial", or "log" for multilabel ``y``.
    scaling : {"none", "standard"} or None, default=None
        "standard" gives features zero mean and unit variance first (without ``fit_intercept``, and for sparse rows
        of more than 1,024 features, a mean square of 1). None tries both on held-out rows where the step is chosen
        too, and is "none" where that is given.
    rank : int or None, default=None
        Number of eigenvectors, beyond which nothing is learned. None chooses it on held-out rows, at most 512. Of
        sparse rows of more than 1,024 features None takes 16, and learns what they leave out as well, at the rate
        of the last one, without making rows dense (not with ``average`` or ``step="theory"``).
    damping : float or None, default=None
        μ in D + μ D₁: directions whose second moment is below this fraction of the largest learn more slowly. 0 is
        the published method; None chooses it on held-out rows, or takes 0.01 where rank 16 is taken.
    hessian_samples : int or None, default=None
        Number of rows, drawn from all, that the second moments are measured on. None means 10,000, or all if
        fewer.
    step : float, "auto" or "theory", default="auto"
        Step size η, which multiplies the sum over a batch. A number stays constant; the thesis takes it between
        1/n_samples and 1/√n_samples. "auto" is chosen on held-out rows and decreases linearly to zero. "theory" is
        eq. (C.8) of the thesis, which sums over all rows at each step: for small sets only.
    epsilon : float, default=0.5
        ε of eq. (C.8), between 0 and 1.
    max_passes : int or None, default=None
        Maximum number of passes over the rows. None means 5, or more for few rows (at most 40); 1 for "theory".
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
    device : "gpu" or None, default=None
        "gpu", or "gpu:1" for the second, measures second moments, projects rows and steps there, through PyTorch
        (``pip install "nearboost[gpu]"``), where ``memory`` is then; rows must be dense. Tensors of PyTorch stay
        on it. None works on the CPU.
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
    eigenvalues_ : ndarray of shape (``rank_``,)
        Largest eigenvalues of the second-moment matrix of the features, scaled as ``scaling_`` says, in decreasing
        order. If the rows have norms below 2⁻⁶ or
        above 2²⁰, they belong to X times a power of two.
    scaling_ : str
        Scaling, as given or chosen.
    rank_ : int
        Number of eigenvectors, as given or chosen.
    damping_ : float
        Damping μ, as given or chosen.
    step_ : float
        First step size, as given or chosen.
    history_ : dict
        "risk" of each pass and "held_out_accuracy" after it. Without ``early_stopping``, held-out rows take part
        in the learning, and the accuracies are those of the chosen trial. They are NaN if nothing was held out:
        with ``rank``, ``damping`` and ``step`` all given, with `partial_fit`, and with ``step="theory"``.
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
    diagnostics_ : dict
        Quantiles of the measured γ_t of the weak separability assumption; ``step="theory"`` only.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (``n_features_in_``,)
        Names of the features seen during `fit`, if ``X`` had string column names.

    Notes
    -----
    Chapter 4 of the thesis of W. Bel Haj Ali. The published method is ``loss="log"`` or "hinge", ``damping=0`` and
    a number as ``step``; the other settings, and everything that is chosen, are not in the thesis. Sums weigh rows
    by ``sample_weight`` divided by its mean.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nearboost import SLNDClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SLNDClassifier().fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.94
    True
    """

    model_schema: ClassVar[Schema] = linear_schema(
        "SLNDClassifier",
        {
            "eigenvalues_": Array("float64", ("n_coordinates",), above=0),
            "vectors": Array("float64", ("n_inputs", "n_coordinates")),
            "feature_scales": Array("float64", ("n_inputs",), above=0),  # of wide sparse rows
            "diagnostics_": Fields(
                {"gamma": Figures(), "negative_steps": Number(0, 1), "largest_rise": Number(finite=False)}
            ),
        },
        optional=("diagnostics_", "feature_scales"),
    )
    _named_steps = ("auto", "theory")

    def __init__(
        self,
        loss: str = "auto",
        *,
        scaling: str | None = None,
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
        calibration: str | None = "temperature",
        class_weight: Any = None,
        memory: float = 1.5e9,
        random_state: int | np.random.RandomState | None = None,
        device: str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.scaling = scaling
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
        self.calibration = calibration
        self.class_weight = class_weight
        self.memory = memory
        self.random_state = random_state
        self.device = device
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _recipe(self) -> Recipe:
        recipe = super()._recipe()
        return recipe if self.device is None else replace(recipe, device=open_device(self.device))

    def _method(self) -> Method:
        tried = SCALINGS if self.scaling is None and self.step == "auto" else (self._scaling(),)
        remainder = self.rank is None and self.step != "theory" and not self.average
        return LowRankNewton(tried, self.rank, self.hessian_samples, self.fit_intercept, remainder)

    def _scaling(self) -> str:
        return self.scaling or "none"

    def _settings(self) -> tuple[Setting, set[str]]:
        given, free = super()._settings()
        if self.step == "theory":
            return replace(given, rank=self.rank or given.rank, damping=self.damping or 0.0), set()
        free |= {name for name in ("rank", "damping") if getattr(self, name) is None}
        if self.scaling is None and self.step == "auto":  # a step that is given is one for rows as they are given
            free.add("scaling")
        damping = FIRST_DAMPING if self.damping is None else self.damping
        return replace(given, rank=self.rank or FIRST_RANK, damping=damping), free

    def _learn(self, problem: Problem) -> None:
        if hasattr(self, "diagnostics_"):  # of an earlier fit
            del self.diagnostics_
        if self.step == "theory":
            self._learn_by_theory(problem)
        else:
            super()._learn(problem)

    def _learn_by_theory(self, problem: Problem) -> None:
        recipe = replace(self._recipe(), step=1.0)
        self._check_theory(recipe.objective, problem)
        training = Training(problem, self._method(), recipe)
        setting = training.choose(*self._settings()).setting
        state = training.begin(setting, Schedule(1.0), training.coordinates[setting.scaling])
        Z = Projection(problem, state.coordinates, np.inf, self.n_jobs).project(problem.ids).astype(np.float64)
        n_passes = self.max_passes or 1
        generator = np.random.default_rng(recipe.options.seed)
        order = np.concatenate([generator.permutation(len(Z)) for _ in range(n_passes)])
        with progress_bar("Learning", len(order), self.verbose) as advance:
            run = run_theory(problem, Z, recipe.objective, state.metric.values[:, 0], self.epsilon, order, advance)
        state.n_passes, state.V = n_passes, run.V.astype(problem.rows.dtype)
        self.diagnostics_ = diagnose(run)
        self._calibration, self.held_out_accuracy_ = None, float("nan")
        self.history_ = dict(NO_HISTORY)
        self._record(run.risks[len(Z) :: len(Z)].mean(axis=1).tolist())
        self._describe(state, setting, [], 0, training.seconds)
        self._set_weights(state, run.V)

    def _check_theory(self, objective: Objective, problem: Problem) -> None:
        if self.device is not None:
            raise ValueError('step="theory" works on the CPU; use device=None.')
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
        assert isinstance(state.coordinates, Eigenvectors | WithRemainder)
        self.eigenvalues_ = state.coordinates.eigenvalues
        self._tell_choice()

    def _set_weights(self, state: State, V: Any) -> None:
        super()._set_weights(state, V)
        coordinates = self._state.coordinates
        if isinstance(coordinates, WithRemainder):  # as a file keeps it
            self._state.V = coordinates.of_features(self.coef_.T, self.intercept_)

    def _tell_choice(self) -> None:
        self.rank_, self.damping_ = len(self.eigenvalues_), self.report_["damping"]
        self.step_, self.scaling_ = self.report_["step"], self.report_.get("scaling", "none")

    def _coordinate_entries(self) -> dict[str, Any]:
        coordinates = self._state.coordinates
        if isinstance(coordinates, WithRemainder):
            along = self._state.V[len(coordinates.scale) :]
            return {"vectors": coordinates.vectors, "weights": along, "feature_scales": coordinates.scale}
        assert isinstance(coordinates, Eigenvectors)
        return {"vectors": coordinates.vectors}

    def _resume(self, state: Mapping[str, Any], objective: Objective) -> tuple[Coordinates, Metric]:
        if len(state["vectors"]) != state["n_features_in_"] + self.fit_intercept:
            raise Misfit("must have a row of eigenvectors for each feature, and one for the constant")
        vectors, eigenvalues, intercept = state["vectors"], state["eigenvalues_"], bool(self.fit_intercept)
        coordinates: Coordinates = Eigenvectors(vectors, eigenvalues, intercept)
        if "feature_scales" in state:
            scales = state["feature_scales"]
            coordinates = WithRemainder(vectors, eigenvalues, scales, np.full(len(scales), np.nan), intercept)
        return coordinates, self._method().metric(coordinates, objective, state["report_"]["damping"])

    def restore_model_state(self, state: Mapping[str, Any]) -> None:
        super().restore_model_state(state)
        coordinates = self._state.coordinates
        if isinstance(coordinates, WithRemainder):
            self._state.V = coordinates.of_features(self.coef_.T, self.intercept_)
        self._tell_choice()

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.device is not None and not is_device_name(self.device):
            check_choice("device", self.device, ("gpu", None))
        check_choice("scaling", self.scaling, (*SCALINGS, None))
        check_whole("rank", self.rank, optional=True)
        check_whole("hessian_samples", self.hessian_samples, least=2, optional=True)
        if self.damping is not None:
            check_not_negative("damping", self.damping)
        check_positive("epsilon", self.epsilon)
        if self.epsilon >= 1:
            raise ValueError(f"epsilon={self.epsilon!r} must lie between 0 and 1.")
