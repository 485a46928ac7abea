"""Sets of local descriptors, one set for each image; they may differ in length and may be made when asked for."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import getitem
from typing import Any, ClassVar, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearboost.base.progress import progress_bar
from nearboost.base.threads import map_in_threads, one_matrix_thread
from nearboost.base.validation import check_whole


@dataclass(frozen=True)
class LocalSet:
    """The local descriptors of one image, and where they come from as far as that is known.

    Parameters
    ----------
    values : ndarray of shape (n_descriptors, n_features)
        Descriptors.
    positions : ndarray of shape (n_descriptors, 2) or None, default=None
        x and y of each descriptor's centre, from 0 (left, top) to 1 (right, bottom).
    scales : ndarray of shape (n_descriptors,) or None, default=None
        Size in pixels of the patch behind each descriptor.
    image_size : tuple of int or None, default=None
        Height and width of the image in pixels.

    Examples
    --------
    >>> import numpy as np
    >>> from nearboost import LocalSet
    >>> one = LocalSet(np.ones((3, 8), dtype=np.float32), image_size=(48, 64))
    >>> one.values.shape, one.positions
    ((3, 8), None)
    """

    values: NDArray[Any]
    positions: NDArray[np.float32] | None = None
    scales: NDArray[np.float32] | None = None
    image_size: tuple[int, int] | None = None

    def __len__(self) -> int:
        return len(self.values)


class NonTabularMixin:
    """An estimator whose ``X`` is no matrix, but images or sets of descriptors; scikit-learn knows by its tags.

    ``takes`` and ``gives`` say what goes in and comes out: "images", "sets" of local descriptors or "rows".
    """

    takes: ClassVar[str] = "sets"
    gives: ClassVar[str] = "rows"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.two_d_array = False
        return tags


class LocalSets(Sequence[LocalSet]):
    """Local descriptors of several images, each image's set made only when it is asked for.

    Parameters
    ----------
    n_sets : int
        Number of images.
    make : callable
        Makes the set of an image, a `LocalSet` or a matrix of descriptors, from its number, starting at 0; called
        each time the set is asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from nearboost import LocalSets
    >>> sets = LocalSets.packed(np.arange(10.0).reshape(5, 2), offsets=[0, 2, 5])
    >>> [len(one) for one in sets]
    [2, 3]
    >>> doubled = sets.map(lambda one: one.values * 2)
    >>> doubled[0].values
    array([[0., 2.],
           [4., 6.]])
    """

    def __init__(self, n_sets: int, make: Callable[[int], LocalSet | ArrayLike]) -> None:
        check_whole("n_sets", n_sets, least=0)
        self._numbers: Sequence[int] = range(n_sets)
        self._make = make

    @classmethod
    def packed(
        cls,
        values: ArrayLike,
        offsets: ArrayLike,
        positions: ArrayLike | None = None,
        scales: ArrayLike | None = None,
        image_sizes: Sequence[tuple[int, int]] | None = None,
    ) -> Self:
        """Sets stored one after the other: set i is rows ``offsets[i]`` to ``offsets[i + 1]``.

        Parameters
        ----------
        values : array-like of shape (n_descriptors, n_features)
            Descriptors of all sets.
        offsets : array-like of int of shape (n_sets + 1,)
            Where the sets begin and end, from 0 to the number of descriptors.
        positions : array-like of shape (n_descriptors, 2) or None, default=None
            Centres, see `LocalSet`.
        scales : array-like of shape (n_descriptors,) or None, default=None
            Sizes of the patches, see `LocalSet`.
        image_sizes : sequence of tuples or None, default=None
            Height and width of each image.

        Returns
        -------
        LocalSets
            One set per image.
        """
        rows, ends = np.asarray(values), np.asarray(offsets)
        if rows.ndim != 2:
            raise ValueError(f"values has shape {rows.shape}; give a matrix with one descriptor in each row.")
        whole = ends.ndim == 1 and len(ends) > 0 and np.issubdtype(ends.dtype, np.integer)
        if not whole or ends[0] != 0 or ends[-1] != len(rows) or np.any(ends[1:] < ends[:-1]):
            raise ValueError(
                f"offsets must be whole numbers that rise from 0 to the {len(rows)} descriptors; set i is rows "
                "offsets[i] to offsets[i + 1]."
            )
        places = _beside(rows, "positions", positions, (len(rows), 2))
        sizes = _beside(rows, "scales", scales, (len(rows),))
        if image_sizes is not None and len(image_sizes) != len(ends) - 1:
            raise ValueError(f"image_sizes has {len(image_sizes)} entries for {len(ends) - 1} images.")

        return cls(len(ends) - 1, _Packed(rows, ends.astype(np.int64), places, sizes, image_sizes))

    @classmethod
    def of(cls, arrays: Sequence[Any]) -> Self:
        """Sets from a list, one matrix or `LocalSet` per image.

        Parameters
        ----------
        arrays : LocalSets or sequence
            The sets; LocalSets are returned as they are.

        Returns
        -------
        LocalSets
            One set per image.
        """
        if isinstance(arrays, cls):
            return arrays
        one = isinstance(arrays, LocalSet | str) or not isinstance(arrays, Sequence | np.ndarray)
        if one or (isinstance(arrays, np.ndarray) and arrays.ndim != 3 and arrays.dtype != object):
            given = (
                f"an array of shape {arrays.shape}" if isinstance(arrays, np.ndarray) else type(arrays).__name__
            )
            raise ValueError(f"Got {given}; give a list with one matrix of descriptors for each image.")
        return cls(len(arrays), partial(getitem, arrays))

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[LocalSet]:
        return (
            self[i] for i in range(len(self))
        )  # a sequence's own would take an IndexError of `make` for the end

    @overload
    def __getitem__(self, index: int) -> LocalSet: ...
    @overload
    def __getitem__(self, index: slice) -> "LocalSets": ...
    def __getitem__(self, index: int | slice) -> "LocalSet | LocalSets":
        if isinstance(index, slice):
            return self.take(range(len(self))[index])
        made = self._make(self._numbers[index])
        return made if isinstance(made, LocalSet) else LocalSet(np.asarray(made))

    def take(self, indices: Iterable[int]) -> "LocalSets":
        """Some of the sets, in the order given.

        Parameters
        ----------
        indices : iterable of int
            Numbers of the sets.

        Returns
        -------
        LocalSets
            These sets.
        """
        some = LocalSets(0, self._make)
        some._numbers = [self._numbers[i] for i in indices]
        return some

    def map(self, change: Callable[[LocalSet], NDArray[Any]]) -> "LocalSets":
        """The same sets with other values, made when asked for; positions and scales stay.

        Parameters
        ----------
        change : callable
            Makes the new values of a `LocalSet`.

        Returns
        -------
        LocalSets
            The changed sets.
        """

        return LocalSets(len(self), _Changed(self, change))

    def sample(
        self, n_descriptors: int, random_state: int = 0, *, n_jobs: int | None = 1, verbose: int = 0
    ) -> NDArray[Any]:
        """Draw descriptors without replacement, equally many from each image.

        Parameters
        ----------
        n_descriptors : int
            Maximum number of descriptors.
        random_state : int, default=0
            Seed.
        n_jobs : int or None, default=1
            Number of threads; None uses all cores.
        verbose : int, default=0
            Shows a progress bar on standard error when above 0.

        Returns
        -------
        ndarray of shape (n_drawn, n_features)
            The descriptors drawn.
        """
        check_whole("n_descriptors", n_descriptors)
        numbers = np.sort(np.random.default_rng(random_state).permutation(len(self))[:n_descriptors])
        share = n_descriptors // max(1, len(numbers))

        def draw(i: int) -> NDArray[Any]:
            values = self[i].values
            rows = np.random.default_rng((random_state, i)).permutation(len(values))[:share]
            return values[np.sort(rows)]

        if not len(numbers):
            raise ValueError("There are no images to draw descriptors from; give at least one.")
        with one_matrix_thread(), progress_bar("Drawing descriptors", len(numbers), verbose) as advance:
            drawn = map_in_threads(draw, numbers.tolist(), n_jobs, advance)
        shapes = [part.shape for part in drawn]
        if any(len(shape) != 2 or shape[1] != shapes[0][1] for shape in shapes):
            some = " and ".join(map(str, sorted(set(shapes))[:3]))
            raise ValueError(
                f"The images gave descriptors of shapes such as {some}; give each a matrix with as many columns."
            )
        return np.concatenate(drawn)


@dataclass(frozen=True)
class _Packed:
    """Cuts sets out of arrays; a class, so that it can be pickled."""

    rows: NDArray[Any]
    ends: NDArray[np.int64]
    places: NDArray[np.float32] | None
    sizes: NDArray[np.float32] | None
    image_sizes: Sequence[tuple[int, int]] | None

    def __call__(self, i: int) -> LocalSet:
        part = slice(self.ends[i], self.ends[i + 1])
        return LocalSet(
            self.rows[part],
            None if self.places is None else self.places[part],
            None if self.sizes is None else self.sizes[part],
            None if self.image_sizes is None else self.image_sizes[i],
        )


@dataclass(frozen=True)
class _Changed:
    """Makes a set with other values."""

    sets: "LocalSets"
    change: Callable[[LocalSet], NDArray[Any]]

    def __call__(self, i: int) -> LocalSet:
        one = self.sets[i]
        return LocalSet(self.change(one), one.positions, one.scales, one.image_size)


def _beside(rows: NDArray[Any], name: str, given: ArrayLike | None, shape: tuple[int, ...]) -> Any:
    if given is None:
        return None
    array = np.asarray(given, dtype=np.float32)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape} for {len(rows)} descriptors; it must be {shape}.")
    return array
