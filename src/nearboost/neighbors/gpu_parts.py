"""What a search on a GPU works with: the room there is, rows in blocks, and queries with their lists."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearboost.base.device import Tensor, import_torch, to_device
from nearboost.base.rows import RowSource
from nearboost.neighbors.exact import Lists, cut
from nearboost.neighbors.halves import NO_LIMIT, Shadow, rounded_up
from nearboost.neighbors.ruler import NO_ROW

MOST_QUERIES, MOST_ROWS, MOST_SIDE = 8192, 2**17, 2**15  # of a tile
LEAST_QUERIES, LEAST_ROWS = 32, 1024
EVEN = 128  # sides of larger tiles are multiples of it, as units for products of matrices like them
WIDE = 3  # sides of a tile of products alone: room is left to score a square of it
BYTES_OF_A_SCORE = 18  # of a tile: halves twice, float32, a mask, and what selecting takes
FEWEST_PROPOSED = 16
NUMBERS_OF_A_QUERY = 4  # in float64, for each feature
NUMBERS_OF_A_PAIR = 3
BYTES_OF_A_LISTED_PAIR = 256  # its numbers, its sum, and what sorting takes; as many may wait, or be in lists
LOST_SQUARE = 2.0**-1000  # more than a measured sum loses of a feature whose square vanishes


class Room(NamedTuple):
    """What fits into the memory of a device: half of it is for rows, which may all stay there."""

    queries: int  # in a piece
    columns: int  # in a tile
    side: int  # of a tile of rows to each other
    casts: int  # rows that are cast at a time
    pairs: int  # that are measured at a time
    listed: int  # pairs that may be near enough, of one tile
    rows: int  # in a block

    @classmethod
    def of(
        cls,
        memory: float,
        n_features: int,
        row_bytes: float,
        n_queries: int,
        n_rows: int,
        pair_bytes: float | None = None,
    ) -> "Room":
        """Tiles get a quarter, queries and measuring an eighth each; ``pair_bytes``: those of a measured pair."""
        query_bytes, cast_bytes = 8 * NUMBERS_OF_A_QUERY * n_features, 8 * NUMBERS_OF_A_PAIR * n_features
        scores = memory / 4 / BYTES_OF_A_SCORE
        queries = int(min(MOST_QUERIES, n_queries, memory / 8 / query_bytes, scores / min(LEAST_ROWS, n_rows)))
        columns = int(min(MOST_ROWS, n_rows, scores / max(1, queries)))
        casts, rows = int(memory / 16 / cast_bytes), int(memory / 2 / row_bytes)
        rows = n_rows if rows >= n_rows else rows // 2  # the next block is loaded beside this one
        if queries < min(LEAST_QUERIES, n_queries) or rows < min(LEAST_ROWS, n_rows) or not casts:
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
        pairs = casts if pair_bytes is None else int(memory / 16 / pair_bytes)
        listed = int(memory / 16 / BYTES_OF_A_LISTED_PAIR)
        return cls(queries, columns, even(side), casts, max(1, pairs), listed, min(rows, n_rows))


def even(count: int) -> int:
    """As many or a few less, so that tiles are of even sides."""
    return count - count % EVEN if count > EVEN else count


class Task(NamedTuple):
    """What to search for, in which room, and what is found."""

    Q: RowSource
    groups: NDArray[np.int32]
    query_groups: NDArray[np.int32]
    room: Room
    offering: Any
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
        self.divisors = divisors if divisors is not None else units if self.scaled else None
        self._gains, self._error = gains, (given.shape[1] + 16) * 2.0**-53

    def start(self, lists: Lists, device: Any) -> None:
        """Go on from what these lists hold."""
        self.sums, self.rows = to_device(lists.sums, device), to_device(lists.indices, device)
        if device.type == "cpu":  # a tensor there is the array itself
            self.sums, self.rows = self.sums.clone(), self.rows.clone()
        self.limits = self._limits(slice(None))
        self.proved = import_torch().ones_like(self.limits, dtype=import_torch().bool)

    def finish(self, lists: Lists, proved: NDArray[np.bool_]) -> None:
        """Put into these lists what was found, and whose list the rows that were proposed did not prove."""
        lists.sums[:], lists.indices[:] = self.sums.cpu().numpy(), self.rows.cpu().numpy()
        proved &= self.proved.cpu().numpy()

    def _limits(self, which: Any) -> Tensor:
        """The largest score that a row as near as the last of the list may have."""
        least, shares = LOST_SQUARE * self.given.shape[1], self.shadow.shares[which]
        farthest = (self.sums[which, -1] + least) * self._gains[which] / (1 - self._error)
        return rounded_up(farthest - shares + 2.0**-50 * (farthest + shares.abs()))

    @property
    def n_listed(self) -> int:
        """How many rows a list has."""
        return int(self.rows.shape[1])

    @property
    def n_proposed(self) -> int:
        """How many rows of a tile are proposed to a query that has no limit yet."""
        return max(FEWEST_PROPOSED, 2 * self.n_listed + 2)

    @property
    def waiting(self) -> Tensor:
        """Who has no limit yet: its list is not full, or it has no bound."""
        return self.limits >= NO_LIMIT

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
        k = self.n_listed
        self.sums[which], self.rows[which] = sums[:, :k], rows.gather(1, order)[:, :k]
        self.limits[which] = self._limits(which)

    def keep_pairs(self, lines: Tensor, sums: Tensor, rows: Tensor, most: int) -> None:
        """The same for pairs of a query and a row, in any order and number; lists of ``most`` rows at a time."""
        torch, k = import_torch(), self.n_listed
        last, number = self.sums[lines, -1], self.rows[lines, -1]
        nearer = (sums < last) | ((sums == last) & (rows < number))
        pairs = lines[nearer], sums[nearer], rows[nearer]
        if not len(pairs[0]):
            return
        for key in (2, 1, 0):
            order = pairs[key].argsort(stable=True)
            pairs = pairs[0][order], pairs[1][order], pairs[2][order]
        which, line, counts = pairs[0].unique_consecutive(return_inverse=True, return_counts=True)
        ends = counts.cumsum(0)
        place = torch.arange(len(line), device=line.device) - (ends - counts)[line]
        for part in cut(len(which), most // k):
            some = slice(int(ends[part.start] - counts[part.start]), int(ends[part.stop - 1]))
            first = place[some] < k
            at, places = line[some][first] - part.start, place[some][first]
            listed = torch.full((part.stop - part.start, k), np.inf, dtype=sums.dtype, device=line.device)
            numbers = torch.full_like(listed, NO_ROW, dtype=rows.dtype)
            listed[at, places], numbers[at, places] = pairs[1][some][first], pairs[2][some][first]
            self.keep(which[part], listed, numbers)
