"""Answers written as they come, block by block: into a new array, or into an array or map that a user gives."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from nearboost.base.disk import reserve, whole_file
from nearboost.base.maps import give_back_pages
from nearboost.base.validation import check_map, find_map


class Output:
    """Blocks of answers, one below the other.

    Parameters
    ----------
    X : what is answered, a row each
    out : where answers go; None makes an array
    """

    def __init__(self, X: Any, out: Any = None) -> None:
        self._X, self._out, self._done = X, out, 0

    def add(self, answers: NDArray[Any]) -> None:
        """The answers to the next rows; of the first ones it is known whether ``out`` is one for such."""
        if not self._done:
            self._out = self._begin(answers)
        if self._out is not answers:
            check_map(self._out)
            block = self._out[self._done : self._done + len(answers)]
            block[...] = answers
            give_back_pages(block)
        self._done += len(answers)

    def _begin(self, answers: NDArray[Any]) -> NDArray[Any]:
        from sklearn.utils.validation import _num_samples  # takes most of a second

        shape = (_num_samples(self._X), *answers.shape[1:])
        if self._out is not None:
            check_output(self._out, shape, answers.dtype, self._X)
            return self._out
        return answers if len(answers) == shape[0] else np.empty(shape, dtype=answers.dtype)

    @property
    def whole(self) -> NDArray[Any]:
        """All answers."""
        return self._out


def gathered(answers: Iterable[NDArray[Any]], X: Any, out: Any = None) -> NDArray[Any]:
    """All blocks of answers to X, in ``out`` where it is given."""
    output = Output(X, out)
    for block in answers:
        output.add(block)
    return output.whole


def check_output(out: Any, shape: tuple[int, ...], dtype: np.dtype[Any], X: Any = None) -> None:
    """Refuse what such answers cannot be written to as they are; take the room on the disk of a mapped file."""
    if not isinstance(out, np.ndarray):
        raise ValueError(
            f"out is of the kind {type(out).__name__}; give np.empty({shape}, {str(dtype)!r}), or a map."
        )
    if out.shape != shape:
        raise ValueError(f"out has the shape {out.shape}, and the answers have {shape}; give an array of these.")
    if out.dtype.kind != dtype.kind or not np.can_cast(dtype, out.dtype):
        raise ValueError(f"out holds {out.dtype}, and the answers are {dtype}; give an array of that type.")
    if not out.flags.writeable:
        raise ValueError('out is read-only; give an array that can be written to, or open the map with mode="r+".')
    if isinstance(X, np.ndarray) and np.may_share_memory(out, X):
        raise ValueError("out lies in the memory of X, which is read as answers come; give another array.")
    mapped = find_map(out)
    if mapped is not None:
        check_map(out)
        read = find_map(X)
        if read is not None and one_file(read, mapped):
            raise ValueError("out lies in the file of X, which is read as answers come; give another file.")
        if mapped.mode != "c" and mapped.filename is not None and Path(mapped.filename).is_file():
            reserve(Path(mapped.filename))


def one_file(one: np.memmap, other: np.memmap) -> bool:
    """Whether two maps are of the same file, by the names that they were opened with."""
    names = [map_.filename for map_ in (one, other) if map_.filename is not None and Path(map_.filename).exists()]
    return len(names) == 2 and os.path.samefile(*names)


@contextmanager
def npy_file(path: Path, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Iterator[BinaryIO]:
    """A .npy file, to be written row by row, which is there once it is whole.

    Written, not mapped: a full disk is an error of a write, and the end of a process that maps.
    """
    with whole_file(path) as made, open(made, "wb") as file:
        header = {"descr": dtype.str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        yield file
