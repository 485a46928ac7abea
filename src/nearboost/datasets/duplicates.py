"""Items that are the same bytes twice, which would be met in training and again in testing."""

import hashlib
import os
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial

import numpy as np

from nearboost.datasets.dataset import Dataset

MOST_FILES = 200_000  # beyond, reading a part of each takes minutes
MOST_BYTES = 2**31  # of rows
TAIL = 4096  # files of one size that differ do so here nearly always: compressed data ends differently


def duplicate_notes(dataset: Dataset) -> tuple[str, ...]:
    """A sentence about byte-identical files or rows, or one that they were not looked for."""
    rows = dataset.items if isinstance(dataset.items, np.ndarray) else None
    if len(dataset) > MOST_FILES if rows is None else rows.nbytes > MOST_BYTES:
        return (f"Duplicates were not looked for among {len(dataset):,} items.",)
    sets = same_items(dataset)
    if not sets:
        return ()
    what = "rows" if dataset.kind == "vectors" else "files"
    across = 0 if dataset.part is None else sum(len(set(dataset.part[same])) > 1 for same in sets)
    torn = 0 if dataset.is_multilabel else sum(len(set(dataset.labels[same])) > 1 for same in sets)
    example = " = ".join(dataset.names[i] for i in sets[0][:2])
    count = f"{len(sets):,} {what} come more than once, byte for byte"
    return (f"{count}: {across:,} of them in train and in test, {torn:,} with two labels (such as {example}).",)


def same_items(dataset: Dataset) -> list[list[int]]:
    """Positions of items that are the same, one list for each."""
    return _same_rows(dataset) if isinstance(dataset.items, np.ndarray) else _same_files(dataset)


def _same_rows(dataset: Dataset) -> list[list[int]]:
    return list(_alike(range(len(dataset)), lambda i: hashlib.blake2b(dataset.items[i].tobytes()).digest()))


def _same_files(dataset: Dataset) -> list[list[int]]:
    """By size, then by their last bytes, then by all of them: few files are read in full."""
    groups: Iterable[list[int]] = [list(range(len(dataset)))]
    for key in (_size, _tail, _digest):
        groups = [alike for group in groups for alike in _alike(group, partial(_of_item, dataset, key))]
    return list(groups)


def _alike(positions: Iterable[int], key: Callable[[int], Hashable]) -> Iterator[list[int]]:
    """Positions with the same key, where there are two or more."""
    by_key = defaultdict(list)
    for i in positions:
        by_key[key(i)].append(i)
    return (same for same in by_key.values() if len(same) > 1)


def _of_item(dataset: Dataset, key: Callable[[str], Hashable], i: int) -> Hashable:
    """A file that cannot be read is like no other; whoever reads its pixels will tell."""
    try:
        return key(dataset.items[i])
    except OSError:
        return ("unreadable", i)


def _size(path: str) -> int:
    return os.path.getsize(path)


def _tail(path: str) -> bytes:
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - TAIL))
        return file.read()


def _digest(path: str) -> bytes:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "blake2b").digest()
