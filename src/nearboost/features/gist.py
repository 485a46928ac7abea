"""Gist: the energy of a whole image at some scales and orientations, on a coarse grid."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from nearboost.base.images import SCALINGS
from nearboost.base.validation import check_choice, check_whole
from nearboost.features.base import GreyDescriptor
from nearboost.features.resampling import resampling

LAYOUTS = {512: (8, 8, 8, 8), 320: (8, 8, 4)}  # orientations at each scale, the finest first
GRID = 4
LEAST_SIDE, LARGEST_SIDE = 32, 512
CYCLES = 4  # per image, of what the prefilter takes away
BORDER = 5  # pixels that the prefilter mirrors
WHITE = 255.0
NOTHING = 1e-5  # of a filter's largest response, 1


class Band(NamedTuple):
    """What a filter passes: rows of a spectrum (axis 0) or columns (axis 1), and by how much."""

    axis: int
    lines: NDArray[np.intp]
    response: NDArray[np.float32]


class Gist(GreyDescriptor):
    """The gist of an image: energies of oriented filters, averaged on a 4 x 4 grid.

    An image is made grey and square, and its contrast is evened out (the prefilter: its logarithm minus the local
    mean, over the local deviation). The energies of Gabor filters at several scales and orientations are then
    averaged in each cell.

    Parameters
    ----------
    layout : {512, 320}, default=512
        Length of a row: 4 scales of 8 orientations, or 3 scales of 8, 8 and 4 orientations, on 16 cells.
    side : int, default=128
        Width and height in pixels that images are resized to, from 32 to 512.
    scaling : {"dtype", "image", "auto"}, default="dtype"
        What becomes 1: the largest value of the pixel type, or the largest pixel of the image.
        "auto" is "dtype" for 8-bit pixels and "image" for others.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    verbose : int, default=0
        Shows a progress bar on standard error when above 0.

    Notes
    -----
    Oliva and Torralba (2001), with the constants of their published program; the border is an eighth of the side.
    The numbers are ordered by scale, orientation, cell row and cell column. Nothing is learned: `fit` only checks.

    Examples
    --------
    >>> import numpy as np
    >>> from nearboost.features import Gist
    >>> stripes = np.tile(np.arange(100) % 10 < 5, (80, 1)).astype(float)
    >>> row = Gist().transform(stripes)
    >>> row.shape, row.dtype
    ((1, 512), dtype('float32'))
    >>> by_orientation = row.reshape(4, 8, 16).mean(axis=(0, 2))
    >>> int(by_orientation.argmax())
    0
    """

    def __init__(
        self,
        layout: int = 512,
        *,
        side: int = 128,
        scaling: str = "dtype",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.layout = layout
        self.side = side
        self.scaling = scaling
        self.n_jobs = n_jobs
        self.verbose = verbose

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        if not isinstance(self.layout, int | np.integer) or self.layout not in LAYOUTS:
            raise ValueError(f"layout={self.layout!r} is not known; use one of {', '.join(map(str, LAYOUTS))}.")
        check_whole("side", self.side, least=LEAST_SIDE, most=LARGEST_SIDE)
        check_choice("scaling", self.scaling, SCALINGS)

    def _describe(self, pixels: NDArray[np.float32]) -> NDArray[np.float32]:
        return energies(resized(pixels, self.side), LAYOUTS[self.layout])

    @property
    def _n_features_out(self) -> int:
        return self.layout


def resized(image: NDArray[np.float32], side: int) -> NDArray[np.float32]:
    """A square of ``side`` pixels by bicubic interpolation, smoothed first where it shrinks."""
    height, width = image.shape
    if height != side:
        image = resampling(height, side) @ image
    return np.clip(image if width == side else image @ resampling(width, side).T, 0, 1)


def energies(square: NDArray[np.float32], orientations: tuple[int, ...]) -> NDArray[np.float32]:
    """Mean energies, filters x cells, of a grey square in [0, 1].

    A filter passes few rows or few columns of the spectrum: only those are transformed along themselves.
    """
    from nearboost.kernels.images import cell_energies, place_lines, weigh_lines

    side = len(square)
    border = side // 8
    padded = np.pad(even_contrast(WHITE * square), border, mode="symmetric")
    rows = fft.fft2(padded)
    spectra = [parts(rows), parts(np.ascontiguousarray(rows.T))]
    bounds = np.linspace(0, side, GRID + 1).astype(np.intp)
    bank = gabor_bank(len(padded), orientations)
    found = np.empty((len(bank), GRID, GRID), dtype=np.float32)
    placed = np.empty((len(padded), side), dtype=np.complex64)
    for band, cells in zip(bank, found, strict=True):
        weighed = np.empty((len(band.lines), len(padded)), dtype=np.complex64)
        weigh_lines(spectra[band.axis], band.lines, band.response, parts(weighed))
        half = fft.ifft(weighed, axis=1, overwrite_x=True)
        place_lines(parts(half), band.lines, border, parts(placed))
        waves = fft.ifft(placed, axis=0)  # one-sided filters: complex, and their size is the local energy
        cell_energies(parts(waves), border, bounds, cells.T if band.axis else cells)
    return found.ravel()


def parts(numbers: NDArray[np.complex64]) -> NDArray[np.float32]:
    """Real and imaginary parts side by side, the same memory."""
    return numbers.view(np.float32)


def even_contrast(image: NDArray[np.float32]) -> NDArray[np.float32]:
    """The prefilter: logarithm of the image less its local mean, over its local deviation."""
    padded = np.pad(np.log1p(image), BORDER, mode="symmetric")
    blur = low_pass(len(padded))
    detail = padded - fft.irfft2(fft.rfft2(padded) * blur, s=padded.shape)
    deviation = np.sqrt(np.abs(fft.irfft2(fft.rfft2(np.square(detail)) * blur, s=padded.shape)))
    return (detail / (np.float32(0.2) + deviation))[BORDER:-BORDER, BORDER:-BORDER]


@lru_cache(maxsize=8)
def low_pass(side: int) -> NDArray[np.float32]:
    """Half of the spectrum of a Gaussian that halves what has four cycles in the image."""
    radius, _ = frequencies(side)
    return np.exp(-np.log(2) * (radius[:, : side // 2 + 1] / CYCLES) ** 2).astype(np.float32)


@lru_cache(maxsize=8)
def gabor_bank(side: int, orientations: tuple[int, ...]) -> list[Band]:
    """One-sided filters: radii a factor 1.85 apart, orientations evenly over half a turn."""
    radius, angle = frequencies(side)
    bank = []
    for scale, n_orientations in enumerate(orientations):
        along = np.exp(-3.5 * (radius / (side * 0.3 / 1.85**scale) - 1) ** 2)
        for orientation in range(n_orientations):
            turned = angle + np.pi * orientation / n_orientations
            turned = (turned + np.pi) % (2 * np.pi) - np.pi
            bank.append(band(along * np.exp(-2 * np.pi * (n_orientations**2 / 64) * turned**2)))
    return bank


def band(response: NDArray[np.float64]) -> Band:
    """The lines of a filter along the axis that has fewer."""
    passed = [np.flatnonzero(response.max(axis=1 - axis) > NOTHING) for axis in (0, 1)]
    axis = int(len(passed[1]) < len(passed[0]))
    lines = response[passed[0]] if axis == 0 else response.T[passed[1]]
    return Band(axis, passed[axis], np.ascontiguousarray(lines, dtype=np.float32))


def frequencies(side: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Radius, in cycles per image, and angle of every place of a square spectrum."""
    cycles = fft.fftfreq(side, 1 / side)
    plane = cycles[np.newaxis] + 1j * cycles[:, np.newaxis]
    return np.abs(plane), np.angle(plane)
