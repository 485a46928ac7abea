"""Square patches on a regular grid of an image, and what all descriptors of such patches share."""

from abc import abstractmethod
from collections.abc import Iterator
from copy import copy
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin

from nearboost.base.images import SCALINGS, as_images, in_unit_range, pixels_of
from nearboost.base.local_sets import LocalSet, LocalSets
from nearboost.base.validation import check_choice, check_whole, check_wholes
from nearboost.features.base import FixedDescriptor
from nearboost.features.resampling import shrunk

CELLS = 4  # a patch has 4 x 4 cells
LARGEST_STEP, LARGEST_BIN, MOST_BINS = 10_000, 32, 8
MOST_POINTS = 2**31  # more than any image has pixels
LEAST_SIDE, MOST_SIDE = 32, 10_000


class Patches(NamedTuple):
    """Patches of one size: all pairs of a first row and a first column, row by row.

    The middle of a patch is a pixel's middle, so that it is four cells and one pixel wide. The cells meet at the
    middle of pixels too: cell k of the row that begins at r goes from r + k·size to r + (k + 1)·size.
    """

    bin_size: int
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]


def grid(height: int, width: int, bin_size: int, step: int, n_points: int | None) -> Patches:
    """Patches that lie inside the image, evenly and as near to its borders on all sides."""
    free_rows, free_columns = height - width_of(bin_size), width - width_of(bin_size)
    if n_points is None:
        return Patches(bin_size, _every(step, free_rows), _every(step, free_columns))
    n_rows = round(np.sqrt(n_points * (free_rows + 1) / (free_columns + 1)))
    n_rows = min(max(n_rows, 1), free_rows + 1, n_points)
    n_columns = min(n_points // n_rows, free_columns + 1)
    n_rows = min(n_points // n_columns, free_rows + 1)  # more rows where columns have run out
    return Patches(bin_size, _spread(n_rows, free_rows), _spread(n_columns, free_columns))


def width_of(bin_size: int) -> int:
    """Pixels that a patch touches in a row or column."""
    return CELLS * bin_size + 1


def _every(step: int, free: int) -> NDArray[np.intp]:
    return np.arange(free % step // 2, free + 1, step)


def _spread(n: int, free: int) -> NDArray[np.intp]:
    return np.rint(np.linspace(0, free, n) if n > 1 else [free / 2]).astype(np.intp)


class GridDescriptor(TransformerMixin, FixedDescriptor):
    """Describes patches of 4 x 4 cells on a grid; a subclass adds the numbers."""

    gives: ClassVar[str] = "sets"
    _n_features_out: ClassVar[int]  # numbers of a patch

    def __init__(
        self,
        step: int = 4,
        *,
        n_points: int | None = None,
        bin_sizes: tuple[int, ...] = (4, 6, 8),
        scaling: str = "dtype",
        longest_side: int | None = None,
    ) -> None:
        self.step = step
        self.n_points = n_points
        self.bin_sizes = bin_sizes
        self.scaling = scaling
        self.longest_side = longest_side

    def transform(self, X: Any) -> LocalSets:
        """Describe the patches of each image.

        Parameters
        ----------
        X : image, or sequence of images or paths
            Images as arrays, or paths of image files.

        Returns
        -------
        LocalSets
            The descriptors of each image, computed when they are asked for.
        """
        self.check_parameters()
        images, now = as_images(X), copy(self)  # what is made later must not follow other settings

        def describe(i: int) -> LocalSet:
            which = f"Image {i}"
            pixels = in_unit_range(pixels_of(images[i], which), now.scaling, which)
            return now._describe(pixels if now.longest_side is None else shrunk(pixels, now.longest_side))

        return LocalSets(len(images), describe)

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        check_whole("step", self.step, most=LARGEST_STEP)
        check_choice("scaling", self.scaling, SCALINGS)
        check_wholes("bin_sizes", self.bin_sizes, LARGEST_BIN, n_most=MOST_BINS, such_as=(4, 6, 8))
        check_whole("n_points", self.n_points, least=len(self.bin_sizes), optional=True)
        check_whole("longest_side", self.longest_side, least=LEAST_SIDE, most=MOST_SIDE, optional=True)

    def _describe(self, pixels: NDArray[np.float32]) -> LocalSet:
        height, width = pixels.shape[:2]
        pads = [(missing // 2, missing - missing // 2) for missing in self._missing(height, width)]
        padded = np.pad(pixels, [*pads, (0, 0)][: pixels.ndim], mode="edge") if np.any(pads) else pixels
        prepared = self._prepare(padded)  # once for patches of all sizes
        values, positions, scales = [], [], []
        for patches in self._patches(*padded.shape[:2]):
            values.append(self._values(prepared, patches))
            half = width_of(patches.bin_size) / 2
            y, x = np.meshgrid(
                (patches.rows + half - pads[0][0]) / height,
                (patches.columns + half - pads[1][0]) / width,
                indexing="ij",
            )
            positions.append(np.stack([x.ravel(), y.ravel()], axis=1))
            scales.append(np.full(x.size, CELLS * patches.bin_size))
        return LocalSet(
            np.concatenate(values),
            np.clip(np.concatenate(positions), 0, 1).astype(np.float32),
            np.concatenate(scales).astype(np.float32),
            (height, width),
        )

    def _missing(self, height: int, width: int) -> tuple[int, int]:
        """What an image lacks to hold the largest patch; it is made up by repeating its borders."""
        largest = width_of(int(max(self.bin_sizes)))
        return max(0, largest - height), max(0, largest - width)

    def _count_patches(self, height: int, width: int) -> int:
        """How many an image of this size has, before it is shrunk."""
        missing = self._missing(height, width)
        return sum(
            len(one.rows) * len(one.columns) for one in self._patches(height + missing[0], width + missing[1])
        )

    def _patches(self, height: int, width: int) -> Iterator[Patches]:
        share = None if self.n_points is None else int(min(self.n_points, MOST_POINTS)) // len(self.bin_sizes)
        for size in self.bin_sizes:
            yield grid(height, width, int(size), int(self.step), share)

    @abstractmethod
    def _prepare(self, pixels: NDArray[np.float32]) -> Any:
        """What patches of all sizes share."""

    @abstractmethod
    def _values(self, prepared: Any, patches: Patches) -> NDArray[np.float32]:
        """Descriptors, one row for each patch."""
