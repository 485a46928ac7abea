"""The planes of one file: channels, focal planes and times of a microscope, with what the file says of them."""

import os
from dataclasses import dataclass, replace
from math import isfinite, prod
from typing import Any, BinaryIO
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from nearboost.base.images import (
    MAX_PIXELS,
    ORIENTATION,
    TIFF_STARTS,
    ImageError,
    check_size,
    error_of,
    needs,
    read_image,
    upright,
)
from nearboost.base.validation import check_choice
from nearboost.base.words import counted

GREY_OR_COLOR = (
    "MINISBLACK",
    "RGB",
    "PALETTE",
)  # of a palette the numbers count, not the colours they are shown in
NAMES = {"Z": "focal planes", "T": "times", "I": "pages", "C": "channels"}
TO_MICROMETRES = {"m": 1e6, "mm": 1e3, "cm": 1e4, "µm": 1.0, "μm": 1.0, "um": 1.0, "micron": 1.0, "nm": 1e-3}
TO_MICROMETRES |= {"microns": 1.0, "\\u00B5m": 1.0, "\\u00b5m": 1.0, "pm": 1e-6}
PROJECTIONS = ("max", "mean")


@dataclass(frozen=True, eq=False)
class Planes:
    """Numbers as a file stores them.

    Attributes
    ----------
    pixels : ndarray
        In the order of ``axes``.
    axes : str
        A letter for each axis, always with C and ending in YX: T for times, Z for focal planes, I for pages that
        the file says nothing of, C for channels.
    channels : tuple of str
        Name of each channel, "" where the file has none.
    pixel_size : float or None
        Width of a pixel in micrometres, if the file says it.
    name : str
        What messages call the file.
    """

    pixels: NDArray[Any]
    axes: str
    channels: tuple[str, ...]
    pixel_size: float | None
    name: str

    def flat(self, project: str | None = None, plane: int | None = None) -> NDArray[Any]:
        """Channels, rows and columns.

        Parameters
        ----------
        project : {"max", "mean"} or None, default=None
            How several planes of a channel become one.
        plane : int or None, default=None
            The plane to take instead, counted from 0 through all other axes.

        Returns
        -------
        ndarray of shape (n_channels, height, width)
            One plane of each channel; the mean of whole numbers is in float32.
        """
        if project is not None:
            check_choice("project", project, PROJECTIONS)
        others = self.axes.replace("C", "")[:-2]
        stacked = np.moveaxis(self.pixels, self.axes.index("C"), -3)
        stacked = stacked.reshape(-1, *stacked.shape[-3:])
        if plane is not None:
            if not 0 <= plane < len(stacked):
                has = counted(len(stacked), "plane")
                raise ImageError(f"{self.name} has {has} and none numbered {plane}; count from 0.")
            return np.asarray(stacked[plane])
        if len(stacked) == 1:
            return np.asarray(stacked[0])
        if project is None:
            sizes = dict(zip(self.axes, self.pixels.shape, strict=True))
            has = " and ".join(f"{sizes[axis]} {NAMES[axis]}" for axis in others if sizes[axis] > 1)
            raise ImageError(
                f"{self.name} has {has} for each channel; say how they become one with --project max or --project "
                "mean, or which one to take with --plane N, counted from 0."
            )
        if project == "mean":
            return stacked.mean(axis=0, dtype=np.float64).astype(np.float32)
        return np.asarray(stacked.max(axis=0))

    def with_pages_as_channels(self) -> "Planes":
        """Pages that the file says nothing of, taken for channels; the same where there are channels already.

        Returns
        -------
        Planes
            The same numbers.
        """
        if len(self.channels) > 1 or self.axes != "ICYX":
            return self
        return replace(self, pixels=self.pixels[:, 0], axes="CYX", channels=("",) * len(self.pixels))


def read_planes(path: str | os.PathLike[str], *, max_pixels: int = MAX_PIXELS) -> Planes:
    """All planes of a file, with their axes, the names of channels and the size of a pixel.

    Parameters
    ----------
    path : str or path
        A TIFF, OME-TIFF, PNG or other file that `read_image` reads.
    max_pixels : int, default=MAX_PIXELS
        Files with more pixels in all planes together are refused before they are decoded.

    Returns
    -------
    Planes
        The planes. Interleaved colours or channels are channels.

    Raises
    ------
    ImageError
        Where the file is missing, broken, too large or no image, or its planes lie in other files.
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            start = file.read(4)
            file.seek(0)
            return (
                _from_tiff(file, name, max_pixels) if start in TIFF_STARTS else _from_other(file, name, max_pixels)
            )
    except (ImageError, ImportError):
        raise
    except Exception as error:  # broken bytes make decoders raise almost anything
        raise error_of(name, error) from error


def _from_other(file: BinaryIO, name: str, max_pixels: int) -> Planes:
    """PNG and the rest: one plane, or interleaved channels."""
    pillow = needs("PIL.Image")
    pillow.init()
    if not file.read(1):
        raise ImageError(f"{name} is empty: it has 0 bytes.")
    file.seek(0)
    with pillow.open(file) as image:
        check_size(name, image.width * image.height, max_pixels)
        frames = getattr(image, "n_frames", 1)
        if frames > 1:
            raise ImageError(f"{name} holds {frames} frames of a film; save them as TIFF or as one file each.")
        numbers = np.array(image) if image.mode == "P" else None
    pixels = read_image(name, max_pixels=max_pixels) if numbers is None else numbers
    return _with_channels(pixels, "YX" if pixels.ndim == 2 else "YXS", Planes(pixels, "", (), None, name))


def _from_tiff(file: BinaryIO, name: str, max_pixels: int) -> Planes:
    with needs("tifffile").TiffFile(file, _multifile=False) as tiff:  # a file must not lead to others
        if not len(tiff.pages) or not len(tiff.series):
            raise ValueError("its directory of pages is missing")
        series = tiff.series[0]
        if len(tiff.series) > 1:
            raise ImageError(f"{name} holds {len(tiff.series)} separate images; save each in its own file.")
        check_size(name, prod(series.shape), max_pixels)
        here = sum(prod(page.shape) for page in series.pages if page is not None)
        if here != prod(series.shape) or here < _promised(tiff):
            raise ImageError(f"{name} says that some of its planes lie in other files; save all of them in one.")
        first = series.keyframe
        if first.photometric.name not in GREY_OR_COLOR or first.bitspersample not in (8, 16, 32, 64):
            raise ImageError(
                f"{name} stores {first.bitspersample} bits as {first.photometric.name}; save it as grey TIFF of 8 "
                "or 16 bits or of floats."
            )
        pixels = _decoded(series, name, max_pixels)
        turn = int(first.tags[ORIENTATION].value) if ORIENTATION in first.tags else 1
        found = Planes(pixels, "", _channel_names(tiff), _pixel_size(tiff), name)
        return _with_channels(pixels, series.axes, found, turn)


def _decoded(series: Any, name: str, max_pixels: int) -> NDArray[Any]:
    """The numbers of all pages; Pillow knows compressions that tifffile lacks."""
    try:
        return np.asarray(series.asarray())
    except ValueError as error:
        if "imagecodecs" not in str(error):
            raise
    pages = [read_image(name, max_pixels=max_pixels, page=page.index) for page in series.pages]
    return np.stack(pages).reshape(series.shape)


def _with_channels(pixels: NDArray[Any], axes: str, known: Planes, turn: int = 1) -> Planes:
    """Axes by their letters alone: S becomes C, unknown ones I, those of length one go."""
    if pixels.ndim != len(axes) or pixels.dtype.kind not in "buif" or not pixels.size:
        raise ImageError(
            f"{known.name} holds {pixels.dtype} of shape {pixels.shape}; save it as grey TIFF or PNG."
        )
    kept = [place for place, axis in enumerate(axes) if axis in "YX" or pixels.shape[place] > 1]
    pixels = pixels.reshape([pixels.shape[place] for place in kept])
    axes = "".join(axes[place] for place in kept)
    if "S" in axes and "C" in axes:
        raise ImageError(
            f"{known.name} has colours in each of several channels; save its channels as grey planes."
        )
    axes = "".join(axis if axis in "TZYX" else "C" if axis in "CS" else "I" for axis in axes)
    if len(set(axes)) < len(axes):
        raise ImageError(
            f"{known.name} has axes {axes} of unknown meaning; save it as OME-TIFF or as grey planes."
        )
    if "C" not in axes:
        pixels, axes = pixels[np.newaxis], "C" + axes
    order = [axes.index(axis) for axis in "TZICYX" if axis in axes]
    pixels, axes = pixels.transpose(order), "".join(axes[place] for place in order)
    turned = upright(np.moveaxis(pixels, (-2, -1), (0, 1)), turn)
    pixels = np.ascontiguousarray(np.moveaxis(turned, (0, 1), (-2, -1)), dtype=pixels.dtype.newbyteorder("="))
    n_channels = pixels.shape[axes.index("C")]
    names = known.channels if len(known.channels) == n_channels else ("",) * n_channels
    return replace(known, pixels=pixels, axes=axes, channels=names)


def _channel_names(tiff: Any) -> tuple[str, ...]:
    if tiff.is_ome:
        return tuple(one.get("Name") or "" for one in _ome(tiff, "Channel"))
    labels = (tiff.imagej_metadata or {}).get("Labels") if tiff.is_imagej else None
    return tuple(map(str, labels)) if isinstance(labels, list | tuple) else ()


def _pixel_size(tiff: Any) -> float | None:
    """In micrometres, as OME or ImageJ say it; resolutions of plain TIFF files are those of printers."""
    for pixels in _ome(tiff, "Pixels"):
        return _as_size(pixels.get("PhysicalSizeX"), pixels.get("PhysicalSizeXUnit") or "µm")
    if tiff.is_imagej and "XResolution" in tiff.pages[0].tags:
        per_unit, of = tiff.pages[0].tags["XResolution"].value
        return _as_size(of / per_unit if per_unit else None, str((tiff.imagej_metadata or {}).get("unit", "")))
    return None


def _promised(tiff: Any) -> int:
    """How many numbers an OME file says that it has."""
    sizes = [pixels.get(f"Size{axis}", "1") for pixels in _ome(tiff, "Pixels")[:1] for axis in "XYCZT"]
    return prod(int(size) if size.isdecimal() else 1 for size in sizes) if sizes else 0


def _as_size(number: Any, unit: str) -> float | None:
    try:
        size = float(number) * TO_MICROMETRES[unit.strip()]
    except (KeyError, TypeError, ValueError):
        return None
    return size if isfinite(size) and size > 0 else None


def _ome(tiff: Any, kind: str) -> list[Any]:
    """The elements of the first image's description."""
    if not tiff.is_ome:
        return []
    try:
        root = ElementTree.fromstring(tiff.ome_metadata.encode())
    except ElementTree.ParseError:
        return []
    image = next((one for one in root.iter() if one.tag.rpartition("}")[2] == "Image"), root)
    return [one for one in image.iter() if one.tag.rpartition("}")[2] == kind]
