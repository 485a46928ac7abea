"""Nuclei: bright spots over a background, parted where they touch.

Lengths are shares of the diameter of a typical nucleus. They were found on nuclei of 28 and 16 pixels.
"""

import numpy as np
from numpy.typing import NDArray

from nearboost.base.images import needs
from nearboost.cells.filters import Picture, background_of, blurred, broadly_blurred, depths, otsu
from nearboost.cells.regions import (
    Labels,
    Mask,
    areas,
    between,
    bordered,
    disc,
    kept,
    largest_pieces,
    opened,
    renumbered,
    steps_of,
    unbordered,
    without_holes,
)
from nearboost.cells.settings import LARGEST_DIAMETER, LEAST_DIAMETER, SegmentationSettings

BLUR, TILE, SURROUNDINGS = 0.036, 4.6, 0.72
OPENING, NEAR, SMOOTHING, DROP = 0.07, 0.36, 0.054, 0.027
OTSU_SHARE = 0.3  # of the threshold; dim nuclei lie below it
BRIGHTNESS_POWER = 0.25  # how much dark seams count beside the outline
SMALLEST, LARGEST = 0.32, 4.0  # nuclei beyond are left out where no limits are given
OWN_SHARE = 0.45  # of a nucleus's own median brightness, where it ends
CLEAR = 6.0  # how many deviations of the noise Otsu's threshold lies above the background where there is something
USUAL_DIAMETER = 20.0  # to begin an estimate with
N_ESTIMATES = 3


def find_nuclei(pixels: NDArray[np.generic], settings: SegmentationSettings) -> Labels:
    """The nuclei of a field.

    Parameters
    ----------
    pixels : ndarray of shape (height, width)
        Picture of the nuclear stain.
    settings : SegmentationSettings
        Without ``nucleus_diameter`` it is estimated from this picture alone.

    Returns
    -------
    ndarray of int32 of shape (height, width)
        Nuclei from 1 on, 0 outside.

    Examples
    --------
    >>> from nearboost.cells import SegmentationSettings, demo_field, find_nuclei
    >>> field = demo_field()
    >>> nuclei = find_nuclei(field.nuclei, SegmentationSettings())
    >>> nuclei.shape, nuclei.max()
    ((256, 256), np.int32(30))
    """
    picture = np.asarray(pixels, dtype=np.float32)
    diameter = settings.nucleus_diameter or estimate_diameter(picture)
    if diameter is None:
        return np.zeros(picture.shape, np.int32)
    bright = _over_background(picture, diameter)
    threshold = _threshold(picture, bright)
    if threshold is None:
        return np.zeros(picture.shape, np.int32)
    inside = (bright > OTSU_SHARE * threshold) & (bright > broadly_blurred(bright, SURROUNDINGS * diameter))
    inside = without_holes(opened(inside, max(1.0, OPENING * diameter)).astype(np.int32)) > 0
    labels = part(_heights(bright, inside, diameter), inside, DROP * diameter)
    labels = np.where(bright > OWN_SHARE * medians(bright, labels)[labels], labels, 0).astype(np.int32)
    labels = without_holes(largest_pieces(labels))
    return renumbered(kept(labels, _fit(areas(labels), diameter, settings)))


def estimate_diameter(pixels: NDArray[np.generic]) -> float | None:
    """The diameter of a typical nucleus: half of all nuclear area belongs to larger ones. None without nuclei.

    Parameters
    ----------
    pixels : ndarray of shape (height, width)
        Picture of the nuclear stain.

    Returns
    -------
    float or None
        Pixels.

    Examples
    --------
    >>> from nearboost.cells import demo_field, estimate_diameter
    >>> field = demo_field()
    >>> estimate_diameter(field.nuclei)
    20.0
    """
    picture = np.asarray(pixels, dtype=np.float32)
    diameter = USUAL_DIAMETER
    for _ in range(N_ESTIMATES):
        bright = _over_background(picture, diameter)
        threshold = _threshold(picture, bright)
        if threshold is None:
            return None
        inside = opened(bright > threshold, 1.5)
        if not inside.any():
            return None
        inside = without_holes(inside.astype(np.int32)) > 0
        sizes = np.sort(areas(part(blurred(depths(inside), SMOOTHING * diameter), inside, DROP * diameter))[1:])
        total = np.cumsum(sizes)
        middle = sizes[np.searchsorted(total, total[-1] / 2)]
        diameter = float(np.clip(2 * np.sqrt(middle / np.pi), LEAST_DIAMETER, LARGEST_DIAMETER))
    return round(diameter, 1)


def part(heights: Picture, inside: Mask, least_drop: float) -> Labels:
    """Basins of a landscape: two peaks are one where the saddle lies less than ``least_drop`` below the lower."""
    from nearboost.kernels.regions import flood, settle

    flat, labels = bordered(heights), bordered(np.where(inside, 0, -1).astype(np.int32), -1)
    places = np.flatnonzero(labels == 0)
    order = places[np.argsort(-flat[places], kind="stable")]
    parents, peaks = np.zeros(len(places) + 1, np.int32), np.zeros(len(places) + 1, np.float32)
    flood(flat, order, steps_of(heights.shape), np.float32(least_drop), labels, parents, peaks)
    settle(order, labels, parents)
    return renumbered(np.maximum(unbordered(labels, heights.shape), 0))


def medians(picture: Picture, labels: Labels) -> Picture:
    """The median of each region, from 0 on; 0 for numbers without pixels, and for the outside."""
    places = np.flatnonzero(labels)
    numbers, values = labels.ravel()[places], picture.ravel()[places]
    order = np.lexsort((values, numbers))
    values = values[order]
    ends = np.cumsum(areas(labels)[1:])
    counts = np.diff(ends, prepend=0)
    found = np.zeros(len(ends) + 1, np.float32)
    there = counts > 0
    starts = (ends - counts)[there]
    low, high = starts + (counts[there] - 1) // 2, starts + counts[there] // 2
    found[1:][there] = (values[low] + values[high]) / 2
    return found


def _over_background(picture: Picture, diameter: float) -> Picture:
    soft = blurred(picture, max(0.5, BLUR * diameter))
    return np.asarray(soft - background_of(soft, TILE * diameter))


def _threshold(picture: Picture, bright: Picture) -> float | None:
    """Otsu's threshold; None where it divides nothing but noise."""
    threshold = otsu(bright)
    across = np.abs(picture[:, 2:] - 2 * picture[:, 1:-1] + picture[:, :-2])  # deviation √6 of the noise's
    noise = float(np.median(across)) / (0.6745 * 6**0.5) if across.size else 0.0
    return threshold if threshold > max(CLEAR * noise * OTSU_SHARE, 0) else None


def _heights(bright: Picture, inside: Mask, diameter: float) -> Picture:
    """Depth inside the outline, lowered where a pixel is darker than the brightest one nearby."""
    nearby = needs("cv2").dilate(bright, disc(NEAR * diameter))
    share = np.clip(bright / np.maximum(nearby, 1e-6), 0, 1)
    return blurred(depths(inside) * np.power(share, np.float32(BRIGHTNESS_POWER)), SMOOTHING * diameter)


def _fit(sizes: NDArray[np.int64], diameter: float, settings: SegmentationSettings) -> NDArray[np.bool_]:
    smallest, largest = settings.smallest_nucleus, settings.largest_nucleus
    low = SMALLEST * diameter if smallest is None else smallest
    return between(sizes, low, LARGEST * diameter if largest is None else largest)
