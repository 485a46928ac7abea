"""Small transformers and classifiers that the papers' protocols need around the package's own."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, TransformerMixin, clone
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, StratifiedKFold

N_BINS = 32  # of a feature, for stumps


class CappedPCA(TransformerMixin, BaseEstimator):
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


class FirstColumns(TransformerMixin, BaseEstimator):
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
        self.prototypes_ = np.sort(np.concatenate(kept))
        self.estimator_ = clone(self.estimator).fit(X[self.prototypes_], y[self.prototypes_])
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """As the classifier says."""
        return self.estimator_.predict(X)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """As the classifier says."""
        return self.estimator_.predict_proba(X)


class TunedInTurn(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A classifier whose settings are chosen by three folds, one grid after the other."""

    def __init__(
        self, estimator: Any, grids: Sequence[Mapping[str, Sequence[Any]]], random_state: int = 0
    ) -> None:
        self.estimator = estimator
        self.grids = grids
        self.random_state = random_state

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> Self:
        """Choose the settings of each grid with the best of the former, then fit to all rows."""
        folds = StratifiedKFold(3, shuffle=True, random_state=self.random_state)
        self.best_params_: dict[str, Any] = {}
        for grid in self.grids:
            model = clone(self.estimator).set_params(**self.best_params_)
            self.best_params_ |= GridSearchCV(model, dict(grid), cv=folds, refit=False).fit(X, y).best_params_
        self.best_estimator_ = clone(self.estimator).set_params(**self.best_params_).fit(X, y)
        self.classes_ = self.best_estimator_.classes_
        return self

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """As the best classifier says."""
        return self.best_estimator_.predict(X)


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


class GentleStumps(ClassifierMixin, BaseEstimator):
    """Sums of stumps, each a feature, a threshold and a value on either side (Friedman et al. 2000, algorithm 4).

    Thresholds are quantiles of the training rows, at most 31 for each feature. The classes are boosted at once,
    each with weights of its own.
    """

    def __init__(self, n_rounds: int = 100) -> None:
        self.n_rounds = n_rounds

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> Self:
        """Boost all classes."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        (m, n_features), n_classes = X.shape, len(self.classes_)
        shares = np.linspace(0, 1, N_BINS + 1)[1:-1]
        self.thresholds_ = np.quantile(X, shares, axis=0).T
        bins = self._bins(X)
        places = (np.arange(n_features) * N_BINS + bins).ravel()
        ends = np.arange(m + 1) * n_features
        binned = csr_array((np.ones(len(places), dtype=np.float32), places, ends), shape=(m, n_features * N_BINS))
        by_bin = binned.T.tocsr()
        own = places * n_classes + np.repeat(codes, n_features)
        signs = np.where(codes[:, np.newaxis] == np.arange(n_classes), 1, -1).astype(np.float32)
        weights = np.full((m, n_classes), 1 / m, dtype=np.float32)
        self.stumps_ = []
        for _ in range(self.n_rounds):
            own_weights = np.repeat(weights[np.arange(m), codes], n_features)
            positive = np.bincount(own, own_weights, n_features * N_BINS * n_classes)
            shape = (n_features, N_BINS, n_classes)
            stump = best_stump((by_bin @ weights).reshape(shape), positive.reshape(shape))
            self.stumps_.append(stump)
            weights *= np.exp(-signs * stump_values(stump, bins))
            weights /= weights.sum(axis=0)
        return self

    def decision_function(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """The sums of all stumps, a column for each class."""
        bins = self._bins(X)
        return np.sum([stump_values(stump, bins) for stump in self.stumps_], axis=0)

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """The class with the largest sum."""
        return self.classes_[self.decision_function(X).argmax(axis=1)]

    def _bins(self, X: NDArray[Any]) -> NDArray[np.intp]:
        """How many thresholds each value lies above."""
        pairs = zip(X.T, self.thresholds_, strict=True)
        return np.stack([np.searchsorted(thresholds, column) for column, thresholds in pairs], axis=1)


Stump = tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]


def best_stump(total: NDArray[Any], positive: NDArray[Any]) -> Stump:
    """For each class the feature, the last bin of the lower side, and the values of the two sides.

    ``total`` and ``positive`` are weights by feature, bin and class, of all rows and of those of the class. The
    best weighted least squares fit of y = ±1 has the largest Σ_sides (Σ w y)² / Σ w.
    """
    below = total.cumsum(axis=1, dtype=np.float64)
    agreeing = 2 * positive.cumsum(axis=1) - below
    above, disagreeing = below[:, -1:] - below, agreeing[:, -1:] - agreeing
    least = 1e-12
    gains = agreeing**2 / np.maximum(below, least) + disagreeing**2 / np.maximum(above, least)
    n_bins, n_classes = gains.shape[1:]
    features, cuts = np.divmod(gains.reshape(-1, n_classes).argmax(axis=0), n_bins)
    at = (features, cuts, np.arange(n_classes))
    sides = [agreeing[at] / np.maximum(below[at], least), disagreeing[at] / np.maximum(above[at], least)]
    return features, cuts, np.stack(sides)


def stump_values(stump: Stump, bins: NDArray[np.intp]) -> NDArray[np.float64]:
    """What a stump says of each row for each class."""
    features, cuts, sides = stump
    is_above = (bins[:, features] > cuts).astype(np.intp)
    return sides[is_above, np.arange(len(cuts))]
