"""SoftDiscriminant: whitening within classes that favours, but does not insist on, the discriminants."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from nearboost.base.entries import Array, Integer
from nearboost.base.schema import Schema, of_rows
from nearboost.base.validation import check_map, check_positive, validate_rows
from nearboost.metric.linear import LinearMetric, check_spread

ROWS_PER_BLOCK = 1024
NO_SPREAD = 1e-12  # relative to the other spread: within classes, or between them


class SoftDiscriminant(LinearMetric):
    """Linear discriminants that keep the other directions at a smaller weight: a metric for neighbours.

    Rows are whitened by their within-class covariance, shrunk towards a sphere. Directions in which the class
    means differ then count fully, the others ``rest`` times as much. Plain discriminants drop the others, and with
    them much of what tells neighbours apart.

    Parameters
    ----------
    shrinkage : float, default=0.5
        ε, above 0 and at most 1: share of the sphere in the covariance. 1 leaves all directions as they are.
    rest : float, default=0.5
        τ, above 0 and at most 1: weight of the other directions. 1 only whitens.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        The linear map L.
    mean_ : ndarray of shape (n_features,)
        Mean of the training rows.
    n_discriminants_ : int
        Number of directions that count fully, at most one fewer than there are classes.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (``n_features_in_``,)
        Names of the features seen during `fit`, if ``X`` had string column names.

    Notes
    -----
    S is the within-class covariance, S_ε = (1 − ε) S + ε (tr S / d) I, W = S_ε^(−1/2), and U the right singular
    vectors of the rows √(n_c/m) (μ_c − μ) W. A row becomes (x − μ) W (τ I + (1 − τ) U Uᵀ). Not in the papers.

    It holds a few d x d matrices: reduce thousands of features first, see `WhitenedPCA`. The rows it was fitted on
    lie closer to their class than new rows do: evaluate it, and learn on top of it, on held-out rows.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from nearboost import KNNClassifier, SoftDiscriminant
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), SoftDiscriminant(), KNNClassifier(1)).fit(X[::2], y[::2])
    >>> print(f"{model.score(X[1::2], y[1::2]):.3f}")
    0.955
    """

    model_schema: ClassVar[Schema] = of_rows(
        {
            "mean_": Array("float64", ("n_features",)),
            "components_": Array("float64", ("n_features", "n_features")),
            "n_discriminants_": Integer(0, "n_features"),
        }
    )

    def __init__(self, shrinkage: float = 0.5, *, rest: float = 0.5) -> None:
        self.shrinkage = shrinkage
        self.rest = rest

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the map from labelled rows.

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
        _, encoded = self._encode(y)
        check_spread(X)
        counts = np.bincount(encoded)
        means = class_means(X, encoded, counts)
        covariance = covariance_within(X, encoded, means)
        found = Discriminants(covariance, means, counts)
        if not np.sqrt(np.trace(covariance)) > NO_SPREAD * np.linalg.norm(found.between):
            raise ValueError("The rows of each class are all equal; give classes with rows that differ.")
        self.mean_ = found.mean
        directions, self.n_discriminants_ = found.directions(self.shrinkage, self.rest)
        self.components_ = found.vectors @ directions.T
        return self

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        check_positive("shrinkage", self.shrinkage, most=1.0)
        check_positive("rest", self.rest, most=1.0)

    def transform(self, X: Any) -> NDArray[np.floating]:
        """Map rows to (x − μ) Lᵀ.

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
        components, mean = self.components_.astype(X.dtype), self.mean_.astype(X.dtype)
        return (X - mean) @ components.T


def class_means(X: NDArray[Any], classes: NDArray[np.intp], counts: NDArray[np.intp]) -> NDArray[np.float64]:
    """One row for each class."""
    sums = np.zeros((len(counts), X.shape[1]))
    np.add.at(sums, classes, X)
    return sums / counts[:, None]


def covariance_within(
    X: NDArray[Any], classes: NDArray[np.intp], means: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Mean over all rows of (x − μ_c)(x − μ_c)ᵀ, some rows at a time."""
    total = np.zeros((X.shape[1], X.shape[1]))
    for start in range(0, len(X), ROWS_PER_BLOCK):
        check_map(X)
        part = slice(start, start + ROWS_PER_BLOCK)
        differences = X[part] - means[classes[part]]
        total += differences.T @ differences
    return total / len(X)


class Discriminants:
    """One eigendecomposition of the covariance within classes, which serves every shrinkage and rest.

    Parameters
    ----------
    within : covariance within classes
    means : mean of each class
    counts : rows of each class, or their weight
    """

    def __init__(
        self, within: NDArray[np.float64], means: NDArray[np.float64], counts: NDArray[np.number[Any]]
    ) -> None:
        self.mean = counts @ means / counts.sum()
        values, self.vectors = np.linalg.eigh(within)
        self.values = np.maximum(values, 0.0)
        self.between = np.sqrt(counts / counts.sum())[:, np.newaxis] * (means - self.mean) @ self.vectors

    def directions(self, shrinkage: float, rest: float) -> tuple[NDArray[np.float64], int]:
        """The matrix that rows less the mean are multiplied by, and how many directions count fully.

        Rotated into the eigenvectors, which no distance notices.
        """
        # Compared after whitening, a difference of means counts in units of the spread within classes.
        spread = self.values.mean() or 1.0  # of a single row, which has none
        scales = 1 / np.sqrt((1 - shrinkage) * self.values + shrinkage * spread)
        _, spreads, found = np.linalg.svd(self.between * scales, full_matrices=False)
        found = found[spreads > NO_SPREAD * max(1.0, spreads[0])][: len(self.between) - 1]
        rotated = rest * np.diag(scales) + (1 - rest) * (scales[:, np.newaxis] * found.T) @ found
        return self.vectors @ rotated, len(found)
