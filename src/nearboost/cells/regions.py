"""Label pictures: 0 is outside, every other number one region. What all steps do with them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearboost.base.images import needs

Labels = NDArray[np.int32]
Mask = NDArray[np.bool_]
ROOT2 = 2**0.5
LENGTHS = np.array([ROOT2, 1, ROOT2, 1, 1, ROOT2, 1, ROOT2])  # of the steps to the eight neighbours


class Pieces(NamedTuple):
    """Connected pieces, numbered from 1 on, and the label of each (that of 0 is 0)."""

    labels: Labels
    owners: Labels


def bordered(picture: NDArray[Any], outside: float = 0) -> NDArray[Any]:
    """The picture within a border of one pixel, flat, as kernels want it."""
    return np.pad(picture, 1, constant_values=outside).ravel()


def unbordered(flat: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """The picture that was flat and had a border."""
    return flat.reshape(shape[0] + 2, shape[1] + 2)[1:-1, 1:-1]


def steps_of(shape: tuple[int, ...]) -> NDArray[np.int64]:
    """The way to the eight neighbours in a flat picture with a border; every other one is a side's."""
    width = shape[1] + 2
    return np.array([-width - 1, -width, -width + 1, -1, 1, width - 1, width, width + 1])


def pieces_of(labels: NDArray[Any], *, corners: bool = True) -> Pieces:
    """Connected pixels of equal numbers above 0; with ``corners``, also those that touch only there."""
    from nearboost.kernels.regions import mark_pieces

    flat = bordered(labels.astype(np.int32))
    steps = steps_of(labels.shape)
    found, waiting, owners = np.zeros_like(flat), np.empty(flat.size, np.int64), np.zeros(flat.size + 1, np.int32)
    n_pieces = mark_pieces(flat, steps if corners else steps[[1, 3, 4, 6]], found, waiting, owners)
    return Pieces(unbordered(found, labels.shape), owners[: n_pieces + 1].copy())


def areas(labels: Labels) -> NDArray[np.int64]:
    """Pixels of each number, from 0 to the largest."""
    return np.bincount(labels.ravel(), minlength=int(labels.max(initial=0)) + 1)


def between(sizes: NDArray[np.int64], smallest: float | None, largest: float | None) -> Mask:
    """Areas that are not below and not above those of discs of two diameters; None is no limit."""
    low = 0.0 if smallest is None else np.pi / 4 * smallest**2
    return (sizes >= low) & (sizes <= (np.inf if largest is None else np.pi / 4 * largest**2))


def kept(labels: Labels, wanted: Mask) -> Labels:
    """The regions that are wanted, by number; the others become 0."""
    numbers = np.where(wanted, np.arange(len(wanted)), 0).astype(np.int32)
    numbers[0] = 0
    return numbers[labels]


def renumbered(labels: Labels) -> Labels:
    """Numbers from 1 on without gaps, in the order of the old ones."""
    found = areas(labels) > 0
    found[0] = False
    return (np.cumsum(found) * found).astype(np.int32)[labels]


def at_border(labels: Labels) -> NDArray[np.int32]:
    """The numbers of regions that touch the picture's border."""
    found = np.unique(np.concatenate([labels[0], labels[-1], labels[:, 0], labels[:, -1]]))
    return found[found > 0]


def disc(radius: float) -> NDArray[np.uint8]:
    """A disc as a mask, at least one pixel."""
    reach = max(0, int(radius))
    y, x = np.ogrid[-reach : reach + 1, -reach : reach + 1]
    return (y * y + x * x <= radius * radius + 1e-9).astype(np.uint8)


def opened(inside: Mask, radius: float) -> Mask:
    """A mask without what is thinner than a disc."""
    cv2 = needs("cv2")
    mask = inside.astype(np.uint8)
    return np.asarray(cv2.morphologyEx(mask, cv2.MORPH_OPEN, disc(radius), borderType=cv2.BORDER_REPLICATE), bool)


def without_holes(labels: Labels) -> Labels:
    """Regions with the holes that lie within one of them."""
    holes = pieces_of(labels == 0, corners=False).labels
    n_holes = int(holes.max(initial=0)) + 1
    least, most = np.full(n_holes, np.iinfo(np.int32).max), np.full(n_holes, -1)
    grown = np.pad(labels, 1, constant_values=np.iinfo(np.int32).max)  # what touches the border is no hole
    for near in (grown[:-2, 1:-1], grown[2:, 1:-1], grown[1:-1, :-2], grown[1:-1, 2:]):
        edge = (holes > 0) & (near != 0)
        np.minimum.at(least, holes[edge], near[edge])
        np.maximum.at(most, holes[edge], near[edge])
    owners = np.where(least == most, least, 0).astype(np.int32)
    owners[owners == np.iinfo(np.int32).max] = 0
    owners[0] = 0
    return np.where(labels > 0, labels, owners[holes]).astype(np.int32)


def largest_pieces(labels: Labels) -> Labels:
    """Each region without all but its largest piece; of equal ones the first."""
    pieces, owners = pieces_of(labels, corners=False)
    sizes = areas(pieces)
    order = np.lexsort((-np.arange(len(sizes)), sizes, owners))
    last = np.append(owners[order][1:] != owners[order][:-1], True)
    wanted = np.zeros(len(sizes), dtype=bool)
    wanted[order[last]] = True
    wanted[0] = False
    return np.where(wanted[pieces], labels, 0).astype(np.int32)
