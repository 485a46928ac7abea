"""Exact search on a GPU: products in half precision rule rows out, float64 measures the rest.

The same rows as `ExactSearch` finds, to the last bit: the same sums in the same order, and bounds that are never
more than these. Rows come in blocks, queries in pieces, and their products in tiles that ``memory`` has room for.
"""

import logging
from collections.abc import Iterator
from threading import Lock
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nearboost.base.device import (
    Tensor,
    device_memory,
    import_torch,
    load_ahead,
    open_device,
    to_device,
    told_when_full,
    working_on,
)
from nearboost.base.progress import progress_bar
from nearboost.base.rows import RowSource
from nearboost.neighbors import near
from nearboost.neighbors.exact import Lists, cut
from nearboost.neighbors.gpu_parts import WIDE, Block, Queries, Room, Task
from nearboost.neighbors.gpu_tiles import Offering
from nearboost.neighbors.halves import Bounds, Shadow, choose_bounds
from nearboost.neighbors.lanes import N_LANES, largest_values, row_norms
from nearboost.neighbors.rows import MeasuredRows, TensorRows
from nearboost.neighbors.ruler import METRICS, powers_of_two

BYTES_OF_A_FUSED_PAIR = 3 * 8 * N_LANES  # its sums in lanes, and what folding takes

log = logging.getLogger(__name__)


class GPUSearch:
    """Looks at all rows on a device of PyTorch. ``share_proved`` is the share of the last lists that the proposed
    rows proved."""

    metrics: ClassVar[tuple[str, ...]] = tuple(METRICS)
    exact: ClassVar[bool] = True

    def __init__(self, rows: MeasuredRows | TensorRows, name: str) -> None:
        self.rows, self.device = rows, open_device(name)
        self.source = rows.source.as_stored()
        self.memory = device_memory(self.device) if rows.memory is None else rows.memory
        largest = rows.largest / rows.unit
        self.bounds: Bounds = choose_bounds(rows.metric, rows.centre, rows.scale, largest, self.device)
        self.share_proved = float("nan")
        self.kernels: Any = find_kernels(self.device)
        self._resident: list[Block] = []

    @told_when_full
    def search(
        self, Q: RowSource, k: int, groups: NDArray[np.int32], query_groups: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """See `SearchMethod`."""
        n_rows, n_features = self.source.shape
        sent = 0 if isinstance(self.rows, TensorRows) else self.source.dtype.itemsize  # tensors are there already
        row_bytes = n_features * (sent + 2.0) + 32 + 12 * k
        pair_bytes = None if self.kernels is near else BYTES_OF_A_FUSED_PAIR
        room = Room.of(self.memory, n_features, row_bytes, Q.n_rows, n_rows, pair_bytes)
        lists, units, proved = Lists.empty(Q.n_rows, k), np.ones(Q.n_rows), np.ones(Q.n_rows, dtype=bool)
        crowded = bool((np.diff(np.sort(groups)) == 0).any())
        offering = Offering(self.bounds, self.rows.metric, self.kernels, room, crowded)
        task = Task(Q.as_stored(), groups, query_groups, room, offering, lists, units, proved)
        alike = not len(groups) or np.array_equal(groups, query_groups)  # a pair is allowed both ways, or neither
        itself = alike and getattr(Q, "X", None) is self.rows.X
        with working_on(self.device), EXACT_PRODUCTS:
            (self._search_itself if itself and room.rows == n_rows else self._search_others)(task)
        self.share_proved = float(proved.mean()) if len(proved) else float("nan")
        log.info("%.2f%% of %d lists were proved by the rows proposed.", 100 * self.share_proved, len(proved))
        return lists.indices, self.rows.to_distances(lists.sums, units)

    def _search_others(self, task: Task) -> None:
        """Each block of rows to each piece of the queries, whose lists wait on the CPU."""
        room, lists = task.room, task.lists
        pieces, n_blocks = list(cut(task.Q.n_rows, room.queries)), -(-self.source.n_rows // room.rows)
        with progress_bar("Searching neighbours", n_blocks * len(pieces), self.rows.verbose) as advance:
            for block in self._blocks(task):
                loaded = load_ahead(lambda piece: self._queries(task, piece), pieces, self.device)
                for piece, queries in zip(pieces, loaded, strict=True):
                    queries.start(lists[piece], self.device)
                    for columns in cut(len(block.rows), room.columns):
                        task.offering.offer(block, queries, slice(0, len(queries.given)), columns)
                    task.offering.finish(block, queries)
                    queries.finish(lists[piece], task.proved[piece])
                    task.units[piece] = queries.units.cpu().numpy()
                    advance()

    def _search_itself(self, task: Task) -> None:
        """Rows that are all on the device, to each other: each product serves both of a pair.

        The squares on the diagonal come first: they fill the lists.
        """
        (block,) = self._blocks(task)
        queries = self._rows_as_queries(task, block)
        queries.start(task.lists, self.device)
        pieces = list(cut(len(block.rows), task.room.side))
        tiles = [(piece, piece) for piece in pieces]
        for piece in pieces:
            beyond = cut(len(block.rows) - piece.stop, WIDE * task.room.side)
            tiles += [(piece, slice(piece.stop + part.start, piece.stop + part.stop)) for part in beyond]
        with progress_bar("Searching neighbours", len(tiles), self.rows.verbose) as advance:
            for piece, others in tiles:
                task.offering.offer(block, queries, piece, others, mutual=others != piece)
                advance()
        task.offering.finish(block, queries)
        queries.finish(task.lists, task.proved)
        task.units[:] = self.rows.unit

    def _blocks(self, task: Task) -> Iterator[Block]:
        """All rows in order, with their groups; they stay on the device where there is room for all of them."""
        room, groups = task.room, task.groups
        parts = list(cut(self.source.n_rows, room.rows))
        if len(parts) > 1:
            self._resident = []  # with more neighbours there may be no room for it any longer
        elif not self._resident:
            self._resident = [self._block(parts[0], room)]
        blocks = self._resident or load_ahead(lambda part: self._block(part, room), parts, self.device)
        for part, block in zip(parts, blocks, strict=True):
            yield block._replace(groups=to_device(groups[part], self.device)) if len(groups) else block

    def _block(self, part: slice, room: Room) -> Block:
        torch, norms = import_torch(), None
        rows = self.source.on(self.device, np.arange(part.start, part.stop))
        if self.rows.metric == "cosine":
            norms = to_device(self.rows.norms[part], self.device)
        shadows = []
        for some in cut(len(rows), room.casts):
            divisors = rows.new_tensor(self.rows.unit, dtype=torch.float64) if norms is None else norms[some, None]
            shadows.append(self.bounds.cast(rows[some].double() / divisors))
        shadow = shadows[0] if len(shadows) == 1 else Shadow(*map(torch.cat, zip(*shadows, strict=True)))
        return Block(part.start, rows, norms, shadow, None)

    def _queries(self, task: Task, piece: slice) -> Queries:
        rows, norms = self.rows, None
        given = task.Q.on(self.device, np.arange(piece.start, piece.stop))
        units = np.ones(len(given))
        if rows.metric == "cosine":
            norms = to_device(row_norms(given, piece.start), self.device)
            placed = given.double() / norms[:, None]
        else:
            units = powers_of_two(np.maximum(largest_values(given), rows.largest))
            placed = given.double() / given.new_tensor(rows.unit, dtype=import_torch().float64)
        return self._prepared(given, norms, units, self.bounds.cast(placed), task.query_groups[piece])

    def _rows_as_queries(self, task: Task, block: Block) -> Queries:
        """The rows of a block as queries, without a copy."""
        units = np.full(len(block.rows), self.rows.unit)
        return self._prepared(block.rows, block.norms, units, block.shadow, task.query_groups)

    def _prepared(
        self, given: Tensor, norms: Tensor | None, units: NDArray[np.float64], shadow: Shadow, groups: Any
    ) -> Queries:
        gains = (self.bounds.scale * (to_device(units / self.rows.unit, self.device))) ** self.bounds.power
        gains = import_torch().where(shadow.shares == -np.inf, 1.0, gains)
        return Queries(given, norms, to_device(units, self.device), shadow, gains, to_device(groups, self.device))


def find_kernels(device: Any) -> Any:
    """What finds and measures pairs: kernels of Triton where it compiles for a GPU, else PyTorch's operations."""
    if device.type != "cuda":
        return near
    try:
        from nearboost.neighbors import fused

        with working_on(device):
            fused.try_on(device)
    except Exception as error:  # Triton is not there for all systems, needs a C compiler, fails in its own ways
        log.info("No kernels of Triton, so search takes several times as long: %s", error)
        return near
    return fused


class ExactProducts:
    """Products of halves are summed in float32, as the bounds take for granted, as long as any thread searches."""

    names = ("allow_fp16_reduced_precision_reduction", "allow_fp16_accumulation")

    def __init__(self) -> None:
        self._lock, self._n_searches, self._before = Lock(), 0, dict[str, Any]()

    def __enter__(self) -> None:
        matmul = import_torch().backends.cuda.matmul
        with self._lock:
            if not self._n_searches:
                self._before = {name: getattr(matmul, name) for name in self.names if hasattr(matmul, name)}
            self._n_searches += 1
            for name in self._before:
                setattr(matmul, name, False)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_searches -= 1
            if not self._n_searches:
                for name, value in self._before.items():
                    setattr(import_torch().backends.cuda.matmul, name, value)


EXACT_PRODUCTS = ExactProducts()
