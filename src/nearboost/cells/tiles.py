"""Pictures for the screen: tiles of fields and crops of cells, with the same limits for all of a project."""

from collections import OrderedDict
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.errors import UsageError
from nearboost.base.images import needs
from nearboost.cells.display import Display
from nearboost.cells.field_shapes import shape_of
from nearboost.cells.fields import Pictures
from nearboost.cells.project import Field, Project

TILE = 512  # pixels of a side
MOST_LEVELS = 8
MOST_BYTES = 2**28  # of decoded pictures in memory
CROP = 96  # pixels around a cell where the size of nuclei is not known
CROP_DIAMETERS, LEAST_DIAMETER, MOST_DIAMETER = 3.5, 7, 146


class _Memory:
    """Decoded fields of late, so many that they take a quarter of a gigabyte."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Any, Pictures] = OrderedDict()
        self._lock = Lock()

    def read(self, project: Project, one: Field) -> Pictures:
        """The pictures of a field; files that have changed are read again."""
        stats = [project.path_of(file).stat() for file in one.files.values() if project.path_of(file).exists()]
        key = (str(project.folder), one.number, tuple((stat.st_mtime_ns, stat.st_size) for stat in stats))
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        found = project.read(one)
        with self._lock:
            self._kept[key] = found
            while len(self._kept) > 1 and sum(map(_bytes_of, self._kept.values())) > MOST_BYTES:
                self._kept.popitem(last=False)
        return found


def _bytes_of(pictures: Pictures) -> int:
    return sum(picture.nbytes for picture in pictures.by_role.values())


_memory = _Memory()


def size_of(project: Project, one: Field) -> tuple[int, int, float | None]:
    """Width and height of a field in pixels, and the size of a pixel in micrometres, if it is known.

    Parameters
    ----------
    project : Project
        The project.
    one : Field
        A field of it.

    Returns
    -------
    tuple
        Width, height, size.
    """
    pictures = _memory.read(project, one)
    height, width = next(iter(pictures.by_role.values())).shape
    return width, height, pictures.pixel_size


def tile_png(
    project: Project, one: Field, role: str, level: int, row: int, column: int, low: float, high: float
) -> bytes:
    """A part of a channel, from black at ``low`` to white at ``high``.

    Parameters
    ----------
    project : Project
        The project.
    one : Field
        A field of it.
    role : str
        Its channel.
    level : int
        How often width and height are halved.
    row, column : int
        Which tile of that size; each has 512 pixels a side, but at the end.
    low, high : float
        Limits.

    Returns
    -------
    bytes
        A grey PNG file.
    """
    if role not in project.reading.roles or not 0 <= level <= MOST_LEVELS or not low < high:
        raise UsageError(f"There is no tile of channel {role!r}, level {level}, from {low:g} to {high:g}.")
    picture, step = _memory.read(project, one).by_role[role], 2**level
    top, left = row * TILE * step, column * TILE * step
    part = picture[top : top + TILE * step, left : left + TILE * step]
    if row < 0 or column < 0 or not part.size:
        raise UsageError(f"There is no tile in row {row}, column {column} of level {level}.")
    return _as_png(_scaled(_halved(part, step), low, high))


def crop_png(project: Project, image: int, number: int, display: Display, side: int = CROP) -> bytes:
    """A cell in the middle of what is around it, in the colours of the channels that are shown.

    Parameters
    ----------
    project : Project
        The project.
    image : int
        ImageNumber.
    number : int
        ObjectNumber.
    display : Display
        Channels, colours and limits.
    side : int, default=96
        Pixels of the field to show, in width and height.

    Returns
    -------
    bytes
        A PNG file in colours.
    """
    shape = shape_of(project, image, number)
    pictures = _memory.read(project, project.field_of(image)).by_role
    top, left = round(shape.y) - side // 2, round(shape.x) - side // 2
    mixed = np.zeros((side, side, 3), np.float32)
    for role, channel in display.channels.items():
        if channel.shown and role in pictures:
            grey = _scaled(_window(pictures[role], top, left, side), channel.low, channel.high)
            mixed += grey[..., np.newaxis].astype(np.float32) * (_rgb(channel.colour) / 255)
    return _as_png(np.minimum(mixed, 255).astype(np.uint8)[..., ::-1])  # OpenCV writes blue first


def crop_side(diameter: Any) -> int:
    """Pixels around a cell that show it and its neighbours, by the diameter of nuclei that a project's file says.

    >>> crop_side(20.0), crop_side(None), crop_side("large")
    (70, 96, 96)
    """
    if not isinstance(diameter, int | float):
        return CROP
    return int(CROP_DIAMETERS * min(max(diameter, LEAST_DIAMETER), MOST_DIAMETER))


def _window(picture: NDArray[Any], top: int, left: int, side: int) -> NDArray[Any]:
    """A square of a picture; beyond its border the least pixel of the square."""
    rows, columns = (slice(max(0, at), max(0, at + side)) for at in (top, left))
    part = picture[rows, columns]
    square = np.full((side, side), part.min() if part.size else 0, picture.dtype)
    y, x = max(0, -top), max(0, -left)
    square[y : y + part.shape[0], x : x + part.shape[1]] = part
    return square


def _halved(part: NDArray[Any], step: int) -> NDArray[Any]:
    """Means of squares; those at the end may be cut off."""
    if step == 1:
        return part
    height, width = -(-part.shape[0] // step), -(-part.shape[1] // step)
    padded = np.pad(part, ((0, height * step - len(part)), (0, width * step - part.shape[1])), mode="edge")
    return padded.reshape(height, step, width, step).mean(axis=(1, 3), dtype=np.float32)


def _scaled(pixels: NDArray[Any], low: float, high: float) -> NDArray[np.uint8]:
    share = (pixels.astype(np.float32) - np.float32(low)) / np.float32(high - low)
    return (255 * np.clip(share, 0, 1) + 0.5).astype(np.uint8)


def _rgb(colour: str) -> NDArray[np.float32]:
    return np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)], np.float32)


def _as_png(pixels: NDArray[np.uint8]) -> bytes:
    cv2 = needs("cv2")
    _, encoded = cv2.imencode(".png", pixels, [cv2.IMWRITE_PNG_COMPRESSION, 1])
    return bytes(encoded.tobytes())
