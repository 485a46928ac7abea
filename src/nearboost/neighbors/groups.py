"""Groups of rows that are not neighbours of one another: as given, and as kernels take them."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def own_groups(groups: ArrayLike | None, n_rows: int) -> NDArray[np.int32]:
    """The group of each row of a graph: rows without one are not their own neighbours, so each gets its own."""
    own = np.arange(n_rows, dtype=np.int32)
    if groups is None:
        return own
    given = check_groups(groups, n_rows)
    named, numbers = np.unique(given, return_inverse=True)
    return np.where(given < 0, len(named) + own, numbers).astype(np.int32)


def count_others(own: NDArray[np.int32]) -> int:
    """How many rows of other groups every row has, at least."""
    return len(own) - int(np.bincount(own).max())


def check_groups(groups: ArrayLike, n_rows: int) -> NDArray[np.integer]:
    """One integer for each row."""
    groups = np.asarray(groups)
    if groups.shape != (n_rows,) or groups.dtype.kind not in "iu":
        raise ValueError(
            f"Groups must be {n_rows} integers, one for each row, not {groups.dtype} of shape {groups.shape}."
        )
    return groups


def number_alike(*named: NDArray[np.integer]) -> list[NDArray[np.int32]]:
    """The same groups in 32 bits, in all arrays by the same numbers; those below 0 stay so."""
    if all(np.can_cast(groups.dtype, np.int32) for groups in named):
        return [np.ascontiguousarray(groups, dtype=np.int32) for groups in named]
    # Names from 0 on all fit into uint64, which no other pair of types would share.
    known = np.unique(np.concatenate([groups[groups >= 0].astype(np.uint64) for groups in named]))
    return [
        np.where(groups < 0, -1, np.searchsorted(known, groups.astype(np.uint64))).astype(np.int32)
        for groups in named
    ]
