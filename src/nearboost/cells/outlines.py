"""Pictures to look at: a field with the outlines of its nuclei and cells."""

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.images import needs
from nearboost.cells.regions import Labels
from nearboost.cells.segmentation import Segmentation

NUCLEUS, CELL, UNSTAINED = (80, 220, 255), (255, 210, 60), (255, 110, 90)
GAMMA, BRIGHTEST = 0.6, 0.998  # of how a picture is shown


def edges_of(labels: Labels) -> NDArray[np.bool_]:
    """Pixels of regions that touch another number.

    Parameters
    ----------
    labels : ndarray of int32 of shape (height, width)
        The regions.

    Returns
    -------
    ndarray of bool of shape (height, width)
        Inner outlines.
    """
    grown = np.pad(labels, 1, mode="edge")
    near = (grown[:-2, 1:-1], grown[2:, 1:-1], grown[1:-1, :-2], grown[1:-1, 2:])
    return (labels > 0) & np.logical_or.reduce([one != labels for one in near])


def as_shown(pixels: NDArray[Any]) -> NDArray[np.uint8]:
    """Pixels stretched to be seen.

    Parameters
    ----------
    pixels : ndarray of shape (height, width)
        Any numbers.

    Returns
    -------
    ndarray of uint8 of shape (height, width)
        From black, the darkest, to white.
    """
    picture = pixels.astype(np.float32)
    low, high = (float(np.quantile(picture, share)) for share in (0.002, BRIGHTEST))
    scaled = np.clip((picture - low) / max(high - low, 1e-9), 0, 1) ** GAMMA
    return (255 * scaled + 0.5).astype(np.uint8)


def draw_outlines(pixels: NDArray[Any], found: Segmentation) -> bytes:
    """A field with its nuclei in blue, cells in yellow, and those without stain in red.

    Parameters
    ----------
    pixels : ndarray of shape (height, width)
        The picture to draw on.
    found : Segmentation
        Its cells.

    Returns
    -------
    bytes
        A PNG file.
    """
    shown = np.repeat(as_shown(pixels)[..., np.newaxis], 3, axis=2)
    edges = edges_of(found.cells)
    bare = found.unstained[found.cells]
    shown[edges & ~bare], shown[edges & bare] = CELL, UNSTAINED
    shown[edges_of(found.nuclei)] = NUCLEUS
    file = io.BytesIO()
    needs("PIL.Image").fromarray(shown).save(file, "PNG", optimize=False)
    return file.getvalue()
