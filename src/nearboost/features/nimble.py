"""Nimble: what natural filters see around a hundred fixations of an image."""

import zlib
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from nearboost.base.entries import Array, Integer, Misfit
from nearboost.base.estimator import Estimator
from nearboost.base.images import GREY_WEIGHTS, as_color, as_grey, as_images, in_unit_range, pixels_of
from nearboost.base.local_sets import LocalSet, LocalSets, NonTabularMixin
from nearboost.base.schema import Schema
from nearboost.base.threads import one_matrix_thread
from nearboost.base.validation import check_choice, check_not_negative, check_whole
from nearboost.features.base import as_seed, numbers, resized_to
from nearboost.features.ica import GeneralizedGaussians, independent_directions
from nearboost.features.pca import principal_directions
from nearboost.features.windows import CELLS, N_AVERAGES, averaged, check_work, places_in_a_row

FIXATIONS = ("saliency", "uniform")
DARK = 0.05  # ε of the logarithm
GREY = 0.02  # channels that never differ by more are one
MOST_FILTERS, LARGEST_FILTER, LARGEST_SIDE = 1000, 32, 4096
MOST_WEIGHT = 1e6
PLACES_AT_ONCE = 128  # of a row, to be filtered
LARGEST, STEPS = 20.0, 4096  # of the tables: responses have unit variance


def _check_filters(state: Mapping[str, Any]) -> None:
    n_filters, size, _, n_channels = state["filters_"].shape
    if not (0 < n_filters <= MOST_FILTERS and 1 < size <= LARGEST_FILTER and n_channels in (1, 3)):
        raise Misfit("must have filters of one or three channels, not too many and not too large")
    if len(state["mean_"]) != N_AVERAGES * n_filters:
        raise Misfit(f"must have {N_AVERAGES} averages of each filter")


class Nimble(NonTabularMixin, TransformerMixin, Estimator):
    """Descriptors of a few windows of an image, drawn where it is salient, by filters learned from images.

    The filters are independent components of patches. Their responses r become ranks ``P(|R| ≤ |r|)`` under a
    generalised Gaussian fitted to each filter. Windows around fixations are drawn with probabilities that follow
    the saliency, −log p of all responses. The ranks are averaged over grids of 1, 2 x 2 and 4 x 4 cells of a
    window. Their principal components, whitened and scaled to unit length, and the place of the window make a
    descriptor. It is meant for `NaiveBayesNN`.

    Parameters
    ----------
    n_fixations : int, default=100
        Windows per image, all different; an image with fewer places has fewer.
    n_components : int, default=200
        Number of principal components; 500 in the paper, but the last ones do harm when whitened.
    n_filters : int, default=100
        Number of filters.
    filter_size : int, default=16
        Width of a filter in pixels.
    short_side : int, default=256
        Pixels that the shorter side of an image is resized to.
    window : int, default=102
        Width of a window in pixels.
    stride : int, default=4
        Pixels between two responses.
    fixations : {"saliency", "uniform"}, default="saliency"
        What the probability of a window follows.
    location_weight : float, default=0.5
        The place (x, y) in [0, 1]² is appended times this; 0 leaves it out.
    n_patches : int, default=50_000
        Number of patches to learn the filters from, about as many from each image.
    max_descriptors : int, default=20_000
        Maximum number of windows to fit the principal components to, about as many from each image.
    n_jobs : int or None, default=None
        Number of threads that read images in `fit`; None uses all cores.
    random_state : int, RandomState or None, default=None
        Seed of patches, filters and fixations; None means 0. The fixations of an image depend only on its pixels
        and the seed, not on other images.
    verbose : int, default=0
        Shows progress bars on standard error when above 0.

    Attributes
    ----------
    filters_ : ndarray of shape (n_filters, filter_size, filter_size, n_channels)
        Filters, scaled so that responses have unit variance.
    distributions_ : GeneralizedGaussians
        Shape and scale of each filter's distribution.
    components_ : ndarray of shape (n_components, n_ranks)
        Directions that whiten the averaged ranks.
    mean_ : ndarray of shape (n_ranks,)
        Mean of the averaged ranks.
    seed_ : int
        Seed that ``random_state`` gave.

    Notes
    -----
    After Kanan and Cottrell, "Robust classification of objects, faces, and flowers using natural image statistics"
    (2010), whose features Timofte and Van Gool use with 100 fixations and 500 numbers. They do not state the other
    settings; those here were chosen on scenes: logarithm log(z + 0.05) of pixels, 100 filters of 16 pixels,
    FastICA, moments to fit the Gaussians, 256 pixels on the short side and windows of 102, full whitening. Colour
    images are filtered in three channels, red, green and blue; if all patches are grey there is one channel.
    Windows lie inside the image: a fixation is at least half a window away from its border.

    Examples
    --------
    >>> import numpy as np
    >>> from nearboost.features import Nimble
    >>> images = [np.random.default_rng(i).integers(0, 255, (64, 80), dtype=np.uint8) for i in range(5)]
    >>> small = Nimble(20, 10, n_filters=8, filter_size=4, short_side=48, window=24, stride=2, n_patches=500)
    >>> sets = small.fit_transform(images)
    >>> sets[0].values.shape
    (20, 12)
    """

    takes: ClassVar[str] = "images"
    gives: ClassVar[str] = "sets"
    model_schema: ClassVar[Schema] = Schema(
        {
            "filters_": numbers("n_filters", "filter_size", "filter_size", "n_channels", most=1e9),
            "shapes": Array("float64", ("n_filters",), low=0.1, high=20.0),
            "scales": Array("float64", ("n_filters",), low=1e-30, high=1e30),
            "mean_": Array("float32", ("n_ranks",), low=-0.01, high=1.01),
            "components_": numbers("n_components", "n_ranks", least=1),
            "seed_": Integer(0),
        },
        check=_check_filters,
    )

    def __init__(
        self,
        n_fixations: int = 100,
        n_components: int = 200,
        *,
        n_filters: int = 100,
        filter_size: int = 16,
        short_side: int = 256,
        window: int = 102,
        stride: int = 4,
        fixations: str = "saliency",
        location_weight: float = 0.5,
        n_patches: int = 50_000,
        max_descriptors: int = 20_000,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_fixations = n_fixations
        self.n_components = n_components
        self.n_filters = n_filters
        self.filter_size = filter_size
        self.short_side = short_side
        self.window = window
        self.stride = stride
        self.fixations = fixations
        self.location_weight = location_weight
        self.n_patches = n_patches
        self.max_descriptors = max_descriptors
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn filters, distributions and principal components from images.

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
        self.seed_ = as_seed(self.random_state)
        images = as_images(X)
        patches = self._draw_patches(images)
        filters = independent_directions(patches, self.n_filters, self.seed_, verbose=self.verbose)
        filters -= filters.mean(axis=1, keepdims=True)  # rounding: patches had no mean
        self.filters_ = filters.reshape(self.n_filters, self.filter_size, self.filter_size, -1)
        with one_matrix_thread():
            self.distributions_ = GeneralizedGaussians.fitted(patches @ filters.T)
        self._tabulate()
        windows = LocalSets(len(images), self._describe(images))
        sample = windows.sample(self.max_descriptors, self.seed_, n_jobs=self.n_jobs, verbose=self.verbose)
        with one_matrix_thread():
            self._fit_whitening(sample)
        return self

    def _tabulate(self) -> None:
        sizes = np.linspace(0, LARGEST, STEPS)
        self._ranks = self.distributions_.ranks(sizes).astype(np.float32)
        self._surprises = self.distributions_.surprises(sizes).astype(np.float32)

    def model_state(self) -> dict[str, Any]:
        """What a model file keeps: all that was fitted but the tables."""
        return vars(self) | (self.distributions_._asdict() if hasattr(self, "distributions_") else {})

    def restore_model_state(self, state: Mapping[str, Any]) -> None:
        """Take back what a model file kept, and make the tables anew."""
        kept = dict(state)
        self.distributions_ = GeneralizedGaussians(kept.pop("shapes"), kept.pop("scales"))
        self.__dict__.update(kept)
        check_work(self, *self.filters_.shape[:2])
        self._tabulate()

    def transform(self, X: Any) -> LocalSets:
        """Describe the windows of each image.

        Parameters
        ----------
        X : image, or sequence of images or paths
            Images as arrays, or paths of image files.

        Returns
        -------
        LocalSets
            The descriptors of each image, computed when they are asked for.
        """
        check_is_fitted(self)
        self.check_parameters()  # some may be changed after fit
        check_work(self, *self.filters_.shape[:2])
        images, now = as_images(X), copy(self)  # what is made later must not follow another fit
        windows = LocalSets(len(images), now._describe(images))

        def finish(one: LocalSet) -> NDArray[np.float32]:
            with one_matrix_thread():
                values = (one.values - now.mean_) @ now.components_.T
            values /= np.maximum(np.linalg.norm(values, axis=1, keepdims=True), np.finfo(np.float32).tiny)
            if not now.location_weight:
                return values
            return np.hstack([values, np.float32(now.location_weight) * np.asarray(one.positions)])

        return windows.map(finish)

    def _draw_patches(self, images: Sequence[Any]) -> NDArray[np.float32]:
        """Patches without their means, one in each row; of one channel where all are grey."""
        share = -(-self.n_patches // max(1, len(images)))

        def draw(i: int) -> LocalSet:
            pixels, _ = self._prepared(images[i], i, as_color)
            rng = np.random.default_rng((self.seed_, checksum(pixels)))
            views = np.lib.stride_tricks.sliding_window_view(pixels, (self.filter_size,) * 2, axis=(0, 1))
            rows, columns = (rng.integers(0, n, share) for n in views.shape[:2])
            return LocalSet(views[rows, columns].transpose(0, 2, 3, 1).reshape(share, -1))

        patches = LocalSets(len(images), draw).sample(
            self.n_patches, self.seed_, n_jobs=self.n_jobs, verbose=self.verbose
        )
        colors = patches.reshape(len(patches), -1, 3)
        if np.ptp(colors, axis=2).max() <= GREY:
            patches = colors @ GREY_WEIGHTS
        return np.asarray(patches - patches.mean(axis=1, keepdims=True), dtype=np.float32)

    def _describe(self, images: Sequence[Any]) -> Callable[[int], LocalSet]:
        """What makes the averaged ranks of the windows of an image."""
        from nearboost.kernels.images import rank_and_surprise

        n_filters, filter_size, _, n_channels = self.filters_.shape

        def describe(i: int) -> LocalSet:
            pixels, (height, width) = self._prepared(images[i], i, as_grey if n_channels == 1 else as_color)
            responses = self._responses(pixels)
            surprise = np.empty(responses.shape[:2], dtype=np.float32)
            flat = responses.reshape(-1, n_filters)
            per_unit = np.float32((STEPS - 1) / LARGEST)
            rank_and_surprise(flat, per_unit, self._ranks, self._surprises, surprise.reshape(-1))
            rows, columns = self._fixate(surprise, checksum(pixels))
            # A response stands for the middle of its filter; a window, for the middle of its responses.
            middle = (places_in_a_row(self) - 1) / 2 * self.stride + filter_size / 2
            centers = np.stack([columns * self.stride + middle, rows * self.stride + middle], axis=1)
            positions = centers / (pixels.shape[1], pixels.shape[0])
            scales = np.full(len(rows), self.window * min(height, width) / self.short_side)
            return LocalSet(
                averaged(responses, rows, columns, places_in_a_row(self) // CELLS),
                positions.astype(np.float32),
                scales.astype(np.float32),
                (height, width),
            )

        return describe

    def _prepared(
        self, image: Any, i: int, as_channels: Callable[[NDArray[np.float32]], NDArray[np.float32]]
    ) -> tuple[NDArray[np.float32], tuple[int, int]]:
        """The image with three axes at its new size, in logarithms from 0 to 1; and its old size."""
        pixels = as_channels(in_unit_range(pixels_of(image, f"Image {i}"), which=f"Image {i}"))
        height, width = pixels.shape[:2]
        factor = self.short_side / min(height, width)
        rows, columns = (max(self.short_side, round(side * factor)) for side in (height, width))
        resized = resized_to(pixels, rows, columns, f"Image {i}")
        logs = (np.log(resized + np.float32(DARK)) - np.log(DARK)) / (np.log(1 + DARK) - np.log(DARK))
        return np.ascontiguousarray(logs, dtype=np.float32), (height, width)

    def _responses(self, pixels: NDArray[np.float32]) -> NDArray[np.float32]:
        """Responses of all filters on a grid of places."""
        n_filters, filter_size = self.filters_.shape[:2]
        views = np.lib.stride_tricks.sliding_window_view(pixels, (filter_size,) * 2, axis=(0, 1))
        views = views[:: self.stride, :: self.stride].transpose(0, 1, 3, 4, 2)
        filters = self.filters_.reshape(n_filters, -1).T
        responses = np.empty((*views.shape[:2], n_filters), dtype=np.float32)
        with one_matrix_thread():
            for first in range(0, views.shape[1], PLACES_AT_ONCE):  # patches overlap: all would be large
                some = views[:, first : first + PLACES_AT_ONCE]
                flat = some.reshape(some.shape[0] * some.shape[1], -1)
                responses[:, first : first + PLACES_AT_ONCE] = (flat @ filters).reshape(*some.shape[:2], -1)
        return responses

    def _fixate(self, surprise: NDArray[np.float32], pixels: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """First rows and columns of different windows."""
        n_places = places_in_a_row(self)
        half, n_rows, n_columns = n_places // 2, *(n - n_places + 1 for n in surprise.shape)
        weights = surprise[half : half + n_rows, half : half + n_columns].ravel().astype(np.float64)
        if self.fixations == "uniform" or not weights.any():
            weights = np.ones(len(weights))
        weights = np.maximum(weights, 1e-9 * weights.max())
        rng = np.random.default_rng((self.seed_, pixels))
        waits = rng.exponential(size=len(weights)) / weights  # who comes first is drawn by weight
        return np.divmod(np.argsort(waits, kind="stable")[: self.n_fixations], n_columns)

    def _fit_whitening(self, sample: NDArray[np.float32]) -> None:
        mean, variances, directions = principal_directions(sample)
        rank = int((variances > 1e-7 * max(variances[0], 0)).sum())
        if rank < self.n_components:
            raise ValueError(
                f"n_components={self.n_components} is more than the {rank} directions in which {len(sample)} "
                f"windows vary; use {rank} or fewer, or give more images."
            )
        kept = slice(self.n_components)
        self.mean_ = mean.astype(np.float32)
        self.components_ = (directions[kept] / np.sqrt(variances[kept, np.newaxis])).astype(np.float32)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_) + (2 if self.location_weight else 0)

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        for name in ("n_fixations", "n_components", "stride", "n_patches", "max_descriptors"):
            check_whole(name, getattr(self, name))
        check_whole("n_filters", self.n_filters, most=MOST_FILTERS)
        check_whole("filter_size", self.filter_size, least=2, most=LARGEST_FILTER)
        for name in ("short_side", "window"):
            check_whole(name, getattr(self, name), least=2, most=LARGEST_SIDE)
        check_choice("fixations", self.fixations, FIXATIONS)
        check_not_negative("location_weight", self.location_weight, most=MOST_WEIGHT)
        check_work(self, self.n_filters, self.filter_size)


def checksum(pixels: NDArray[np.float32]) -> int:
    """A number that follows from the pixels."""
    return zlib.crc32(pixels.tobytes())
