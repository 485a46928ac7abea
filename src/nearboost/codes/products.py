"""Exact codes under L2: one matrix product a query, then one row of distances between samples a term."""

from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.memory import free_memory
from nearboost.base.progress import Advance, progress_bar
from nearboost.base.threads import count_threads, count_useful_threads, map_in_threads, one_matrix_thread
from nearboost.codes.scores import Shadow, Workspace, in_pieces
from nearboost.codes.series import Groups, Series, Terms
from nearboost.neighbors import MeasuredRows

MOST_MEMORY = 8 * 10**9  # bytes, unless the user says otherwise
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
    grid : uint16 array of shape (n_slots, scores of the largest part), in units of the row's ``steps``; what pads
        may be anything
    slots : where each sample has its row, -1 for those without one
    """

    def __init__(self, shadow: Shadow, starts: NDArray[np.int64], n_slots: int) -> None:
        self._shadow, self._starts = shadow, starts
        self.grid = np.empty((n_slots, np.diff(score_places(starts)).max()), dtype=np.uint16)
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
        bounds = np.searchsorted(samples, self._starts)  # a piece is of one part: distances go no farther
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
        kernels.to_grid(distances, distances.max(axis=1), self.grid[rows, : distances.shape[1]], self.steps[rows])


class ProductTerms:
    """Picks terms by scores (see `nearboost.kernels.inn`) of all samples, updated from term to term.

    Parameters
    ----------
    rows : the samples, measured by L2
    starts : where each part of the samples begins, and the end; each part makes codes of its own
    series : the terms to pick
    gram_memory : bytes for rows of distances between samples, or None for what is free

    Attributes
    ----------
    gram : all rows, where they fit in ``gram_memory`` and `build_gram` has made them; else they are made when they
        are needed, and forgotten when room is short
    """

    def __init__(
        self, rows: MeasuredRows, starts: NDArray[np.int64], series: Series, gram_memory: float | None
    ) -> None:
        self.rows, self.starts, self.places = rows, starts, score_places(starts)
        self.series = series
        self.gram_memory = gram_memory
        self.numbers = np.arange(len(rows.X), dtype=np.int32)
        self.gram: GramRows | None = None
        self._idle_parts: list[GramRows] = []

    def __getstate__(self) -> dict[str, Any]:
        """Everything but shadow and distances, which are rebuilt when needed."""
        kept = {name: value for name, value in self.__dict__.items() if name != "shadow"}
        return kept | {"gram": None, "_idle_parts": []}

    @cached_property
    def shadow(self) -> Shadow:
        return Shadow(self.rows)

    def build_gram(self, verbose: int = 0) -> float:
        """Make all rows of distances if they fit, and return how many seconds it took."""
        n_samples = len(self.numbers)
        if self._count_slots() < n_samples:
            return 0.0
        start = perf_counter()
        n_jobs = count_useful_threads(self.rows.n_jobs, n_samples * self.shadow.columns.size)
        self.gram = GramRows(self.shadow, self.starts, n_samples)
        with one_matrix_thread():
            self.gram.add(self.numbers, n_jobs, verbose)
        return perf_counter() - start

    def _count_slots(self, n_threads: int = 1) -> int:
        """How many rows each thread may keep, two bytes a number."""
        memory = usable_memory(self.gram_memory) / n_threads
        return min(len(self.numbers), max(1, int(memory / (2 * np.diff(self.places).max()))))

    def pick(self, Q: NDArray[Any], groups: Groups, own: Groups, advance: Advance) -> Terms:
        n_parts = len(self.starts) - 1
        n_threads = count_threads(self.rows.n_jobs)
        terms = Terms.empty(len(Q) * n_parts, self.series)

        def pick_piece(piece: slice, workspace: Workspace) -> None:
            gram = self._take_gram(n_threads)
            codes = slice(piece.start * n_parts, piece.stop * n_parts)
            self._pick(Q[piece], groups, own[piece], gram, workspace, terms[codes])
            if gram is not self.gram and len(self._idle_parts) < n_threads:
                self._idle_parts.append(gram)

        in_pieces(pick_piece, len(Q), self.shadow.columns, self.rows.n_jobs, advance, self.places[-1])
        return terms

    def _take_gram(self, n_threads: int) -> GramRows:
        """The Gram, or a part of it that nobody else is using."""
        if self.gram is not None:
            return self.gram
        try:
            return self._idle_parts.pop()
        except IndexError:
            return GramRows(self.shadow, self.starts, self._count_slots(n_threads))

    def _pick(
        self, Q: NDArray[Any], groups: Groups, own: Groups, gram: GramRows, workspace: Workspace, terms: Terms
    ) -> None:
        from nearboost.kernels import inn as kernels

        queries = self.rows.queries(Q, own)
        bounds = self.shadow.first_scores(queries, groups, workspace.values)
        finished = np.zeros(len(terms.counts), dtype=np.bool_)
        errors = np.repeat(bounds.start, len(self.starts) - 1)
        while True:
            kernels.extend_codes(
                workspace.values, bounds.factor, workspace.scores, self.starts, self.places, self.numbers,
                self.rows.X, queries.measured, queries.units, groups, own, gram.slots, gram.grid, gram.steps,
                self.series.weights, self.series.regularization, self.series.tolerance, bounds.row, bounds.term,
                bounds.measuring, terms.picks, terms.counts, finished, errors,
            )  # fmt: skip
            waiting = np.flatnonzero(~finished)
            if not waiting.size:
                return
            gram.add(np.unique(terms.picks[waiting, terms.counts[waiting] - 1]))


def score_places(starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the scores of each part begin, and the end: parts are padded to whole vectors."""
    from nearboost.kernels.inn import LANES

    return np.concatenate([[0], np.cumsum(-(-np.diff(starts) // LANES) * LANES)])


def usable_memory(gram_memory: float | None) -> float:
    """Bytes for rows: as given, or half of what is free and at most 8 GB."""
    return min(MOST_MEMORY, free_memory() / 2) if gram_memory is None else gram_memory
