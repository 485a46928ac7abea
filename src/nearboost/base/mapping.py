"""Files mapped into memory: they stay where they are, and are looked at before they are read.

Reading what a file no longer has ends the process (SIGBUS). So the file's size is compared with the map before
each block that is read: a file that was cut short is an error, and ends the process only where that happens in the
middle of a block.
"""

import mmap
from typing import Any

import numpy as np


def find_map(X: Any) -> np.memmap | None:
    """The memory map that an array is, or is a view of."""
    while isinstance(X, np.ndarray):
        if isinstance(X, np.memmap) and getattr(X, "_mmap", None) is not None:
            return X
        X = X.base
    return None


def is_mapped(X: Any) -> bool:
    """Whether an array is a view of a file."""
    return find_map(X) is not None


def check_map(X: Any) -> None:
    """Refuse a mapped file that is shorter than its map; arrays in memory pass."""
    found = find_map(X)
    if found is None:
        return
    opened: mmap.mmap = found._mmap  # type: ignore[attr-defined]
    needed = found.offset // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY + len(opened)
    size = opened.size()  # of the open file, which may by now have another name, or none
    if size < needed:
        raise ValueError(
            f"{found.filename or 'The mapped file'} was cut short after it was opened, to {size:,} of {needed:,} "
            "bytes; restore it and open it again."
        )
