"""Coordinates in which steps are taken, and the way back to the features.

SLND's metric H* = P D⁻¹ Pᵀ is diagonal in the coordinates z = Pᵀ(x, 1): a step there costs O(rank), not
O(features). The contenders keep the features themselves, perhaps centred and scaled; of wide sparse rows SLND
keeps both.
"""

from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from nearboost.base.rows import Block, RowSource
from nearboost.linear.moments import Moment, largest_eigenvalue

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

    def numbers(self, rows: RowSource) -> float:
        """How many numbers a row in these coordinates takes."""


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

    def numbers(self, rows: RowSource) -> float:
        return len(self.eigenvalues)


@dataclass(frozen=True)
class WithRemainder:
    """z = (x, 1, Pᵀ(x, 1)): sparse rows as they are, and beside them their leading eigenvectors P.

    With z the weights are redundant. A metric of b for all features and b_j − b for direction j moves them as one
    that is b_j along the columns of P and b across them would: nothing is left out, and rows stay sparse. Features
    are given in their own units; where the second moment is that of s_j x_j, their metric is b s_j².
    """

    vectors: Array  # take rows as they are given
    eigenvalues: Array
    scale: Array  # s_j, and 1 of the constant
    about_zero: Array  # E[x_j²], and 1; NaN at rest
    intercept: bool

    @property
    def second_moments(self) -> Array:
        return np.concatenate([self.about_zero, self.eigenvalues])

    def with_rates(self, leading: Array, rest: float) -> Array:
        """The metric of z which is ``leading`` along the eigenvectors and ``rest`` across them."""
        return np.concatenate([rest * self.scale**2, leading - rest])

    def sharpness(self, metric: Array) -> float:
        rest = metric[len(self.scale) - 1] / self.scale[-1] ** 2
        along = (metric[len(self.scale) :] + rest) * self.eigenvalues
        return float(max(along.max(), rest * self.eigenvalues[-1]))  # what is across varies less than the last

    def first(self, rank: int) -> "WithRemainder":
        return self

    def project(self, block: Block) -> Block:
        block, vectors = csr_array(block), self.vectors.astype(block.dtype)
        leading = block @ vectors[:-1] + vectors[-1] if self.intercept else block @ vectors
        if self.intercept:
            leading = np.hstack([np.ones((len(leading), 1), dtype=leading.dtype), leading])
        return beside(block, leading)

    def to_features(self, V: Array) -> tuple[Array, Array]:
        weights = V[: len(self.scale)] + self.vectors @ V[len(self.scale) :]
        return (weights[:-1], weights[-1]) if self.intercept else (weights, np.zeros(V.shape[1]))

    def of_features(self, weights: NDArray[Any], intercept: NDArray[Any]) -> NDArray[Any]:
        """The same weights with nothing along the eigenvectors, from which steps go on alike."""
        constant = [intercept[np.newaxis]] if self.intercept else []
        along = np.zeros((len(self.eigenvalues), weights.shape[1]), dtype=weights.dtype)
        return np.ascontiguousarray(np.concatenate([weights, *constant, along]))

    def at_rest(self) -> "WithRemainder":
        return replace(self, about_zero=np.full(len(self.scale), np.nan))

    def numbers(self, rows: RowSource) -> float:
        stored = rows.X.nnz / rows.n_rows if issparse(rows.X) else rows.n_features
        return 1.5 * stored + len(self.eigenvalues) + 1  # values, and columns beside them


def beside(block: csr_array, dense: NDArray[Any]) -> csr_array:
    """Sparse rows with some dense columns after theirs."""
    (n_rows, n_columns), width = block.shape, dense.shape[1]
    starts = block.indptr + width * np.arange(n_rows + 1)
    values, columns = np.empty(starts[-1], dtype=block.dtype), np.empty(starts[-1], dtype=np.int64)
    places = starts[1:, np.newaxis] - width + np.arange(width)
    own = np.ones(len(values), dtype=bool)
    own[places] = False
    values[own], columns[own] = block.data, block.indices
    values[places], columns[places] = dense, n_columns + np.arange(width)
    return csr_array((values, columns, starts), shape=(n_rows, n_columns + width))


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

    def numbers(self, rows: RowSource) -> float:
        return len(self._scales)
