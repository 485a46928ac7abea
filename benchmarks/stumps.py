"""Gentle AdaBoost on stumps, one class against the rest: the boosted contender of the thesis."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin

N_BINS = 32


class GentleStumps(ClassifierMixin, BaseEstimator):
    """Sums of stumps, each a feature, a threshold and a value on either side (Friedman et al. 2000, algorithm 4).

    Thresholds are quantiles of the training rows, at most 31 for each feature. The classes are boosted at once,
    each with weights of its own.
    """

    def __init__(self, n_rounds: int = 100) -> None:
        self.n_rounds = n_rounds

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> Self:
        self.classes_, of_rows = np.unique(y, return_inverse=True)
        (m, n_features), n_classes = X.shape, len(self.classes_)
        shares = np.linspace(0, 1, N_BINS + 1)[1:-1]
        self.thresholds_ = np.quantile(X, shares, axis=0).T
        bins = self._bins(X)
        places = (np.arange(n_features) * N_BINS + bins).ravel()
        ends = np.arange(m + 1) * n_features
        binned = csr_array((np.ones(len(places), dtype=np.float32), places, ends), shape=(m, n_features * N_BINS))
        by_bin = binned.T.tocsr()
        own = places * n_classes + np.repeat(of_rows, n_features)
        signs = np.where(of_rows[:, np.newaxis] == np.arange(n_classes), 1, -1).astype(np.float32)
        weights = np.full((m, n_classes), 1 / m, dtype=np.float32)
        self.stumps_ = []
        for _ in range(self.n_rounds):
            of_own_class = np.repeat(weights[np.arange(m), of_rows], n_features)
            positive = np.bincount(own, of_own_class, n_features * N_BINS * n_classes)
            shape = (n_features, N_BINS, n_classes)
            stump = best_stump((by_bin @ weights).reshape(shape), positive.reshape(shape))
            self.stumps_.append(stump)
            weights *= np.exp(-signs * values_of(stump, bins))
            weights /= weights.sum(axis=0)
        return self

    def decision_function(self, X: NDArray[Any]) -> NDArray[np.float64]:
        bins = self._bins(X)
        return np.sum([values_of(stump, bins) for stump in self.stumps_], axis=0)

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
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


def values_of(stump: Stump, bins: NDArray[np.intp]) -> NDArray[np.float64]:
    """What a stump says of each row for each class."""
    features, cuts, sides = stump
    is_above = (bins[:, features] > cuts).astype(np.intp)
    return sides[is_above, np.arange(len(cuts))]
