"""The losses F of the margin, each as value F, slope −F' and curvature F''.

Every formula stands here once. It is written with ufuncs, without branches, so that the same function
serves arrays under NumPy and scalars under numba (`nearboost.kernels.losses`). All keep their digits at
any finite margin: differences of nearly equal numbers are replaced by their conjugate forms, and
arguments are clamped before they can overflow, where the result is below 1e-200 or at its limit.

The slope is written rather than F' because it is what boosting uses: K·w = −F'(margin).
"""

import math
from typing import Any, TypeAlias

import numpy as np

Margin: TypeAlias = Any  # a float or an array of floats; the result has the same shape

# The integer by which kernels know a loss: numba caches these, but not functions passed as arguments.
EXP = 0
LOG = 1
BINLOG = 2
MAT = 3
HINGE = 4
SQUARED = 5
MULTINOMIAL = 6  # of all scores of a row at once: known to the kernels of linear classifiers alone

LN2 = math.log(2.0)
# e^708 and e^−708 are the last powers that are neither infinite nor subnormal.
_LAST_EXPONENT = 708.0
# Beyond this margin x³ would overflow; x/√(1+x²) has been 1 to the last bit for a long time by then.
_FAR = 1e100


def exp_value(margin: Margin) -> Margin:
    """e^−x; infinite below −709. It is its own slope and curvature."""
    return np.exp(-margin)


def log_value(margin: Margin) -> Margin:
    """ln(1 + e^−x)."""
    return np.maximum(-margin, 0.0) + np.log1p(np.exp(-np.abs(margin)))


def log_slope(margin: Margin) -> Margin:
    """1 / (1 + e^x)."""
    return 1.0 / (1.0 + np.exp(np.minimum(margin, _LAST_EXPONENT)))


def log_curvature(margin: Margin) -> Margin:
    """e^x / (1 + e^x)², even in x."""
    decay = np.exp(-np.abs(margin))
    return decay / ((1.0 + decay) * (1.0 + decay))


def binlog_value(margin: Margin) -> Margin:
    """log2(1 + 2^−x): the log loss in units of ln 2, along both axes."""
    scaled = margin * LN2
    return (np.maximum(-scaled, 0.0) + np.log1p(np.exp(-np.abs(scaled)))) / LN2


def binlog_slope(margin: Margin) -> Margin:
    """1 / (1 + 2^x)."""
    return 1.0 / (1.0 + np.exp(np.minimum(margin * LN2, _LAST_EXPONENT)))


def binlog_curvature(margin: Margin) -> Margin:
    """ln 2 · 2^x / (1 + 2^x)², even in x."""
    decay = np.exp(-np.abs(margin * LN2))
    return LN2 * decay / ((1.0 + decay) * (1.0 + decay))


def mat_value(margin: Margin) -> Margin:
    """½(−x + √(1+x²)) = max(0, −x) + ½ / (|x| + √(1+x²)), which has no difference to cancel."""
    # Halves inside the sum, because |x| + √(1+x²) may overflow where x does not.
    return np.maximum(-margin, 0.0) + 0.25 / (0.5 * np.abs(margin) + 0.5 * np.hypot(1.0, margin))


def mat_slope(margin: Margin) -> Margin:
    """½(1 − x/√(1+x²)) = ½ / (r(r+|x|)) for x ≥ 0 with r = √(1+x²), and one minus that for x < 0."""
    size = np.minimum(np.abs(margin), _FAR)
    root = np.sqrt(1.0 + size * size)
    small = 0.5 / (root * (root + size))
    return small + (margin < 0.0) * (1.0 - 2.0 * small)


def mat_curvature(margin: Margin) -> Margin:
    """½ (1+x²)^(−3/2)."""
    size = np.minimum(np.abs(margin), _FAR)
    root = np.sqrt(1.0 + size * size)
    return 0.5 / (root * root * root)


def hinge_value(margin: Margin) -> Margin:
    """max(0, −x) − ln(2 + |x|)."""
    return np.maximum(-margin, 0.0) - np.log(2.0 + np.abs(margin))


def hinge_slope(margin: Margin) -> Margin:
    """(1 + max(0, −x)) / (2 + |x|): rational in x, hence the exact mode of N3."""
    return (1.0 + np.maximum(-margin, 0.0)) / (2.0 + np.abs(margin))


def hinge_curvature(margin: Margin) -> Margin:
    """1 / (2 + |x|)²."""
    inverse = 1.0 / (2.0 + np.abs(margin))
    return inverse * inverse


def squared_value(margin: Margin) -> Margin:
    """½(½ − x)² where |x| ≤ ½, then −x to the left and 0 to the right."""
    slope = np.minimum(np.maximum(0.5 - margin, 0.0), 1.0)
    return 0.5 * slope * slope + np.maximum(-0.5 - margin, 0.0)


def squared_slope(margin: Margin) -> Margin:
    """½ − x, clipped to [0, 1]."""
    return np.minimum(np.maximum(0.5 - margin, 0.0), 1.0)


def squared_curvature(margin: Margin) -> Margin:
    """1 where |x| < ½, else 0."""
    return (np.abs(margin) < 0.5) * 1.0
