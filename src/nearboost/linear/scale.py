"""How large rows are, before rounding loses their squares, the constant beside them, or what tells them apart."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from nearboost.linear.sources import Rows

LOOKED_AT = 256  # rows
SMALLEST, LARGEST = 2.0**-6, 2.0**20  # norms of rows that are left as they are
LEAST_SPREAD = 1e-12  # of the second moment, that must lie about the mean


def measure_scale(rows: Rows, sample: NDArray[np.integer], dtype: np.dtype) -> float:
    """A power of two that brings rows of extreme size to a norm near 1; 1 for all others.

    Second moments summed in ``dtype`` must be able to tell the rows from their mean.
    """
    size, spread = measure_size(rows, sample)
    least = max(LEAST_SPREAD, np.sqrt(rows.n_features) * float(np.finfo(dtype).eps))
    if 0 < spread < least:
        raise ValueError(
            f"Rows differ from their mean by {np.sqrt(spread):.1g} of their size, too little for second moments "
            f"in {dtype}; subtract the mean first (StandardScaler)."
        )
    return 1.0 if size == 0 or SMALLEST <= size <= LARGEST else float(2.0 ** -np.round(np.log2(size)))


def measure_size(rows: Rows, sample: NDArray[np.integer]) -> tuple[float, float]:
    """The root mean square of the norms of some rows, and the share of their second moment about the mean."""
    block = rows.take(sample[:: -(-len(sample) // LOOKED_AT)]).astype(np.float64)
    largest = float(np.abs(block.data if issparse(block) else block).max(initial=0.0))
    if largest == 0.0:
        return 0.0, 0.0
    block = block / largest  # squares must not overflow
    mean = np.asarray(block.mean(axis=0)).ravel()
    if issparse(block):
        second = float((block.data**2).sum() / block.shape[0])
        spread = max(second - float(mean @ mean), 0.0)
    else:
        second = float((block**2).sum() / len(block))
        spread = float(((block - mean) ** 2).sum() / len(block))
    return min(largest * np.sqrt(second), np.finfo(float).max), spread / second
