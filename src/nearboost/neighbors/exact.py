"""Exact search: float32 bounds rule rows out, float64 measures the rest.

The distance is the float64 sum over features of (x - q)² or |x - q| on the original values (on normalised
rows for cosine). Most rows are never measured: a float32 shadow of the data, moved to its middle and scaled
by a power of two, gives through one matrix product a lower bound of each distance with every rounding
accounted for. L1 has no product; its shadow lies on a grid of 16-bit integers, which add up fast. A row
whose bound exceeds the k-th distance so far cannot be a neighbour; any other is measured. So the answer
does not depend on blocks, threads or the matrix library.
"""

import contextlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nearboost.base.progress import progress_bar
from nearboost.base.rows import RowSource
from nearboost.base.threads import WORTH_THREADS, count_useful_threads, map_in_threads, one_matrix_thread
from nearboost.base.validation import check_map, find_map
from nearboost.neighbors.grid import choose_grid, padded, to_grid

METRICS = {"l2": 0, "cosine": 1, "l1": 2}  # the codes of the kernels

QUERIES_PER_PIECE = 1024
ROWS_PER_BLOCK = 1024

ROUNDING = 2.0**-24  # relative, of float32
UNDERFLOW = 2.0**-120  # more than a float32 cast or product of numbers below 1 can lose
FAR = 2.0**40  # a query farther away than this many radii of the data gets no bounds
GRID_ROUNDING = 2.0**-40  # more than float64 loses on a coordinate of the L1 grid, of row and query together
NO_ROW = np.iinfo(np.int32).max
# Rows smaller than this share of a huge row: what is added up of them, in units of that row, would vanish.
VANISHING = {"l2": 2.0**-500, "l1": 2.0**-960, "cosine": 0.0}


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


class MeasuredRows:
    """The searched rows: how they are measured, and the shadow that bounds their distances.

    What a search returns is measured here, whichever method proposed it: one definition of distance and ties.
    """

    def __init__(self, X: NDArray[Any], metric: str, n_jobs: int | None = None, verbose: int = 0) -> None:
        check_map(X)
        self.X = X
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.metric = metric
        self.code = METRICS[metric]
        self.norms = row_norms(X) if metric == "cosine" else np.empty(0)
        lowest, highest = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
        self.largest = np.maximum(-lowest, highest).max()
        self.unit = 1.0 if metric == "cosine" else float(powers_of_two(self.largest))
        if self.unit > 1.0:
            refuse_vanishing(X, metric, self.unit)
        self.step = count_blocks(len(X))
        # Any centre is right; one near the middle makes the norms small and the bounds tight.
        sample = self.measured(slice(None, None, self.step))
        self.centre = sample.mean(axis=0, dtype=np.float64)
        self.scale = 1.0
        if metric == "l1":
            self.scale = choose_grid(sample - self.centre)
        elif metric == "l2":  # normalised rows need no scale
            reach = np.maximum(highest / self.unit - self.centre, self.centre - lowest / self.unit)
            self.scale = np.ldexp(1.0, -np.frexp(np.linalg.norm(reach))[1])
        roundings = (X.shape[1] + 16) * ROUNDING
        # Of a float32 sum over the features in any order, and of all that is rounded around it.
        self.error = roundings / (1 - roundings) if roundings < 0.25 else np.inf

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the shadow, which is rebuilt when needed."""
        return {name: value for name, value in self.__dict__.items() if name != "blocks"}

    def measured(self, rows: slice) -> NDArray[Any]:
        check_map(self.X)
        if self.metric != "cosine" and self.unit == 1.0:
            return self.X[rows]
        divisor = self.norms[rows, np.newaxis] if self.metric == "cosine" else self.unit
        return np.divide(self.X[rows], divisor, dtype=np.float64)

    def centred(self, measured: NDArray[Any]) -> NDArray[np.float64]:
        centred = measured - self.centre
        with np.errstate(over="ignore"):  # what overflows is far
            centred *= self.scale
        return centred

    def on_grid(self, measured: NDArray[Any]) -> tuple[NDArray[np.int16], NDArray[np.float64]]:
        """Where rows lie on the L1 grid, and how far each moved to get there."""
        points, moves = to_grid(self.centred(measured))
        return padded(points.astype(np.int16), 1, 8), moves

    @cached_property
    def blocks(self) -> list[tuple[NDArray[Any], NDArray[np.float32]]]:
        """The shadow, feature by row, and the rows' share of the bound.

        Block b holds the rows b, b + step, ...: in sorted data the first block then is like all others, and
        the k-th distance falls fast.
        """
        return self.blocks_from(0)

    def blocks_from(self, start: int) -> list[tuple[NDArray[Any], NDArray[np.float32]]]:
        """The same of the rows from ``start`` on."""
        step = count_blocks(len(self.X) - start)
        parts = [slice(first, None, step) for first in range(start, start + step)]
        return map_in_threads(self._block, parts, count_useful_threads(self.n_jobs, self.X[start:].size))

    def _block(self, rows: slice) -> tuple[NDArray[Any], NDArray[np.float32]]:
        if self.metric == "l1":
            # Moving to the rim brings two points nearer or leaves them; moving to the grid is accounted for.
            points, moves = self.on_grid(self.measured(rows))
            return np.ascontiguousarray(points.T), (-moves * (1 + 2 * ROUNDING)).astype(np.float32)
        shadow = self.centred(self.measured(rows)).astype(np.float32)
        # |x - q|²/2 = |x|²/2 + |q|²/2 - xq, where xq is wrong by at most error·(|x|² + |q|²)/2.
        return shadow.T, (half_squares(shadow) * (1 - min(self.error, 1.0))).astype(np.float32)

    def queries(self, Q: NDArray[Any], groups: NDArray[np.int32], first: int = 0) -> MeasuredQueries:
        """A piece of the queries, the first of which is query number ``first``."""
        check_map(Q)
        check_map(self.X)  # next, queries are measured against these
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

    def keep_nearest(
        self,
        candidates: NDArray[np.integer],
        queries: MeasuredQueries,
        groups: NDArray[np.int32],
        indices: NDArray[np.int32],
        distances: NDArray[np.float64],
    ) -> None:
        """Measure a list of rows for each query (-1 stands for none) and keep the nearest that are allowed."""
        from nearboost.kernels import search as kernels

        check_map(self.X)
        if candidates.max(initial=-1) >= len(self.X):
            raise ValueError(f"Row {candidates.max()} was proposed of {len(self.X)}; the back end is broken.")
        kernels.offer_listed(
            candidates, self.X, self.norms, queries.measured, queries.units, self.code,
            groups, queries.groups, distances, indices,
        )  # fmt: skip

    def to_distances(self, sums: NDArray[np.float64], units: NDArray[np.float64]) -> NDArray[np.float64]:
        """Distances from the sums that were measured."""
        if self.metric == "cosine":
            return sums / 2  # |x - q|² = 2 - 2 cos for normalised rows
        with np.errstate(over="ignore"):  # a distance may be more than float64 can hold
            return (np.sqrt(sums) if self.metric == "l2" else sums) * units[:, np.newaxis]


def count_blocks(n_rows: int) -> int:
    return -(-n_rows // ROWS_PER_BLOCK)


def row_norms(X: NDArray[Any], first: int = 0) -> NDArray[np.float64]:
    """Euclidean norms; a row of zeros has no direction and is refused, counting from ``first``."""
    from nearboost.kernels import search as kernels

    norms = np.empty(len(X))
    kernels.euclidean_norms(X, powers_of_two(largest_values(X)), norms)
    if not norms.all():
        raise ValueError(
            f"Row {first + np.flatnonzero(norms == 0)[0]} is all zeros and has no direction; "
            "drop it or use metric='l2' instead of 'cosine'."
        )
    return norms


def refuse_vanishing(X: NDArray[Any], metric: str, unit: float) -> None:
    """Refuse rows so small beside a huge one that no distance between them could be told from zero."""
    sizes = largest_values(X)
    small = np.flatnonzero((sizes > 0) & (sizes < VANISHING[metric] * unit))
    if len(small):
        huge = sizes.argmax()
        raise ValueError(
            f"Row {huge} holds {sizes[huge]:.3g}, beside which distances between rows such as {small[0]}, of "
            f"values up to {sizes[small[0]]:.3g}, vanish in float64; correct that value or leave it out."
        )


def largest_values(X: NDArray[Any]) -> NDArray[np.float64]:
    """The largest absolute value of each row."""
    return np.maximum(X.max(axis=1), -X.min(axis=1)).astype(np.float64)


def powers_of_two(sizes: Any) -> NDArray[np.float64]:
    """1 for sizes whose squares are ordinary numbers, else a power of two near them."""
    ordinary = (sizes == 0) | ((sizes >= 2.0**-200) & (sizes <= 2.0**200))
    return np.where(ordinary, 1.0, np.ldexp(1.0, np.clip(np.frexp(sizes)[1] - 1, -1021, 1023)))


def half_squares(rows: NDArray[np.float32]) -> NDArray[np.float64]:
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64) / 2


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
        rows, n_queries = self.rows, Q.n_rows
        indices, distances = empty_lists(n_queries, k)
        blocks = rows.blocks_from(start) if start else rows.blocks

        def search_piece(begin: int) -> None:
            piece = slice(begin, min(begin + size, n_queries))
            queries = rows.queries(Q.part(piece), query_groups[piece], begin)
            if known.size:
                rows.keep_nearest(known[piece], queries, groups, indices[piece], distances[piece])
            self._search_blocks(blocks, start, queries, groups, indices[piece], distances[piece])
            distances[piece] = rows.to_distances(distances[piece], queries.units)

        n_multiplications = n_queries * rows.X[start:].size
        threads = count_useful_threads(rows.n_jobs, n_multiplications)
        size = max(1, min(QUERIES_PER_PIECE, -(-n_queries // threads)))
        pieces = range(0, n_queries, size)
        with (
            one_matrix_thread() if n_multiplications >= WORTH_THREADS else contextlib.nullcontext(),
            progress_bar("Searching neighbours", len(pieces), rows.verbose) as advance,
        ):
            map_in_threads(search_piece, pieces, threads, advance)
        return indices, distances

    def _search_blocks(
        self,
        blocks: list[tuple[NDArray[Any], NDArray[np.float32]]],
        start: int,
        queries: MeasuredQueries,
        groups: NDArray[np.int32],
        indices: NDArray[np.int32],
        distances: NDArray[np.float64],
    ) -> None:
        """Offer the rows from ``start`` on, block by block, to lists that hold the sums measured so far."""
        from nearboost.kernels import search as kernels

        rows, n_queries, mapped = self.rows, len(queries.units), find_map(self.rows.X)
        shadow = padded(queries.shadow, 0, 2) if rows.metric == "l1" else queries.shadow
        # Zeros, because matrix libraries may compute with what they overwrite, and chance bits may be signalling.
        buffer = np.zeros(len(shadow) * blocks[0][1].size, dtype=np.float32)
        for first, (block, offsets) in enumerate(blocks, start):
            check_map(mapped)
            scores = buffer[: len(shadow) * offsets.size].reshape(len(shadow), offsets.size)
            if rows.metric == "l1":
                kernels.negative_l1(shadow, block, scores)
            else:
                np.dot(shadow, block, out=scores)
            kernels.offer_near(
                scores[:n_queries], offsets, first, len(blocks), queries.gains, queries.bases,
                rows.X, rows.norms, queries.measured, queries.units, rows.code,
                groups, queries.groups, distances, indices,
            )  # fmt: skip


def empty_lists(n_queries: int, k: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Lists to keep the nearest in: no row yet, at an infinite distance."""
    return np.full((n_queries, k), NO_ROW, dtype=np.int32), np.full((n_queries, k), np.inf)
