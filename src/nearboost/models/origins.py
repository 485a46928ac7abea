"""Where the training items of a model came from: file names, hashes and small pictures."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.images import ImageError
from nearboost.base.progress import progress_bar
from nearboost.base.threads import map_in_threads
from nearboost.base.thumbnails import thumbnail as small_copy


@dataclass(frozen=True)
class Origins:
    """Of the rows that a model knows by number.

    Attributes
    ----------
    rows : numbers of these rows in the training set, rising
    names : what each is called, mostly a path below the data's folder
    labels : the class of each by number, or (n, n_classes) of 0 and 1
    hashes : SHA-256 of each file, or "" for rows that come from no file
    pictures : JPEG files one after the other, or None without thumbnails
    ends : where each picture ends; nothing without thumbnails
    """

    rows: NDArray[np.int64]
    names: NDArray[np.str_]
    labels: NDArray[np.int64]
    hashes: NDArray[np.str_]
    pictures: NDArray[np.uint8] | None
    ends: NDArray[np.int64]

    def take(self, rows: NDArray[np.integer]) -> "Origins":
        """Those of some rows of the training set, as far as they are known."""
        places = np.flatnonzero(np.isin(self.rows, rows))
        parts = [self.pictures[self._part(i)] for i in places.tolist()] if self.pictures is not None else []
        return Origins(
            self.rows[places],
            self.names[places],
            self.labels[places],
            self.hashes[places],
            None if self.pictures is None else np.concatenate([np.empty(0, np.uint8), *parts]),
            np.cumsum([len(part) for part in parts], dtype=np.int64),
        )

    def place(self, row: int) -> int | None:
        """Where a row of the training set stands here, None where it is not known."""
        at = int(np.searchsorted(self.rows, row))
        return at if at < len(self.rows) and self.rows[at] == row else None

    def picture(self, place: int) -> bytes | None:
        """The JPEG file of a thumbnail; None where there is none."""
        if self.pictures is None:
            return None
        return self.pictures[self._part(place)].tobytes() or None

    def _part(self, place: int) -> slice:
        return slice(int(self.ends[place - 1]) if place else 0, int(self.ends[place]))


def origins_of(
    items: Sequence[Any] | None,
    names: Sequence[str],
    labels: NDArray[Any],
    *,
    rows: NDArray[np.int64] | None = None,
    thumbnails: bool = True,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Origins:
    """Origins of training items: paths of images, or None for rows of numbers.

    ``rows`` are their numbers in the training set, rising; None means that these are all.
    """
    numbers = np.arange(len(names), dtype=np.int64) if rows is None else rows
    if items is None:
        nothing = np.full(len(names), "", dtype=np.str_)
        return Origins(numbers, _texts(names), labels, nothing, None, np.empty(0, np.int64))
    with progress_bar("Thumbnails" if thumbnails else "Hashing files", len(items), verbose) as advance:
        found = map_in_threads(lambda path: _look_at(path, thumbnails), list(items), n_jobs, advance)
    pictures = [np.frombuffer(picture, np.uint8) for _, picture in found]
    return Origins(
        numbers,
        _texts(names),
        labels,
        _texts([digest for digest, _ in found]),
        np.concatenate([np.empty(0, np.uint8), *pictures]) if thumbnails else None,
        np.cumsum([len(one) for one in pictures], dtype=np.int64) if thumbnails else np.empty(0, np.int64),
    )


def _texts(values: Sequence[str]) -> NDArray[np.str_]:
    return np.array(list(map(str, values)), dtype=np.str_)


def _look_at(path: Any, thumbnails: bool) -> tuple[str, bytes]:
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return digest, thumbnail(path) if thumbnails else b""


def thumbnail(path: Any) -> bytes:
    """A small JPEG file; nothing for what cannot be read."""
    try:
        return small_copy(path)
    except ImageError:
        return b""
