"""Regions of a mask one by one: where each lies, a point inside it, its outline as polygons."""

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.images import needs
from nearboost.cells.regions import Labels

Box = tuple[slice, slice]
Polygons = list[list[list[int]]]  # pieces of a region, each a list of x and y of pixels on its edge


def boxes_of(labels: Labels) -> dict[int, Box]:
    """The rows and columns that hold each region.

    Parameters
    ----------
    labels : ndarray of int32 of shape (height, width)
        The regions.

    Returns
    -------
    dict
        Slices by number.
    """
    from scipy.ndimage import find_objects

    return {number: box for number, box in enumerate(find_objects(labels), start=1) if box is not None}


def points_inside(labels: Labels, numbers: Iterable[int]) -> dict[int, tuple[float, float]]:
    """The pixel of each region that is nearest to its middle.

    Parameters
    ----------
    labels : ndarray of int32 of shape (height, width)
        The regions.
    numbers : iterable of int
        Which of them.

    Returns
    -------
    dict
        x and y by number, of those that there are.
    """
    boxes, found = boxes_of(labels), {}
    for number in numbers:
        if number in boxes:
            rows, columns = boxes[number]
            y, x = np.nonzero(labels[rows, columns] == number)
            nearest = int(np.argmin((y - y.mean()) ** 2 + (x - x.mean()) ** 2))
            found[number] = float(x[nearest] + columns.start), float(y[nearest] + rows.start)
    return found


def polygons_of(labels: Labels, numbers: Iterable[int] | None = None) -> dict[int, Polygons]:
    """The outlines of regions.

    Parameters
    ----------
    labels : ndarray of int32 of shape (height, width)
        The regions.
    numbers : iterable of int or None, default=None
        Which of them; None means all.

    Returns
    -------
    dict
        Polygons through the pixels on the edge, by number, of those that there are.
    """
    boxes = boxes_of(labels)
    wanted = boxes if numbers is None else [number for number in numbers if number in boxes]
    return {number: _polygons(labels, boxes[number], number) for number in wanted}


def _polygons(labels: NDArray[Any], box: Box, number: int) -> Polygons:
    cv2 = needs("cv2")
    inside = (labels[box] == number).astype(np.uint8)
    corner = box[1].start, box[0].start
    pieces, _ = cv2.findContours(inside, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE, offset=corner)
    return [piece[:, 0].tolist() for piece in pieces]


def as_text(polygons: Polygons) -> str:
    """Polygons as an annotation store keeps them.

    >>> as_text([[[1, 2], [3, 2], [3, 4]]])
    '[[[1,2],[3,2],[3,4]]]'
    """
    return json.dumps(polygons, separators=(",", ":"))
