"""Exact codes under L2: one matrix product a query, then one row of distances between samples a term."""

from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.progress import Advance
from nearboost.base.threads import count_threads, map_in_threads
from nearboost.inn.bounds import ErrorBounds, error_bounds, sum_error
from nearboost.inn.gram import GramRows, multipliers, multiply, usable_memory
from nearboost.inn.series import Series, Terms
from nearboost.neighbors.exact import WORTH_THREADS, Queries, Rows, half_squares, one_matrix_thread

TOP_SCORE = 2.0**31 - 2**7  # for excluded samples; others stay below 2^30, and a code subtracts less than 2^30
QUERIES_PER_PIECE = 64  # their scores stay in the caches between the product and the first term
SCORES_PER_PIECE = 2**24


class Workroom:
    """What one thread needs: distances between samples, and room for the scores of some queries."""

    def __init__(self, gram: GramRows, n_queries: int, n_samples: int) -> None:
        self.gram = gram
        self.values = np.empty((n_queries, n_samples), dtype=np.float32)
        self.scores = np.empty((n_queries, n_samples), dtype=np.int32)


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

    def __init__(self, rows: Rows, starts: NDArray[np.int64], series: Series, gram_memory: float | None) -> None:
        self.rows, self.starts = rows, starts
        self.series = series
        self.gram_memory = gram_memory
        self.numbers = np.arange(len(rows.X), dtype=np.int32)
        self.gram: GramRows | None = None
        self._parts_of_gram: list[GramRows] = []

    def __getstate__(self) -> dict[str, Any]:
        """Everything but shadow and distances, which are made anew where they are needed."""
        kept = {name: value for name, value in self.__dict__.items() if name != "shadow"}
        return kept | {"gram": None, "_parts_of_gram": []}

    @cached_property
    def shadow(self) -> NDArray[np.float32]:
        """The samples as columns (x, ½|x|², 1)."""
        points = self.rows.centred(self.rows.measured(slice(None))).astype(np.float32)
        return np.vstack([points.T, half_squares(points), np.ones(len(points))]).astype(np.float32)

    @property
    def radius(self) -> float:
        """No sample is farther from the origin than this."""
        return float(np.sqrt(2 * self.shadow[-2].max())) * (1 + 2.0**-20)

    def build_gram(self, verbose: int = 0) -> float:
        """Make all rows of distances if they fit, and tell how many seconds it took."""
        n_samples = len(self.numbers)
        if self._count_slots(1) < n_samples:
            return 0.0
        start = perf_counter()
        large = n_samples * self.shadow.size >= WORTH_THREADS
        self.gram = GramRows(self.shadow, self.starts, n_samples)
        with one_matrix_thread():
            self.gram.add(self.numbers, self.rows.n_jobs if large else 1, verbose)
        return perf_counter() - start

    def _count_slots(self, n_threads: int) -> int:
        """How many rows each thread may keep, two bytes a number."""
        memory = usable_memory(self.gram_memory) / n_threads
        return min(len(self.numbers), max(1, int(memory / (2 * np.diff(self.starts).max()))))

    def pick(self, Q: NDArray[Any], own: NDArray[np.int32], advance: Advance) -> Terms:
        n_parts = len(self.starts) - 1
        terms = Terms.of(len(Q) * n_parts, self.series)
        large = len(Q) * self.shadow.size >= WORTH_THREADS
        threads = count_threads(self.rows.n_jobs) if large else 1
        size = max(1, min(QUERIES_PER_PIECE, SCORES_PER_PIECE // len(self.numbers), -(-len(Q) // threads)))
        pieces = range(0, len(Q), size)
        rooms = [Workroom(self._take_gram(threads), size, len(self.numbers)) for _ in pieces[:threads]]
        idle = list(rooms)

        def pick_piece(start: int) -> None:
            piece, codes = slice(start, start + size), slice(start * n_parts, (start + size) * n_parts)
            room = idle.pop()
            self._pick(Q[piece], own[piece], room, terms[codes])
            idle.append(room)
            advance(len(Q[piece]))

        with one_matrix_thread():
            map_in_threads(pick_piece, pieces, threads)
        if self.gram is None:
            self._parts_of_gram = [room.gram for room in rooms]
        return terms

    def _take_gram(self, n_threads: int) -> GramRows:
        """The Gram, or a part of it that nobody else is using."""
        if self.gram is not None:
            return self.gram
        try:
            return self._parts_of_gram.pop()
        except IndexError:
            return GramRows(self.shadow, self.starts, self._count_slots(n_threads))

    def _pick(self, Q: NDArray[Any], own: NDArray[np.int32], room: Workroom, terms: Terms) -> None:
        from nearboost.kernels import inn as kernels

        queries = self.rows.queries(Q, np.empty(0), own)
        bounds = self._bounds(queries)
        values, scores, gram = room.values[: len(Q)], room.scores[: len(Q)], room.gram
        multiply(multipliers(queries.shadow, 0.0), self.shadow, values)
        excluded = np.flatnonzero(own >= 0)
        values[excluded, own[excluded]] = TOP_SCORE / bounds.factor[excluded]
        finished = np.zeros(len(terms.counts), dtype=np.bool_)
        errors = np.repeat(bounds.start, len(self.starts) - 1)
        while True:
            kernels.extend_codes(
                values, bounds.factor, scores, self.starts, self.numbers, self.rows.X, queries.measured,
                queries.units, own, gram.slots, gram.grid, gram.steps, self.series.weights,
                self.series.regularization, self.series.tolerance, bounds.row, bounds.term, bounds.measuring,
                terms.picks, terms.counts, finished, errors,
            )  # fmt: skip
            waiting = np.flatnonzero(~finished)
            if not waiting.size:
                return
            gram.add(np.unique(terms.picks[waiting, terms.counts[waiting] - 1]))

    def _bounds(self, queries: Queries) -> ErrorBounds:
        rows = self.rows
        with np.errstate(over="ignore"):  # what overflows is far
            lengths = np.linalg.norm(queries.measured, axis=1) * (queries.units / rows.unit) * rows.scale
            to_origin = np.linalg.norm(rows.centre) * rows.scale
            r = np.linalg.norm(queries.shadow.astype(np.float64), axis=1)
            A = lengths + to_origin + self.radius
            bounds = error_bounds(rows.X.shape[1], sum_error(rows.X.shape[1]), self.radius, r, A)
        bounds.start[np.isinf(queries.bases)] = np.inf
        return bounds
