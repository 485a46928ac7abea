"""Coordinates in which steps are taken, and the way back to the features.

SLND's metric H* = P D⁻¹ Pᵀ is diagonal in the coordinates z = Pᵀ(x, 1): a step there costs O(rank), not
O(features). The contenders keep the features themselves, perhaps centred and scaled.
"""

from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from nearboost.linear.moments import Moment, largest_eigenvalue
from nearboost.linear.rows import Block

Array = NDArray[np.float64]


class Coordinates(Protocol):
    """A linear map of rows, and what is known of their second moments after it."""

    @property
    def second_moments(self) -> Array:
        """E[z_j²] of each coordinate."""

    def sharpness(self, metric: Array) -> float:
        """The largest eigenvalue of E[z zᵀ] in the metric B."""

    def first(self, rank: int) -> Self:
        """The leading coordinates alone."""

    def project(self, block: Block) -> NDArray[Any]:
        """Rows as z, dense, in their own precision."""

    def to_features(self, V: Array) -> tuple[Array, Array]:
        """Weights of features, one column for each class, and intercepts, from weights of coordinates."""

    def at_rest(self) -> Self:
        """Without what is needed only before the first step."""


@dataclass(frozen=True)
class Eigenvectors:
    """z = Pᵀ(x, 1) in the leading eigenvectors P of the second moment, or Pᵀx without intercept.

    Where the second moment is that of rows centred and scaled, ``vectors`` take rows as they are given.
    """

    vectors: Array
    eigenvalues: Array
    intercept: bool

    @property
    def second_moments(self) -> Array:
        return self.eigenvalues

    def sharpness(self, metric: Array) -> float:
        return float((self.eigenvalues * metric).max())

    def first(self, rank: int) -> "Eigenvectors":
        return Eigenvectors(self.vectors[:, :rank], self.eigenvalues[:rank], self.intercept)

    def project(self, block: Block) -> NDArray[Any]:
        vectors = self.vectors.astype(block.dtype)
        return block @ vectors[:-1] + vectors[-1] if self.intercept else block @ vectors

    def to_features(self, V: Array) -> tuple[Array, Array]:
        weights = self.vectors @ V
        return (weights[:-1], weights[-1]) if self.intercept else (weights, np.zeros(V.shape[1]))

    def at_rest(self) -> "Eigenvectors":
        return self


@dataclass(frozen=True)
class Features:
    """z = ((f x − centre)/scale, 1), the features themselves; without intercept there is no 1.

    Centred rows make an intercept of their own, −centre/scale · v, which is part of the classifier. The factor f
    is 1 but for rows of extreme size.
    """

    moment: Moment | None  # of (f x, 1), or of f x without intercept; None at rest
    about_zero: Array  # its diagonal
    centre: Array
    scale: Array
    factor: float
    intercept: bool

    @property
    def _scales(self) -> Array:
        return np.append(self.scale, 1.0) if self.intercept else self.scale

    @property
    def _centres(self) -> Array:
        return np.append(self.centre, 0.0) if self.intercept else self.centre

    @property
    def second_moments(self) -> Array:
        return np.maximum(self.about_zero - self._centres**2, 0.0) / self._scales**2

    def sharpness(self, metric: Array) -> float:
        assert self.moment is not None
        return largest_eigenvalue(self.moment, np.sqrt(metric) / self._scales, self._centres)

    def first(self, rank: int) -> "Features":
        return self

    def project(self, block: Block) -> NDArray[Any]:
        n_features, dtype = len(self.scale), block.dtype
        z = np.ones((block.shape[0], n_features + self.intercept), dtype=dtype)
        features = z[:, :n_features]
        np.multiply(block.toarray() if issparse(block) else block, dtype.type(self.factor), out=features)
        features -= self.centre.astype(dtype)
        features /= self.scale.astype(dtype)
        return z

    def to_features(self, V: Array) -> tuple[Array, Array]:
        weights = V[: len(self.scale)] / self.scale[:, np.newaxis]
        constant = V[-1] if self.intercept else np.zeros(V.shape[1])
        return weights * self.factor, constant - self.centre @ weights

    def at_rest(self) -> "Features":
        return replace(self, moment=None)
