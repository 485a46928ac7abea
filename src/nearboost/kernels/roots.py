"""Safeguards that root finders share."""

import numpy as np

from nearboost.base.compiling import kernel


@kernel
def inside(low, high):
    """A point to go on from: the middle of the bracket, or farther out where it is open."""
    if np.isinf(high):
        return 2.0 * low + 1.0 if low > 0.0 else 1.0
    if np.isinf(low):
        return 2.0 * high - 1.0 if high < 0.0 else -1.0
    return 0.5 * (low + high)
