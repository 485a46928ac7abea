"""BIF: histograms of the firing rates of a retina, over regions of an image."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from nearboost.base.images import SCALINGS, as_grey, as_images, in_unit_range, needs, pixels_of
from nearboost.base.validation import check_choice, check_flag, check_whole, check_wholes
from nearboost.features.base import FixedDescriptor, check_length, stack_rows

SURROUND = 3.0  # the wider Gaussian's deviation over the narrower one's
LARGEST_SCALE, MOST_SCALES = 10, 16
REACH = 4.0  # deviations after which a Gaussian is cut off


class BioInspiredFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FixedDescriptor):
    """Histograms of local contrasts, as the ganglion cells of a retina would report them (BIF).

    An image in [0, 1] is filtered by a difference of Gaussians, σ = 0.5·2^(scale−1) minus 3σ. The contrast C
    becomes the firing rate ``sign(C)·G|C|/(1 + Ref·G|C|)``, which lies within ±1/Ref. Over each region of the
    image the rates make a histogram whose bins sum to 1.

    Parameters
    ----------
    scales : tuple of int, default=(1, 2, 3, 4)
        One histogram per scale, up to 16; 1 is the finest, 10 the coarsest.
    bins : int, default=256
        Bins per histogram, between −200 and 200.
    regions : int, default=1
        Number of regions in the masks. Without masks, the whole image is the one region.
    root : bool, default=False
        Take square roots of the bins: Euclidean distances are then Hellinger's, which suits neighbours.
    scaling : {"image", "dtype", "auto"}, default="image"
        What becomes 1: the largest pixel of the image, or the largest value of the pixel type.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    verbose : int, default=0
        Shows a progress bar on standard error when above 0.

    Notes
    -----
    Section 5.2 of Bel Haj Ali's thesis; G = 2000 and Ref = 0.005 are from Van Rullen and Thorpe (2001). As
    printed, the rate GC/(1 + Ref·G·C) has a pole at C = −0.1; here it is taken of ``|C|``, with the sign of C. The
    thesis uses ``scales=(5,), bins=32, regions=2`` for thyroid cells (nucleus, and cell without nucleus), and four
    scales of 256 bins for HEp-2 cells, on the masked cell or on the whole image.

    Filters see the whole image, whatever the masks; beyond its border they see the border's pixels again.
    Contrasts up to 1e-6 are rounding and count as 0. A region without pixels has a histogram of zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from nearboost.features import BioInspiredFeatures
    >>> image = np.zeros((40, 40), dtype=np.uint8)
    >>> image[10:30, 10:30] = 200
    >>> rows = BioInspiredFeatures(scales=(1, 3), bins=8).transform(image)
    >>> rows.shape, rows.dtype
    ((1, 16), dtype('float32'))
    >>> cell = image > 0
    >>> nucleus = np.zeros_like(cell)
    >>> nucleus[15:25, 15:25] = True
    >>> two = BioInspiredFeatures(scales=(3,), bins=8, regions=2)
    >>> print(two.transform(image, masks=cell.astype(int) + nucleus).reshape(2, 8).round(2))
    [[0.   0.   0.   0.   0.   0.01 0.41 0.57]
     [0.   0.   0.   0.   0.   0.   0.88 0.12]]
    """

    def __init__(
        self,
        scales: tuple[int, ...] = (1, 2, 3, 4),
        bins: int = 256,
        regions: int = 1,
        *,
        root: bool = False,
        scaling: str = "image",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.scales = scales
        self.bins = bins
        self.regions = regions
        self.root = root
        self.scaling = scaling
        self.n_jobs = n_jobs
        self.verbose = verbose

    def transform(self, X: Any, masks: Any = None) -> NDArray[np.float32]:
        """Describe images: histograms by scale, then region, then bin.

        Parameters
        ----------
        X : image, or sequence of images or paths
            Images as arrays, or paths of image files.
        masks : mask, or sequence of masks or paths, default=None
            One mask per image, of its size: 0 is outside, 1 the first region, and so on. With ``regions=1``,
            everything but 0 is inside. None means no masks.

        Returns
        -------
        ndarray of shape (n_images, n_features), float32
            One row per image.
        """
        self.check_parameters()
        images = as_images(X)
        given = None if masks is None else as_images(masks)
        if given is None and self.regions > 1:
            raise ValueError(f"regions={self.regions} needs masks that name them; give masks, or use regions=1.")
        if given is not None and len(given) != len(images):
            raise ValueError(f"There are {len(given)} masks for {len(images)} images; give one for each.")
        shares = stack_rows(self, len(images), lambda i: self._describe(images, given, i))
        return np.sqrt(shares) if self.root else shares

    def _describe(self, images: Sequence[Any], masks: Sequence[Any] | None, i: int) -> NDArray[np.float32]:
        pixels = as_grey(in_unit_range(pixels_of(images[i], f"Image {i}"), self.scaling, f"Image {i}"))
        regions = np.ones(pixels.shape, np.uint8) if masks is None else self._regions(masks[i], pixels.shape, i)
        return region_histograms(pixels, regions, np.ones(self.regions), self.scales, self.bins).ravel()

    def _regions(self, mask: Any, shape: tuple[int, ...], i: int) -> NDArray[Any]:
        """The region of each pixel, 0 for none."""
        labels = pixels_of(mask, f"Mask {i}")
        if labels.shape != shape:
            raise ValueError(f"Mask {i} has shape {labels.shape} and its image {shape}; they must be equal.")
        if labels.dtype.kind not in "bui":
            raise ValueError(f"Mask {i} has dtype {labels.dtype}; give whole numbers or True and False.")
        if self.regions == 1:
            return np.ascontiguousarray(labels != 0, dtype=np.uint8)
        if labels.min() < 0 or labels.max() > self.regions:
            raise ValueError(
                f"Mask {i} holds numbers from {labels.min()} to {labels.max()}; with regions={self.regions} they "
                f"must lie between 0 (outside) and {self.regions}."
            )
        return np.ascontiguousarray(labels, dtype=np.int32)

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        check_wholes("scales", self.scales, LARGEST_SCALE, n_most=MOST_SCALES, such_as=(1, 2, 3, 4))
        check_whole("bins", self.bins)
        check_whole("regions", self.regions)
        check_flag("root", self.root)
        check_choice("scaling", self.scaling, SCALINGS)
        check_length(self._n_features_out, "use fewer scales, bins or regions")

    @property
    def _n_features_out(self) -> int:
        return len(self.scales) * int(self.regions) * int(self.bins)


def region_histograms(
    pixels: NDArray[np.float32],
    regions: NDArray[Any],
    gains: NDArray[np.float64],
    scales: Sequence[int],
    bins: int,
) -> NDArray[np.float32]:
    """Histograms of all regions of an image, which is filtered once at each scale.

    Parameters
    ----------
    pixels : ndarray of float32 of shape (height, width)
        The image.
    regions : ndarray of int of shape (height, width)
        Region of each pixel from 1 on, 0 for none.
    gains : ndarray of shape (n_regions,)
        What each region's pixels are multiplied by, so that they lie in [0, 1].
    scales : sequence of int
        Scales of the filters.
    bins : int
        Bins of a histogram.

    Returns
    -------
    ndarray of float32 of shape (n_scales, n_regions, bins)
        Shares of the pixels of a region; zeros for one without pixels.
    """
    from nearboost.kernels.images import count_rates

    counts = np.zeros((len(scales), len(gains), bins), dtype=np.int64)
    for scale, counted in zip(scales, counts, strict=True):
        deviation = 0.5 * 2.0 ** (scale - 1)
        count_rates(blurred(pixels, deviation), blurred(pixels, SURROUND * deviation), regions, gains, counted)
    return (counts / np.maximum(counts.sum(axis=2, keepdims=True), 1)).astype(np.float32)


def blurred(pixels: NDArray[np.float32], deviation: float) -> NDArray[np.float32]:
    """The image through a Gaussian whose weights sum to 1."""
    cv2 = needs("cv2")
    reach = int(np.ceil(REACH * deviation))
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / deviation) ** 2)
    weights /= weights.sum()
    return np.asarray(cv2.sepFilter2D(pixels, -1, weights, weights, borderType=cv2.BORDER_REPLICATE))
