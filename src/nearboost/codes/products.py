"""Exact codes under L2: one matrix product a query, then one row of distances between samples a term."""

from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.progress import Advance
from nearboost.base.threads import count_threads, count_useful_threads, one_matrix_thread
from nearboost.codes.gram import GramRows, usable_memory
from nearboost.codes.pieces import Room, in_pieces
from nearboost.codes.series import Series, Terms
from nearboost.codes.shadow import Shadow
from nearboost.neighbors import MeasuredRows


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
        self.rows, self.starts = rows, starts
        self.series = series
        self.gram_memory = gram_memory
        self.numbers = np.arange(len(rows.X), dtype=np.int32)
        self.gram: GramRows | None = None
        self._idle_parts: list[GramRows] = []

    def __getstate__(self) -> dict[str, Any]:
        """Everything but shadow and distances, which are made anew where they are needed."""
        kept = {name: value for name, value in self.__dict__.items() if name != "shadow"}
        return kept | {"gram": None, "_idle_parts": []}

    @cached_property
    def shadow(self) -> Shadow:
        return Shadow(self.rows)

    def build_gram(self, verbose: int = 0) -> float:
        """Make all rows of distances if they fit, and tell how many seconds it took."""
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
        return min(len(self.numbers), max(1, int(memory / (2 * np.diff(self.starts).max()))))

    def pick(self, Q: NDArray[Any], own: NDArray[np.int32], advance: Advance) -> Terms:
        n_parts = len(self.starts) - 1
        n_threads = count_threads(self.rows.n_jobs)
        terms = Terms.of(len(Q) * n_parts, self.series)

        def pick_piece(piece: slice, room: Room) -> None:
            gram = self._take_gram(n_threads)
            codes = slice(piece.start * n_parts, piece.stop * n_parts)
            self._pick(Q[piece], own[piece], gram, room, terms[codes])
            if gram is not self.gram and len(self._idle_parts) < n_threads:
                self._idle_parts.append(gram)

        in_pieces(pick_piece, len(Q), self.shadow.columns, self.rows.n_jobs, advance)
        return terms

    def _take_gram(self, n_threads: int) -> GramRows:
        """The Gram, or a part of it that nobody else is using."""
        if self.gram is not None:
            return self.gram
        try:
            return self._idle_parts.pop()
        except IndexError:
            return GramRows(self.shadow, self.starts, self._count_slots(n_threads))

    def _pick(self, Q: NDArray[Any], own: NDArray[np.int32], gram: GramRows, room: Room, terms: Terms) -> None:
        from nearboost.kernels import inn as kernels

        queries = self.rows.queries(Q, np.empty(0), own)
        bounds = self.shadow.first_scores(queries, own, room.values)
        finished = np.zeros(len(terms.counts), dtype=np.bool_)
        errors = np.repeat(bounds.start, len(self.starts) - 1)
        while True:
            kernels.extend_codes(
                room.values, bounds.factor, room.scores, self.starts, self.numbers, self.rows.X, queries.measured,
                queries.units, own, gram.slots, gram.grid, gram.steps, self.series.weights,
                self.series.regularization, self.series.tolerance, bounds.row, bounds.term, bounds.measuring,
                terms.picks, terms.counts, finished, errors,
            )  # fmt: skip
            waiting = np.flatnonzero(~finished)
            if not waiting.size:
                return
            gram.add(np.unique(terms.picks[waiting, terms.counts[waiting] - 1]))
