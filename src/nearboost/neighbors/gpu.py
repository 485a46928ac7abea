"""Exact search on a GPU: products in half precision rule rows out, float64 measures the rest.

The same rows as `ExactSearch` finds, to the last bit: the same sums in the same order, and bounds that are never
more than these. Rows come in blocks, queries in pieces, and their bounds in tiles that ``memory`` has room for.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nearboost.base.device import Tensor, device_memory, import_torch, load_ahead, open_device, to_device
from nearboost.base.progress import progress_bar
from nearboost.base.rows import RowSource
from nearboost.neighbors.exact import Lists, cut
from nearboost.neighbors.gpu_parts import Block, Queries, Room, Task
from nearboost.neighbors.halves import Bounds, Shadow, choose_bounds
from nearboost.neighbors.lanes import largest_values, measure, row_norms
from nearboost.neighbors.rows import MeasuredRows, TensorRows
from nearboost.neighbors.ruler import METRICS, NO_ROW, powers_of_two

FEWEST_PROPOSED = 16
IN_ORDER = 128  # rows that are measured at a time where the proposed ones did not do
NEIGHBOURING = 32  # columns that their least score stands for while the least of a tile are looked for

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
        self._resident: list[Block] = []

    def search(
        self, Q: RowSource, k: int, groups: NDArray[np.int32], query_groups: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """See `SearchMethod`."""
        n_rows, n_features = self.source.shape
        sent = 0 if isinstance(self.rows, TensorRows) else self.source.dtype.itemsize  # tensors are there already
        room = Room.of(self.memory, n_features, n_features * (sent + 2.0) + 32 + 12 * k, Q.n_rows, n_rows)
        lists, units, proved = Lists.empty(Q.n_rows, k), np.ones(Q.n_rows), np.ones(Q.n_rows, dtype=bool)
        crowded = len(np.unique(groups)) < len(groups)
        task = Task(Q.as_stored(), groups, query_groups, room, crowded, lists, units, proved)
        itself = getattr(Q, "X", None) is self.rows.X
        with exact_products():
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
                loaded = load_ahead(lambda piece: self._queries(task, piece), pieces)
                for piece, queries in zip(pieces, loaded, strict=True):
                    queries.start(lists[piece], self.device)
                    for columns in cut(len(block.rows), room.columns):
                        products = self.bounds.products(queries.shadow, block.shadow.part(columns))
                        task.proved[piece] &= self._offer_tile(task, block, queries, products, columns)
                    queries.finish(lists[piece])
                    task.units[piece] = queries.units.cpu().numpy()
                    advance()

    def _search_itself(self, task: Task) -> None:
        """Rows that are all on the device, to each other: each product serves both of a pair of pieces."""
        (block,) = self._blocks(task)
        pieces = list(cut(len(block.rows), task.room.side))
        everyone = [self._queries_of(task, block, piece) for piece in pieces]
        for piece, queries in zip(pieces, everyone, strict=True):
            queries.start(task.lists[piece], self.device)
        with progress_bar("Searching neighbours", len(pieces) ** 2, self.rows.verbose) as advance:
            for at, (one, queries) in enumerate(zip(pieces, everyone, strict=True)):
                for other, others in zip(pieces[at:], everyone[at:], strict=True):
                    products = self.bounds.products(queries.shadow, others.shadow)
                    task.proved[one] &= self._offer_tile(task, block, queries, products, other)
                    advance()
                    if other != one:
                        turned = products.T.contiguous()
                        task.proved[other] &= self._offer_tile(task, block, others, turned, one)
                        advance()
        for piece, queries in zip(pieces, everyone, strict=True):
            queries.finish(task.lists[piece])
        task.units[:] = self.rows.unit

    def _blocks(self, task: Task) -> Iterator[Block]:
        """All rows in order, with their groups; they stay on the device where there is room for all of them."""
        room, groups = task.room, task.groups
        parts = list(cut(self.source.n_rows, room.rows))
        if len(parts) == 1 and not self._resident:
            self._resident = [self._block(parts[0], room)]
        blocks = self._resident or load_ahead(lambda part: self._block(part, room), parts)
        for part, block in zip(parts, blocks, strict=True):
            yield block._replace(groups=to_device(groups[part], self.device)) if len(groups) else block

    def _block(self, part: slice, room: Room) -> Block:
        torch, norms = import_torch(), None
        rows = self.source.on(self.device, np.arange(part.start, part.stop))
        if self.rows.metric == "cosine":
            norms = to_device(self.rows.norms[part], self.device)
        shadows = []
        for at in range(0, len(rows), room.pairs):
            some = slice(at, at + room.pairs)
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

    def _queries_of(self, task: Task, block: Block, piece: slice) -> Queries:
        """Rows of a block as queries, without a copy."""
        norms = None if block.norms is None else block.norms[piece]
        units = np.full(piece.stop - piece.start, self.rows.unit)
        shadow = block.shadow.part(piece)
        return self._prepared(block.rows[piece], norms, units, shadow, task.query_groups[piece])

    def _prepared(
        self, given: Tensor, norms: Tensor | None, units: NDArray[np.float64], shadow: Shadow, groups: Any
    ) -> Queries:
        gains = (self.bounds.scale * (to_device(units / self.rows.unit, self.device))) ** self.bounds.power
        gains = import_torch().where(shadow.shares == -np.inf, 1.0, gains)
        return Queries(given, norms, to_device(units, self.device), shadow, gains, to_device(groups, self.device))

    def _offer_tile(
        self, task: Task, block: Block, queries: Queries, products: Tensor, columns: slice
    ) -> NDArray[np.bool_]:
        """Offer some rows of a block to the queries; says whose lists those that were proposed have proved."""
        torch, at, first = import_torch(), columns.start, block.first + columns.start
        scores = self.bounds.scores(products, block.shadow.part(columns))
        everyone = torch.arange(len(queries.given), device=self.device)
        if task.crowded:
            scores.masked_fill_(~self._allowed(block, queries, everyone[:, None], columns), np.inf)
        values, proposed = smallest(scores, max(FEWEST_PROPOSED, 2 * queries.rows.shape[1] + 2))
        near = queries.wanted(everyone, values, proposed + first)
        self._offer(task, block, queries, everyone, proposed + at, near)
        # Where the last of the proposed may be wanted, those after it may be as well.
        more = queries.wanted(everyone, values[:, -1:], torch.full_like(proposed[:, -1:], first))[:, 0]
        if proposed.shape[1] == scores.shape[1]:
            more[:] = False
        which = more.nonzero()[:, 0]
        if len(which):
            left = scores[which].scatter_(1, proposed[which], np.inf)
            self._offer_in_order(task, block, queries, which, left, at)
        return np.asarray(~more.cpu().numpy())

    def _offer_in_order(
        self, task: Task, block: Block, queries: Queries, which: Tensor, scores: Tensor, at: int
    ) -> None:
        """Offer every row that its score does not rule out, the lower numbers first; some at a time."""
        torch = import_torch()
        columns = torch.arange(scores.shape[1], device=self.device)
        while len(which):
            near = queries.wanted(which, scores, columns + block.first + at)
            keys, found = smallest(torch.where(near, columns.float(), np.inf), IN_ORDER)
            self._offer(task, block, queries, which, found + at, keys < np.inf)
            scores.scatter_(1, found, np.inf)
            more = keys[:, -1] < np.inf
            which, scores = which[more], scores[more]

    def _offer(
        self, task: Task, block: Block, queries: Queries, which: Tensor, columns: Tensor, near: Tensor
    ) -> None:
        """Measure the rows in these columns of the block that are ``near`` and allowed, and keep the nearest."""
        torch = import_torch()
        near = near & self._allowed(block, queries, which[:, None], columns)
        sums = torch.full(columns.shape, np.inf, dtype=torch.float64, device=self.device)
        lines, places = near.nonzero(as_tuple=True)
        for pairs in cut(len(lines), task.room.pairs):
            line, place = lines[pairs], places[pairs]
            column, query = columns[line, place], which[line]
            divisors = queries.units[query] if queries.scaled else None
            if block.norms is not None:
                divisors = block.norms[column]
            sums[line, place] = measure(block.rows[column], queries.measured(query), divisors, self.rows.metric)
        queries.keep(which, sums, torch.where(near, (columns + block.first).int(), NO_ROW))

    def _allowed(self, block: Block, queries: Queries, which: Tensor, columns: Any) -> Any:
        """Whether rows in these columns are of other groups than the query."""
        if block.groups is None:
            return True
        groups = queries.groups[which]
        return (groups < 0) | (groups != block.groups[columns])


def smallest(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The least scores of each query in rising order, and their columns; of equal ones any.

    They are among the neighbouring columns whose least scores are least: one pass, and little is left to sort.
    """
    n_queries, n_columns = scores.shape
    count, n_groups = min(count, n_columns), n_columns // NEIGHBOURING
    if n_groups < 4 * count:
        return scores.topk(count, largest=False)
    torch, whole = import_torch(), n_groups * NEIGHBOURING
    groups = scores[:, :whole].unflatten(1, (n_groups, NEIGHBOURING)).amin(2).topk(count, largest=False).indices
    within = torch.arange(NEIGHBOURING, device=scores.device)
    columns = (NEIGHBOURING * groups[:, :, None] + within).flatten(1)
    rest = torch.arange(whole, n_columns, device=scores.device).expand(n_queries, -1)
    columns = torch.cat([columns, rest], 1)
    best = scores.gather(1, columns).topk(count, largest=False)
    return best.values, columns.gather(1, best.indices)


@contextmanager
def exact_products() -> Iterator[None]:
    """Products of halves are summed in float32, as the bounds take for granted."""
    matmul = import_torch().backends.cuda.matmul
    names = ("allow_fp16_reduced_precision_reduction", "allow_fp16_accumulation")
    before = {name: getattr(matmul, name) for name in names if hasattr(matmul, name)}
    for name in before:
        setattr(matmul, name, False)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(matmul, name, value)
