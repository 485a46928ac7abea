"""A k-NN graph that is kept in a folder while it is found, so that a later call goes on where one was stopped."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.blocks import keep_blocks
from nearboost.base.progress import Advance, Listener, progress_bar, progress_told_to
from nearboost.base.rows import RowSource
from nearboost.neighbors.graph import Neighbors
from nearboost.neighbors.rows import LOOK_BYTES

LEAST_BLOCK = 1024  # rows
ENOUGH = 2**40  # multiplications of a block: about a quarter of a minute on two cores
MOST_BLOCKS = 16  # where another method than "exact" looks at all rows for each


def find_into(
    folder: str | Path,
    find: Callable[[NDArray[np.integer]], Neighbors],
    rows: Any,
    k: int,
    own: NDArray[np.int32],
    method: str,
    block: int,
) -> Neighbors:
    """The neighbours of all rows, which ``find`` finds for some; what a folder has is not found anew.

    ``own`` are the groups of rows; ``method`` is "exact" for all that find the same; ``block`` are the rows whose
    neighbours are found before they are kept.
    """
    run = {
        "rows": digest(rows.source),
        "k": k,
        "metric": rows.metric,
        "method": method,
        "groups": digest(RowSource(own[:, np.newaxis])),
    }
    kinds = {"indices": (k, np.int32), "distances": (k, np.float64)}
    with keep_blocks(folder, run, rows.n_rows, block, kinds) as kept:
        parts = kept.missing
        with progress_bar("Searching neighbours", sum(map(len_of, parts)), rows.verbose) as advance:
            for part in parts:
                with progress_told_to(in_rows(advance, len_of(part))):
                    found = find(np.arange(part.start, part.stop))
                kept.write(part, found.indices, found.distances)
        indices, distances = (np.array(array) for array in kept.read())
    return Neighbors(indices, distances)


def in_rows(advance: Advance, n_rows: int) -> Listener:
    """Takes what a search of so many rows tells of itself as steps of one row each."""
    told = 0

    def tell(title: str, taken: int, total: int) -> None:
        nonlocal told
        now = n_rows * taken // max(1, total)
        advance(now - told)
        told = now

    return tell


def len_of(part: slice) -> int:
    """How many rows there are in a part."""
    return int(part.stop - part.start)


def block_size(rows: Any, method: str) -> int:
    """How many rows' neighbours are found before they are kept."""
    if method != "exact":
        return max(LEAST_BLOCK, -(-rows.n_rows // MOST_BLOCKS))
    if not rows.keeps_blocks:
        return rows.queries_at_once(rows.n_rows)  # for which all rows are read
    return max(LEAST_BLOCK, ENOUGH // max(1, rows.n_rows * rows.n_features))


def digest(source: RowSource) -> str:
    """A hash of all numbers that are read."""
    made = hashlib.blake2b(digest_size=8)
    for _, block in source.blocks(LOOK_BYTES):
        made.update(np.ascontiguousarray(block).data)
    return made.hexdigest()
