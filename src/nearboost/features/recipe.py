"""SIFTColorFisher: the papers' 4,096 numbers of an image, ready to use."""

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import check_is_fitted

from nearboost.base.entries import Flag, ListOf, Misfit, Part, entry_of, kind_of
from nearboost.base.errors import warn_caller
from nearboost.base.estimator import Estimator
from nearboost.base.images import as_images, in_unit_range, is_grey, pixels_of
from nearboost.base.local_sets import NonTabularMixin
from nearboost.base.schema import Schema
from nearboost.base.validation import check_whole
from nearboost.features.color import LocalColor
from nearboost.features.fisher import FisherVector
from nearboost.features.grid import GridDescriptor
from nearboost.features.pca import DescriptorPCA
from nearboost.features.sift import DenseSIFT

IMAGES_TO_LOOK_AT = 64


def _check_channels(state: Mapping[str, Any]) -> None:
    describers = [DenseSIFT, LocalColor] if state["uses_color_"] else [DenseSIFT]
    if len(state["channels_"]) != len(describers):
        raise Misfit("must have a channel for SIFT, and another one where it uses colour")
    for channel, describer in zip(state["channels_"], describers, strict=True):
        steps = [step for _, step in entry_of(channel, "steps")]
        if [kind_of(step) for step in steps] != [describer, DescriptorPCA, FisherVector]:
            raise Misfit("must have channels that describe, project and encode patches")
        _, projection, encoder = steps
        n_numbers, n_kept = (entry_of(projection, name) for name in ("n_features_in_", "n_components_"))
        if n_numbers != describer._n_features_out or n_kept != entry_of(encoder, "n_features_in_"):
            raise Misfit("must have steps that fit each other")


class SIFTColorFisher(NonTabularMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Fisher vectors of dense SIFT and of local colour, side by side: 4,096 numbers per image.

    Each channel is reduced to 64 numbers per patch, encoded by 16 Gaussians and normalised by itself; SIFT comes
    first. Grey images have no colour to describe: SIFT alone is used, with twice as many Gaussians, which gives as
    many numbers.

    Parameters
    ----------
    n_components : int, default=16
        Number of Gaussians per channel; of very few small images, at most as many as they have patches.
    color : {"auto", True, False}, default="auto"
        Whether to describe colour. "auto" looks at up to 64 of the images given to `fit`, and warns if all are
        grey.
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
    n_dimensions : int, default=64
        Numbers that `DescriptorPCA` keeps of a patch.
    power : float, default=0.5
        Every number x becomes ``sign(x)·|x|^power``, as in `FisherVector`.
    norm : {"l2", "l1", None}, default="l2"
        Norm that each channel is divided by, as in `FisherVector`.
    per_gaussian : bool, default=False
        Scale the gradients of each Gaussian to unit length, as in `FisherVector`.
    max_descriptors : int, default=200_000
        Maximum number of descriptors for principal components and mixtures, about as many from each image.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    random_state : int, RandomState or None, default=None
        Seed of samples and mixtures. None means 0, so that fits repeat.
    verbose : int, default=0
        Shows progress bars on standard error when above 0.

    Attributes
    ----------
    channels_ : list of Pipeline
        The fitted pipelines, one per channel.
    uses_color_ : bool
        Whether colour is described.

    Notes
    -----
    The channels are those of Clinchant, Csurka, Perronnin and Renders (2007). Every image is read once for each.

    Examples
    --------
    >>> import numpy as np
    >>> from nearboost.features import SIFTColorFisher
    >>> rng = np.random.default_rng(0)
    >>> images = [rng.integers(0, 256, (48, 48, 3), dtype=np.uint8) for _ in range(8)]
    >>> recipe = SIFTColorFisher().fit(images)
    >>> recipe.transform(images[:2]).shape
    (2, 4096)
    """

    takes: ClassVar[str] = "images"
    model_schema: ClassVar[Schema] = Schema(
        {"uses_color_": Flag(), "channels_": ListOf(Part(("sklearn.Pipeline",)))}, check=_check_channels
    )

    def __init__(
        self,
        n_components: int = 16,
        *,
        color: str | bool = "auto",
        step: int = 4,
        n_points: int | None = None,
        bin_sizes: tuple[int, ...] = (4, 6, 8),
        scaling: str = "dtype",
        longest_side: int | None = None,
        n_dimensions: int = 64,
        power: float = 0.5,
        norm: str | None = "l2",
        per_gaussian: bool = False,
        max_descriptors: int = 200_000,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.color = color
        self.step = step
        self.n_points = n_points
        self.bin_sizes = bin_sizes
        self.scaling = scaling
        self.longest_side = longest_side
        self.n_dimensions = n_dimensions
        self.power = power
        self.norm = norm
        self.per_gaussian = per_gaussian
        self.max_descriptors = max_descriptors
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit every step to the images.

        Parameters
        ----------
        X : image, or sequence of images or paths
            Images as arrays, or paths of image files.
        y : None, default=None
            Ignored.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        self.check_parameters()
        images = as_images(X)
        self.uses_color_ = self._decide_on_color(images)
        patches = {
            name: getattr(self, name) for name in ("step", "n_points", "bin_sizes", "scaling", "longest_side")
        }
        if self.uses_color_:
            describers: list[GridDescriptor] = [DenseSIFT(**patches), LocalColor(**patches)]
            n_gaussians = self.n_components
        else:
            describers, n_gaussians = [DenseSIFT(**patches)], 2 * self.n_components
        with warnings.catch_warnings():  # mixtures that are nearly there describe as well
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.channels_ = [
                self._channel(describer, fewer_than_patches(n_gaussians, describer, images)).fit(images)
                for describer in describers
            ]
        return self

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        check_whole("n_components", self.n_components)
        check_whole("n_dimensions", self.n_dimensions)
        if not isinstance(self.color, bool | np.bool_ | str) or self.color not in ("auto", True, False):
            raise ValueError(f"color={self.color!r} is not known; use one of 'auto', True, False.")

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
        check_is_fitted(self)
        images = as_images(X)
        return np.hstack([channel.transform(images) for channel in self.channels_])

    def _decide_on_color(self, images: Any) -> bool:
        if not isinstance(self.color, str):
            return bool(self.color)
        if has_color(images, self.scaling):
            return True
        warn_caller(
            "The images are grey and have no colour to describe: SIFT alone is used, with "
            f"{2 * self.n_components} Gaussians in place of {self.n_components}."
        )
        return False

    def _channel(self, describer: GridDescriptor, n_gaussians: int) -> Pipeline:
        running = {name: getattr(self, name) for name in ("max_descriptors", "n_jobs", "random_state", "verbose")}
        normalisation = {name: getattr(self, name) for name in ("power", "norm", "per_gaussian")}
        return make_pipeline(
            describer,
            DescriptorPCA(self.n_dimensions, **running),
            FisherVector(n_gaussians, **normalisation, **running),
        )

    @property
    def _n_features_out(self) -> int:
        return sum(channel[-1]._n_features_out for channel in self.channels_)


def fewer_than_patches(n_gaussians: int, describer: GridDescriptor, images: Any) -> int:
    """As many Gaussians as wanted, or as there are patches."""
    if len(images) * len(describer.bin_sizes) >= n_gaussians:  # an image has a patch of each size at least
        return n_gaussians
    sizes = [pixels_of(images[i], f"Image {i}").shape[:2] for i in range(len(images))]
    return min(n_gaussians, sum(describer._count_patches(*size) for size in sizes))


def has_color(images: Any, scaling: str = "dtype") -> bool:
    """Whether one of the images, or of so many spread over them, is not grey."""
    numbers = np.unique(np.linspace(0, len(images) - 1, min(len(images), IMAGES_TO_LOOK_AT)).astype(int))
    return not all(
        is_grey(in_unit_range(pixels_of(images[i], f"Image {i}"), scaling, f"Image {i}")) for i in numbers.tolist()
    )
