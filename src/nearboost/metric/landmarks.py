"""A kernel as coordinates: how near a row is to some landmarks."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from nearboost.base.entries import Array, Number
from nearboost.base.estimator import Estimator
from nearboost.base.schema import Schema, of_rows
from nearboost.base.validation import check_labels, check_map, check_positive, check_whole, validate_rows
from nearboost.metric.linear import check_spread
from nearboost.problem.held_out import find_generator, mark_rows
from nearboost.problem.targets import encode_classes

LEAST_EIGENVALUE = 1e-5  # relative to the largest
ROWS_PER_BLOCK = 1024


def gaussian_kernel(X: NDArray[Any], landmarks: NDArray[Any], gamma: float) -> NDArray[Any]:
    """``exp(−γ|x − l|²)`` of each row and landmark."""
    products = (2 * gamma * X) @ landmarks.T
    return kernel_from_products(products, squared_lengths(X), squared_lengths(landmarks), gamma)


def kernel_from_products(
    products: NDArray[Any], own: NDArray[Any], others: NDArray[Any], gamma: float
) -> NDArray[Any]:
    """``exp(2γ x·l − γ|x|² − γ|l|²)`` in place of ``2γ x·l``, given |x|² and |l|²."""
    products -= gamma * own[:, np.newaxis]
    products -= gamma * others
    np.fmin(products, 0.0, out=products)
    return np.exp(products, out=products)


def squared_lengths(rows: NDArray[Any]) -> NDArray[Any]:
    """|x|²."""
    lengths: NDArray[Any] = np.einsum("ij,ij->i", rows, rows)
    return lengths


def landmark_basis(landmarks: NDArray[Any], gamma: float) -> NDArray[Any]:
    """U Λ^(−½) of the kernel between landmarks, widest first: kernel rows times it have the kernel as product."""
    values, vectors = np.linalg.eigh(gaussian_kernel(landmarks, landmarks, gamma))
    keep = np.flatnonzero(values > LEAST_EIGENVALUE * values[-1])[::-1]
    basis: NDArray[Any] = vectors[:, keep] / np.sqrt(values[keep])
    return basis


def kernel_width(X: NDArray[Any], weight: NDArray[np.float64]) -> float:
    """``γ = 1/(4·mean |x|²)``."""
    mean = float(weight @ np.einsum("ij,ij->i", X, X)) / float(weight.sum())
    return 1 / (4 * mean) if mean > 0 else 1.0


def draw_evenly(
    classes: NDArray[np.integer], n_wanted: int, generator: np.random.RandomState
) -> NDArray[np.int64]:
    """Rows drawn at random, in turn from every class that still has some."""
    shuffled = generator.permutation(len(classes))
    order = shuffled[np.argsort(classes[shuffled], kind="stable")]
    starts = np.searchsorted(classes[order], classes[order])
    turns = np.arange(len(order)) - starts
    return np.sort(order[np.argsort(turns, kind="stable")[:n_wanted]])


def kernel_coordinates(
    X: NDArray[Any], landmarks: NDArray[Any], gamma: float, basis: NDArray[Any]
) -> NDArray[Any]:
    """Φ(x), a block of rows at a time."""
    coordinates = np.empty((len(X), basis.shape[1]), dtype=basis.dtype)
    for start in range(0, len(X), ROWS_PER_BLOCK):
        part = slice(start, start + ROWS_PER_BLOCK)
        coordinates[part] = gaussian_kernel(X[part], landmarks, gamma) @ basis
    return coordinates


class LandmarkMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Coordinates whose inner products are close to a Gaussian kernel: a linear method on them is a kernel method.

    Parameters
    ----------
    n_landmarks : int, default=1000
        Number of training rows that others are compared with; all rows if there are fewer. More are closer to the
        kernel, and slower.
    gamma : float or None, default=None
        γ of the kernel ``exp(−γ|x − z|²)``, above 0. None means ``1 / (4 · mean |x − mean of the rows|²)``, which
        suits features of one scale.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw. None means 0, so that fits repeat.

    Attributes
    ----------
    gamma_ : float
        γ as used.
    mean_ : ndarray of shape (n_features,)
        Mean of the training rows, which is subtracted: the kernel does not change, its rounding does.
    landmark_rows_ : ndarray of shape (n_landmarks,)
        Which training rows are landmarks.
    landmarks_ : ndarray of shape (n_landmarks, n_features)
        These rows, less the mean.
    basis_ : ndarray of shape (n_landmarks, n_components)
        What a row of kernel values is multiplied by.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (``n_features_in_``,)
        Names of the features seen during `fit`, if ``X`` had string column names.

    Notes
    -----
    The method of Nyström: with K = UΛUᵀ the kernel between landmarks, Φ(x) = k(x, landmarks) U Λ^(−1/2), widest
    direction first, without those whose λ is below 1e-5 of the largest. Between landmarks, Φ(x)·Φ(z) is the kernel
    up to these. The order of the training rows does not matter.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from nearboost import LandmarkMap
    >>> X, y = make_circles(400, factor=0.5, noise=0.1, random_state=0)
    >>> model = make_pipeline(LandmarkMap(50), LogisticRegression()).fit(X[::2], y[::2])
    >>> print(f"{model.score(X[1::2], y[1::2]):.3f}")
    1.000
    """

    model_schema: ClassVar[Schema] = of_rows(
        {
            "gamma_": Number(above=0),
            "mean_": Array("float64", ("n_features",)),
            "landmark_rows_": Array("int64", ("n_landmarks",), low=0),
            "landmarks_": Array("float64", ("n_landmarks", "n_features")),
            "basis_": Array("float64", ("n_landmarks", "n_components")),
        }
    )

    def __init__(self, n_landmarks: int = 1000, *, gamma: float | None = None, random_state: Any = None) -> None:
        self.n_landmarks = n_landmarks
        self.gamma = gamma
        self.random_state = random_state

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        check_whole("n_landmarks", self.n_landmarks)
        check_positive("gamma", self.gamma, optional=True)
        find_generator(self.random_state)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the landmarks.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows, float32 or float64.
        y : array-like of shape (n_samples,) or None, default=None
            Class labels, of which landmarks are drawn evenly; anything else is passed over.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        self.check_parameters()
        X = validate_rows(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        check_spread(X)
        classes = class_numbers(y, len(X))
        order = np.lexsort((classes, mark_rows(X)))  # which no other order of the rows changes
        drawn = order[draw_evenly(classes[order], self.n_landmarks, find_generator(self.random_state))]
        self.mean_, width = mean_and_width(X, order)
        self.gamma_ = width if self.gamma is None else float(self.gamma)
        self.landmark_rows_ = drawn
        self.landmarks_ = X[drawn] - self.mean_
        self.basis_ = landmark_basis(self.landmarks_, self.gamma_)
        return self

    def transform(self, X: Any) -> NDArray[np.floating]:
        """Map rows to Φ(x).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to map.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Coordinates, in the precision of X; the same in any batch of rows up to rounding.
        """
        check_is_fitted(self)
        X = validate_rows(self, X, dtype=[np.float64, np.float32], reset=False)
        mean, landmarks, basis = (one.astype(X.dtype) for one in (self.mean_, self.landmarks_, self.basis_))
        return kernel_coordinates(X - mean, landmarks, self.gamma_, basis)

    @property
    def _n_features_out(self) -> int:
        return int(self.basis_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def class_numbers(y: Any, n_rows: int) -> NDArray[np.integer]:
    """The class of each row; one for all where there are no classes."""
    check_labels(y)
    if y is None or type_of_target(y, input_name="y") not in ("binary", "multiclass"):
        return np.zeros(n_rows, dtype=np.int64)
    classes = encode_classes(column_or_1d(y))[1]
    if len(classes) != n_rows:
        raise ValueError(f"y has {len(classes)} labels but there are {n_rows} samples; give one per sample.")
    return classes


def mean_and_width(X: NDArray[Any], order: NDArray[np.integer]) -> tuple[NDArray[np.float64], float]:
    """Mean of the rows and the kernel's width for rows less their mean, summed up in an order."""
    check_map(X)
    blocks = [order[start : start + ROWS_PER_BLOCK] for start in range(0, len(order), ROWS_PER_BLOCK)]
    mean = np.sum([X[block].sum(axis=0, dtype=np.float64) for block in blocks], axis=0) / len(X)
    squares = np.sum([((X[block] - mean) ** 2).sum() for block in blocks])
    return mean, float(len(X) / (4 * squares))
