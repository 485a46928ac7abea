"""Filters of pictures that segmentation is made of, on float32, the same bits for any number of threads."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from nearboost.base.images import needs
from nearboost.cells.regions import Mask

Picture = NDArray[np.float32]
REACH = 3.0  # deviations after which a Gaussian is cut off
N_LEVELS = 256  # of the histogram for Otsu's threshold


def blurred(picture: Picture, deviation: float) -> Picture:
    """The picture through a Gaussian; beyond the border the border's pixels go on."""
    cv2 = needs("cv2")
    reach = max(1, int(np.ceil(REACH * deviation)))
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / max(deviation, 1e-3)) ** 2)
    weights /= weights.sum()
    return np.asarray(cv2.sepFilter2D(picture, -1, weights, weights, borderType=cv2.BORDER_REPLICATE))


def broadly_blurred(picture: Picture, deviation: float) -> Picture:
    """Nearly the same for wide Gaussians, on a smaller copy of the picture."""
    cv2 = needs("cv2")
    smaller = max(1, int(deviation / 4))
    if smaller == 1:
        return blurred(picture, deviation)
    height, width = picture.shape
    size = max(1, round(width / smaller)), max(1, round(height / smaller))
    small = blurred(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), deviation / smaller)
    return np.asarray(cv2.resize(small, (width, height), interpolation=cv2.INTER_LINEAR))


def background_of(picture: Picture, tile: float, share: float = 0.1) -> Picture:
    """The level below which this share of each tile lies, with smooth transitions between tiles."""
    cv2 = needs("cv2")
    height, width = picture.shape
    rows, columns = (np.linspace(0, side, max(1, round(side / tile)) + 1).astype(int) for side in (height, width))
    levels = np.array(
        [
            [np.quantile(picture[top:bottom, left:right], share) for left, right in pairwise(columns)]
            for top, bottom in pairwise(rows)
        ],
        dtype=np.float32,
    )
    return np.asarray(cv2.resize(levels, (width, height), interpolation=cv2.INTER_LINEAR))


def otsu(values: NDArray[np.float32]) -> float:
    """The threshold that divides values into two classes of means as far apart as possible (Otsu 1979)."""
    counts, edges = np.histogram(values, N_LEVELS)
    levels = (edges[1:] + edges[:-1]) / 2
    below, sums = np.cumsum(counts)[:-1], np.cumsum(counts * levels)
    above = counts.sum() - below
    apart = below * above * (sums[:-1] / np.maximum(below, 1) - (sums[-1] - sums[:-1]) / np.maximum(above, 1)) ** 2
    return float(levels[:-1][np.argmax(apart)])


def depths(inside: Mask) -> Picture:
    """How far each pixel of a mask is from the outside; the picture's border is outside."""
    cv2 = needs("cv2")
    padded = np.pad(inside, 1).astype(np.uint8)
    return np.asarray(cv2.distanceTransform(padded, cv2.DIST_L2, cv2.DIST_MASK_5))[1:-1, 1:-1]


def distances_to(inside: Mask) -> Picture:
    """How far each pixel is from a mask; infinite where it is empty."""
    cv2 = needs("cv2")
    if not inside.any():
        return np.full(inside.shape, np.inf, np.float32)
    return np.asarray(cv2.distanceTransform((~inside).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_5))
