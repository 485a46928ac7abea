"""Half squared distances between samples, in as much memory as there is."""

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nearboost.base.progress import progress_bar
from nearboost.base.threads import map_in_threads
from nearboost.codes.shadow import Shadow

MOST_MEMORY = 8 * 10**9  # bytes, unless the user says otherwise
UNKNOWN_MEMORY = 2 * 10**9  # taken for free where the system does not tell
ROWS_AT_ONCE = 64


class GramRows:
    """Rows of the matrix ½|x_i − x_j|², on a grid of 16 bits each; as many as there are slots for.

    Parameters
    ----------
    shadow : the samples
    starts : where each part of the samples begins, and the end; distances are between samples of one part
    n_slots : room for so many rows

    Attributes
    ----------
    grid : uint16 array of shape (n_slots, samples of the largest part), in units of the row's ``steps``
    slots : where each sample has its row, -1 for those without one
    """

    def __init__(self, shadow: Shadow, starts: NDArray[np.int64], n_slots: int) -> None:
        self._shadow, self._starts = shadow, starts
        self.grid = np.empty((n_slots, np.diff(starts).max()), dtype=np.uint16)
        self.steps = np.empty(n_slots)
        self.slots = np.full(starts[-1], -1, dtype=np.int32)
        self._n_filled = 0

    def add(self, samples: NDArray[np.integer], n_jobs: int | None = 1, verbose: int = 0) -> None:
        """Make the rows of samples in rising order, as many as there are slots; when room is short, others go."""
        samples = samples[: len(self.grid)]
        if self._n_filled + len(samples) > len(self.grid):
            self.slots[:] = -1
            self._n_filled = 0
        places = self._n_filled + np.arange(len(samples))
        bounds = np.searchsorted(samples, self._starts)
        pieces = [
            (part, slice(begin, min(begin + ROWS_AT_ONCE, end)))
            for part, end in enumerate(bounds[1:])
            for begin in range(bounds[part], end, ROWS_AT_ONCE)
        ]

        def fill(piece: tuple[int, slice]) -> None:
            part, which = piece
            self._fill(part, samples[which], places[which])

        with progress_bar("Distances between samples", len(pieces), verbose) as advance:
            map_in_threads(fill, pieces, n_jobs, advance)
        self.slots[samples] = places
        self._n_filled += len(samples)

    def _fill(self, part: int, samples: NDArray[np.integer], places: NDArray[np.integer]) -> None:
        from nearboost.kernels import inn as kernels

        distances = self._shadow.half_squares_from(samples, slice(self._starts[part], self._starts[part + 1]))
        rows = slice(places[0], places[-1] + 1)
        kernels.to_grid(distances, distances.max(axis=1), self.grid[rows], self.steps[rows])


def usable_memory(gram_memory: float | None) -> float:
    """Bytes for rows: as given, or half of what is free and at most 8 GB."""
    return min(MOST_MEMORY, free_memory() / 2) if gram_memory is None else gram_memory


def free_memory() -> float:
    """Bytes that programs can have: of the machine, or of the container this one runs in."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(1024.0 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        try:
            free = float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        except (AttributeError, ValueError, OSError):
            free = float(UNKNOWN_MEMORY)
    group = Path("/sys/fs/cgroup")
    try:
        limit, used = (int((group / f"memory.{name}").read_text()) for name in ("max", "current"))
    except (OSError, ValueError):  # no container, or no limit
        return free
    return min(free, float(max(0, limit - used)))
