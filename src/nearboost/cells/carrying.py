"""Where labels of one segmentation belong in another one."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

ENOUGH_OVERLAP = 0.5  # of areas, intersection over union: at most one cell of the other segmentation has it


@dataclass(frozen=True)
class Placement:
    """Where each labelled object went.

    Attributes
    ----------
    placed : dict
        Object that takes the label of each old one, by overlap.
    to_check : dict
        The same where only the nucleus's centre says so.
    unplaced : tuple of int
        Old objects whose labels have no place, or disagree about it.
    """

    placed: dict[int, int] = field(default_factory=dict)
    to_check: dict[int, int] = field(default_factory=dict)
    unplaced: tuple[int, ...] = ()


def place_labels(
    old: NDArray[np.integer],
    new: NDArray[np.integer],
    labels: Mapping[int, Hashable],
    centres: Mapping[int, tuple[float, float]],
) -> Placement:
    """Find the new objects that labels of old ones belong to.

    Parameters
    ----------
    old : ndarray of shape (height, width)
        Numbers of the old objects; 0 is background.
    new : ndarray of shape (height, width)
        Numbers of the new objects.
    labels : mapping
        Label of each old object that has one.
    centres : mapping
        x and y of the old nuclei.

    Returns
    -------
    Placement
        Every labelled object is in one of its parts.
    """
    matches = overlapping(old, new)
    sure = {one: matches[one] for one in labels if one in matches}
    other_cells = {target for one, target in matches.items() if one not in labels}
    by_centre = {
        one: found
        for one in labels
        if one not in sure and (found := object_at(new, *centres[one])) and found not in other_cells
    }
    wanted: dict[int, set[Hashable]] = {}
    for one, target in (sure | by_centre).items():
        wanted.setdefault(target, set()).add(labels[one])
    agreed = {target for target, found in wanted.items() if len(found) == 1}
    placed = {one: target for one, target in sure.items() if target in agreed}
    to_check = {one: target for one, target in by_centre.items() if target in agreed}
    return Placement(placed, to_check, tuple(one for one in labels if one not in placed and one not in to_check))


def overlapping(old: NDArray[np.integer], new: NDArray[np.integer]) -> dict[int, int]:
    """The new object that overlaps an old one by half of what the two cover, or more."""
    both = (old > 0) & (new > 0)
    pairs, counts = np.unique(np.stack([old[both], new[both]]), axis=1, return_counts=True)
    old_areas, new_areas = np.bincount(old.ravel()), np.bincount(new.ravel())
    union = old_areas[pairs[0]] + new_areas[pairs[1]] - counts
    enough = counts >= ENOUGH_OVERLAP * union
    found: dict[int, int] = {}
    taken = set()
    for one, other in pairs[:, enough].T.tolist():  # of two exact halves the first
        if one not in found and other not in taken:
            found[one] = other
            taken.add(other)
    return found


def object_at(labels: NDArray[np.integer], x: float, y: float) -> int:
    """The object at a place; 0 where there is none."""
    row, column = round(y), round(x)
    inside = 0 <= row < labels.shape[0] and 0 <= column < labels.shape[1]
    return int(labels[row, column]) if inside else 0
