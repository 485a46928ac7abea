"""Pixels: a small grey copy of an image, the plainest descriptor there is."""

import numpy as np
from numpy.typing import NDArray

from nearboost.base.images import SCALINGS
from nearboost.base.validation import check_choice, check_whole
from nearboost.features.base import GreyDescriptor
from nearboost.features.gist import resized

LARGEST_SIDE = 1024


class SmallGrey(GreyDescriptor):
    """An image made grey and square, its pixels in [0, 1] as one row.

    Parameters
    ----------
    side : int, default=16
        Width and height in pixels, at most 1024.
    scaling : {"dtype", "image", "auto"}, default="dtype"
        What becomes 1: the largest value of the pixel type, or the largest pixel of the image.
        "auto" is "dtype" for 8-bit pixels and "image" for others.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    verbose : int, default=0
        Shows a progress bar on standard error when above 0.

    Notes
    -----
    Nothing is learned: `fit` only checks.

    Examples
    --------
    >>> import numpy as np
    >>> from nearboost.features import SmallGrey
    >>> image = np.zeros((8, 8), dtype=np.uint8)
    >>> image[:, 4:] = 255
    >>> SmallGrey(2).transform(image).round(1)
    array([[0.1, 0.9, 0.1, 0.9]], dtype=float32)
    """

    def __init__(
        self, side: int = 16, *, scaling: str = "dtype", n_jobs: int | None = None, verbose: int = 0
    ) -> None:
        self.side = side
        self.scaling = scaling
        self.n_jobs = n_jobs
        self.verbose = verbose

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        check_whole("side", self.side, most=LARGEST_SIDE)
        check_choice("scaling", self.scaling, SCALINGS)

    def _describe(self, pixels: NDArray[np.float32]) -> NDArray[np.float32]:
        return resized(pixels, self.side).ravel()

    @property
    def _n_features_out(self) -> int:
        return self.side**2
