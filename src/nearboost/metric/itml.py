"""ITML: the metric nearest to a given one that keeps like rows near and unlike rows far."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import check_is_fitted

from nearboost.base.entries import Array, Integer
from nearboost.base.errors import warn_caller
from nearboost.base.progress import progress_bar
from nearboost.base.schema import Schema, of_rows
from nearboost.base.validation import check_choice, check_positive, check_whole, validate_rows
from nearboost.kernels.itml import NEGLIGIBLE, sweep_pairs
from nearboost.metric.linear import LinearMetric, check_spread
from nearboost.problem.held_out import find_generator

PRIORS = ("identity", "covariance")
PERCENTILES = (5, 95)  # of squared distances: what counts as near, and as far
MOST_SAMPLED = 5_000  # pairs of rows to take the percentiles of
LEAST_SHRINKAGE = 1e-6
LARGEST_GAMMA = 1e12  # 1/(γ + 1) must stay above the rounding of 1
LEAST_PIVOT, WIDENING = 1e-12, 1e-10  # both far above rounding: A is positive definite in float64 as well


class ITML(LinearMetric):
    """Information-theoretic metric learning: a linear map that brings rows of one class together and others apart.

    Learns the positive definite matrix A closest to a prior A₀ in the LogDet divergence, such that squared
    distances (x − x')ᵀA(x − x') are at most ``bounds_[0]`` for pairs of one class and at least ``bounds_[1]`` for
    pairs of two, up to slack. `transform` maps rows so that their Euclidean distances are those of A: put it
    before any neighbour classifier.

    Parameters
    ----------
    gamma : float, default=1.0
        Cost of slack: a large value insists on the bounds, a small one stays close to the prior.
    n_constraints : int or None, default=None
        Number of pairs to draw, all pairs of rows being equally likely; at most all of them. None means 20·C² for
        C classes.
    max_sweeps : int, default=2000
        Maximum number of sweeps over the pairs.
    tol : float, default=1e-3
        Stop when a sweep changes the dual variables λ by less than this: Σ|λ − λ'| relative to ‖λ‖ + ‖λ'‖.
    bounds : tuple of two floats or None, default=None
        Squared distances that count as near and as far. None takes the 5th and 95th percentiles of squared
        distances under the prior, over random pairs of distinct rows.
    prior : {"identity", "covariance"}, default="identity"
        A₀. "covariance" is the inverse covariance matrix with correlations multiplied by 1 − ε, where ε is the
        shrinkage of Ledoit and Wolf for the scaled features, and at least 1e-6. It exists for any data, including
        constant or collinear features and more features than rows.
    random_state : int, RandomState or None, default=None
        Seed of the pairs drawn. None means 0, so that fits repeat.
    verbose : int, default=0
        Shows a progress bar on standard error when above 0.

    Attributes
    ----------
    metric_matrix_ : ndarray of shape (n_features, n_features)
        The learned matrix A.
    components_ : ndarray of shape (n_features, n_features)
        L with A = LᵀL, upper triangular with a positive diagonal.
    bounds_ : ndarray of shape (2,)
        Squared distances that count as near and far, as given or chosen.
    n_sweeps_ : int
        Number of sweeps made.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (``n_features_in_``,)
        Names of the features seen during `fit`, if ``X`` had string column names.

    Notes
    -----
    Algorithm 1 of Davis, Kulis, Jain, Sra and Dhillon (ICML 2007), with pairs in their order. Step 3.4 is α =
    min(λ, δ·γ/(γ+1)·(1/p − 1/ξ)), as in the authors' own program: after it, distance and slack are equal for any
    γ. Pairs of equal rows have no direction and are skipped. With the identity as prior, A does not depend on the
    unit of X; features of very different scales still need a `StandardScaler` or the other prior.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from nearboost import ITML, KNNClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> plain = make_pipeline(StandardScaler(), KNNClassifier(1)).fit(X[::2], y[::2])
    >>> learned = make_pipeline(StandardScaler(), ITML(), KNNClassifier(1)).fit(X[::2], y[::2])
    >>> print(f"{plain.score(X[1::2], y[1::2]):.3f} {learned.score(X[1::2], y[1::2]):.3f}")
    0.933 0.966
    """

    model_schema: ClassVar[Schema] = of_rows(
        {
            "metric_matrix_": Array("float64", ("n_features", "n_features")),
            "components_": Array("float64", ("n_features", "n_features")),
            "bounds_": Array("float64", (2,), above=0),
            "n_sweeps_": Integer(1),
        }
    )

    def __init__(
        self,
        gamma: float = 1.0,
        *,
        n_constraints: int | None = None,
        max_sweeps: int = 2000,
        tol: float = 1e-3,
        bounds: ArrayLike | None = None,
        prior: str = "identity",
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.gamma = gamma
        self.n_constraints = n_constraints
        self.max_sweeps = max_sweeps
        self.tol = tol
        self.bounds = bounds
        self.prior = prior
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from random pairs of rows: near if they share a class, far otherwise.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, float32 or float64.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        self.check_parameters()
        X, y = validate_rows(self, X, y, dtype=[np.float64, np.float32], ensure_min_samples=2)
        n_classes, encoded = self._encode(y)
        n_pairs = 20 * n_classes**2 if self.n_constraints is None else self.n_constraints
        random_state = self._generator()
        pairs = draw_pairs(len(X), n_pairs, random_state)
        return self._learn(X, pairs, encoded[pairs[:, 0]] == encoded[pairs[:, 1]], random_state)

    def fit_pairs(self, X: Any, pairs: ArrayLike, same: ArrayLike) -> Self:
        """Learn from pairs of your own.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, float32 or float64.
        pairs : array-like of int, of shape (n_pairs, 2)
            Two row numbers per pair; pairs are visited in this order.
        same : array-like of bool, of shape (n_pairs,)
            True for pairs to bring near, False for pairs to keep far.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        self.check_parameters()
        X = validate_rows(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        return self._learn(X, *check_pairs(pairs, same, len(X)), self._generator())

    def transform(self, X: Any) -> NDArray[np.floating]:
        """Map rows to X Lᵀ.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to map.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Mapped rows, in the precision of X; the same in any batch of rows up to 1e-12 of the largest, 1e-5
            in float32.
        """
        check_is_fitted(self)
        X = validate_rows(self, X, dtype=[np.float64, np.float32], reset=False)
        return (X @ self.components_.T).astype(X.dtype, copy=False)

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        check_positive("gamma", self.gamma, most=LARGEST_GAMMA)
        check_whole("n_constraints", self.n_constraints, optional=True)
        check_whole("max_sweeps", self.max_sweeps)
        check_positive("tol", self.tol)
        check_choice("prior", self.prior, PRIORS)
        if self.bounds is not None:
            check_bounds(self.bounds)

    def _generator(self) -> np.random.RandomState:
        return find_generator(self.random_state)

    def _learn(
        self,
        X: NDArray[np.floating],
        pairs: NDArray[np.intp],
        same: NDArray[np.bool_],
        random_state: np.random.RandomState,
    ) -> Self:
        check_spread(X)
        if same.all() or not same.any():
            warn_caller(
                f"All {len(same)} pairs are to be {'near' if same[0] else 'far'}; give pairs of both kinds.",
            )
        start = prior_factor(X, self.prior)
        if self.bounds is None:
            self.bounds_ = choose_bounds(X, start, random_state)
        else:
            self.bounds_ = check_bounds(self.bounds)
        factor = self._sweep(X, pairs, same, start)
        if not np.all(np.isfinite(factor)):
            raise ValueError(
                f"bounds={self.bounds!r} are beyond what float64 can compare with the distances in X; give bounds "
                "closer to squared distances of rows."
            )
        self.components_, self.metric_matrix_ = split_metric(factor)
        return self

    def _sweep(
        self, X: NDArray[np.floating], pairs: NDArray[np.intp], same: NDArray[np.bool_], start: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The learned G of A = GᵀG, from that of A₀."""
        # In units of the near bound, and with inverses, distances of any size neither overflow nor cancel.
        near, far = self.bounds_
        unit, n_features = np.sqrt(near), len(start)
        used, places = np.unique(pairs, return_inverse=True)
        odd_feature, odd_pair = (0, n_features % 2), (0, len(pairs) % 2)  # the kernel takes both in twos
        factor = np.pad(start.T / unit, (odd_feature, odd_feature))
        rows = np.pad(X[used].astype(np.float64), ((0, 0), odd_feature))
        places, same = np.pad(places.reshape(pairs.shape), (odd_pair, (0, 0))), np.pad(same, odd_pair)
        inverse_bounds = np.where(same, 1.0, near / far)
        inverse_slacks, duals = inverse_bounds.copy(), np.zeros(len(same))
        with progress_bar("sweeps", self.max_sweeps, self.verbose) as advance:
            for sweep in range(self.max_sweeps):
                self.n_sweeps_, before = sweep + 1, duals.copy()
                sweep_pairs(factor, rows, places, same, float(self.gamma), inverse_bounds, inverse_slacks, duals)
                moved, size = np.abs(duals - before).sum(), np.linalg.norm(duals) + np.linalg.norm(before)
                advance()
                if moved <= self.tol * size:
                    advance(self.max_sweeps - self.n_sweeps_)
                    break
            else:
                warn_caller(
                    f"ITML still moves its dual variables by {moved / size:.2g} of their size after max_sweeps="
                    f"{self.max_sweeps} (tol={self.tol:g}); raise max_sweeps or tol, or lower gamma.",
                    ConvergenceWarning,
                )
        return factor[:n_features, :n_features].T * unit


def prior_factor(X: NDArray[np.floating], prior: str) -> NDArray[np.float64]:
    """G₀ with A₀ = G₀ᵀG₀: the identity, or the inverse of the shrunk covariance matrix."""
    if prior == "identity":
        return np.eye(X.shape[1])
    from sklearn.covariance import ledoit_wolf_shrinkage

    scaler = StandardScaler()
    scaled = scaler.fit_transform(X.astype(np.float64))
    kept = 1 - max(float(ledoit_wolf_shrinkage(scaled, assume_centered=True)), LEAST_SHRINKAGE)
    correlation = kept * (scaled.T @ scaled / len(X))
    np.fill_diagonal(correlation, 1.0)  # of constant features as well
    return solve_triangular(np.linalg.cholesky(correlation), np.diag(1 / scaler.scale_), lower=True)


def split_metric(factor: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """L and A = LᵀL from any factor of A; L is triangular, which makes it the only one."""
    triangle: NDArray[Any] = np.asarray(np.linalg.qr(factor, mode="r"))
    components = triangle * np.where(np.diag(triangle) < 0, -1.0, 1.0)[:, None]
    metric = components.T @ components
    if np.any(np.diag(components) ** 2 < LEAST_PIVOT * np.diag(metric)):
        warn_caller(
            "The pairs shrink some direction to less than float64 can tell from zero, so it was kept slightly "
            "wider; remove outlying rows, or lower gamma.",
        )
        metric[np.diag_indices_from(metric)] *= 1 + WIDENING
        components = np.linalg.cholesky(metric).T
    return components, metric


def draw_pairs(n_rows: int, n_pairs: int, random_state: np.random.RandomState) -> NDArray[np.intp]:
    """So many different pairs of different rows, all equally likely; every pair where there are not as many.

    The number q·m + r stands for the pair of r and r + q + 1 (modulo m): each pair has one number.
    """
    n_all = n_rows * (n_rows - 1) // 2
    numbers = sample_without_replacement(n_all, min(n_pairs, n_all), random_state=random_state)
    q, r = np.divmod(numbers, n_rows)
    return np.stack([r, (r + q + 1) % n_rows], axis=1).astype(np.intp)


def choose_bounds(
    X: NDArray[np.floating], factor: NDArray[np.float64], random_state: np.random.RandomState
) -> NDArray[np.float64]:
    """The 5th and 95th percentile of ‖G(x_i − x_j)‖² over pairs of rows; equal rows do not count."""
    first, second = draw_pairs(len(X), MOST_SAMPLED, random_state).T
    differences = X[first].astype(np.float64) - X[second]
    squared = np.einsum("ij,ij->i", images := differences @ factor.T, images)
    squared = squared[squared > 0]
    if not len(squared):
        raise ValueError(f"All of {len(first)} pairs of rows drawn from X are equal; give bounds=(near, far).")
    far = np.percentile(squared, PERCENTILES[1])  # unlike the largest distance, not an outlier's
    return np.percentile(squared[squared > NEGLIGIBLE * far], PERCENTILES)


def check_bounds(bounds: ArrayLike) -> NDArray[np.float64]:
    """Two numbers, 0 < near ≤ far."""
    sentence = f"bounds={bounds!r} must be two squared distances, 0 < near <= far, or None."
    try:
        checked = np.array(bounds, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(sentence) from None
    if checked.shape != (2,) or not 0 < checked[0] <= checked[1] < np.inf:
        raise ValueError(sentence)
    return checked


def check_pairs(pairs: ArrayLike, same: ArrayLike, n_rows: int) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Pairs as indices of rows, and whether each is of one kind."""
    indices: NDArray[Any] = np.asarray(pairs)
    if indices.ndim != 2 or indices.shape[1] != 2 or not len(indices):
        raise ValueError(f"pairs has shape {indices.shape}; give two row numbers for each pair, shape (n, 2).")
    if not np.issubdtype(indices.dtype, np.integer):
        raise ValueError(f"pairs holds {indices.dtype} values; give whole numbers, the rows of X.")
    if indices.min() < 0 or indices.max() >= n_rows:
        raise ValueError(
            f"pairs names rows from {indices.min()} to {indices.max()}; X has rows 0 to {n_rows - 1}."
        )
    flags: NDArray[Any] = np.asarray(same)
    if flags.shape != (len(indices),):
        raise ValueError(f"same has shape {flags.shape} for {len(indices)} pairs; give one flag per pair.")
    if flags.dtype != np.bool_:  # −1 for "different" would count as True
        raise ValueError(f"same holds {flags.dtype} values; give True for pairs of one kind and False for others.")
    return indices.astype(np.intp), flags
