"""What a search on a GPU does with a tile: the products of some queries and some rows.

A query whose list is full has a limit, and all rows within it are measured. To one that has none yet the rows that
look nearest are proposed, and those after them as far as they are not ruled out then.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from nearboost.base.device import Tensor, import_torch
from nearboost.neighbors.exact import cut
from nearboost.neighbors.gpu_parts import Block, Queries, Room
from nearboost.neighbors.halves import Bounds, scores_of
from nearboost.neighbors.near import Side
from nearboost.neighbors.ruler import NO_ROW

WORTH_MEASURING = 2**19  # pairs
IN_ORDER = 128  # rows that are measured at a time where the proposed ones did not do
NEIGHBOURING = 32  # columns that their least score stands for while the least of a tile are looked for


class Tile(NamedTuple):
    """Products of some queries and the rows in some columns of a block."""

    products: Tensor
    queries: slice
    columns: slice


class Offering:
    """Offers the rows of tiles to queries, which keep the nearest.

    Pairs that limits do not rule out wait until they are worth measuring: what that takes hardly depends on how
    many they are, and limits change little meanwhile.
    """

    def __init__(self, bounds: Bounds, metric: str, kernels: Any, room: Room, crowded: bool) -> None:
        self.bounds, self.metric, self.kernels, self.room, self.crowded = bounds, metric, kernels, room, crowded
        self._pairs: list[tuple[Tensor, Tensor, Tensor, Tensor]] = []

    def offer(self, block: Block, queries: Queries, some: slice, columns: slice, mutual: bool = False) -> None:
        """Offer rows in some columns to some queries; where ``mutual``, rows are queries, and served as well."""
        products = self.bounds.products(queries.shadow.part(some), block.shadow.part(columns))
        tile, waiting = Tile(products, some, columns), queries.waiting
        pairs = self._near_pairs(block, queries, tile, waiting, mutual)
        if pairs is None:
            waiting[:] = True
        else:
            self._collect(block, queries, tile, waiting, *pairs, mutual)
            if sum(len(pairs[0]) for pairs in self._pairs) > min(WORTH_MEASURING, self.room.listed):
                self.finish(block, queries)
        if bool(waiting.any()):
            for part in self._parts(tile, mutual):
                which = waiting[part.queries].nonzero()[:, 0]
                for few in cut(len(which), self.room.listed // (queries.n_listed + queries.n_proposed)):
                    self._propose(block, queries, part, which[few])

    def finish(self, block: Block, queries: Queries) -> None:
        """Measure the pairs that wait, and keep the nearest."""
        if not self._pairs:
            return
        cat = import_torch().cat
        lines, columns, to_lines, to_columns = map(cat, zip(*self._pairs, strict=True))
        self._pairs.clear()
        sums = self._measure(block, queries, lines, columns)
        whose = cat([lines[to_lines], columns[to_columns]])
        rows = cat([columns[to_lines] + block.first, lines[to_columns]]).int()
        queries.keep_pairs(whose, cat([sums[to_lines], sums[to_columns]]), rows, self.room.listed)

    def _parts(self, tile: Tile, mutual: bool) -> Iterator[Tile]:
        """As much of a tile at a time as there is room to score, seen from both sides where it is mutual."""
        first, wide = tile.columns.start, self.room.side if mutual else self.room.columns
        for part in cut(tile.products.shape[1], wide):
            columns, products = slice(first + part.start, first + part.stop), tile.products[:, part]
            yield Tile(products, tile.queries, columns)
            if mutual:
                yield Tile(products.T, columns, tile.queries)

    def _near_pairs(
        self, block: Block, queries: Queries, tile: Tile, waiting: Tensor, mutual: bool
    ) -> tuple[Tensor, Tensor] | None:
        """Lines and columns of a tile that limits do not rule out; None if there are too many."""
        limits = queries.limits.masked_fill(waiting, -np.inf)
        own = Side(queries.shadow.shares, limits, queries.groups if self.crowded else None)
        others = Side(block.shadow.shares, limits if mutual else None, block.groups if self.crowded else None)
        sides = own.part(tile.queries), others.part(tile.columns)
        found: tuple[Tensor, Tensor] | None = self.kernels.near_pairs(
            tile.products, self.bounds.factor, *sides, self.room.listed
        )
        return found

    def _collect(
        self,
        block: Block,
        queries: Queries,
        tile: Tile,
        waiting: Tensor,
        lines: Tensor,
        columns: Tensor,
        mutual: bool,
    ) -> None:
        """Put aside pairs of a query and a column, and whose lists they are for: of none that is proposed rows."""
        lines, columns = lines + tile.queries.start, columns + tile.columns.start
        allowed = self._allowed(block, queries, lines, columns)
        to_columns = ~waiting[columns] & allowed if mutual else import_torch().zeros_like(lines, dtype=bool)
        self._pairs.append((lines, columns, ~waiting[lines] & allowed, to_columns))

    def _propose(self, block: Block, queries: Queries, tile: Tile, which: Tensor) -> None:
        """Offer queries of a tile the rows that look nearest, and others as far as these do not rule them out."""
        torch, at, first = import_torch(), tile.columns.start, block.first + tile.columns.start
        everyone = which + tile.queries.start
        products = tile.products if len(which) == len(tile.products) else tile.products[which]
        scores = scores_of(products.contiguous(), self.bounds.factor, block.shadow.shares[tile.columns])
        if self.crowded:
            scores.masked_fill_(~self._allowed(block, queries, everyone[:, None], tile.columns), np.inf)
        values, proposed = smallest(scores, queries.n_proposed)
        near = queries.wanted(everyone, values, proposed + first)
        self._offer(block, queries, everyone, proposed + at, near)
        # Where the last of the proposed may be wanted, those after it may be as well.
        more = queries.wanted(everyone, values[:, -1:], torch.full_like(proposed[:, -1:], first))[:, 0]
        if proposed.shape[1] == scores.shape[1]:
            more[:] = False
        left = more.nonzero()[:, 0]
        if len(left):
            queries.proved[everyone[left]] = False
            scores = scores[left].scatter_(1, proposed[left], np.inf)
            self._offer_in_order(block, queries, everyone[left], scores, at)

    def _offer_in_order(self, block: Block, queries: Queries, which: Tensor, scores: Tensor, at: int) -> None:
        """Offer every row that its score does not rule out, the lower numbers first; some at a time."""
        torch = import_torch()
        columns = torch.arange(scores.shape[1], device=scores.device)
        while len(which):
            near = queries.wanted(which, scores, columns + block.first + at)
            keys, found = smallest(torch.where(near, columns.float(), np.inf), IN_ORDER)
            self._offer(block, queries, which, found + at, keys < np.inf)
            scores.scatter_(1, found, np.inf)
            more = keys[:, -1] < np.inf
            which, scores = which[more], scores[more]

    def _offer(self, block: Block, queries: Queries, which: Tensor, columns: Tensor, near: Tensor) -> None:
        """Measure the rows in these columns of the block that are ``near`` and allowed, and keep the nearest."""
        torch = import_torch()
        near = near & self._allowed(block, queries, which[:, None], columns)
        sums = torch.full(columns.shape, np.inf, dtype=torch.float64, device=columns.device)
        lines, places = near.nonzero(as_tuple=True)
        sums[lines, places] = self._measure(block, queries, which[lines], columns[lines, places])
        queries.keep(which, sums, torch.where(near, (columns + block.first).int(), NO_ROW))

    def _measure(self, block: Block, queries: Queries, lines: Tensor, columns: Tensor) -> Tensor:
        """What pairs of a query and a row in a column of the block are apart, in float64; some at a time."""
        torch = import_torch()
        sums = torch.empty(len(lines), dtype=torch.float64, device=lines.device)
        for part in cut(len(lines), self.room.pairs):
            line, column = lines[part], columns[part]
            query_divisors = None if queries.divisors is None else queries.divisors[line]
            row_divisors = query_divisors if block.norms is None else block.norms[column]
            sums[part] = self.kernels.measure_pairs(
                block.rows, column, row_divisors, queries.given, line, query_divisors, self.metric
            )
        return sums

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
