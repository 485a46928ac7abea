"""Uneven light: what the fields of a plate have in common is no cell's."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.images import needs
from nearboost.cells.filters import Picture, blurred

LEAST_FIELDS = 20  # fewer still show their own cells in the median
SIDE = 64  # of the small copies that the median is taken of
SMOOTHING = 0.08  # deviation of the Gaussian, as a share of the side
LEAST_LIGHT = 0.2  # of the mean: a darker corner is not believed


def small_copy(pixels: NDArray[Any]) -> Picture:
    """A picture in few pixels.

    Parameters
    ----------
    pixels : ndarray of shape (height, width)
        A channel of a field.

    Returns
    -------
    ndarray of float32
        At most 64 x 64 means.
    """
    height, width = pixels.shape
    size = min(SIDE, width), min(SIDE, height)
    cv2 = needs("cv2")
    return np.asarray(cv2.resize(pixels.astype(np.float32), size, interpolation=cv2.INTER_AREA))


def common_light(copies: Sequence[Picture]) -> Picture:
    """The light of a plate and channel, with mean 1: a smoothed median over its fields.

    Parameters
    ----------
    copies : sequence of ndarray
        One for each field, see `small_copy`; at least 20 of one size.

    Returns
    -------
    ndarray of float32
        Of their size.
    """
    if len(copies) < LEAST_FIELDS:
        raise ValueError(
            f"The light of {len(copies)} fields cannot be told from cells; {LEAST_FIELDS} are needed."
        )
    smooth = blurred(np.median(np.stack(copies), axis=0).astype(np.float32), SMOOTHING * SIDE)
    mean = float(smooth.mean())
    return np.maximum(smooth / mean, np.float32(LEAST_LIGHT)) if mean > 0 else np.ones_like(smooth)


def is_light(given: NDArray[Any]) -> bool:
    """Whether an array is what `common_light` makes.

    Parameters
    ----------
    given : ndarray
        As it was kept in a file.

    Returns
    -------
    bool
        Whether pictures may be divided by it.
    """
    small = given.ndim == 2 and min(given.shape) > 0 and max(given.shape) <= SIDE and given.dtype == np.float32
    return bool(small and np.isfinite(given).all() and (given >= np.float32(LEAST_LIGHT)).all())


def corrected(pixels: NDArray[Any], light: Picture) -> Picture:
    """A picture as it were in even light.

    Parameters
    ----------
    pixels : ndarray of shape (height, width)
        A channel of a field.
    light : ndarray of float32
        See `common_light`.

    Returns
    -------
    ndarray of float32 of shape (height, width)
        Divided by the light.
    """
    cv2 = needs("cv2")
    height, width = pixels.shape
    wide = cv2.resize(light, (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(pixels.astype(np.float32) / wide)
