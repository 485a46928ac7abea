"""Images of another size, by bicubic interpolation that smooths where they shrink."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.float32]


def shrunk(image: Pixels, longest_side: int) -> Pixels:
    """An image, grey or in colour, whose longer side is at most so many pixels."""
    height, width = image.shape[:2]
    ratio = longest_side / max(height, width)
    if ratio >= 1:
        return image
    rows, columns = (max(1, round(ratio * side)) for side in (height, width))
    smaller = np.tensordot(resampling(height, rows), image, 1)
    smaller = np.moveaxis(np.tensordot(resampling(width, columns), smaller, ([1], [1])), 0, 1)
    return np.clip(np.ascontiguousarray(smaller), 0, 1)


@lru_cache(maxsize=64)
def resampling(n: int, side: int) -> NDArray[np.float32]:
    """The matrix that makes ``side`` pixels of ``n`` by Keys' cubic, a = -1/2, wider where pixels get larger."""
    ratio = n / side
    centers = (np.arange(side) + 0.5) * ratio - 0.5
    gaps = np.abs(np.arange(n) - centers[:, np.newaxis]) / max(ratio, 1)
    near = 1.5 * gaps**3 - 2.5 * gaps**2 + 1
    far = -0.5 * gaps**3 + 2.5 * gaps**2 - 4 * gaps + 2
    weights = np.where(gaps <= 1, near, np.where(gaps < 2, far, 0))
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
