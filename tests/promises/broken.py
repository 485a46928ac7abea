"""A classifier that keeps every promise, and others that each break one, to test the checks with."""

from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

Floats = NDArray[np.float64]


class Honest(ClassifierMixin, BaseEstimator):
    """Every row votes, the near ones more; votes are added up from the nearest row on."""

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None) -> Self:
        self.weights_ = np.ones(len(X)) if sample_weight is None else np.array(sample_weight)
        voters = np.flatnonzero(self.weights_)
        self.classes_, numbers = np.unique(np.asarray(y)[voters], return_inverse=True)
        self.X_, self.weights_ = np.array(X)[voters], self.weights_[voters]
        self.codes_ = np.eye(len(self.classes_))[numbers]
        if len(self.classes_) == 2:
            self.codes_ = self.codes_[:, 1:] - self.codes_[:, :1]
        self.held_out_accuracy_ = self.accuracy(numbers, np.arange(len(voters)) if groups is None else groups)
        return self

    def accuracy(self, numbers: NDArray[np.int64], groups: ArrayLike) -> float:
        """How often the nearest row of another group has the same class."""
        groups = np.asarray(groups)
        squared = ((self.X_[:, np.newaxis] - self.X_) ** 2).sum(axis=2)
        squared[groups[:, np.newaxis] == groups] = np.inf
        return float(np.mean(numbers[squared.argmin(axis=1)] == numbers))

    def explain(self, X: Any) -> list[SimpleNamespace]:
        return [self.explained(query) for query in np.asarray(X)]

    def explained(self, query: Floats) -> SimpleNamespace:
        distances = np.sqrt(((self.X_ - query) ** 2).sum(axis=1))
        order = np.argsort(distances)
        votes = (self.weights_ * np.exp(-distances))[order]
        added = votes[:, np.newaxis] * self.codes_[order]
        return SimpleNamespace(contributions=added, intercept=np.zeros(added.shape[1]))

    def decision_function(self, X: Any) -> Floats:
        scores = np.array([np.cumsum(one.contributions, axis=0)[-1] for one in Honest.explain(self, X)])
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> Floats:
        scores = self.decision_function(X)
        if scores.ndim == 1:
            second = 1 / (1 + np.exp(-scores))
            return np.column_stack([1 - second, second])
        return scores / scores.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> NDArray[Any]:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class CountsThreads(Honest):
    def decision_function(self, X: Any) -> Floats:
        return super().decision_function(X) * (1 + 1e-15 * (self.n_jobs or 0))


class CountsQueries(Honest):
    def decision_function(self, X: Any) -> Floats:
        return super().decision_function(X) * (1 + 1e-15 * len(X))


class PrefersEarlyQueries(Honest):
    def decision_function(self, X: Any) -> Floats:
        return (super().decision_function(X).T * (1 + 1e-15 * np.arange(len(X)))).T


class PrefersTheFirstRow(Honest):
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        super().fit(X, y, sample_weight, groups)
        self.weights_[0] *= 1 + 1e-14
        return self


class CountsRowsOfNoWeight(Honest):
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        super().fit(X, y, sample_weight, groups)
        self.weights_ /= len(X)
        return self


class IgnoresGroups(Honest):
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        return super().fit(X, y, sample_weight)


class PredictsByItself(Honest):
    def predict(self, X: Any) -> NDArray[Any]:
        return np.roll(super().predict(X), 1)


class ScoresOfTheOpposite(Honest):
    def predict_proba(self, X: Any) -> Floats:
        return Honest.predict_proba(Honest().fit(self.X_, self.codes_.argmax(axis=1)), X)

    def decision_function(self, X: Any) -> Floats:
        return -super().decision_function(X)


class SharesOfMoreThanAll(Honest):
    def predict_proba(self, X: Any) -> Floats:
        return 1.001 * super().predict_proba(X)


class LeavesOutAVoter(Honest):
    def explained(self, query: Floats) -> SimpleNamespace:
        whole = super().explained(query)
        return SimpleNamespace(contributions=whole.contributions[1:], intercept=whole.intercept)

    def decision_function(self, X: Any) -> Floats:
        return Honest().fit(self.X_, self.codes_.argmax(axis=1)).decision_function(X)


class ScalesInPlace(Honest):
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        X *= 2
        return super().fit(X, y, sample_weight, groups)


class ScalesQueriesInPlace(Honest):
    def decision_function(self, X: Any) -> Floats:
        X *= 2
        return super().decision_function(X)


class ChangesLabels(Honest):
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        super().fit(X, y, sample_weight, groups)
        y[0] = y[1]
        return self


class KeepsTheRows(Honest):
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        super().fit(X, y, sample_weight, groups)
        self.X_ = X
        return self


class GivesQueriesBack(Honest):
    def transform(self, X: Any) -> Any:
        return X[:, ::-1]
