"""DenseSIFT: histograms of gradient directions on a grid."""

import numpy as np
from numpy.typing import NDArray

from nearboost.base.images import as_grey
from nearboost.base.validation import check_flag, check_not_negative
from nearboost.features.grid import CELLS, GridDescriptor, Patches

N_DIRECTIONS = 8
MOST_SMOOTHING = 100.0


class DenseSIFT(GridDescriptor):
    """SIFT descriptors of upright patches on a regular grid.

    A patch has 4 x 4 cells, each of which gives a histogram of 8 gradient directions: 128 numbers. Gradients are
    shared linearly between neighbouring cells and directions. The histogram is scaled to unit length, clipped at
    0.2 and scaled to unit length again.

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
    smoothing : float, default=0.8
        Standard deviation in pixels of the Gaussian that smooths the image first, at most 100; 0 does not
        smooth.
    root : bool, default=True
        Take square roots of the histogram's shares: Euclidean distances are then Hellinger's (RootSIFT).
    contrast_threshold : float, default=0.03
        Flat patches are noise: a histogram shorter than this ends up shorter than 1, in proportion. A cell of
        pixels in [0, 1] counts its mean gradient per pixel. 0 gives all unit length.
    scaling : {"dtype", "image", "auto"}, default="dtype"
        What becomes 1: the largest value of the pixel type, or the largest pixel of the image.
        "auto" is "dtype" for 8-bit pixels and "image" for others.
    longest_side : int or None, default=None
        Images with a longer side are first shrunk to it, from 32 pixels. None leaves them as they are.

    Notes
    -----
    Lowe's descriptor (2004) without the Gaussian window over the patch, as is usual on a grid. The numbers are
    ordered by cell row, cell column and direction, the latter counterclockwise from the right, as in OpenCV.

    Examples
    --------
    >>> import numpy as np
    >>> from nearboost.features import DenseSIFT
    >>> image = np.add.outer(np.arange(40), 2 * np.arange(60)).astype(np.uint8)
    >>> [described] = DenseSIFT(step=8, bin_sizes=(4, 8)).transform(image)
    >>> described.values.shape, described.values.dtype
    ((22, 128), dtype('float32'))
    >>> np.unique(described.scales)
    array([16., 32.], dtype=float32)
    """

    _n_features_out = N_DIRECTIONS * CELLS**2
    descriptor_version = 2  # since every run rounds alike; rows kept by earlier ones may differ by 5e-7

    def __init__(
        self,
        step: int = 4,
        *,
        n_points: int | None = None,
        bin_sizes: tuple[int, ...] = (4, 6, 8),
        smoothing: float = 0.8,
        root: bool = True,
        contrast_threshold: float = 0.03,
        scaling: str = "dtype",
        longest_side: int | None = None,
    ) -> None:
        super().__init__(step, n_points=n_points, bin_sizes=bin_sizes, scaling=scaling, longest_side=longest_side)
        self.smoothing = smoothing
        self.root = root
        self.contrast_threshold = contrast_threshold

    def check_parameters(self) -> None:
        super().check_parameters()
        check_not_negative("smoothing", self.smoothing, most=MOST_SMOOTHING)
        check_flag("root", self.root)
        check_not_negative("contrast_threshold", self.contrast_threshold)

    def _prepare(self, pixels: NDArray[np.float32]) -> NDArray[np.float32]:
        """Gradients by direction."""
        from nearboost.kernels.images import direction_maps, smooth

        image = np.ascontiguousarray(as_grey(pixels))
        if self.smoothing:
            smoothed = np.empty_like(image)
            smooth(image, gaussian(self.smoothing), smoothed)
            image = smoothed
        maps = np.empty((N_DIRECTIONS, *image.shape), dtype=np.float32)
        direction_maps(image, maps)
        return maps

    def _values(self, prepared: NDArray[np.float32], patches: Patches) -> NDArray[np.float32]:
        from nearboost.kernels.images import bin_rows, finish, gather

        size = patches.bin_size
        first_rows = patches.rows[:, np.newaxis] + size * np.arange(CELLS)
        rows, cells = np.unique(first_rows, return_inverse=True)
        binned = np.empty((N_DIRECTIONS, len(rows), prepared.shape[2]), dtype=np.float32)
        bin_rows(prepared, rows, triangle(size), (size - 1) // 2, binned)
        values = np.empty((len(patches.rows) * len(patches.columns), self._n_features_out), dtype=np.float32)
        gather(binned, cells.reshape(first_rows.shape), patches.columns, size, values)
        finish(values, np.float32(self.contrast_threshold), bool(self.root))
        return values


def gaussian(deviation: float) -> NDArray[np.float32]:
    """Weights that sum to 1, to three deviations."""
    reach = int(np.ceil(3 * deviation))
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / deviation) ** 2)
    return (weights / weights.sum()).astype(np.float32)


def triangle(size: int) -> NDArray[np.float32]:
    """Linear sharing between cells that are ``size`` apart; begins (size - 1) // 2 pixels before the cell."""
    distances = np.arange(-((size - 1) // 2), size + (size + 1) // 2) - size / 2
    weights = 1 - np.abs(distances) / size
    return (weights / weights.sum()).astype(np.float32)
