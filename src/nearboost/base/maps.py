"""The file behind a mapped array, from which rows are read where the system tells which file that is.

Reading a file takes a quarter of the time of touching its pages, which count as memory until they are given back.
And a file that is cut short meanwhile is an error, where a page that is gone ends the process (SIGBUS).
"""

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from nearboost.base.validation import (
    check_map,
    find_map,
    follow_one_another,
    map_offset,
    refuse_cut_short,
)

BYTES_AT_ONCE = 2**24
GAP = 2**16  # bytes between rows that are read along: as fast as to begin anew
LARGE_PAGE = 2**21  # of a file, which the system may map around each place that is touched


def read_map(X: NDArray[Any], rows: NDArray[np.integer], block: NDArray[Any]) -> None:
    """Put some rows of a map, best in rising order, into a block of any type; no page of them stays in memory."""
    check_map(X)
    if not len(rows):
        return
    with MappedFile.behind(X) as file:
        if file is None:
            touch_pages(X, rows, block)
        else:
            file.read(rows, block)


def in_memory(X: Any) -> Any:
    """A map, read into memory."""
    if X.ndim not in (1, 2):
        return np.array(X)
    read, numbers = np.empty(X.shape, dtype=X.dtype), np.arange(len(X))
    if X.ndim == 2:
        read_map(X, numbers, read)
    else:
        read_map(X[:, np.newaxis], numbers, read[:, np.newaxis])
    return read


class MappedFile:
    """The open file of an array that is a view of a map."""

    def __init__(self, X: NDArray[Any], descriptor: int) -> None:
        self._X, self._descriptor, opened = np.asarray(X), descriptor, find_map(X)
        self._begin = _address_of(opened) - map_offset(opened)  # where the file would begin in memory

    @classmethod
    @contextmanager
    def behind(cls, X: NDArray[Any]) -> Iterator[Self | None]:
        """The file of a map, open; None where it cannot be told.

        A map and a path are all there is to compare: what a mount or an overlay puts under that path meanwhile is
        taken for the file.
        """
        path = _path_of(X)
        try:
            descriptor = -1 if path is None else os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            descriptor = -1
        try:
            # Under its name there may be another file by now: the map's own has that name before and after.
            yield cls(X, descriptor) if descriptor >= 0 and _path_of(X) == path else None
        finally:
            if descriptor >= 0:
                os.close(descriptor)

    def read(self, rows: NDArray[np.integer], block: NDArray[Any]) -> None:
        """Put some rows into a block of any type."""
        rising, places = rows.astype(np.int64), np.arange(len(rows))
        if (np.diff(rising) < 0).any():
            places = np.argsort(rising)
            rising = rising[places]
        if rising[0] < 0 or rising[-1] >= len(self._X):
            raise IndexError(f"There are no rows {rising[0]} to {rising[-1]} among {len(self._X)}.")
        if 0 < abs(self._X.strides[0]) < abs(self._X.strides[1]):  # columns lie one after the other
            for column in range(self._X.shape[1]):
                one = slice(column, column + 1)
                self._read(self._X[:, one], rising, places, block[:, one])
        else:
            self._read(self._X, rising, places, block)

    def _read(
        self, X: NDArray[Any], rows: NDArray[np.int64], places: NDArray[np.int64], block: NDArray[Any]
    ) -> None:
        """Put rows of a view, in rising order, into these places of a block."""
        starts = rows * abs(X.strides[0])
        apart = np.diff(starts) > GAP + X.itemsize * X.shape[1]
        for start, stop in _runs(apart | (np.diff(starts // BYTES_AT_ONCE) > 0)):
            own, into = rows[start:stop], places[start:stop]
            lines = X[own[0] : own[-1] + 1]
            wanted, where = _as_slice(own - own[0]), _as_slice(into)
            whole = isinstance(wanted, slice) and isinstance(where, slice)
            target = block[where] if whole else block
            if whole and lines.dtype == block.dtype and lines.flags.c_contiguous and target.flags.c_contiguous:
                self._fill(target.reshape(-1).view(np.uint8), lines)
            else:
                block[where] = self._copy(lines)[wanted]

    def _copy(self, lines: NDArray[Any]) -> NDArray[Any]:
        """A part of the map as it lies in the file, with what is between its numbers."""
        low, high = np.lib.array_utils.byte_bounds(lines)
        buffer = np.empty(high - low, dtype=np.uint8)
        self._fill(buffer, lines)
        return np.ndarray(lines.shape, lines.dtype, buffer, offset=lines.ctypes.data - low, strides=lines.strides)

    def _fill(self, buffer: NDArray[np.uint8], lines: NDArray[Any]) -> None:
        """Read all bytes from the first that belongs to some lines to the last."""
        place = np.lib.array_utils.byte_bounds(lines)[0] - self._begin
        left = memoryview(buffer.data)
        while len(left):
            n_read = os.preadv(self._descriptor, [left], place)
            if not n_read:
                refuse_cut_short(find_map(self._X), os.fstat(self._descriptor).st_size)
            left, place = left[n_read:], place + n_read


def _as_slice(rows: NDArray[np.integer]) -> slice | NDArray[np.integer]:
    return slice(int(rows[0]), int(rows[-1]) + 1) if follow_one_another(rows) else rows


def touch_pages(X: NDArray[Any], rows: NDArray[np.integer], block: NDArray[Any]) -> None:
    """`read_map` by way of the pages, as many at a time as lie in few large ones."""
    row_bytes, places = max(X.itemsize * X.shape[1], abs(X.strides[0])), rows.astype(np.int64)
    first, last = places * row_bytes // LARGE_PAGE, ((places + 1) * row_bytes - 1) // LARGE_PAGE
    fresh = np.maximum(first, np.append(-1, last[:-1]) + 1)  # the first page that no row before has touched
    part_of = (np.cumsum(last + 1 - fresh) - 1) // (BYTES_AT_ONCE // LARGE_PAGE)
    if (places[-1] - places[0] + 1) * row_bytes <= BYTES_AT_ONCE:
        part_of[:] = 0
    for start, stop in _runs(np.diff(part_of) > 0):
        own = rows[start:stop]
        block[start:stop] = X[own]
        give_back_pages(X[own[0] : own[-1] + 1])


def _runs(cuts: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """First and last of what lies between cuts, each of which is behind one of a row."""
    return pairwise([0, *(np.flatnonzero(cuts) + 1).tolist(), len(cuts) + 1])


def give_back_pages(part: NDArray[Any]) -> None:
    """Unmap the pages of a part of a mapped file; whoever reads or writes there maps them again."""
    opened = find_map(part)
    # A private map ("c") keeps its changes in those pages: it must not lose them.
    if opened is None or opened.mode == "c" or not hasattr(mmap, "MADV_DONTNEED") or not part.size:
        return
    pages: mmap.mmap = opened._mmap  # type: ignore[attr-defined]
    low, high = np.lib.array_utils.byte_bounds(part)
    begin = _address_of(opened)
    first = (low - begin) // mmap.PAGESIZE * mmap.PAGESIZE
    pages.madvise(mmap.MADV_DONTNEED, first, high - begin - first)


def _address_of(opened: Any) -> int:
    """Where a map begins in memory."""
    return int(np.frombuffer(opened._mmap, dtype=np.uint8).ctypes.data)


def _path_of(X: NDArray[Any]) -> str | None:
    """Where the file is that a map shows, whatever it was called when it was opened."""
    opened = find_map(X)
    if opened is None or opened.mode == "c" or not X.size:  # pages of a private map ("c") may have been changed
        return None
    begin, n_pages = _address_of(opened), -(-len(opened._mmap) // mmap.PAGESIZE)  # type: ignore[attr-defined]
    try:
        path = os.readlink(f"/proc/self/map_files/{begin:x}-{begin + n_pages * mmap.PAGESIZE:x}")
    except OSError:  # of other systems than Linux
        return None
    return None if path.endswith(" (deleted)") else path
