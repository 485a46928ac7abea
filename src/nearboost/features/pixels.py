"""Pixels: a small grey copy of an image, the plainest descriptor there is."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from nearboost.base.images import SCALINGS, as_grey, as_images, in_unit_range, pixels_of
from nearboost.base.progress import progress_bar
from nearboost.base.threads import map_in_threads
from nearboost.base.validation import check_choice, check_whole
from nearboost.features.fixed import FixedDescriptor
from nearboost.features.gist import resized


class SmallGrey(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FixedDescriptor):
    """An image made grey and square, its pixels in [0, 1] as one row.

    Parameters
    ----------
    side : int, default=16
        Width and height in pixels.
    scaling : {"dtype", "image"}, default="dtype"
        What becomes 1: the largest value of the pixel type, or the largest pixel of the image.
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

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Check the settings; nothing is learned.

        Parameters
        ----------
        X : object, default=None
            Ignored.
        y : None, default=None
            Ignored.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        check_whole("side", self.side)
        check_choice("scaling", self.scaling, SCALINGS)
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Describe images.

        Parameters
        ----------
        X : image, or sequence of images or paths
            Images as arrays, or paths of image files.

        Returns
        -------
        ndarray of shape (n_images, n_features), float32
            One row per image.
        """
        self.fit()
        images = as_images(X)
        rows = np.empty((len(images), self.side**2), dtype=np.float32)

        def work(i: int) -> None:
            which = f"Image {i}"
            grey = as_grey(in_unit_range(pixels_of(images[i], which), self.scaling, which))
            rows[i] = resized(grey, self.side).ravel()

        with progress_bar("Pixels", len(images), self.verbose) as advance:
            map_in_threads(work, range(len(images)), self.n_jobs, advance)
        return rows

    @property
    def _n_features_out(self) -> int:
        return self.side**2
