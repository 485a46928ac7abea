"""How far the scores of `nearboost.kernels.inn` may be from what measuring in float64 would say.

All lengths are in the scale of the scores, from their origin: rows no longer than R, a query of length r.
Measuring sees the rows where they were given, which may be far from that origin: A bounds those lengths.
"""

from typing import Any, NamedTuple

import numpy as np

from nearboost.neighbors import ROUNDING, UNDERFLOW

DOUBLE_ROUNDING = 2.0**-53
FEATURES_AT_ONCE = 256


class ErrorBounds(NamedTuple):
    """Of a score, in its own units: at the start, more with each term, more with the growth (1+λ)^t."""

    start: Any  # of the product q·x
    row: float  # of one row of half squared distances, for a weight of 1; not yet in units
    term: Any  # of taking it into account
    measuring: Any
    factor: Any  # units of the scores in 1


def sum_error(n_features: int) -> float:
    """Relative, of a float32 sum over groups of features, each in any order, and of all that is rounded around."""
    n_roundings = min(n_features, FEATURES_AT_ONCE) + n_features / FEATURES_AT_ONCE + 16
    return n_roundings * ROUNDING / (1 - n_roundings * ROUNDING)


def error_bounds(n_features: int, error: float, R: float, r: Any, A: Any) -> ErrorBounds:
    """``error`` is the relative one of a product of row and query."""
    # |½|x|² − q·x − ½|s − x|²| ≤ R(r + R/2) + 2R², and 32-bit integers hold at least 2^30 such.
    factor = np.ldexp(1.0, 30 - np.frexp(R * (r + 2.5 * R))[1])
    # The product; and the rows, the query and the origin as rounded to float64.
    start = error * R * (r + R) + n_features * UNDERFLOW * (1 + r) + 8 * DOUBLE_ROUNDING * A * (r + R)
    # ½|s − x|² ≤ 2R² as a product, then its factor and their product as rounded to float32.
    row = 2 * error * R**2 + 4 * ROUNDING * R**2 + n_features * UNDERFLOW
    # q_(t+1) = (1+λ)q_t − λs is rounded five times, relative to (1+λ)^t·A at most; times 2R, that bounds what it
    # can do to the comparison of two rows. A unit is lost where a number becomes an integer.
    term = 16 * DOUBLE_ROUNDING * A * R
    # ½|q_t − x|²/(1+λ)^(t−1) ≤ ½(r + 2R)²(1+λ)^(t−1), a sum over the features.
    measuring = (n_features + 8) * DOUBLE_ROUNDING * (r + 2 * R) ** 2
    return ErrorBounds(start * factor + 1, row, term * factor + 1, measuring * factor, factor)
