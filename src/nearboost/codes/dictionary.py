"""Codes of queries over fixed samples, whichever way the terms are picked."""

from contextlib import nullcontext
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nearboost.base.progress import Advance, progress_bar, silent
from nearboost.base.rows import RowSource, row_source
from nearboost.base.threads import count_threads
from nearboost.base.validation import check_choice, check_map, check_not_negative, check_positive, check_whole
from nearboost.codes.local import LocalSearchedTerms, LocalTerms, NearestSamples
from nearboost.codes.products import ProductTerms
from nearboost.codes.series import MOST_SEARCHES, Groups, Series, TermPicker, Terms, count_terms
from nearboost.neighbors import (
    NeighborSearch,
    check_method,
    find_method,
    largest_values,
    method_here,
    powers_of_two,
)

METRICS = ("l2", "l1")
TERMS_PER_BLOCK = 4_000_000  # at a time, so that memory stays bounded
BYTES_AT_ONCE = 2**26  # of queries that are read from a file


class CodingParameters(Protocol):
    """What says how codes are made; see `INNCoder`."""

    regularization: float
    coverage: float
    max_terms: int | None
    tolerance: float
    metric: str
    neighborhood: int | None
    search: str
    gram_memory: float | None
    n_jobs: int | None
    verbose: int


class Dictionary:
    """Samples that queries are written as sums of.

    Parameters
    ----------
    X : the samples, C-contiguous, float32 or float64; with a neighbourhood also float16, or a mapped file
    how : parameters that `check_coding` has passed
    sizes : how many samples each part has, the parts following each other; each makes codes of its own. None means
        one part.
    """

    def __init__(self, X: NDArray[Any], how: CodingParameters, sizes: NDArray[np.int64] | None = None) -> None:
        self.samples = X
        self.series = make_series(how)
        self.starts = np.concatenate([[0], np.cumsum([len(X)] if sizes is None else sizes)])
        self._verbose = how.verbose
        self._codes_at_once = TERMS_PER_BLOCK // max(self.series.n_terms, how.neighborhood or 0)
        self._picker: TermPicker
        if how.metric == "l2" and how.neighborhood is None:
            rows = NeighborSearch(X, "l2", n_jobs=how.n_jobs, copy=False).rows
            self._picker = ProductTerms(rows, self.starts, self.series, how.gram_memory)
        else:
            self._picker = PartwiseTerms(X, self.starts, self.series, how)

    @property
    def n_parts(self) -> int:
        return len(self.starts) - 1

    def build_gram(self) -> float:
        """Compute the distances between all samples, if they help and fit in memory; the seconds it took."""
        return self._picker.build_gram(self._verbose) if isinstance(self._picker, ProductTerms) else 0.0

    def codes(
        self,
        Q: NDArray[Any] | RowSource,
        own: Groups | None = None,
        groups: Groups | None = None,
        advance: Advance | None = None,
    ) -> csr_array:
        """Weights of all samples for each query, as they came.

        ``own`` is the group of samples that a query may not have, -1 for none; without ``groups``, a sample's is
        its number. With several parts a query has a row for each, one after the other, which is empty where no
        sample of the part is allowed. ``advance`` is told of queries that are finished; without it, there is a
        progress bar.
        """
        queries = row_source(Q)
        own = np.full(len(queries), -1, dtype=np.int32) if own is None else own
        groups = np.arange(len(self.samples), dtype=np.int32) if groups is None else groups
        size = max(1, self._codes_at_once // self.n_parts)
        if not queries.lie_in_memory:
            size = min(size, queries.fitting(BYTES_AT_ONCE))
        parts = []
        bar = progress_bar("Coding", len(queries), self._verbose) if advance is None else nullcontext(advance)
        with bar as advance:
            for start in range(0, len(queries), size):
                block = slice(start, min(start + size, len(queries)))
                terms = self._picker.pick(queries.part(block), groups, own[block], advance)
                parts.append(summed(terms, self.series.weights, len(self.samples)))
        lengths, samples, weights = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        indptr = row_pointers(lengths)
        return csr_array((weights, samples, indptr), shape=(len(queries) * self.n_parts, len(self.samples)))


class PartwiseTerms:
    """Picks terms by searching each part of the samples, among all that are allowed where they are few."""

    def __init__(self, X: NDArray[Any], starts: NDArray[np.int64], series: Series, how: CodingParameters) -> None:
        self.starts, self.series, self.neighborhood = starts, series, how.neighborhood
        method = method_here(how.search)
        self.searches = [
            NeighborSearch(
                X[start:stop], how.metric, method=method, n_jobs=how.n_jobs, copy=False, memory=how.gram_memory
            )
            for start, stop in pairwise(starts)
        ]
        in_memory = all(search.rows.stay for search in self.searches)
        from_scores = how.metric == "l2" and method == "exact" and in_memory
        self.nearest = [NearestSamples(search.rows) for search in self.searches] if from_scores else []

    def _picker(self, part: int, n_near: int) -> TermPicker:
        if self.neighborhood is None:
            return SearchedTerms(self.searches[part], self.series)
        if self.nearest:
            return LocalTerms(self.nearest[part], self.series, n_near)
        return LocalSearchedTerms(self.searches[part], self.series, n_near)

    def pick(self, Q: NDArray[Any], groups: Groups, own: Groups, advance: Advance) -> Terms:
        n_parts = len(self.searches)
        terms = Terms.empty(len(Q) * n_parts, self.series)
        tell = advance if n_parts == 1 else silent
        for part, (start, stop) in enumerate(pairwise(self.starts)):
            part_groups = groups[start:stop]
            n_near = np.minimum(count_others(part_groups, own), self.neighborhood or 1)
            for n in np.unique(n_near[n_near > 0]):
                which = np.flatnonzero(n_near == n)
                queries = Q if len(which) == len(Q) else Q[which]
                found = self._picker(part, n).pick(queries, part_groups, own[which], tell)
                terms.picks[which * n_parts + part] = found.picks + start
                terms.counts[which * n_parts + part] = found.counts
            tell(int(np.count_nonzero(n_near == 0)))
        if n_parts > 1:
            advance(len(Q))
        return terms


def count_others(groups: Groups, own: Groups) -> NDArray[np.int64]:
    """How many samples are not of each query's group."""
    ordered = np.sort(groups)
    return len(groups) - np.searchsorted(ordered, own, "right") + np.searchsorted(ordered, own, "left")


class SearchedTerms:
    """Picks terms as they are defined, one neighbour search each: L1 has no products to update scores by."""

    def __init__(self, search: NeighborSearch, series: Series) -> None:
        self.search = search
        self.series = series

    def pick(self, Q: NDArray[Any], groups: Groups, own: Groups, advance: Advance) -> Terms:
        X, factor = self.search.rows.X, self.series.regularization
        terms = Terms.empty(len(Q), self.series)
        unfinished, moved = np.arange(len(Q)), Q.astype(np.float64)
        for t, weight in enumerate(self.series.weights):
            found = self.search.search(moved, 1, query_groups=own[unfinished], groups=groups).indices[:, 0]
            terms.picks[unfinished, t] = found
            terms.counts[unfinished] = t + 1
            moved = (1 + factor) * moved - factor * X[found].astype(np.float64)  # eq. (1)
            if self.series.tolerance > 0:
                residuals = np.linalg.norm(moved, axis=1) * (weight / factor)  # eq. (2)
                left = residuals > self.series.tolerance
                unfinished, moved = unfinished[left], moved[left]
            if not unfinished.size:
                break
        advance(len(Q))
        return terms


def row_pointers(lengths: NDArray[np.integer]) -> NDArray[np.integer]:
    """Where each code begins and the last one ends; in 32 bits where they fit, as scikit-learn wants."""
    ends = np.concatenate([[0], np.cumsum(lengths)])
    return ends.astype(np.int32) if ends[-1] < 2**31 else ends


def residuals(samples: NDArray[Any], Q: NDArray[Any], codes: csr_array, n_parts: int) -> NDArray[np.float64]:
    """|q − Σ w_i s_i| of each query by each of its codes, one for each part."""
    from nearboost.kernels import inn as kernels

    check_map(samples)
    units = powers_of_two(np.maximum(largest_values(Q), largest_values(samples).max()))
    measured = np.divide(Q, units[:, np.newaxis], dtype=np.float64)
    norms = np.empty((len(Q), n_parts))
    kernels.residual_norms(codes.indptr, codes.indices, codes.data, samples, measured, units, norms)
    return norms


def summed(
    terms: Terms, weights: NDArray[np.float64], n_samples: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """How many samples each code has, which, and their weights, repeated ones added up."""
    from nearboost.kernels import inn as kernels

    samples, totals = np.empty_like(terms.picks), np.empty(terms.picks.shape)
    lengths = np.empty_like(terms.counts)
    kernels.sum_repeats(terms.picks, terms.counts, weights, np.zeros(n_samples), samples, totals, lengths)
    holds = np.arange(terms.picks.shape[1]) < lengths[:, np.newaxis]
    return lengths, samples[holds], totals[holds]


def check_coding(how: CodingParameters) -> None:
    """One sentence for each parameter that makes no sense."""
    check_positive("regularization", how.regularization)
    check_positive("coverage", how.coverage)
    if how.coverage >= 1:
        raise ValueError(
            f"coverage={how.coverage!r} must be below 1, which infinitely many terms would reach; "
            "use 0.95 as published, or a number nearer to 1."
        )
    check_whole("max_terms", how.max_terms, optional=True)
    check_not_negative("tolerance", how.tolerance, "which never stops early")
    check_choice("metric", how.metric, METRICS)
    check_whole("neighborhood", how.neighborhood, optional=True)
    check_search(how)
    check_positive("gram_memory", how.gram_memory, optional=True)
    count_threads(how.n_jobs)
    make_series(how)


def check_search(how: CodingParameters) -> None:
    """Samples are found by a search that is exact."""
    check_method("search", how.search)
    if how.search == "exact":
        return
    if not find_method(how.search).exact:
        raise ValueError(f"search={how.search!r} may miss samples, which codes cannot do without; use 'exact'.")
    if how.metric == "l2" and how.neighborhood is None:
        raise ValueError(f"search={how.search!r} finds the samples of a neighborhood; give neighborhood=100, say.")


def check_neighborhood(neighborhood: int | None, n_samples: int) -> None:
    """There must be as many samples to choose from."""
    if neighborhood is not None and neighborhood > n_samples:
        raise ValueError(
            f"neighborhood={neighborhood} is more than the n_samples={n_samples} to choose from; "
            f"use {n_samples} or fewer, or None for all."
        )


def make_series(how: CodingParameters) -> Series:
    n_terms = count_terms(how.regularization, how.coverage, how.max_terms)
    if how.metric == "l1" and n_terms > MOST_SEARCHES:
        raise ValueError(
            f"metric='l1' takes a search for each of {n_terms:,} terms; raise regularization, lower coverage or "
            f"give max_terms (at most {MOST_SEARCHES:,})."
        )
    return Series(float(how.regularization), n_terms, float(how.tolerance))
