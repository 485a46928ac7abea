"""LocalColor: means and deviations of the colour channels on a grid."""

import numpy as np
from numpy.typing import NDArray

from nearboost.base.images import as_color
from nearboost.features.grid import CELLS, GridDescriptor, Patches

PER_CELL = 6  # three means, three deviations


class LocalColor(GridDescriptor):
    """Colour of patches on a regular grid: mean and deviation of each channel in 4 x 4 cells, 96 numbers.

    The same settings give the same patches as `DenseSIFT`. A grey image counts as one with three equal channels.

    Parameters
    ----------
    step : int, default=4
        Pixels from one patch to the next.
    n_points : int or None, default=None
        About this many patches per image instead of a fixed step, never more, shared evenly between the sizes;
        small images have fewer. None uses ``step``.
    bin_sizes : tuple of int, default=(4, 6, 8)
        Cell sizes in pixels, up to 8 and each at most 32; a patch is four cells wide. Images smaller than a patch
        are extended by their border.
    scaling : {"dtype", "image", "auto"}, default="dtype"
        What becomes 1: the largest value of the pixel type, or the largest pixel of the image.
        "auto" is "dtype" for 8-bit pixels and "image" for others.
    longest_side : int or None, default=None
        Images with a longer side are first shrunk to it, from 32 pixels. None leaves them as they are.

    Notes
    -----
    After Clinchant, Csurka, Perronnin and Renders (2007). The numbers are ordered by cell row, cell column, means
    before deviations, and red, green, blue. Neighbouring cells share the pixels of the line where they meet.

    Examples
    --------
    >>> import numpy as np
    >>> from nearboost.features import LocalColor
    >>> image = np.zeros((40, 60, 3), dtype=np.uint8)
    >>> image[..., 0] = 255
    >>> [described] = LocalColor(step=8).transform(image)
    >>> described.values.shape
    (32, 96)
    >>> described.values[0, :6]
    array([1., 0., 0., 0., 0., 0.], dtype=float32)
    """

    _n_features_out = PER_CELL * CELLS**2

    def _prepare(self, pixels: NDArray[np.float32]) -> NDArray[np.float64]:
        from nearboost.kernels.images import integrals

        height, width = pixels.shape[:2]
        sums = np.empty((height + 1, width + 1, PER_CELL))
        integrals(np.ascontiguousarray(as_color(pixels)), sums)
        return sums

    def _values(self, prepared: NDArray[np.float64], patches: Patches) -> NDArray[np.float32]:
        from nearboost.kernels.images import cell_statistics

        values = np.empty((len(patches.rows) * len(patches.columns), self._n_features_out), dtype=np.float32)
        cell_statistics(prepared, patches.rows, patches.columns, patches.bin_size, values)
        return values
