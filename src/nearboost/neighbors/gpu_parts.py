"""What a search on a GPU works with: the room there is, rows in blocks, and queries with their lists."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearboost.base.device import Tensor, import_torch, to_device
from nearboost.base.rows import RowSource
from nearboost.neighbors.exact import Lists
from nearboost.neighbors.halves import Shadow, rounded_up

MOST_QUERIES, MOST_ROWS, MOST_SIDE = 8192, 2**17, 2**14  # of a tile
LEAST_QUERIES, LEAST_ROWS = 32, 1024
BYTES_OF_A_SCORE = 18  # of a tile: halves twice, float32, a mask, and what selecting takes
NUMBERS_OF_A_QUERY = 4  # in float64, for each feature
NUMBERS_OF_A_PAIR = 3
LOST_SQUARE = 2.0**-1000  # more than a measured sum loses of a feature whose square vanishes


class Room(NamedTuple):
    """What fits into the memory of a device: half of it is for rows, which may all stay there."""

    queries: int  # in a piece
    columns: int  # in a tile
    side: int  # of a tile of rows to each other
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
        side = max(1, min(MOST_SIDE, int(scores**0.5)))
        return cls(queries, columns, side, pairs, min(rows, n_rows))


class Task(NamedTuple):
    """What to search for, in which room, and what is found; ``crowded`` where rows share a group."""

    Q: RowSource
    groups: NDArray[np.int32]
    query_groups: NDArray[np.int32]
    room: Room
    crowded: bool
    lists: Lists
    units: NDArray[np.float64]
    proved: NDArray[np.bool_]


class Block(NamedTuple):
    """Rows on the device, from number ``first`` on, as they were given, what divides them, and their shadow."""

    first: int
    rows: Tensor
    norms: Tensor | None
    shadow: Shadow
    groups: Tensor | None


class Queries:
    """Queries on the device, and the nearest rows found for them so far."""

    def __init__(
        self, given: Tensor, divisors: Tensor | None, units: Tensor, shadow: Shadow, gains: Tensor, groups: Tensor
    ) -> None:
        self.given, self.units, self.shadow, self.groups = given, units, shadow, groups
        self.scaled = bool((units != 1.0).any())
        self._divisors = divisors if divisors is not None else units if self.scaled else None
        self._gains, self._error = gains, (given.shape[1] + 16) * 2.0**-53

    def measured(self, some: Tensor) -> Tensor:
        """Some of the queries as rows are measured against them."""
        rows = self.given[some].double()
        return rows if self._divisors is None else rows / self._divisors[some, None]

    def start(self, lists: Lists, device: Any) -> None:
        """Go on from what these lists hold."""
        self.sums, self.rows = to_device(lists.sums, device), to_device(lists.indices, device)
        if device.type == "cpu":  # a tensor there is the array itself
            self.sums, self.rows = self.sums.clone(), self.rows.clone()
        self.limits = self._limits()

    def finish(self, lists: Lists) -> None:
        """Put into these lists what was found."""
        lists.sums[:], lists.indices[:] = self.sums.cpu().numpy(), self.rows.cpu().numpy()

    def _limits(self) -> Tensor:
        """The largest score that a row as near as the last of the list may have."""
        least = LOST_SQUARE * self.given.shape[1]
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
