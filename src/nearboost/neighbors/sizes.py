"""How large rows are, and in what units they are measured so that squares neither overflow nor vanish."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Rows smaller than this share of a huge row: what is added up of them, in units of that row, would vanish.
VANISHING = {"l2": 2.0**-500, "l1": 2.0**-960, "cosine": 0.0}


def row_norms(X: NDArray[Any]) -> NDArray[np.float64]:
    """Euclidean norms; a row of zeros has no direction and is refused."""
    from nearboost.kernels import search as kernels

    norms = np.empty(len(X))
    kernels.euclidean_norms(X, powers_of_two(largest_values(X)), norms)
    if not norms.all():
        raise ValueError(
            f"Row {np.flatnonzero(norms == 0)[0]} is all zeros and has no direction; "
            "drop it or use metric='l2' instead of 'cosine'."
        )
    return norms


def refuse_vanishing(X: NDArray[Any], metric: str, unit: float) -> None:
    """Refuse rows so small beside a huge one that no distance between them could be told from zero."""
    sizes = largest_values(X)
    small = np.flatnonzero((sizes > 0) & (sizes < VANISHING[metric] * unit))
    if len(small):
        huge = sizes.argmax()
        raise ValueError(
            f"Row {huge} holds {sizes[huge]:.3g}, beside which distances between rows such as {small[0]}, of "
            f"values up to {sizes[small[0]]:.3g}, vanish in float64; correct that value or leave it out."
        )


def largest_values(X: NDArray[Any]) -> NDArray[np.float64]:
    """The largest absolute value of each row."""
    return np.maximum(X.max(axis=1), -X.min(axis=1)).astype(np.float64)


def powers_of_two(sizes: Any) -> NDArray[np.float64]:
    """1 for sizes whose squares are ordinary numbers, else a power of two near them."""
    ordinary = (sizes == 0) | ((sizes >= 2.0**-200) & (sizes <= 2.0**200))
    return np.where(ordinary, 1.0, np.ldexp(1.0, np.clip(np.frexp(sizes)[1] - 1, -1021, 1023)))
