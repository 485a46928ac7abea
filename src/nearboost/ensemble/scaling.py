"""Scales of features that nobody has to choose: one for all, one for each, or normal scores of ranks."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from nearboost.ensemble.products import Factor
from nearboost.neighbors import largest_values, powers_of_two

N_KNOTS = 200
ROWS_AT_ONCE = 256
ENOUGH_COMPONENTS, MOST_COMPONENTS = 400, 1_024
COMPONENT_ROWS = 5_000  # that principal components are found from
LEAST_VARIANCE = 1e-8  # of a component, relative to the largest
LEAST_DEVIATION = np.finfo(np.float64).tiny  # one over less may be infinite
FARTHEST = 1e6  # deviations: a query beyond is as far as that
Rows = NDArray[np.float32]


@dataclass(frozen=True)
class Scaling:
    """(x − centre) · factor; with knots, values of each feature become ``heights`` first, linearly in between.

    Features may hold numbers of any size: they are brought to a common scale in float64.
    """

    centre: NDArray[np.float64]
    factor: NDArray[np.float64]
    knots: NDArray[np.float64] | None = None
    heights: NDArray[np.float64] | None = None

    def apply(self, X: NDArray[Any]) -> Rows:
        """Rows on the common scale."""
        if self.knots is not None and self.heights is not None:
            X = between_knots(X, self.knots, self.heights)
        rows = X - self.centre
        rows *= self.factor
        return np.clip(rows, -FARTHEST, FARTHEST, out=rows).astype(np.float32)


def between_knots(
    X: NDArray[Any], knots: NDArray[np.float64], heights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Heights at the values of each feature; those of the last knots beyond them."""
    from nearboost.kernels.ranks import interpolate

    found = np.empty(X.shape)
    for start in range(0, len(X), ROWS_AT_ONCE):  # which stay in the caches from feature to feature
        some = slice(start, start + ROWS_AT_ONCE)
        interpolate(X[some], knots, heights, found[some])
    return found


def one_scale(X: NDArray[Any], weight: NDArray[np.float64]) -> Scaling:
    """All features divided by their common deviation."""
    centre, deviations = moments_of(X, weight)
    largest = deviations.max()
    if largest == 0:
        return Scaling(centre, np.zeros(len(centre)))
    common = largest * np.sqrt(np.mean((deviations / largest) ** 2))
    return Scaling(centre, np.full(len(centre), 1 / common))


def own_scales(X: NDArray[Any], weight: NDArray[np.float64]) -> Scaling:
    """Each feature divided by its deviation; a constant one stays 0."""
    centre, deviations = moments_of(X, weight)
    return Scaling(centre, np.divide(1, deviations, out=np.zeros(len(centre)), where=deviations > 0))


def normal_ranks(X: NDArray[Any], weight: NDArray[np.float64]) -> Scaling:
    """Each feature by the normal quantile of its rank, the middle one of equal values, between some knots."""
    counted = weight > 0
    values = X[counted].astype(np.float64, copy=False)
    values.sort(axis=0)
    n_rows = len(values)
    picked = np.unique(np.linspace(0, n_rows - 1, N_KNOTS).round().astype(np.intp))
    knots = values[picked].T.copy()
    heights = np.empty_like(knots)
    for f, column in enumerate(values.T):
        ranks = np.searchsorted(column, knots[f], "left") + np.searchsorted(column, knots[f], "right")
        heights[f] = ndtri(ranks / (2 * n_rows))
    zeros = np.zeros(X.shape[1])
    return Scaling(zeros, zeros + 1, knots, heights)


SCALINGS = {"one scale": one_scale, "a scale each": own_scales, "normal ranks": normal_ranks}


def moments_of(X: NDArray[Any], weight: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and deviation of each feature; what is constant but for roundings, or nearly 0, has none."""
    shares = weight / weight.sum()
    units = powers_of_two(largest_values(X.T))  # whose squares neither overflow nor vanish
    rows = X / units
    centre = shares @ rows
    rows -= centre
    deviations = np.sqrt(shares @ np.square(rows, out=rows))
    deviations = np.where(deviations > 1e-12 * np.abs(centre), deviations, 0.0) * units
    return centre * units, np.where(deviations > LEAST_DEVIATION, deviations, 0.0)


@dataclass(frozen=True)
class Components:
    """Principal components: (x − mean) · matrix."""

    mean: Rows
    matrix: Rows

    @classmethod
    def of(cls, X: Rows, weight: NDArray[np.float64], generator: np.random.RandomState) -> Self | None:
        """The widest, where there are more features than those or than rows; None where all features stay."""
        n_rows, n_features = X.shape
        if n_features <= min(n_rows - 1, ENOUGH_COMPONENTS):
            return None
        if n_rows > COMPONENT_ROWS:
            drawn = generator.choice(n_rows, COMPONENT_ROWS, replace=False)
            X, weight = X[drawn], weight[drawn]
        shares = weight / weight.sum()
        mean = shares @ X
        rows = (X - mean) * np.sqrt(shares)[:, np.newaxis]
        vectors = widest(rows)
        return cls(mean.astype(np.float32), vectors.astype(np.float32))

    def first(self, n_components: int) -> "Components":
        """The widest alone."""
        return Components(self.mean, np.ascontiguousarray(self.matrix[:, :n_components]))

    def apply(self, X: Rows) -> Rows:
        """Rows in these components."""
        return self._factor.after(X - self.mean)

    @cached_property
    def _factor(self) -> Factor:
        return Factor(self.matrix)


def widest(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The eigenvectors of rowsᵀ rows with the largest values, by the smaller of the two products."""
    few = len(rows) < rows.shape[1]
    values, vectors = np.linalg.eigh(rows @ rows.T if few else rows.T @ rows)
    keep = np.flatnonzero(values > LEAST_VARIANCE * values[-1])[::-1][:MOST_COMPONENTS]
    values, vectors = values[keep], vectors[:, keep]
    return rows.T @ vectors / np.sqrt(values) if few else vectors
