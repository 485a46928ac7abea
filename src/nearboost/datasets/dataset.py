"""One data set: what its items are, how they are labelled and what a reader should know about them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray


class DataError(ValueError):
    """Files that make no data set, or one that a protocol cannot use; the message is one sentence."""


@dataclass(frozen=True, repr=False, eq=False)
class Dataset:
    """Items with their labels, in an order that does not depend on the machine.

    Parameters
    ----------
    name : what to call the set: the name of its folder or file, or of the published set
    kind : "images" or "vectors"
    items : paths of images, none of them opened yet; or an array of rows, memory-mapped where the file allows it
    labels : the class name of each item; or, where items have several, (n_items, n_classes) of 0 and 1
    classes : the class names, sorted; or the names of the columns
    names : what to call each item: its path within the folder, or "row 17"
    part : "train" or "test" for each item, where the set comes divided
    groups : the track, plate or specimen of each item, where the set tells
    masks : one mask file for each item, where the set has them
    notes : what a reader should know: files left out, duplicates, counts that differ from the published ones
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

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"Dataset({self.name}: {len(self):,} {self.kind} of {len(self.classes):,} classes)"

    @property
    def is_multilabel(self) -> bool:
        """Whether an item may have several labels, or none."""
        return self.labels.ndim == 2

    @property
    def counts(self) -> dict[str, int]:
        """How many items each class has."""
        if self.is_multilabel:
            return dict(zip(self.classes, map(int, self.labels.sum(axis=0)), strict=True))
        found, counts = np.unique(self.labels, return_counts=True)
        of_class = dict(zip(map(str, found), map(int, counts), strict=True))
        return {name: of_class.get(name, 0) for name in self.classes}

    def take(self, indices: ArrayLike) -> "Dataset":
        """The items numbered so, in that order; the classes stay as they are."""
        chosen = np.asarray(indices)
        if chosen.dtype == bool:
            chosen = np.flatnonzero(chosen)
        chosen = chosen.astype(np.intp)
        return replace(
            self,
            items=self.items[chosen] if isinstance(self.items, np.ndarray) else [self.items[i] for i in chosen],
            labels=self.labels[chosen],
            names=[self.names[i] for i in chosen],
            part=None if self.part is None else self.part[chosen],
            groups=None if self.groups is None else self.groups[chosen],
            masks=None if self.masks is None else [self.masks[i] for i in chosen],
        )

    def with_classes(self, names: Sequence[str]) -> "Dataset":
        """These classes only; of a set with several labels, those columns and the items that have one of them."""
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


def as_labels(labels: ArrayLike) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Labels as an array, and the classes."""
    array = np.asarray(labels, dtype=str)
    return array, tuple(map(str, np.unique(array)))
