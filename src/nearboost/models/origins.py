"""Where the training items of a model came from: names, hashes, small pictures, and marks to know them again."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nearboost.base.entries import Array, Either, Misfit, Nullable, Texts
from nearboost.base.image_set import ImageSet
from nearboost.base.progress import progress_bar
from nearboost.base.schema import Schema
from nearboost.base.threads import map_in_threads

N_DIGITS = 16  # of a hash: eight bytes


def _check_pictures(state: Mapping[str, Any]) -> None:
    pictures, ends = state["pictures"], state["ends"]
    if len(ends) != (0 if pictures is None else len(state["rows"])):
        raise Misfit("must have an end for each picture")
    if len(ends) and ((np.diff(ends, prepend=0) < 0).any() or ends[-1] != len(pictures)):
        raise Misfit("must have pictures that end one after the other")


@dataclass(frozen=True)
class Origins:
    """Where the rows that a model knows by number came from.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,)
        Numbers of these rows in the training set, in increasing order.
    names : ndarray of str of shape (n_rows,)
        Name of each, usually a path below the data's folder.
    labels : ndarray of shape (n_rows,) or (n_rows, n_classes)
        Class number of each; 0 and 1 for multilabel data.
    hashes : ndarray of str of shape (n_rows,)
        SHA-256 of each file, or "" for rows that come from no file.
    pictures : ndarray of uint8 or None
        JPEG files, one after the other; None without thumbnails.
    ends : ndarray of shape (n_rows,) or (0,)
        End of each picture; empty without thumbnails.

    Examples
    --------
    >>> import numpy as np
    >>> from nearboost.models import origins_of
    >>> origins = origins_of(None, ["first.png", "second.png"], np.array([0, 1]), thumbnails=False)
    >>> origins.names.tolist(), origins.labels.tolist()
    (['first.png', 'second.png'], [0, 1])
    """

    rows: NDArray[np.int64]
    names: NDArray[np.str_]
    labels: NDArray[np.int64]
    hashes: NDArray[np.str_]
    pictures: NDArray[np.uint8] | None
    ends: NDArray[np.int64]

    model_schema: ClassVar[Schema] = Schema(
        {
            "rows": Array("int64", ("n_rows",), low=0, rising=True),
            "names": Texts("n_rows"),
            "labels": Either(
                Array("int64", ("n_rows",), low=0), Array("int64", ("n_rows", "n_labels"), low=0, high=1)
            ),
            "hashes": Texts("n_rows"),
            "pictures": Nullable(Array("uint8", (None,))),
            "ends": Array("int64", (None,), low=0),
        },
        check=_check_pictures,
    )

    def has_labels_of(self, n_classes: int) -> bool:
        """Whether all labels are among so many classes.

        Parameters
        ----------
        n_classes : int
            Number of classes.

        Returns
        -------
        bool
            Whether they are.
        """
        several = self.labels.ndim == 2
        return self.labels.shape[1] == n_classes if several else self.labels.max(initial=-1) < n_classes

    def take(self, rows: NDArray[np.integer]) -> "Origins":
        """The origins of some training rows, as far as they are known.

        Parameters
        ----------
        rows : ndarray of int
            Numbers of training rows.

        Returns
        -------
        Origins
            Those among them that are known.
        """
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

    def followed_by(self, more: "Origins") -> "Origins":
        """These origins and others of later rows.

        Parameters
        ----------
        more : Origins
            With thumbnails if and only if these have some.

        Returns
        -------
        Origins
            Of all.
        """
        pictures, ends = None, np.empty(0, np.int64)
        if self.pictures is not None and more.pictures is not None:
            pictures = np.concatenate([self.pictures, more.pictures])
            ends = np.concatenate([self.ends, len(self.pictures) + more.ends])
        return Origins(
            np.concatenate([self.rows, more.rows]),
            np.concatenate([self.names, more.names]),
            np.concatenate([self.labels, more.labels]),
            np.concatenate([self.hashes, more.hashes]),
            pictures,
            ends,
        )

    def place(self, row: int) -> int | None:
        """Where a training row is listed here.

        Parameters
        ----------
        row : int
            Number of a training row.

        Returns
        -------
        int or None
            Its position, or None if it is not known.
        """
        at = int(np.searchsorted(self.rows, row))
        return at if at < len(self.rows) and self.rows[at] == row else None

    def picture(self, place: int) -> bytes | None:
        """The thumbnail of a row.

        Parameters
        ----------
        place : int
            A position, see `place`.

        Returns
        -------
        bytes or None
            A JPEG file, or None if there is none.
        """
        if self.pictures is None:
            return None
        return self.pictures[self._part(place)].tobytes() or None

    def _part(self, place: int) -> slice:
        return slice(int(self.ends[place - 1]) if place else 0, int(self.ends[place]))


def origins_of(
    items: ImageSet | Sequence[Any] | None,
    names: Sequence[str],
    labels: NDArray[Any],
    *,
    rows: NDArray[np.int64] | None = None,
    thumbnails: bool = True,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Origins:
    """Origins of training items.

    Parameters
    ----------
    items : ImageSet, sequence of paths or of arrays, or None
        Images, crops of them such as cells, or None for rows of numbers.
    names : sequence of str
        Name of each item.
    labels : ndarray of shape (n_items,) or (n_items, n_classes)
        Class number of each item; 0 and 1 for multilabel data.
    rows : ndarray of int or None, default=None
        Their numbers in the training set, in increasing order; None means that these are all.
    thumbnails : bool, default=True
        Keep a small picture of each image.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    verbose : int, default=0
        Shows a progress bar on standard error when above 0.

    Returns
    -------
    Origins
        Names, labels, hashes and thumbnails.

    Examples
    --------
    >>> import numpy as np
    >>> from nearboost.models import origins_of
    >>> origins_of(None, ["row 0", "row 1"], np.array([1, 0])).rows.tolist()
    [0, 1]
    """
    numbers = np.arange(len(names), dtype=np.int64) if rows is None else rows
    if items is None:
        nothing = np.full(len(names), "", dtype=np.str_)
        return Origins(numbers, _texts(names), labels, nothing, None, np.empty(0, np.int64))
    images = ImageSet.of(items)
    crops = [images.item(i) for i in range(len(images)) if isinstance(images.item(i), np.ndarray)]
    if crops and len(crops) == len(images):
        hashes = crop_digests(crops)
    else:
        hashes = [content.digest for content in images.contents(n_jobs, verbose)]
    if not thumbnails:
        return Origins(numbers, _texts(names), labels, _texts(hashes), None, np.empty(0, np.int64))
    with progress_bar("Thumbnails", len(images), verbose) as advance:
        found = map_in_threads(images.thumbnail, range(len(images)), n_jobs, advance)
    pictures = [np.frombuffer(picture or b"", np.uint8) for picture in found]
    ends = np.cumsum([len(one) for one in pictures], dtype=np.int64)
    joined = np.concatenate([np.empty(0, np.uint8), *pictures])
    return Origins(numbers, _texts(names), labels, _texts(hashes), joined, ends)


def _texts(values: Sequence[str]) -> NDArray[np.str_]:
    return np.array(list(map(str, values)), dtype=np.str_)


def make_marks(digests: Sequence[str]) -> NDArray[np.uint64]:
    """The first eight bytes of each hash, enough to know an item again; 0 for what could not be read."""
    return np.array([int(digest[:N_DIGITS] or "0", 16) for digest in digests], dtype=np.uint64)


def crop_digests(crops: Sequence[NDArray[Any]]) -> list[str]:
    """SHA-256 of pixels that come from no file of their own, with their shape and type."""
    heads = (f"{crop.dtype.str} {crop.shape} ".encode() for crop in crops)
    return [
        hashlib.sha256(head + np.ascontiguousarray(crop).tobytes()).hexdigest()
        for head, crop in zip(heads, crops, strict=True)
    ]


def row_digests(rows: NDArray[Any]) -> list[str]:
    """SHA-256 of each row of floats."""
    return [hashlib.sha256((row + 0.0).tobytes()).hexdigest() for row in rows]  # -0.0 becomes 0.0, which is equal
