"""Items that are the same bytes twice, which would be met in training and again in testing."""

import hashlib
import os
from collections import defaultdict
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.image_set import Content, hash_file
from nearboost.base.progress import Advance, progress_bar
from nearboost.base.validation import check_map
from nearboost.base.words import counted
from nearboost.datasets.dataset import Dataset

MOST_FILES = 200_000  # beyond, reading a part of each takes minutes
MOST_BYTES = 2**31  # of rows
TAIL = 4096  # files of one size that differ do so here nearly always: compressed data ends differently


def note_duplicates(dataset: Dataset, verbose: int = 0) -> Dataset:
    """The set with a note on byte-identical files or rows, or one that they were not looked for."""
    rows = dataset.items if isinstance(dataset.items, np.ndarray) else None
    if len(dataset) > MOST_FILES if rows is None else rows.nbytes > MOST_BYTES:
        note = f"Duplicates were not looked for among {len(dataset):,} items."
        return replace(dataset, notes=(*dataset.notes, note))
    contents: dict[str, Content] = {}
    sets = same_items(dataset, verbose, contents)
    notes = [_describe(dataset, sets)] if sets else []
    return replace(dataset, notes=(*dataset.notes, *notes), contents=contents)


def _describe(dataset: Dataset, sets: list[list[int]]) -> str:
    what = "row" if dataset.kind == "vectors" else "file"
    across = 0 if dataset.part is None else sum(len(set(dataset.part[same])) > 1 for same in sets)
    torn = 0 if dataset.is_multilabel else sum(len(set(dataset.labels[same])) > 1 for same in sets)
    example = " = ".join(dataset.names[i] for i in sets[0][:2])
    count = f"{counted(len(sets), what)} {'comes' if len(sets) == 1 else 'come'} more than once, byte for byte"
    return f"{count}: {across:,} of them in train and in test, {torn:,} with two labels (such as {example})."


def same_items(dataset: Dataset, verbose: int = 0, contents: dict[str, Content] | None = None) -> list[list[int]]:
    """Positions of items that are the same, one list for each.

    Files are compared by size, then by their last bytes, then by all of them. Few are read in full; ``contents``
    gets their hashes.
    """
    known = {} if contents is None else contents

    def digest(path: str) -> str:
        known[path] = hash_file(path)
        return known[path].digest or path  # one that cannot be read is like no other

    keys = [_row] if isinstance(dataset.items, np.ndarray) else [_size, _tail, digest]
    sets = [list(range(len(dataset)))]
    for key in keys:
        with progress_bar("Looking for duplicates", sum(map(len, sets)), verbose) as advance:
            sets = [alike for some in sets for alike in _alike(dataset.items, some, key, advance)]
    return sets


def _alike(items: Any, positions: list[int], key: Callable[[Any], Hashable], advance: Advance) -> list[list[int]]:
    """Positions of items with the same key, where there are two or more."""
    by_key = defaultdict(list)
    for i in positions:
        with suppress(OSError):  # a file like no other; whoever reads its pixels will report it
            by_key[key(items[i])].append(i)
        advance()
    return [same for same in by_key.values() if len(same) > 1]


def _row(values: NDArray[Any]) -> bytes:
    check_map(values)
    return hashlib.blake2b(values.tobytes()).digest()


def _size(path: str) -> int:
    return os.path.getsize(path)


def _tail(path: str) -> bytes:
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - TAIL))
        return file.read()
