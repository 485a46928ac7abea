"""Images as sets of local descriptors: read, checked and stacked."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.errors import warn_caller
from nearboost.base.local_sets import LocalSets

DESCRIPTORS_AT_ONCE = 16384


def warn_of_empty(lengths: list[int]) -> None:
    """Once for all images that have no descriptors."""
    if 0 in lengths:
        warn_caller(
            f"{lengths.count(0)} of {len(lengths)} images have no descriptors, first image {lengths.index(0)}; "
            "their scores are 0, so that no class is likelier than another.",
        )


def read_image(sets: LocalSets, number: int) -> NDArray[Any]:
    """One image's descriptors as finite float32 or float64 numbers, one a row; none give a matrix of no rows."""
    try:
        values = np.asarray(sets[number].values)
    except ValueError as error:
        raise ValueError(f"Image {number} could not be read as a matrix of descriptors: {error}") from error
    if not values.size:
        return np.empty((0, values.shape[-1]), dtype=np.float32)
    if values.ndim != 2:
        raise ValueError(
            f"Image {number} has descriptors of shape {values.shape}; give a matrix with one in each row."
        )
    if values.dtype.kind not in "fiub":
        raise ValueError(f"Image {number} has descriptors of type {values.dtype}; give real numbers.")
    rows = np.asarray(values, dtype=values.dtype if values.dtype == np.float32 else np.float64)
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"Descriptor {np.argmin(finite)} of image {number} holds NaN or infinity; drop it or fill in numbers."
        )
    return rows


def stack(images: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The descriptors of all images, one after the other; all must be of one width."""
    filled = [number for number, rows in enumerate(images) if len(rows)]
    if not filled:
        raise ValueError("No image has any descriptors; give images that have some.")
    width = images[filled[0]].shape[1]
    for number in filled:
        check_width(number, images[number], width, f"those of image {filled[0]}")
    return np.ascontiguousarray(np.concatenate([images[number] for number in filled]))


def check_width(number: int, rows: NDArray[Any], width: int, others: str) -> None:
    """An image's descriptors must be as wide as the others, unless there are none."""
    if len(rows) and rows.shape[1] != width:
        raise ValueError(
            f"The descriptors of image {number} have {rows.shape[1]} numbers and {others} have {width}; "
            "describe all images in the same way."
        )


def blocks_of(sets: LocalSets, width: int) -> Iterator[tuple[list[int], NDArray[Any]]]:
    """Some images at a time: how many descriptors each has, and all of them stacked."""
    block: list[NDArray[Any]] = []
    n_waiting = 0
    for number in range(len(sets)):
        rows = read_image(sets, number)
        check_width(number, rows, width, "those of the fitted images")
        block.append(rows.reshape(-1, width))
        n_waiting += len(rows)
        if n_waiting >= DESCRIPTORS_AT_ONCE or number == len(sets) - 1:
            yield [len(image) for image in block], np.ascontiguousarray(np.concatenate(block))
            block, n_waiting = [], 0
