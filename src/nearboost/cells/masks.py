"""Label masks of other programs, and ours: files of whole numbers, one for each cell."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from nearboost.base.disk import whole_file
from nearboost.base.images import ImageError, needs
from nearboost.base.planes import read_planes
from nearboost.cells.patterns import NUCLEI, STAIN
from nearboost.cells.regions import Labels, areas

LARGEST_LABEL = 2**24  # larger ones could not be told apart in float32 tables


def read_labels(path: str | os.PathLike[str], shape: tuple[int, ...] | None = None) -> Labels:
    """A mask as it was saved: numbers are kept, and pieces of one number stay one cell.

    Parameters
    ----------
    path : str or path
        TIFF or PNG file of whole numbers, 0 outside, as Cellpose, StarDist and ilastik write them.
    shape : tuple of int or None, default=None
        Height and width of the picture it belongs to.

    Returns
    -------
    ndarray of int32 of shape (height, width)
        The labels.
    """
    planes = read_planes(path)
    if planes.axes == "CYX" and len(planes.pixels) > 1:
        raise ImageError(
            f"{path} has {len(planes.channels)} channels; save the mask as one channel of whole numbers."
        )
    if planes.axes != "CYX":
        raise ImageError(f"{path} has several planes; save the mask of one plane as a file of its own.")
    labels = planes.pixels[0]
    if shape is not None and labels.shape != tuple(shape):
        there, wanted = (f"{width} x {height}" for height, width in (labels.shape, shape))
        raise ImageError(
            f"{path} is {there} pixels and its image {wanted}; give the mask of this image at its size."
        )
    if labels.dtype.kind == "f" and not (np.isfinite(labels).all() and (labels == np.round(labels)).all()):
        raise ImageError(f"{path} holds numbers that are not whole; save labels, not probabilities.")
    if labels.size and (labels.min() < 0 or labels.max() > LARGEST_LABEL):
        raise ImageError(
            f"{path} holds numbers from {labels.min():g} to {labels.max():g}; labels are whole numbers from 0, "
            f"the outside, to {LARGEST_LABEL:,}."
        )
    return labels.astype(np.int32)


def write_labels(path: Path, labels: Labels) -> None:
    """Write a mask as TIFF, in 16 bits where they suffice.

    Parameters
    ----------
    path : Path
        File to write, as a whole.
    labels : ndarray of int32 of shape (height, width)
        The labels.
    """
    kind = np.uint16 if labels.max(initial=0) < 2**16 else np.uint32
    with whole_file(path) as made:
        needs("tifffile").imwrite(made, labels.astype(kind), compression="zlib", metadata=None)


def assigned_nuclei(nuclei: Labels, cells: Labels) -> Labels:
    """Nuclei by the numbers of the cells that most of each lies in; the part outside is cut off.

    Parameters
    ----------
    nuclei : ndarray of int32 of shape (height, width)
        Nuclei by any numbers.
    cells : ndarray of int32 of shape (height, width)
        Cells, whose numbers are kept.

    Returns
    -------
    ndarray of int32 of shape (height, width)
        Nuclei inside of cells.
    """
    both = (nuclei > 0) & (cells > 0)
    pairs, counts = np.unique(
        nuclei[both].astype(np.int64) << 32 | cells[both].astype(np.int64), return_counts=True
    )
    owner = np.zeros(int(nuclei.max(initial=0)) + 1, np.int32)
    most = np.zeros(len(owner), np.int64)
    for nucleus, cell, count in zip(pairs >> 32, pairs & 0xFFFFFFFF, counts, strict=True):
        if count > most[nucleus]:
            most[nucleus], owner[nucleus] = count, cell
    owner[2 * most < areas(nuclei)] = 0
    mine = owner[nuclei]
    return np.where(mine == cells, mine, 0).astype(np.int32)


def match_masks(files: Mapping[str, str], masks: Sequence[str], role: str) -> str | None:
    """The mask of a field: its name begins with that of the field's picture.

    Parameters
    ----------
    files : mapping
        File of each channel's role.
    masks : sequence of str
        Paths of all masks.
    role : {"nuclei", "cells"}
        What is wanted; masks of cells may be named after any channel.

    Returns
    -------
    str or None
        The mask's path, None without one.
    """
    first = NUCLEI if role == NUCLEI else STAIN
    others = () if role == NUCLEI else tuple(one for one in files if one != first)
    for wanted in (first, *others):
        stem = PurePosixPath(files[wanted]).stem if wanted in files else None
        found = [path for path in masks if stem and _begins(PurePosixPath(path).stem, stem)]
        if len(found) > 1:
            raise ImageError(f"{found[0]} and {found[1]} are both masks of {stem}; take one of them away.")
        if found:
            return found[0]
    return None


def _begins(name: str, stem: str) -> bool:
    """Whether a name is that of a picture, perhaps with something after it that is no digit or letter first."""
    return name == stem or (name.startswith(stem) and not name[len(stem)].isalnum())


def numbers_of(labels: NDArray[np.integer]) -> NDArray[np.int32]:
    """The numbers of a mask, in increasing order.

    Parameters
    ----------
    labels : ndarray of int
        The mask.

    Returns
    -------
    ndarray of int32
        Without 0.
    """
    found = np.unique(labels).astype(np.int32)
    return found[found > 0]
