"""Straight lines between knots, of many values and features at once."""

import numpy as np

from nearboost.base.compiling import kernel


@kernel
def interpolate(X, knots, heights, out):
    """``out[:, f] = np.interp(X[:, f], knots[f], heights[f])``; all values of a feature are halved in step."""
    n_rows, n_knots = X.shape[0], knots.shape[1]
    values, below = np.empty(n_rows, dtype=knots.dtype), np.empty(n_rows, dtype=np.int32)
    for f in range(X.shape[1]):
        places, levels = knots[f], heights[f]
        for i in range(n_rows):
            values[i], below[i] = X[i, f], 0
        left = np.int32(n_knots)
        while left > 1:
            half = np.int32(left // 2)
            for i in range(n_rows):
                below[i] = below[i] + half if places[below[i] + half] <= values[i] else below[i]
            left -= half
        for i in range(n_rows):
            low = below[i]
            high = min(low + 1, n_knots - 1)
            step = places[high] - places[low]
            share = (values[i] - places[low]) / step if step > 0 else 0.0
            out[i, f] = levels[low] + (levels[high] - levels[low]) * max(share, 0.0)
