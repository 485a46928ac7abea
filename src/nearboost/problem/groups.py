"""What groups of rows are called: as people name them, and so that model files can keep the names."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearboost.base.validation import plain


def name_groups(groups: ArrayLike, n_rows: int) -> NDArray[Any]:
    """What the group of each row is called, as model files keep it: whole numbers, else texts; none missing."""
    given = np.asarray(groups)
    if given.shape != (n_rows,):
        raise ValueError(f"groups has shape {given.shape} but there are {n_rows} samples; give one per sample.")
    lacking = np.flatnonzero((given == None) | (given != given))  # noqa: E711  (NaN and NaT are unlike themselves)
    if lacking.size:
        raise ValueError(
            f"groups has {plain(given[lacking[0]])} for row {lacking[0]}; give every sample a group, "
            "one of its own where it belongs to none."
        )
    if given.dtype.kind == "f" and not np.array_equal(given, np.rint(given)):
        return given.astype(str)
    if given.dtype.kind == "S":
        return np.array([one.decode("utf-8", "backslashreplace") for one in given])
    kinds = {type(one) for one in given} if given.dtype.kind == "O" else set()
    if given.dtype.kind in "Mm" or (len(kinds) == 1 and not kinds & {str, int}):  # such as dates
        return np.array([str(one) for one in given])
    return given.astype(np.int64) if kinds == {int} else given
