"""Cells: each grows from its nucleus along the cheapest paths through the stain.

Lengths are shares of the diameter of a typical nucleus.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearboost.cells.filters import Picture, blurred, distances_to
from nearboost.cells.nuclei import medians
from nearboost.cells.regions import (
    LENGTHS,
    Labels,
    Mask,
    areas,
    bordered,
    largest_pieces,
    opened,
    steps_of,
    unbordered,
    without_holes,
)
from nearboost.cells.settings import SegmentationSettings

BLUR, RING, OPENING, OWN_OPENING = 0.036, 0.18, 0.107, 0.14
PER_DIAMETER = 1.4  # what a step of one diameter costs where the stain is even; a rise by a factor e costs 1
LEAST_AREA = 0.65  # of a cell, as a share of a typical nucleus's
FAINT_CELL = 0.2  # of the stain's level: a cell with less of it around its nucleus has none
FAINTEST = 0.05  # of the stain's level: darker pixels are no further away
FLOOR_SHARE = 0.01  # of a field's pixels that lie below its background


class Bodies(NamedTuple):
    """Cells by the number of their nucleus, and which of them have no stain around it, from number 0 on."""

    labels: Labels
    unstained: NDArray[np.bool_]


def stain_floor(pixels: NDArray[np.generic], diameter: float) -> float:
    """The background of a field as far as it shows: a dense field has none, so that its plate's lowest is taken.

    Parameters
    ----------
    pixels : ndarray of shape (height, width)
        Picture of the cells' stain.
    diameter : float
        Of a typical nucleus, in pixels.

    Returns
    -------
    float
        The level that one pixel in a hundred lies below.

    Examples
    --------
    >>> from nearboost.cells import demo_field, stain_floor
    >>> field = demo_field()
    >>> round(stain_floor(field.stain, diameter=20.0))
    154
    """
    return float(np.quantile(_soft(pixels, diameter), FLOOR_SHARE))


def grow_cells(
    pixels: NDArray[np.generic], nuclei: Labels, diameter: float, floor: float, settings: SegmentationSettings
) -> Bodies:
    """The cells of a field, each with the number of its nucleus.

    Parameters
    ----------
    pixels : ndarray of shape (height, width)
        Picture of the cells' stain.
    nuclei : ndarray of int32 of shape (height, width)
        Nuclei from 1 on.
    diameter : float
        Of a typical nucleus, in pixels.
    floor : float
        Background of the stain, see `stain_floor`.
    settings : SegmentationSettings
        Reach and threshold.

    Returns
    -------
    Bodies
        Cells. One without stain around its nucleus is the nucleus and a ring.

    Examples
    --------
    >>> from nearboost.cells import SegmentationSettings, demo_field, find_nuclei, grow_cells, stain_floor
    >>> field = demo_field()
    >>> settings = SegmentationSettings(nucleus_diameter=20.0)
    >>> nuclei = find_nuclei(field.nuclei, settings)
    >>> cells, unstained = grow_cells(field.stain, nuclei, 20.0, stain_floor(field.stain, 20.0), settings)
    >>> bool((cells[nuclei > 0] == nuclei[nuclei > 0]).all()), int(unstained.sum())
    (True, 1)
    """
    over = _soft(pixels, diameter) - np.float32(floor)
    sizes = np.zeros(int(nuclei.max(initial=0)) + 1)
    away = distances_to(nuclei > 0)
    ring = (away > 0) & (away <= RING * diameter)
    rings = expanded(nuclei, ring, np.zeros_like(over), 1.0)
    level = float(np.median(over[ring])) if ring.any() else 0.0
    if level <= 0:
        return Bodies(rings, np.ones(int(nuclei.max(initial=0)) + 1, bool))
    around = _to_length(medians(over, np.where(nuclei > 0, 0, rings).astype(np.int32)), len(sizes))
    stained = (over > settings.stain_share * FAINT_CELL * level) & (away <= settings.reach * diameter)
    allowed = opened(stained | (nuclei > 0), OPENING * diameter) | (nuclei > 0)
    relief = np.log(np.maximum(over / np.float32(level), np.float32(FAINTEST)))
    cells = expanded(nuclei, allowed, relief, PER_DIAMETER / diameter)
    own = settings.stain_share * np.clip(around, FAINT_CELL * level, level)
    cells = np.where((over > own[cells]) | (nuclei > 0), cells, 0).astype(np.int32)
    cells = without_holes(largest_pieces(_smoothed(cells, nuclei, OWN_OPENING * diameter)))
    sizes[: int(cells.max(initial=0)) + 1] = areas(cells)
    unstained = (around <= FAINT_CELL * level) | (sizes < LEAST_AREA * np.pi / 4 * diameter**2)
    return Bodies(_with_rings(cells, rings, nuclei, unstained), unstained)


def ring_cells(nuclei: Labels, diameter: float) -> Labels:
    """Nuclei with a ring around each, as far as no other one is nearer.

    Parameters
    ----------
    nuclei : ndarray of int32 of shape (height, width)
        Nuclei from 1 on.
    diameter : float
        Of a typical nucleus, in pixels.

    Returns
    -------
    ndarray of int32 of shape (height, width)
        The same numbers, with a ring each.
    """
    ring = distances_to(nuclei > 0) <= RING * diameter
    return expanded(nuclei, ring, np.zeros(nuclei.shape, np.float32), 1.0)


def expanded(seeds: Labels, allowed: Mask, relief: Picture, per_length: float) -> Labels:
    """Each allowed pixel goes to the seed with the cheapest path to it."""
    from nearboost.kernels.regions import spread

    labels, enter = bordered(seeds), bordered(allowed, 0)
    costs = np.where(labels > 0, 0.0, np.inf)
    starts = np.flatnonzero(labels > 0)
    room = len(starts) + 8 * int(np.count_nonzero(enter)) + 1
    heap_costs, heap_places = np.zeros(room), np.zeros(room, np.int64)
    heap_places[: len(starts)] = starts
    steps = steps_of(seeds.shape)
    spread(
        bordered(relief), enter, steps, LENGTHS, per_length, labels, costs, heap_costs, heap_places, len(starts)
    )
    return np.ascontiguousarray(unbordered(labels, seeds.shape))


def _to_length(values: Picture, length: int) -> Picture:
    """Zeros for the last numbers, which may have no pixels."""
    return np.pad(values, (0, length - len(values)))


def _soft(pixels: NDArray[np.generic], diameter: float) -> Picture:
    return blurred(np.asarray(pixels, dtype=np.float32), max(0.5, BLUR * diameter))


def _smoothed(cells: Labels, nuclei: Labels, radius: float) -> Labels:
    """Cells without their thin branches."""
    edge = np.zeros(cells.shape, bool)
    edge[:, :-1] |= cells[:, :-1] != cells[:, 1:]
    edge[:-1] |= cells[:-1] != cells[1:]
    broad = opened((cells > 0) & ~edge, radius)
    return np.where(broad | (nuclei > 0), cells, 0).astype(np.int32)


def _with_rings(cells: Labels, rings: Labels, nuclei: Labels, unstained: NDArray[np.bool_]) -> Labels:
    """Rings in place of the cells without stain, where no other cell is."""
    cells = np.where(unstained[cells], 0, cells)
    cells = np.where((cells == 0) & unstained[rings], rings, cells)
    return np.where(nuclei > 0, nuclei, cells).astype(np.int32)
