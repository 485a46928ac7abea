"""Sums over labelled rows, for means, covariances and regressions; those of some rows can be taken away."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

ROWS_PER_BLOCK = 1024
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class ClassMoments:
    """Of weighted rows: the weight and the sum of each class's, and the sum of x xᵀ over all."""

    weights: Numbers
    sums: Numbers
    squares: Numbers

    @classmethod
    def of(cls, X: NDArray[Any], classes: NDArray[np.integer], weight: Numbers, n_classes: int) -> Self:
        """Those of some rows, a block at a time."""
        squares, sums = np.zeros((X.shape[1], X.shape[1])), np.zeros((n_classes, X.shape[1]))
        for start in range(0, len(X), ROWS_PER_BLOCK):
            part = slice(start, start + ROWS_PER_BLOCK)
            roots = np.sqrt(weight[part])
            rows = X[part] * roots[:, np.newaxis]
            squares += rows.T @ rows
            members = np.zeros((n_classes, len(rows)))
            members[classes[part], np.arange(len(rows))] = roots
            sums += members @ rows
        return cls(np.bincount(classes, weight, n_classes).astype(np.float64), sums, squares)

    def __sub__(self, other: Self) -> "ClassMoments":
        weights = self.weights - other.weights
        gone = weights <= 1e-12 * self.weights
        return ClassMoments(
            np.where(gone, 0.0, weights),
            np.where(gone[:, np.newaxis], 0.0, self.sums - other.sums),
            self.squares - other.squares,
        )

    def first(self, n_features: int) -> "ClassMoments":
        """Those of the first features alone."""
        return ClassMoments(self.weights, self.sums[:, :n_features], self.squares[:n_features, :n_features])

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which classes have rows."""
        return self.weights > 0

    @property
    def means(self) -> Numbers:
        """Of the classes that have rows."""
        return self.sums[self.present] / self.weights[self.present, np.newaxis]

    def within(self) -> Numbers:
        """The covariance within classes; that of all rows where classes have no spread."""
        total, means = self.weights.sum(), self.means
        within = (self.squares - (means * self.weights[self.present, np.newaxis]).T @ means) / total
        mean = self.sums.sum(axis=0) / total
        overall = self.squares / total - np.outer(mean, mean)
        return within if np.trace(within) > 1e-9 * np.trace(overall) else overall
