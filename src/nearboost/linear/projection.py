"""All rows in their coordinates: kept where they fit in memory, otherwise recomputed in each pass."""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from nearboost.base.device import Tensor
from nearboost.base.progress import progress_bar
from nearboost.base.rows import Block
from nearboost.base.threads import map_in_threads
from nearboost.linear import tensors
from nearboost.linear.coordinates import Coordinates, Eigenvectors, WithRemainder
from nearboost.linear.rows import Problem

ROWS_AT_ONCE = 2048
LEAST_ROOM = 2.0**24  # bytes to work in, however little memory there is for what is kept
CHUNK, POOL = 16, 16_384  # rows read in one go, and rows that are mixed before they are used


@dataclass(frozen=True)
class ShuffledRows:
    """Rows in the order of a pass: row ``rows[i]`` of all has its coordinates in ``Z[places[i]]``."""

    Z: Block | Tensor
    places: NDArray[np.int64]
    rows: NDArray[np.int64]

    def split(self, n_rows: int) -> "list[ShuffledRows]":
        """Parts of so many rows, in order."""
        parts = [slice(start, start + n_rows) for start in range(0, len(self.rows), n_rows)]
        return [replace(self, places=self.places[part], rows=self.rows[part]) for part in parts]


def narrow(Z: Block, width: int) -> Block:
    """The first coordinates of rows."""
    return Z if Z.shape[1] == width else Z[:, :width]


class Projection:
    """The rows of a problem in their coordinates, in a new order for each pass.

    Kept rows are drawn one by one. Otherwise a pass goes through the file in chunks of neighbouring rows, drawn
    from all over it; a pool of 1,024 of them is projected and mixed row by row. A file sorted by class is thereby
    mixed nearly as well as by drawing single rows, which would read a page or more for each. Where rows have very
    many coordinates the pool is smaller, so that it takes no more than a quarter of ``memory``.
    """

    def __init__(
        self,
        problem: Problem,
        coordinates: Coordinates,
        memory: float,
        n_jobs: int | None,
        verbose: int = 0,
        device: Any = None,
    ) -> None:
        self.problem, self.coordinates, self.n_jobs, self.device = problem, coordinates, n_jobs, device
        self.n_coordinates = len(coordinates.second_moments)
        row_bytes = coordinates.numbers(problem.rows) * problem.rows.dtype.itemsize
        room = max(memory, LEAST_ROOM) / row_bytes  # in rows
        self.pool = int(np.clip(room / 4, 1, POOL))
        self.at_once = int(np.clip(room / 16, 1, ROWS_AT_ONCE))  # in each thread
        if not issparse(problem.rows.X):  # what is read may be far longer than its coordinates
            self.at_once = min(self.at_once, problem.rows.fitting(max(memory, LEAST_ROOM) / 16))
        self.kept = problem.rows.projected(coordinates, problem.ids) if device is None else None
        if self.kept is None and len(problem.ids) * row_bytes <= memory:
            self.kept = self._placed(problem.ids, verbose)

    def first(self, rank: int) -> "Projection":
        """The leading coordinates of the rows that are kept."""
        leading = copy(self)
        leading.coordinates = self.coordinates.first(rank)
        leading.n_coordinates = len(leading.coordinates.second_moments)
        return leading

    def _placed(self, ids: NDArray[np.int64], verbose: int = 0) -> Block | Tensor:
        """Coordinates of some rows, given in rising order, where steps are taken."""
        if self.device is None:
            return self.project(ids, verbose)
        assert isinstance(self.coordinates, Eigenvectors)
        return tensors.project(self.problem.rows, self.coordinates, ids, self.at_once, self.device)

    def project(self, ids: NDArray[np.int64], verbose: int = 0) -> Block:
        """Coordinates of some rows, given in rising order."""
        rows = self.problem.rows
        if self.device is not None:
            return self._placed(ids).cpu().numpy()
        if isinstance(self.coordinates, WithRemainder):
            return self.coordinates.project(rows.take(ids))
        Z = np.empty((len(ids), self.n_coordinates), dtype=rows.dtype)

        def fill(start: int) -> None:
            part = slice(start, start + self.at_once)
            Z[part] = self.coordinates.project(rows.take(ids[part]))

        starts = range(0, len(ids), self.at_once)
        with progress_bar("Projecting", len(starts), verbose) as advance:
            map_in_threads(fill, starts, self.n_jobs if len(starts) > 1 else 1, advance)
        return Z

    def thinned(self, most: int) -> tuple[NDArray[np.int64], Block]:
        """About so many rows, spread evenly, and their coordinates."""
        every = max(1, len(self.problem.ids) // min(most, self.pool))
        rows = self.problem.ids[::every]
        if self.kept is None:
            return rows, self.project(rows)
        some = narrow(self.kept[::every], self.n_coordinates)
        return rows, some if self.device is None else some.cpu().numpy()

    def shuffled(self, batch_size: int, generator: np.random.Generator) -> Iterator[ShuffledRows]:
        """All rows, in parts that hold whole batches but for the last."""
        ids = self.problem.ids
        if self.kept is not None:
            order = generator.permutation(len(ids))
            yield ShuffledRows(self.kept, order, ids[order])
            return
        starts = CHUNK * generator.permutation(-(-len(ids) // CHUNK))
        order = (starts[:, np.newaxis] + np.arange(CHUNK)).ravel()
        order = order[order < len(ids)]
        size = max(1, self.pool // batch_size) * batch_size
        for first in range(0, len(order), size):
            rows = np.sort(ids[order[first : first + size]])
            places = generator.permutation(len(rows))
            yield ShuffledRows(self._placed(rows), places, rows[places])
