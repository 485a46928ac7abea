"""Exact search on a GPU: products in half precision rule rows out, float64 measures the rest.

The same rows as `ExactSearch` finds, to the last bit: the same sums in the same order, and bounds that are never
more than these. Rows come in blocks, queries in pieces, and their bounds in tiles that ``memory`` has room for.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearboost.base.device import Tensor, device_memory, import_torch, load_ahead, open_device, to_device
from nearboost.base.progress import progress_bar
from nearboost.base.rows import RowSource
from nearboost.neighbors.exact import Lists, cut
from nearboost.neighbors.halves import Bounds, Shadow, choose_bounds, rounded_up
from nearboost.neighbors.lanes import largest_values, measure, row_norms
from nearboost.neighbors.rows import MeasuredRows, TensorRows
from nearboost.neighbors.ruler import METRICS, NO_ROW, powers_of_two

MOST_QUERIES, MOST_ROWS = 8192, 2**17  # of a tile
LEAST_QUERIES, LEAST_ROWS = 32, 1024
FEWEST_PROPOSED = 16
IN_ORDER = 128  # rows that are measured at a time where the proposed ones did not do
NEIGHBOURING = 32  # columns that their least score stands for while the least of a tile are looked for
BYTES_OF_A_SCORE = 16  # of a tile: half and float32, a mask, and what selecting takes
NUMBERS_OF_A_QUERY = 4  # in float64, for each feature
NUMBERS_OF_A_PAIR = 3
LOST_SQUARE = 2.0**-1000  # more than a measured sum loses of a feature whose square vanishes

log = logging.getLogger(__name__)


class Room(NamedTuple):
    """What fits into the memory of a device: half of it is for rows, which may all stay there."""

    queries: int  # in a piece
    columns: int  # in a tile
    pairs: int  # that are measured at a time
    rows: int  # in a block

    @classmethod
    def of(cls, memory: float, n_features: int, row_bytes: float, n_queries: int, n_rows: int) -> "Room":
        """Tiles get a quarter, queries and measuring an eighth each."""
        query_bytes, pair_bytes = 8 * NUMBERS_OF_A_QUERY * n_features, 8 * NUMBERS_OF_A_PAIR * n_features
        scores = memory / 4 / BYTES_OF_A_SCORE
        queries = int(min(MOST_QUERIES, n_queries, memory / 8 / query_bytes, scores / min(LEAST_ROWS, n_rows)))
        columns = int(min(MOST_ROWS, n_rows, scores / max(1, queries)))
        pairs, rows = int(memory / 8 / pair_bytes), int(memory / 2 / row_bytes)
        rows = n_rows if rows >= n_rows else rows // 2  # the next block is loaded beside this one
        if queries < min(LEAST_QUERIES, n_queries) or rows < min(LEAST_ROWS, n_rows) or not pairs:
            needed = max(
                8 * query_bytes * LEAST_QUERIES,
                4 * BYTES_OF_A_SCORE * LEAST_QUERIES * LEAST_ROWS,
                4 * row_bytes * LEAST_ROWS,
            )
            raise ValueError(
                f"memory={memory:,.0f} has no room for a tile of {LEAST_QUERIES} queries and {LEAST_ROWS:,} rows "
                f"of {n_features:,} features on the device; give {needed:,.0f} bytes or more."
            )
        return cls(queries, columns, pairs, min(rows, n_rows))


class Block(NamedTuple):
    """Rows on the device, from number ``first`` on, as they were given, what divides them, and their shadow."""

    first: int
    rows: Tensor
    norms: Tensor | None
    shadow: Shadow
    groups: Tensor | None


class Queries:
    """Queries on the device, and the nearest rows found for them so far."""

    def __init__(self, measured: Tensor, units: Tensor, shadow: Shadow, gains: Tensor, groups: Tensor) -> None:
        self.measured, self.units, self.shadow, self.groups = measured, units, shadow, groups
        self.scaled = bool((units != 1.0).any())
        self._gains, self._error = gains, (measured.shape[1] + 16) * 2.0**-53

    def start(self, sums: Tensor, rows: Tensor) -> None:
        """Go on from lists that hold these."""
        self.sums, self.rows = sums, rows
        self.limits = self._limits()

    def _limits(self) -> Tensor:
        """The largest score that a row as near as the last of the list may have."""
        least = LOST_SQUARE * self.measured.shape[1]
        farthest = (self.sums[:, -1] + least) * self._gains / (1 - self._error)
        limits = farthest - self.shadow.shares
        return rounded_up(limits + 2.0**-50 * (farthest + self.shadow.shares.abs()))

    def wanted(self, which: Tensor, scores: Tensor, rows: Tensor) -> Tensor:
        """Whether rows with these scores may be among the nearest.

        Nothing is nearer than zero: after so many duplicates of a query, only rows of lower numbers count.
        """
        first = (self.sums[which, -1:] > 0) | (rows < self.rows[which, -1:])
        return (scores <= self.limits[which, None]) & first

    def keep(self, which: Tensor, sums: Tensor, rows: Tensor) -> None:
        """Keep the nearest of the lists and of these, ordered by sum and row."""
        torch = import_torch()
        sums, rows = torch.cat([self.sums[which], sums], 1), torch.cat([self.rows[which], rows], 1)
        rows, order = rows.sort(dim=1, stable=True)
        sums, order = sums.gather(1, order).sort(dim=1, stable=True)
        k = self.rows.shape[1]
        self.sums[which], self.rows[which] = sums[:, :k], rows.gather(1, order)[:, :k]
        self.limits = self._limits()


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
        stored = (
            0 if isinstance(self.rows, TensorRows) else self.source.dtype.itemsize
        )  # tensors are there already
        row_bytes = n_features * (stored + 2.0) + 32
        room = Room.of(self.memory, n_features, row_bytes, Q.n_rows, n_rows)
        lists, units = Lists.empty(Q.n_rows, k), np.ones(Q.n_rows)
        indices, sums, proved = lists.indices, lists.sums, np.ones(Q.n_rows, dtype=bool)
        crowded, Q = len(np.unique(groups)) < len(groups), Q.as_stored()
        pieces, n_blocks = list(cut(Q.n_rows, room.queries)), -(-n_rows // room.rows)
        with (
            exact_products(),
            progress_bar("Searching neighbours", n_blocks * len(pieces), self.rows.verbose) as advance,
        ):
            for block in self._blocks(room, groups):
                loaded = load_ahead(lambda piece: (piece, self._queries(Q, piece, query_groups[piece])), pieces)
                for piece, queries in loaded:
                    queries.start(to_device(sums[piece], self.device), to_device(indices[piece], self.device))
                    missed = self._search_block(block, queries, room, crowded)
                    sums[piece], indices[piece] = queries.sums.cpu().numpy(), queries.rows.cpu().numpy()
                    units[piece] = queries.units.cpu().numpy()
                    proved[piece] &= ~missed.cpu().numpy()
                    advance()
        self.share_proved = float(proved.mean()) if len(proved) else float("nan")
        log.info("%.2f%% of %d lists were proved by the rows proposed.", 100 * self.share_proved, len(proved))
        return indices, self.rows.to_distances(sums, units)

    def _blocks(self, room: Room, groups: NDArray[np.int32]) -> Iterator[Block]:
        """All rows in order, with their groups; they stay on the device where there is room for all of them."""
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

    def _queries(self, Q: RowSource, piece: slice, groups: NDArray[np.int32]) -> Queries:
        torch, rows = import_torch(), self.rows
        given = Q.on(self.device, np.arange(piece.start, piece.stop))
        if rows.metric == "cosine":
            units = np.ones(len(given))
            measured = placed = given.double() / to_device(row_norms(given, piece.start), self.device)[:, None]
        else:
            units = powers_of_two(np.maximum(largest_values(given), rows.largest))
            measured = given.double() / to_device(units, self.device)[:, None]
            placed = given.double() / measured.new_tensor(rows.unit)
        shadow = self.bounds.cast(placed)
        gains = (self.bounds.scale * (to_device(units, self.device) / rows.unit)) ** self.bounds.power
        gains = torch.where(shadow.shares == -np.inf, 1.0, gains)
        return Queries(measured, to_device(units, self.device), shadow, gains, to_device(groups, self.device))

    def _search_block(self, block: Block, queries: Queries, room: Room, crowded: bool) -> Tensor:
        """Offer the rows of a block to the queries; says which ones wanted more than those that were proposed."""
        torch = import_torch()
        missed = torch.zeros(len(queries.measured), dtype=torch.bool, device=self.device)
        everyone = torch.arange(len(missed), device=self.device)
        count = max(FEWEST_PROPOSED, 2 * queries.rows.shape[1] + 2)
        for at in range(0, len(block.rows), room.columns):
            columns = slice(at, min(at + room.columns, len(block.rows)))
            scores = self.bounds.scores(queries.shadow, block.shadow.part(columns))
            if crowded:
                scores.masked_fill_(~self._allowed(block, queries, everyone[:, None], columns), np.inf)
            values, proposed = smallest(scores, count)
            proposed, first = proposed + at, block.first + at
            near = queries.wanted(everyone, values, proposed + block.first)
            self._offer(block, queries, room, everyone, proposed, near)
            # Where the last of the proposed may be wanted, those after it may be as well.
            more = queries.wanted(everyone, values[:, -1:], torch.full_like(proposed[:, -1:], first))[:, 0]
            if proposed.shape[1] < scores.shape[1] and more.any():
                missed |= more
                which = more.nonzero()[:, 0]
                left = scores[which].scatter_(1, proposed[which] - at, np.inf)
                self._offer_in_order(block, queries, room, which, left, at)
        return missed

    def _offer_in_order(
        self, block: Block, queries: Queries, room: Room, which: Tensor, scores: Tensor, at: int
    ) -> None:
        """Offer every row that its score does not rule out, the lower numbers first; some at a time."""
        torch = import_torch()
        columns = torch.arange(scores.shape[1], device=self.device)
        while len(which):
            near = queries.wanted(which, scores, columns + block.first + at)
            keys, found = smallest(torch.where(near, columns.float(), np.inf), IN_ORDER)
            self._offer(block, queries, room, which, found + at, keys < np.inf)
            scores.scatter_(1, found, np.inf)
            more = keys[:, -1] < np.inf
            which, scores = which[more], scores[more]

    def _offer(
        self, block: Block, queries: Queries, room: Room, which: Tensor, columns: Tensor, near: Tensor
    ) -> None:
        """Measure the rows in these columns of the block that are ``near`` and allowed, and keep the nearest."""
        torch = import_torch()
        near = near & self._allowed(block, queries, which[:, None], columns)
        sums = torch.full(columns.shape, np.inf, dtype=torch.float64, device=self.device)
        lines, places = near.nonzero(as_tuple=True)
        for at in range(0, len(lines), room.pairs):
            line, place = lines[at : at + room.pairs], places[at : at + room.pairs]
            column, query = columns[line, place], which[line]
            divisors = queries.units[query] if queries.scaled else None
            if block.norms is not None:
                divisors = block.norms[column]
            sums[line, place] = measure(block.rows[column], queries.measured[query], divisors, self.rows.metric)
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
