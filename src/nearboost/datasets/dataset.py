"""One data set: what its items are, how they are labelled and what a reader should know about them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearboost.base.image_set import Content, ImageSet
from nearboost.base.validation import check_map


class DataError(ValueError):
    """Files that make no data set, or one that a protocol cannot use; the message is one sentence.

    Examples
    --------
    >>> from nearboost.datasets import DataError, open_dataset
    >>> try:
    ...     open_dataset("nowhere")
    ... except DataError as error:
    ...     print(str(error).partition("; ")[2])
    give a folder of images, or a file of rows with its labels.
    """


@dataclass(frozen=True, repr=False, eq=False)
class Dataset:
    """Items with their labels, in an order that does not depend on the machine.

    Parameters
    ----------
    name : str
        Name of the set: that of its folder or file, or of the published set.
    kind : {"images", "vectors"}
        What the items are.
    items : sequence of str, or ndarray of shape (n_items, n_features)
        Paths of images, none of them opened yet; or rows, memory-mapped if the file allows it.
    labels : ndarray of shape (n_items,) or (n_items, n_classes)
        Class name of each item; or 0 and 1 per class if items have several labels.
    classes : tuple of str
        Class names, sorted; or the names of the columns.
    names : sequence of str
        Name of each item: its path within the folder, or "row 17".
    part : ndarray of shape (n_items,) or None, default=None
        "train" or "test" for each item, if the set comes divided.
    groups : ndarray of shape (n_items,) or None, default=None
        Track, plate or specimen of each item, if the set has them.
    masks : sequence of str or None, default=None
        A mask file for each item, if the set has them.
    notes : tuple of str, default=()
        What a reader should know: files left out, duplicates, counts that differ from the published ones.
    contents : mapping or None, default=None
        Hashes of the files that were read in full, by path.
    image_shape : tuple of int or None, default=None
        Height and width, and 3 for colour, of rows that are the pixels of images.
    columns : sequence of str or None, default=None
        Names of the columns of numbers, if the set is a table.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from nearboost.datasets import open_dataset
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(Path(folder) / "rows.npz", X=np.eye(4), y=["ant", "bee", "ant", "bee"])
    ...     dataset = open_dataset(Path(folder) / "rows.npz")
    >>> dataset.kind, dataset.classes, dataset.items.shape, dataset.names[0]
    ('vectors', ('ant', 'bee'), (4, 4), 'row 0')
    """

    name: str
    kind: Literal["images", "vectors"]
    items: Sequence[Any] | NDArray[Any]
    labels: NDArray[Any]
    classes: tuple[str, ...]
    names: Sequence[str]
    part: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None
    masks: Sequence[str] | None = None
    notes: tuple[str, ...] = ()
    contents: Mapping[str, Content] | None = None
    image_shape: tuple[int, ...] | None = None
    columns: Sequence[str] | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"Dataset({self.name}: {len(self):,} {self.kind} of {len(self.classes):,} classes)"

    def images(self, *, thumbnails: bool = False, keep_pixels: bool = False) -> ImageSet:
        """The images, each file of them hashed once and decoded once, with their masks if there are some.

        Parameters
        ----------
        thumbnails : bool, default=False
            Keep a small copy of each image that is decoded.
        keep_pixels : bool, default=False
            Keep pixels for steps that look at images again, up to 1 GiB of them.

        Returns
        -------
        ImageSet
            A lazy sequence of pixels.
        """
        return ImageSet(
            list(self.items),
            thumbnails=thumbnails,
            keep_pixels=keep_pixels,
            contents=self.contents,
            masks=self.masks,
        )

    @property
    def is_multilabel(self) -> bool:
        """Whether an item may have several labels, or none."""
        return self.labels.ndim == 2

    @property
    def counts(self) -> dict[str, int]:
        """Number of items of each class."""
        if self.is_multilabel:
            return dict(zip(self.classes, map(int, self.labels.sum(axis=0)), strict=True))
        found, counts = np.unique(self.labels, return_counts=True)
        counted = dict(zip(map(str, found), map(int, counts), strict=True))
        return {name: counted.get(name, 0) for name in self.classes}

    @property
    def present_classes(self) -> tuple[str, ...]:
        """The classes that have items; all of them if items have several labels."""
        if self.is_multilabel:
            return self.classes
        return tuple(name for name, count in self.counts.items() if count)

    def codes(self, classes: Sequence[str] | None = None) -> NDArray[np.int64]:
        """Labels as numbers.

        Parameters
        ----------
        classes : sequence of str or None, default=None
            Classes to number by; None means the set's own.

        Returns
        -------
        ndarray of shape (n_items,) or (n_items, n_classes)
            Class numbers, or a 0/1 matrix if items have several labels.
        """
        classes = self.classes if classes is None else classes
        if not self.is_multilabel:
            return encode_labels(self.labels, classes, self.name)
        codes = np.zeros((len(self), len(classes)), dtype=np.int64)
        codes[:, [classes.index(name) for name in self.classes]] = self.labels
        return codes

    def take(self, indices: ArrayLike) -> "Dataset":
        """Some of the items, in the order given; the classes stay as they are.

        Parameters
        ----------
        indices : array-like of int or bool
            Item numbers, or a mask.

        Returns
        -------
        Dataset
            The chosen items.
        """
        chosen = np.asarray(indices)
        if chosen.dtype == bool:
            chosen = np.flatnonzero(chosen)
        chosen = chosen.astype(np.intp)
        check_map(self.items)
        return replace(
            self,
            items=self.items[chosen] if isinstance(self.items, np.ndarray) else [self.items[i] for i in chosen],
            labels=self.labels[chosen],
            names=[self.names[i] for i in chosen],
            part=None if self.part is None else self.part[chosen],
            groups=None if self.groups is None else self.groups[chosen],
            masks=None if self.masks is None else [self.masks[i] for i in chosen],
        )

    def with_image_shape(self, shape: Sequence[int]) -> "Dataset":
        """The same rows, known to be pixels of images.

        Parameters
        ----------
        shape : sequence of int
            Height and width, and 3 for colour.

        Returns
        -------
        Dataset
            The set with its ``image_shape``.
        """
        given, found = tuple(int(side) for side in shape), np.shape(self.items)[1:]
        if self.kind != "vectors":
            raise DataError(f"{self.name} has images, whose shape is known; leave the shape out.")
        if (
            len(given) not in (2, 3)
            or min(given) < 1
            or given[2:] not in ((), (1,), (3,))
            or prod(given) != found[0]
        ):
            written = "x".join(map(str, given))
            raise DataError(
                f"{self.name} has rows of {found[0]:,} numbers, which are no images of {written}; give height x "
                "width, or height x width x 3 for colour."
            )
        return replace(self, image_shape=given)

    def with_classes(self, names: Sequence[str]) -> "Dataset":
        """The items of some classes; for a multilabel set, those columns and the items with one of these labels.

        Parameters
        ----------
        names : sequence of str
            Class names.

        Returns
        -------
        Dataset
            The chosen items.
        """
        unknown = [name for name in names if name not in self.classes]
        if unknown or not names:
            wrong, known = unknown[0] if unknown else "", join_names(self.classes)
            raise DataError(f"{self.name} has no class {wrong!r}; choose among {known}.")
        kept = tuple(name for name in self.classes if name in set(names))
        if self.is_multilabel:
            columns = [self.classes.index(name) for name in kept]
            rows = np.flatnonzero(self.labels[:, columns].any(axis=1))
            fewer = self.take(rows)
            return replace(fewer, labels=fewer.labels[:, columns], classes=kept)
        return replace(self.take(np.isin(self.labels, kept)), classes=kept)


def join_names(names: Sequence[str], most: int = 15) -> str:
    """Names for a sentence, the first few of many."""
    listed = ", ".join(map(str, names[:most]))
    return listed if len(names) <= most else f"{listed} and {len(names) - most:,} more"


def encode_labels(labels: ArrayLike, classes: Sequence[str], name: str = "labels") -> NDArray[np.int64]:
    """The number of each label among the classes; ``name`` is what a message calls the labels.

    >>> encode_labels(["b", "a", "b"], ["a", "b"])
    array([1, 0, 1])
    """
    code_of = {label: code for code, label in enumerate(classes)}
    try:
        return np.array([code_of[str(label)] for label in np.asarray(labels)], dtype=np.int64)
    except KeyError as error:
        raise ValueError(f"{name} has the label {error}, which is none of the {len(classes)} classes.") from error


def as_labels(labels: ArrayLike) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Labels as an array, and the classes."""
    array = np.asarray(labels, dtype=str)
    return array, tuple(map(str, np.unique(array)))
