"""Products of matrices in float32 whose rows do not depend on each other: a row has the same bits in any company.

Matrix libraries add up a row of a product in an order that depends on its place and on the number of rows.
"""

import numpy as np

from nearboost.base.compiling import kernel
from nearboost.kernels.vectors import LANES, ROWS, multiply_rows

FEATURES_AT_ONCE = 512  # of a panel, which then stays in the nearest cache


@kernel
def multiply(A, panels, out):
    """``A @ B``, given the columns of B in panels of LANES: ``panels[p, f, i] = B[f, p·LANES + i]``, else 0."""
    n_rows, n_features, n_columns = A.shape[0], A.shape[1], out.shape[1]
    sums = np.empty((ROWS, LANES), dtype=np.float32)
    out[:] = 0
    for start in range(0, n_features, FEATURES_AT_ONCE):
        stop = min(start + FEATURES_AT_ONCE, n_features)
        for p in range(panels.shape[0]):
            left = p * LANES
            width = min(LANES, n_columns - left)
            for first in range(0, n_rows, ROWS):
                some = min(ROWS, n_rows - first)
                for i in range(some):
                    for j in range(width):
                        sums[i, j] = out[first + i, left + j]
                multiply_rows(A, first, start, panels[p, start:stop], sums)
                for i in range(some):
                    for j in range(width):
                        out[first + i, left + j] = sums[i, j]
