"""Rows of files brought into memory, where a method cannot do without."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.memory import free_memory
from nearboost.base.rows import BYTES_AT_ONCE, row_source

BESIDES = 4  # bytes of each number: the float32 ones that most searches and codes make of rows


def loaded(X: Any, cure: str) -> NDArray[Any]:
    """Rows as they are measured; those of a mapped file, or in half precision, are copied if they fit in memory.

    ``cure`` says what to do where they do not.
    """
    rows = row_source(X)
    if rows.lie_in_memory:
        return X
    needed, free = rows.n_rows * rows.n_features * (rows.dtype.itemsize + BESIDES), free_memory()
    if needed > free:
        raise ValueError(
            f"The {rows.n_rows:,} rows of {rows.n_features:,} numbers need {needed / 1e9:,.1f} GB of memory, and "
            f"{free / 1e9:,.1f} GB are free; {cure}."
        )
    whole = np.empty(rows.shape, dtype=rows.dtype)
    for start, block in rows.blocks(BYTES_AT_ONCE):
        whole[start : start + len(block)] = block
    return whole
