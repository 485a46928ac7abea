"""Marks of the items that a model was fitted on: eight bytes each, enough to know an item again."""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.threads import map_in_threads
from nearboost.datasets import Dataset
from nearboost.features.store import content_of
from nearboost.models.model import Model, as_floats

N_DIGITS = 16  # of a hash, eight bytes


def marks_of(dataset: Dataset, n_jobs: int | None = None) -> NDArray[np.uint64]:
    """The first bytes of the SHA-256 of each file, or of each row of numbers; 0 for a file that cannot be read."""
    if dataset.kind == "images":
        found = map_in_threads(lambda item: content_of(item)[0], list(dataset.items), n_jobs)
    else:
        found = [_of_row(row) for row in as_floats(np.asarray(dataset.items))]
    return np.array([int(digest[:N_DIGITS] or "0", 16) for digest in found], dtype=np.uint64)


def _of_row(row: NDArray[Any]) -> str:
    return hashlib.sha256((row + 0.0).tobytes()).hexdigest()  # -0.0 becomes 0.0, which is equal


def count_known(model: Model, dataset: Dataset, n_jobs: int | None = None) -> int:
    """How many of the items the model was fitted on; of a file without marks, the images that vote are known."""
    known = model.marks
    if known is None:
        hashes = [] if model.origins is None else model.origins.hashes.tolist()
        known = np.array([int(digest[:N_DIGITS], 16) for digest in hashes if digest], dtype=np.uint64)
    known = known[known > 0]
    return int(np.isin(marks_of(dataset, n_jobs), known).sum()) if len(known) else 0
