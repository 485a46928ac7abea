"""Exact search: float32 bounds rule rows out, float64 measures the rest.

A row whose bound exceeds the k-th distance so far cannot be a neighbour; any other is measured, and kept by
(measured sum, row). Lists are carried from one block of rows to the next, so that nothing is merged, and the
answer does not depend on blocks, threads or the matrix library. Bounds are those of `nearboost.neighbors.ruler`.
"""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nearboost.base.progress import progress_bar
from nearboost.base.rows import RowSource
from nearboost.base.threads import WORTH_THREADS, count_useful_threads, map_in_threads, one_matrix_thread
from nearboost.neighbors.grid import padded
from nearboost.neighbors.rows import MeasuredRows
from nearboost.neighbors.ruler import ENTRIES_AT_ONCE, METRICS, NO_ROW, Block, MeasuredQueries, Ruler

QUERIES_PER_PIECE = 1024


@dataclass(frozen=True)
class Lists:
    """The nearest rows of each query so far, by (measured sum, row); ``NO_ROW`` and infinity if none."""

    indices: NDArray[np.int32]
    sums: NDArray[np.float64]

    @classmethod
    def empty(cls, n_queries: int, k: int) -> "Lists":
        """No row yet."""
        return cls(np.full((n_queries, k), NO_ROW, dtype=np.int32), np.full((n_queries, k), np.inf))

    def __getitem__(self, part: slice) -> "Lists":
        """Those of some queries, as views."""
        return Lists(self.indices[part], self.sums[part])


@dataclass(frozen=True)
class Task:
    """What to search for: ``known`` are the nearest of the rows below ``start``, by query, if any."""

    Q: RowSource
    groups: NDArray[np.int32]
    query_groups: NDArray[np.int32]
    known: NDArray[np.int32]
    start: int
    lists: Lists


class ExactSearch:
    """Looks at all rows; bounds rule most of them out."""

    metrics: ClassVar[tuple[str, ...]] = tuple(METRICS)
    exact: ClassVar[bool] = True

    def __init__(self, rows: MeasuredRows) -> None:
        self.rows = rows

    def search(
        self, Q: RowSource, k: int, groups: NDArray[np.int32], query_groups: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """See `SearchMethod`."""
        nobody = np.empty((Q.n_rows, 0), dtype=np.int32)
        return self.search_on(Q, k, groups, query_groups, nobody, 0)

    def search_on(
        self,
        Q: RowSource,
        k: int,
        groups: NDArray[np.int32],
        query_groups: NDArray[np.int32],
        known: NDArray[np.int32],
        start: int,
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The same where ``known`` are the nearest of the rows below ``start``: only the others are looked at."""
        task = Task(Q, groups, query_groups, known, start, Lists.empty(Q.n_rows, k))
        n_multiplications = Q.n_rows * (self.rows.n_rows - start) * self.rows.n_features
        threads = count_useful_threads(self.rows.n_jobs, n_multiplications)
        with one_matrix_thread() if n_multiplications >= WORTH_THREADS else contextlib.nullcontext():
            if self.rows.keeps_blocks:
                self._search_kept(task, threads)
            else:
                self._stream(task, threads)
        return task.lists.indices, task.lists.sums

    def _search_kept(self, task: Task, threads: int) -> None:
        """Each thread takes some queries through all blocks."""
        rows, n_queries = self.rows, task.Q.n_rows
        blocks = rows.blocks_from(task.start)
        most = rows.fitting(1 / 4, threads * rows.query_bytes, QUERIES_PER_PIECE)
        parts = list(cut(n_queries, min(most, -(-n_queries // threads))))

        def search_part(part: slice) -> None:
            queries = self._prepare(task, part, 1)
            offer_blocks(rows, blocks, queries, task.groups, task.lists[part])
            task.lists.sums[part] = rows.to_distances(task.lists.sums[part], queries.units)

        with progress_bar("Searching neighbours", len(parts), rows.verbose) as advance:
            map_in_threads(search_part, parts, threads, advance)

    def _stream(self, task: Task, threads: int) -> None:
        """All threads take each block of rows, as it is read, to as many queries as there is room for."""
        rows, n_queries = self.rows, task.Q.n_rows
        parts = list(cut(n_queries, rows.queries_at_once(n_queries)))
        n_steps = len(parts) * rows.count_blocks(task.start)
        with progress_bar("Searching neighbours", n_steps, rows.verbose) as advance:
            for part in parts:
                queries, lists = self._prepare(task, part, threads), task.lists[part]
                for block in rows.blocks_from(task.start):
                    self._offer_in_threads(block, queries, task.groups, lists, threads)
                    advance()
                    del block  # before the next one is read
                lists.sums[:] = rows.to_distances(lists.sums, queries.units)
                del queries

    def _offer_in_threads(
        self, block: Block, queries: MeasuredQueries, groups: NDArray[np.int32], lists: Lists, threads: int
    ) -> None:
        most = self.rows.fitting(1 / 8, threads * 4 * len(block.offsets), QUERIES_PER_PIECE)  # whose scores fit

        def offer_piece(piece: slice) -> None:
            offer_blocks(self.rows, [block], queries[piece], groups, lists[piece])

        map_in_threads(offer_piece, cut(len(queries), min(most, -(-len(queries) // threads))), threads)

    def _prepare(self, task: Task, part: slice, threads: int) -> MeasuredQueries:
        """Some queries, and what is known of their neighbours in their lists."""
        queries = read_queries(self.rows, task.Q, part, task.query_groups, threads)
        if task.known.size:
            lists = task.lists[part]
            self.rows.keep_nearest(task.known[part], queries, task.groups, lists.indices, lists.sums)
        return queries


def cut(n: int, size: int) -> Iterator[slice]:
    """The range from 0 to n in parts of one size, which is 1 at least."""
    for start in range(0, n, max(1, size)):
        yield slice(start, min(start + max(1, size), n))


def read_queries(
    ruler: Ruler, Q: RowSource, part: slice, groups: NDArray[np.int32], n_jobs: int | None = 1
) -> MeasuredQueries:
    """Some queries, a few at a time: what is made on the way takes many times the room of the queries."""
    n_queries = part.stop - part.start
    few = max(1, ENTRIES_AT_ONCE // max(1, Q.n_features))
    if n_queries <= few:
        return ruler.queries(Q.part(part), groups[part], part.start)
    queries = ruler.room_for_queries(n_queries)

    def fill(piece: slice) -> None:
        which = slice(part.start + piece.start, part.start + piece.stop)
        queries[piece].take_over(ruler.queries(Q.part(which), groups[which], which.start))

    map_in_threads(fill, cut(n_queries, few), n_jobs)
    return queries


def offer_blocks(
    ruler: Ruler, blocks: Iterable[Block], queries: MeasuredQueries, groups: NDArray[np.int32], lists: Lists
) -> None:
    """Offer all rows of some blocks to the lists of some queries."""
    from nearboost.kernels import search as kernels

    n_queries, is_l1 = len(queries), ruler.metric == "l1"
    shadow = padded(queries.shadow, 0, 2) if is_l1 else queries.shadow
    buffer = np.empty(0, dtype=np.float32)
    for block in blocks:
        n_scores = len(shadow) * block.offsets.size
        if n_scores > len(buffer):
            # Zeros: matrix libraries may compute with what they overwrite, and chance bits may be signalling.
            buffer = np.zeros(n_scores, dtype=np.float32)
        scores = buffer[:n_scores].reshape(len(shadow), block.offsets.size)
        if is_l1:
            kernels.negative_l1(shadow, block.shadow, scores)
        else:
            np.dot(shadow, block.shadow, out=scores)
        kernels.offer_near(
            scores[:n_queries], block.offsets, block.numbers, block.apart, queries.gains, queries.bases,
            block.rows, block.norms, queries.measured, queries.units, ruler.code,
            groups, queries.groups, lists.sums, lists.indices,
        )  # fmt: skip
