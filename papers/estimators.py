"""Small transformers and classifiers that the papers' protocols need around the package's own."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.decomposition import PCA


class Components(TransformerMixin, BaseEstimator):
    """Principal components, as many as asked for or as the rows have."""

    def __init__(self, n_components: int = 128) -> None:
        self.n_components = n_components

    def fit(self, X: NDArray[Any], y: Any = None) -> Self:
        """Learn them."""
        self.pca_ = PCA(min(self.n_components, *X.shape), svd_solver="full").fit(X)
        return self

    def transform(self, X: NDArray[Any]) -> NDArray[np.float32]:
        """Project."""
        return self.pca_.transform(X).astype(np.float32)


class First(TransformerMixin, BaseEstimator):
    """The first so many columns, or all where there are fewer."""

    def __init__(self, n_columns: int) -> None:
        self.n_columns = n_columns

    def fit(self, X: Any, y: Any = None) -> Self:
        """Nothing is learned."""
        return self

    def transform(self, X: NDArray[Any]) -> NDArray[Any]:
        """Leave the others out."""
        return X[:, : self.n_columns]

    def __sklearn_is_fitted__(self) -> bool:
        return True


class RandomShare(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A classifier that keeps a random share of the rows of each class, at least one."""

    def __init__(self, estimator: Any, share: float = 0.1, random_state: int = 0) -> None:
        self.estimator = estimator
        self.share = share
        self.random_state = random_state

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> Self:
        """Draw, and fit to what was drawn."""
        rng = np.random.default_rng(self.random_state)
        members = [np.flatnonzero(y == label) for label in np.unique(y)]
        kept = [rng.choice(some, max(1, round(self.share * len(some))), replace=False) for some in members]
        rows = np.sort(np.concatenate(kept))
        self.estimator_ = clone(self.estimator).fit(X[rows], y[rows])
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """As the classifier says."""
        return self.estimator_.predict(X)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """As the classifier says."""
        return self.estimator_.predict_proba(X)


class IntersectionMap(TransformerMixin, BaseEstimator):
    """Features whose dot products are Σ min(x, y) of positive and of negative parts, x on a grid of each feature.

    Between grid points the map is piecewise linear (Maji and Berg, "Max-margin additive classifiers", 2009).
    """

    def __init__(self, n_steps: int = 6) -> None:
        self.n_steps = n_steps

    def fit(self, X: NDArray[Any], y: Any = None) -> Self:
        """Take the largest value of each feature."""
        self.n_features_in_ = X.shape[1]
        self.tops_ = np.maximum(np.abs(X).max(axis=0), 1e-12) / self.n_steps
        return self

    def transform(self, X: NDArray[Any]) -> NDArray[np.float32]:
        """Each part as the steps it has climbed, the last one partly."""
        tops = np.tile(self.tops_, 2)
        climbed = np.concatenate([np.maximum(X, 0), np.maximum(-X, 0)], axis=1) / tops
        steps = np.clip(climbed[:, :, np.newaxis] - np.arange(self.n_steps), 0, 1)
        return (steps * np.sqrt(tops)[:, np.newaxis]).reshape(len(X), -1).astype(np.float32)
