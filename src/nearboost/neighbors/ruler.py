"""How rows are measured, and the float32 bounds that rule most of them out.

The distance is the float64 sum over features of (x - q)² or |x - q| on the original values (on normalised
rows for cosine). Most rows are never measured: a float32 shadow of the data, moved to its middle and scaled
by a power of two, gives through one matrix product a lower bound of each distance with every rounding
accounted for. L1 has no product; its shadow lies on a grid of 16-bit integers, which add up fast.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearboost.base.threads import map_in_threads
from nearboost.neighbors.grid import choose_grid, padded, to_grid

METRICS = {"l2": 0, "cosine": 1, "l1": 2}  # the codes of the kernels

ROUNDING = 2.0**-24  # relative, of float32
UNDERFLOW = 2.0**-120  # more than a float32 cast or product of numbers below 1 can lose
FAR = 2.0**40  # a query farther away than this many radii of the data gets no bounds
GRID_ROUNDING = 2.0**-40  # more than float64 loses on a coordinate of the L1 grid, of row and query together
NO_ROW = np.iinfo(np.int32).max
ENTRIES_AT_ONCE = 2**19  # of rows in float64, on their way to a shadow: they stay in the cache


@dataclass(frozen=True)
class MeasuredQueries:
    """Some queries as the kernels want them.

    A searched row is divided by the query's ``units`` before it is measured (l1 and l2), a power of two
    that is 1 unless squares would overflow or vanish. ``bases`` and ``gains`` turn scores into bounds.
    """

    measured: NDArray[np.float64]
    units: NDArray[np.float64]
    groups: NDArray[np.int32]
    shadow: NDArray[Any]
    gains: NDArray[np.float64]
    bases: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.units)

    def __getitem__(self, piece: slice) -> "MeasuredQueries":
        """Some of the queries, as views."""
        return MeasuredQueries(*(getattr(self, name)[piece] for name in self.__dataclass_fields__))

    def take_over(self, others: "MeasuredQueries") -> None:
        """Put others, as many, in their places."""
        for name in self.__dataclass_fields__:
            getattr(self, name)[:] = getattr(others, name)


class Block(NamedTuple):
    """Some searched rows as the kernels want them.

    ``rows`` are these alone and ``norms`` theirs (for cosine), where they stand ``apart``; otherwise both are of
    all rows. ``shadow`` is feature by row; ``offsets`` are the rows' share of the bound.
    """

    rows: NDArray[Any]
    norms: NDArray[np.float64]
    numbers: NDArray[np.int32]
    apart: bool
    shadow: NDArray[Any]
    offsets: NDArray[np.float32]


class Ruler:
    """One definition of distance, and of its bounds, for rows that lie within some limits.

    Parameters
    ----------
    metric : "l2", "cosine" or "l1"
    lowest, highest : the least and the largest value of each feature, over all rows
    sample : some of the rows, best from all over
    """

    def __init__(
        self, metric: str, lowest: NDArray[np.float64], highest: NDArray[np.float64], sample: NDArray[Any]
    ) -> None:
        self.metric = metric
        self.code = METRICS[metric]
        self.largest = float(np.maximum(-lowest, highest).max())
        self.unit = 1.0 if metric == "cosine" else float(powers_of_two(self.largest))
        # Any centre is right; one near the middle makes the norms small and the bounds tight.
        placed = self.placed(sample, row_norms(sample) if metric == "cosine" else np.empty(0))
        self.centre = placed.mean(axis=0, dtype=np.float64)
        self.scale = 1.0
        if metric == "l1":
            self.scale = choose_grid(placed - self.centre)
        elif metric == "l2":  # normalised rows need no scale
            reach = np.maximum(highest / self.unit - self.centre, self.centre - lowest / self.unit)
            self.scale = np.ldexp(1.0, -np.frexp(np.linalg.norm(reach))[1])
        roundings = (len(lowest) + 16) * ROUNDING
        # Of a float32 sum over the features in any order, and of all that is rounded around it.
        self.error = roundings / (1 - roundings) if roundings < 0.25 else np.inf

    def placed(self, rows: NDArray[Any], norms: NDArray[np.float64]) -> NDArray[Any]:
        """Rows of these norms (for cosine), in the ruler's unit."""
        if self.metric != "cosine" and self.unit == 1.0:
            return rows
        divisor = norms[:, np.newaxis] if self.metric == "cosine" else self.unit
        return np.divide(rows, divisor, dtype=np.float64)

    def centred(self, placed: NDArray[Any]) -> NDArray[np.float64]:
        centred = placed - self.centre
        with np.errstate(over="ignore"):  # what overflows is far
            centred *= self.scale
        return centred

    def on_grid(self, placed: NDArray[Any]) -> tuple[NDArray[np.int16], NDArray[np.float64]]:
        """Where rows lie on the L1 grid, and how far each moved to get there."""
        points, moves = to_grid(self.centred(placed))
        return padded(points.astype(np.int16), 1, 8), moves

    def block(
        self, rows: NDArray[Any], numbers: NDArray[np.int32], norms: NDArray[np.float64], n_jobs: int | None = 1
    ) -> Block:
        """Rows of these numbers and norms (for cosine), with their shadow."""
        n_rows, width = rows.shape
        is_l1 = self.metric == "l1"
        shadow = self._room_for_shadow(n_rows)
        offsets = np.empty(n_rows, dtype=np.float32)

        def shade(start: int) -> None:
            part = slice(start, start + size)
            placed = self.placed(rows[part], norms[part])
            if is_l1:
                # Moving to the rim brings two points nearer or leaves them; moving to the grid is accounted for.
                shadow[part], moves = self.on_grid(placed)
                offsets[part] = -moves * (1 + 2 * ROUNDING)
            else:
                shadow[part] = self.centred(placed)
                # |x - q|²/2 = |x|²/2 + |q|²/2 - xq, where xq is wrong by at most error·(|x|² + |q|²)/2.
                offsets[part] = half_squares(shadow[part]) * (1 - min(self.error, 1.0))

        size = max(1, ENTRIES_AT_ONCE // max(1, width))
        map_in_threads(shade, range(0, n_rows, size), n_jobs)
        return Block(rows, norms, numbers, True, np.ascontiguousarray(shadow.T) if is_l1 else shadow.T, offsets)

    def _room_for_shadow(self, n_rows: int) -> NDArray[Any]:
        width = len(self.centre)
        if self.metric == "l1":
            return np.empty((n_rows, width + -width % 8), dtype=np.int16)
        return np.empty((n_rows, width), dtype=np.float32)

    def room_for_queries(self, n_queries: int) -> MeasuredQueries:
        """Queries to be filled in."""
        measured, groups = np.empty((n_queries, len(self.centre))), np.empty(n_queries, dtype=np.int32)
        numbers = (np.empty(n_queries) for _ in range(3))
        return MeasuredQueries(measured, next(numbers), groups, self._room_for_shadow(n_queries), *numbers)

    def queries(self, Q: NDArray[Any], groups: NDArray[np.int32], first: int = 0) -> MeasuredQueries:
        """A piece of the queries, the first of which is query number ``first``."""
        units = np.ones(len(Q))
        if self.metric == "cosine":
            measured = placed = np.divide(Q, row_norms(Q, first)[:, np.newaxis], dtype=np.float64)
        else:
            units = powers_of_two(np.maximum(largest_values(Q), self.largest))
            measured = placed = np.divide(Q, units[:, np.newaxis], dtype=np.float64)
        if (units != self.unit).any():
            with np.errstate(over="ignore"):  # what overflows is far
                placed = np.divide(Q, self.unit, dtype=np.float64)
        return MeasuredQueries(measured, units, groups, *self._bounds(placed, units))

    def _bounds(
        self, placed: NDArray[np.float64], units: NDArray[np.float64]
    ) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64]]:
        """Shadow, gains and bases of queries ``placed`` among the measured rows."""
        with np.errstate(over="ignore", invalid="ignore"):
            radii = np.linalg.norm(placed - self.centre, axis=1) * self.scale
            gains = self.scale * (units / self.unit)
        # Far from the rows the squares of a query drown all differences, and float32 holds no useful bound.
        far = ~(radii < FAR) | (self.error > 0.5)
        if far.any():
            placed = np.where(far[:, np.newaxis], self.centre, placed)
            gains[far] = 1.0
        shadow: NDArray[Any]
        if self.metric == "l1":
            shadow, moves = self.on_grid(placed)
            gains = gains / (1 - min(self.error, 0.5))
            bases = -moves - placed.shape[1] * GRID_ROUNDING
        else:
            shadow = self.centred(placed).astype(np.float32)
            gains = gains**2 / 2
            lost = placed.shape[1] * UNDERFLOW * (1 + radii)
            bases = half_squares(shadow) * (1 - min(self.error, 0.5)) - lost
        bases[far] = -np.inf  # no bound: every row is measured
        return shadow, gains, bases

    def to_distances(self, sums: NDArray[np.float64], units: NDArray[np.float64]) -> NDArray[np.float64]:
        """Distances from the sums that were measured."""
        if self.metric == "cosine":
            return sums / 2  # |x - q|² = 2 - 2 cos for normalised rows
        with np.errstate(over="ignore"):  # a distance may be more than float64 can hold
            return (np.sqrt(sums) if self.metric == "l2" else sums) * units[:, np.newaxis]


def row_norms(X: NDArray[Any], first: int = 0) -> NDArray[np.float64]:
    """Euclidean norms; a row of zeros has no direction and is refused, counting from ``first``."""
    from nearboost.kernels import search as kernels

    norms = np.empty(len(X))
    kernels.euclidean_norms(X, powers_of_two(largest_values(X)), norms)
    refuse_zero_norms(norms, first)
    return norms


def refuse_zero_norms(norms: NDArray[np.float64], first: int = 0) -> None:
    """Refuse rows without a direction."""
    if not norms.all():
        raise ValueError(
            f"Row {first + np.flatnonzero(norms == 0)[0]} is all zeros and has no direction; "
            "drop it or use metric='l2' instead of 'cosine'."
        )


def largest_values(X: NDArray[Any]) -> NDArray[np.float64]:
    """The largest absolute value of each row."""
    return np.maximum(X.max(axis=1), -X.min(axis=1)).astype(np.float64)


def powers_of_two(sizes: Any) -> NDArray[np.float64]:
    """1 for sizes whose squares are ordinary numbers, else a power of two near them."""
    ordinary = (sizes == 0) | ((sizes >= 2.0**-200) & (sizes <= 2.0**200))
    if np.all(ordinary):  # as nearly always; the rest would be a quarter of the time of a single query
        return np.ones(np.shape(sizes))
    return np.where(ordinary, 1.0, np.ldexp(1.0, np.clip(np.frexp(sizes)[1] - 1, -1021, 1023)))


def half_squares(rows: NDArray[np.float32]) -> NDArray[np.float64]:
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64) / 2
