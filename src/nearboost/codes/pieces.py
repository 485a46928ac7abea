"""Queries a few at a time, so that their scores stay in the caches and memory stays bounded."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearboost.base.progress import Advance
from nearboost.base.threads import count_useful_threads, map_in_threads, one_matrix_thread

QUERIES_PER_PIECE = 64
SCORES_PER_PIECE = 2**24


class Room(NamedTuple):
    """Where one thread keeps the scores of all samples for some queries: as products come, and as kernels want."""

    values: NDArray[np.float32]
    scores: NDArray[np.int32]


def in_pieces(
    work: Callable[[slice, Room], None],
    n_queries: int,
    columns: NDArray[np.float32],
    n_jobs: int | None,
    advance: Advance,
) -> None:
    """Call ``work`` for pieces of the queries, several at a time, each with room for products with all columns."""
    n_samples = columns.shape[1]
    threads = count_useful_threads(n_jobs, n_queries * columns.size)
    size = max(1, min(QUERIES_PER_PIECE, SCORES_PER_PIECE // n_samples, -(-n_queries // threads)))
    pieces = [slice(start, min(start + size, n_queries)) for start in range(0, n_queries, size)]
    shape = (size, n_samples)
    idle = [Room(np.empty(shape, dtype=np.float32), np.empty(shape, dtype=np.int32)) for _ in pieces[:threads]]

    def work_on(piece: slice) -> None:
        room, n = idle.pop(), piece.stop - piece.start
        work(piece, Room(room.values[:n], room.scores[:n]))
        idle.append(room)
        advance(n)

    with one_matrix_thread():
        map_in_threads(work_on, pieces, threads)
