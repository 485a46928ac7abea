"""How local descriptors become rows: one image at a time, several images at once."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.local_sets import LocalSets
from nearboost.base.progress import progress_bar
from nearboost.base.threads import map_in_threads, one_matrix_thread
from nearboost.features.fitting import values_of

NORMS = ("l2", "l1", None)


def unit(values: NDArray[Any], lengths: Any) -> NDArray[Any]:
    """Values over lengths; zeros stay zeros."""
    return values / np.where(lengths > 0, lengths, 1)


def normalised(row: NDArray[Any], norm: str | None) -> NDArray[Any]:
    """A row over its Euclidean length, over the sum of its absolute values, or as it is."""
    return row if norm is None else unit(row, np.linalg.norm(row, 1 if norm == "l1" else 2))


def encode_sets(
    estimator: Any, X: Any, encode: Callable[[NDArray[np.float32]], NDArray[Any]], n_numbers: int
) -> NDArray[np.float32]:
    """A row of so many numbers for each image; an image without descriptors gets zeros."""
    sets = LocalSets.of(X)
    rows = np.zeros((len(sets), n_numbers), dtype=np.float32)

    def work(i: int) -> None:
        values = values_of(estimator, sets[i])
        if len(values):
            rows[i] = encode(values)

    title = type(estimator).__name__
    with one_matrix_thread(), progress_bar(title, len(sets), estimator.verbose) as advance:
        map_in_threads(work, range(len(sets)), estimator.n_jobs, advance)
    return rows
