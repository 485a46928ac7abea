"""The searched rows: in memory or in a file, looked at in blocks for which there is room."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from nearboost.base.device import Tensor, is_tensor, place_tensor
from nearboost.base.memory import free_memory
from nearboost.base.rows import (
    check_matrix,
    check_tensor_rows,
    is_readable_map,
    refuse_row,
    row_source,
)
from nearboost.base.threads import count_useful_threads, map_in_threads, map_parts
from nearboost.base.validation import check_map, first_not_finite, refuse_path, refuse_texts
from nearboost.neighbors import lanes
from nearboost.neighbors.ruler import Block, MeasuredQueries, Ruler, largest_values, row_norms

LEAST_ROOM = 2.0**24  # bytes to work in, however little memory is given
ROWS_PER_BLOCK = 1024
MOST_ROWS_PER_BLOCK = 8192  # of those that are read anew for each part of the queries
RUN = 16  # rows at least that are read together: single ones would touch every page of a file for every block
RUN_BYTES = 2**16
LOOK_BYTES = 2**25  # of rows, when all are looked at
# Rows smaller than this share of a huge row: what is added up of them, in units of that row, would vanish.
VANISHING = {"l2": 2.0**-500, "l1": 2.0**-960, "cosine": 0.0}


class MeasuredRows(Ruler):
    """The searched rows: how they are measured, and the shadow that bounds their distances.

    What a search returns is measured here, whichever method proposed it: one definition of distance and ties.
    Where shadows of all rows, and rows that are not in memory as they are measured, would take more than half of
    ``memory``, blocks of them are made anew for each part of the queries.
    """

    def __init__(
        self,
        X: NDArray[Any],
        metric: str,
        n_jobs: int | None = None,
        verbose: int = 0,
        memory: float | None = None,
    ) -> None:
        check_map(X)
        self.X = X
        self.n_rows, self.n_features = X.shape
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.memory = memory
        self.source = row_source(X)
        # Others are copied before they are measured: mapped files, and numbers that kernels do not take.
        self.stay = self.source.lie_in_memory
        lowest, highest = self._look(metric)
        numbers = np.arange(0, len(X), self._sampled_every())
        super().__init__(metric, lowest, highest, self.source.take(numbers))
        if self.unit > 1.0:
            sizes = map_parts(lambda part: largest_values(self.source.part(part)), self.source.shape, n_jobs)
            refuse_vanishing(np.concatenate(sizes), metric, self.unit)

    def _look(self, metric: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The limits of all features; norms are kept for the cosine."""
        self.norms = np.empty(self.n_rows if metric == "cosine" else 0)
        lowest, highest = np.full(self.n_features, np.inf), np.full(self.n_features, -np.inf)
        merging = Lock()

        def look(part: slice) -> None:
            rows = self.source.part(part)
            if metric == "cosine":
                self.norms[part] = row_norms(rows, part.start)
            low, high = rows.min(axis=0), rows.max(axis=0)
            with merging:
                np.minimum(lowest, low, out=lowest)
                np.maximum(highest, high, out=highest)

        map_parts(look, self.source.shape, self.n_jobs)
        return lowest, highest

    def _sampled_every(self) -> int:
        """Every how many rows one is drawn to find the middle; in memory about a thousand."""
        most = self.fitting(1 / 32, 8 * self.n_features, ROWS_PER_BLOCK)
        return -(-self.n_rows // (ROWS_PER_BLOCK if self.keeps_blocks else max(RUN, most)))

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the shadow, which is rebuilt when needed, and what suits this machine alone."""
        made = ("blocks", "room", "source")
        return {name: value for name, value in self.__dict__.items() if name not in made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.source = row_source(self.X)

    @cached_property
    def room(self) -> float:
        """Bytes to work in."""
        return max(LEAST_ROOM, free_memory() / 2 if self.memory is None else float(self.memory))

    @property
    def keeps_blocks(self) -> bool:
        """Whether there is room for all blocks at once."""
        return self.fitting(1 / 2, self.row_bytes, self.n_rows) == self.n_rows

    def fitting(self, share: float, n_bytes: int, most: int) -> int:
        """How many things of so many bytes there is room for in a share of the memory: from 1 to ``most``."""
        if most * n_bytes <= share * LEAST_ROOM:
            return most  # without a look at what is free, which takes as long as a search of a few rows
        return max(1, min(most, int(share * self.room / n_bytes)))

    @property
    def query_bytes(self) -> int:
        """What a query takes while it is searched for: as it is measured, and its shadow."""
        return self.n_features * (8 + 4)

    def queries_at_once(self, n_queries: int) -> int:
        """For how many queries all rows are read at a time, where blocks are not kept."""
        return self.fitting(1 / 2, self.query_bytes, n_queries)

    @property
    def row_bytes(self) -> int:
        """What a row takes in a block."""
        return self.n_features * (4 + (0 if self.stay else self.source.dtype.itemsize))

    def placed_rows(self, rows: slice) -> NDArray[Any]:
        """Some rows, in the ruler's unit."""
        return self.placed(self.source.part(rows), self.norms[rows])

    def norms_of(self, numbers: NDArray[np.int32]) -> NDArray[np.float64]:
        """Norms of some rows for the cosine, nothing for other metrics."""
        return self.norms[numbers] if self.metric == "cosine" else self.norms

    @cached_property
    def blocks(self) -> list[Block]:
        """All rows in blocks, where these are kept."""
        return self._make_blocks(0)

    def blocks_from(self, start: int) -> Iterable[Block]:
        """The rows from ``start`` on in blocks, which are read one after the other unless they are kept."""
        if not self.keeps_blocks:
            return map(self._read_block, self._numbers(start))
        return self._make_blocks(start) if start else self.blocks

    @property
    def rows_at_once(self) -> int:
        """The most rows of a block."""
        if self.keeps_blocks:
            return ROWS_PER_BLOCK
        return self.fitting(1 / 4, self.row_bytes, MOST_ROWS_PER_BLOCK)

    def count_blocks(self, start: int = 0) -> int:
        """How many blocks the rows from ``start`` on have."""
        return -(-(self.n_rows - start) // self.rows_at_once)

    def _make_blocks(self, start: int) -> list[Block]:
        n_jobs = count_useful_threads(self.n_jobs, (self.n_rows - start) * self.n_features)
        return map_in_threads(self._make_block, self._numbers(start), n_jobs)

    def _numbers(self, start: int) -> Iterator[NDArray[np.int32]]:
        """The rows of each block: runs from all over. In sorted data a block then is like any other.

        So the k-th distance falls fast.
        """
        n_blocks, n_rows = self.count_blocks(start), self.n_rows
        run = min(max(RUN, RUN_BYTES // max(1, self.row_bytes)), max(RUN, self.rows_at_once // RUN))
        run = min(run, -(-(n_rows - start) // n_blocks))
        for first in range(n_blocks):
            runs = np.arange(start + first * run, n_rows, n_blocks * run)
            numbers = (runs[:, np.newaxis] + np.arange(run)).ravel()
            yield numbers[numbers < n_rows].astype(np.int32)

    def _make_block(self, numbers: NDArray[np.int32], n_jobs: int | None = 1) -> Block:
        made = self.block(self.source.take(numbers), numbers, self.norms_of(numbers), n_jobs)
        return made._replace(rows=self.X, norms=self.norms, apart=False) if self.stay else made

    def _read_block(self, numbers: NDArray[np.int32]) -> Block:
        return self._make_block(numbers, count_useful_threads(self.n_jobs, len(numbers) * self.n_features))

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

        if candidates.max(initial=-1) >= self.n_rows:
            raise ValueError(f"Row {candidates.max()} was proposed of {self.n_rows}; the back end is broken.")
        for places, numbers, rows, norms in self._listed(candidates):
            kernels.offer_listed(
                places, numbers, rows, norms, queries.measured, queries.units, self.code,
                groups, queries.groups, distances, indices,
            )  # fmt: skip

    def _listed(self, candidates: NDArray[np.integer]) -> Iterator[tuple[NDArray[Any], ...]]:
        """Listed rows, as many at a time as there is room for: places, numbers, rows and norms of these."""
        if self.stay:
            yield candidates, np.empty(0, dtype=np.int32), self.X, self.norms
            return
        listed = np.unique(candidates[candidates >= 0]).astype(np.int32)
        step = self.source.fitting(self.room / 4)
        for start in range(0, len(listed), step):
            numbers = listed[start : start + step]
            places = np.minimum(np.searchsorted(numbers, candidates), len(numbers) - 1)
            places[numbers[places] != candidates] = -1
            yield places, numbers, self.source.take(numbers), self.norms_of(numbers)


class TensorRows(Ruler):
    """Rows of a tensor: how they are measured. They stay on their device, and only a sample of them leaves it."""

    def __init__(self, X: Tensor, metric: str, verbose: int = 0, memory: float | None = None) -> None:
        self.X = X
        self.n_rows, self.n_features = X.shape
        self.verbose = verbose
        self.memory = memory
        self.source = row_source(X)
        blocks = list(self._blocks(LOOK_BYTES if memory is None else min(LOOK_BYTES, memory / 16)))
        self.norms = np.empty(0)
        if metric == "cosine":
            self.norms = np.concatenate([lanes.row_norms(rows, start) for start, rows in blocks])
        limits = (X.amin(0), X.amax(0))
        lowest, highest = (limit.double().cpu().numpy() for limit in limits)
        numbers = np.arange(0, self.n_rows, -(-self.n_rows // ROWS_PER_BLOCK))
        super().__init__(metric, lowest, highest, self.source.take(numbers))
        if self.unit > 1.0:
            refuse_vanishing(np.concatenate([lanes.largest_values(rows) for _, rows in blocks]), metric, self.unit)

    def _blocks(self, room: float) -> Iterator[tuple[int, Tensor]]:
        """Views of some rows at a time."""
        step = self.source.fitting(room)
        for start in range(0, self.n_rows, step):
            yield start, self.X[start : start + step]


def refuse_vanishing(sizes: NDArray[np.float64], metric: str, unit: float) -> None:
    """Refuse rows so small beside a huge one that no distance between them could be told from zero."""
    small = np.flatnonzero((sizes > 0) & (sizes < VANISHING[metric] * unit))
    if len(small):
        huge = sizes.argmax()
        raise ValueError(
            f"Row {huge} holds {sizes[huge]:.3g}, beside which distances between rows such as {small[0]}, of "
            f"values up to {sizes[small[0]]:.3g}, vanish in float64; correct that value or leave it out."
        )


def as_rows(X: Any, method: str = "exact", n_jobs: int | None = 1) -> Any:
    """A matrix of finite numbers: C-contiguous float16, float32 or float64, or a mapped file as it is.

    Or a tensor, where it lies on the device that a method works on.
    """
    refuse_path(X)
    check_map(X)
    X = place_tensor(X, method)
    if is_tensor(X):
        return check_tensor_rows(X)
    if issparse(X):
        raise ValueError("Rows are sparse, and distances are measured between dense ones; give X.toarray().")
    X = np.asarray(X)
    if X.dtype.kind in "OUS":
        refuse_texts(X)
    check_matrix(X)
    if is_readable_map(X):
        return X  # what is not finite is found as it is read
    if X.dtype.kind == "c":
        raise ValueError("Rows hold complex numbers, which have no order; give real and imaginary parts apart.")
    kept = X.dtype in (np.float16, np.float32, np.float64)
    rows = np.ascontiguousarray(X, dtype=X.dtype if kept else np.float64)

    def check(part: slice) -> None:
        place = first_not_finite(rows[part])
        if place is not None:
            refuse_row(part.start + place, rows[part.start + place])

    map_parts(check, rows.shape, n_jobs)
    return rows
