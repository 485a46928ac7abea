"""What descriptors share: those ready without a fit, and those that encode sets of local descriptors."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from nearboost.base.entries import Array, Size
from nearboost.base.estimator import Estimator
from nearboost.base.images import MAX_PIXELS, as_grey, as_images, in_unit_range, needs, pixels_of
from nearboost.base.local_sets import LocalSet, LocalSets, NonTabularMixin
from nearboost.base.progress import progress_bar
from nearboost.base.schema import Schema
from nearboost.base.threads import map_in_threads, one_matrix_thread
from nearboost.base.validation import check_whole

NORMS = ("l2", "l1", None)
MOST_NUMBERS = 2**22  # of a row
DESCRIPTOR_LENGTH = Size(1, name="n_features")
NOT_FINITE = "The descriptors hold NaN or infinite values; check how they were made."


class FixedDescriptor(NonTabularMixin, Estimator):
    """An estimator that learns nothing and is ready without `fit`; scikit-learn knows by its tags."""

    takes: ClassVar[str] = "images"
    model_schema: ClassVar[Schema] = Schema({})

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        raise NotImplementedError

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
        self.check_parameters()
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.no_validation = True
        return tags


class GreyDescriptor(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FixedDescriptor):
    """One row for each image, made grey first; a subclass describes its pixels."""

    scaling: str

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
        self.check_parameters()
        images = as_images(X)

        def describe(i: int) -> NDArray[np.float32]:
            which = f"Image {i}"
            return self._describe(as_grey(in_unit_range(pixels_of(images[i], which), self.scaling, which)))

        return stack_rows(self, len(images), describe)

    def _describe(self, pixels: NDArray[np.float32]) -> NDArray[np.float32]:
        """The row of a grey image in [0, 1]."""
        raise NotImplementedError


class DescriptorLearner(NonTabularMixin, TransformerMixin, Estimator):
    """A transformer of local descriptors that learns from a sample of them."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from a sample of the descriptors.

        Parameters
        ----------
        X : LocalSets or list of array-like
            Local descriptors, one matrix or `LocalSet` per image.
        y : None, default=None
            Ignored.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        self.check_parameters()
        self._learn(draw_descriptors(self, X))
        return self

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        raise NotImplementedError

    def _learn(self, sample: NDArray[np.float32]) -> None:
        raise NotImplementedError


class SetEncoder(ClassNamePrefixFeaturesOutMixin, DescriptorLearner):
    """The local descriptors of each image as one row; a subclass encodes one image."""

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Encode the descriptors of each image; an image without descriptors is a row of zeros.

        Parameters
        ----------
        X : LocalSets or list of array-like
            Local descriptors, one matrix or `LocalSet` per image.

        Returns
        -------
        ndarray of shape (n_images, n_features), float32
            One row per image.
        """
        check_is_fitted(self)
        self.check_parameters()  # some may be changed after fit
        sets = LocalSets.of(X)

        def encode(i: int) -> NDArray[Any] | float:
            one = sets[i]
            values = checked_values(self, one)
            return self._encode(values, one, i) if len(values) else 0.0

        return stack_rows(self, len(sets), encode)

    def check_parameters(self) -> None:
        """Raise an error if a parameter is invalid, before any data is read."""
        raise NotImplementedError

    def _encode(self, values: NDArray[np.float32], one: LocalSet, i: int) -> NDArray[Any]:
        """The row of image ``i``, whose descriptors are ``values``."""
        raise NotImplementedError


def stack_rows(estimator: Any, n_rows: int, describe: Callable[[int], Any]) -> NDArray[np.float32]:
    """The row of each image, several images at once."""
    rows = np.empty((n_rows, estimator._n_features_out), dtype=np.float32)

    def work(i: int) -> None:
        rows[i] = describe(i)

    title = type(estimator).__name__
    with one_matrix_thread(), progress_bar(title, n_rows, estimator.verbose) as advance:
        map_in_threads(work, range(n_rows), estimator.n_jobs, advance)
    return rows


def check_length(n_numbers: int, advice: str) -> None:
    """Refuse settings by which a single image would fill the memory."""
    if n_numbers > MOST_NUMBERS:
        raise ValueError(f"A row would have {n_numbers:,} numbers, more than {MOST_NUMBERS:,}; {advice}.")


def numbers(*shape: str, dtype: str = "float32", most: float = 1e18, **more: Any) -> Array:
    """An entry of numbers whose squares float32 can hold."""
    return Array(dtype, shape, low=-most, high=most, **more)


def as_seed(random_state: int | np.random.RandomState | None) -> int:
    """A number to seed with; None is 0, so that fits repeat."""
    if random_state is None or isinstance(random_state, int | np.integer):
        return int(random_state or 0)
    return int(check_random_state(random_state).randint(2**31))


def draw_descriptors(estimator: Any, X: Any) -> NDArray[np.float32]:
    """At most ``max_descriptors`` of all descriptors, as float32 and finite; sets ``n_features_in_``."""
    check_whole("max_descriptors", estimator.max_descriptors)
    drawn = LocalSets.of(X).sample(
        estimator.max_descriptors,
        as_seed(estimator.random_state),
        n_jobs=estimator.n_jobs,
        verbose=estimator.verbose,
    )
    sample = np.ascontiguousarray(drawn, dtype=np.float32)
    if sample.ndim != 2 or not len(sample):
        name = type(estimator).__name__
        raise ValueError(f"The images gave descriptors of shape {sample.shape}; {name} needs some.")
    if not np.isfinite(sample).all():
        raise ValueError(NOT_FINITE)
    estimator.n_features_in_ = sample.shape[1]
    return sample


def checked_values(estimator: Any, one: LocalSet) -> NDArray[np.float32]:
    """The descriptors of an image as float32, of as many numbers as the estimator was fitted with."""
    values = np.asarray(one.values, dtype=np.float32)
    if values.ndim != 2 or values.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"Got descriptors of shape {values.shape}; {type(estimator).__name__} was fitted on descriptors of "
            f"{estimator.n_features_in_} numbers, one row each."
        )
    if not np.isfinite(values).all():
        raise ValueError(NOT_FINITE)
    return values


def unit(values: NDArray[Any], lengths: Any) -> NDArray[Any]:
    """Values over lengths; zeros stay zeros."""
    return values / np.where(lengths > 0, lengths, 1)


def normalised(row: NDArray[Any], norm: str | None) -> NDArray[Any]:
    """A row over its Euclidean length, over the sum of its absolute values, or as it is."""
    return row if norm is None else unit(row, np.linalg.norm(row, 1 if norm == "l1" else 2))


def resized_to(pixels: NDArray[np.float32], height: int, width: int, which: str) -> NDArray[np.float32]:
    """The image with three axes at its new size, by OpenCV; areas are averaged where it shrinks.

    A strip whose short side is made longer may grow beyond all bounds: that is an error, which says ``which``.
    """
    if height * width > MAX_PIXELS:
        raise ValueError(
            f"{which} is {pixels.shape[1]} x {pixels.shape[0]} pixels and would have to grow to {width:,} x "
            f"{height:,}; cut it, or leave it out."
        )
    cv2 = needs("cv2")
    method = cv2.INTER_AREA if height * width < pixels.shape[0] * pixels.shape[1] else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(pixels, (width, height), interpolation=method).reshape(height, width, -1))
