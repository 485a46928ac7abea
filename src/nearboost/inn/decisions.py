"""From codes, or from neighbours, to a number for each class."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nearboost.codes.dictionary import CodingParameters, Dictionary, residuals
from nearboost.neighbors import NeighborSearch
from nearboost.problem.targets import class_members

Scores = NDArray[np.float64]
Coder = Callable[[NDArray[Any]], csr_array]


class Decision(Protocol):
    """How codes decide between classes."""

    def scores(self, Q: NDArray[Any]) -> Scores:
        """One column for each class, the largest of which wins."""


class ExplainedDecision(Decision, Protocol):
    """One that can name the samples behind it."""

    def decide(self, Q: NDArray[Any]) -> tuple[Scores, csr_array]:
        """The scores, and what each sample counts in them."""


class ClassSums:
    """One code by all samples; a class gets its samples' absolute weights, each times the sample's own.

    ``to_one`` divides them by the sum of all.
    """

    def __init__(
        self, coder: Coder, classes: NDArray[np.intp], weights: NDArray[np.float64], *, to_one: bool = False
    ) -> None:
        self._coder, self._weights, self._to_one = coder, weights, to_one
        self._members = class_members(classes)

    def scores(self, Q: NDArray[Any]) -> Scores:
        return self.decide(Q)[0]

    def decide(self, Q: NDArray[Any]) -> tuple[Scores, csr_array]:
        codes = self._coder(Q)
        codes.data = abs(codes.data) * self._weights[codes.indices]
        if self._to_one:
            codes.data /= np.repeat(codes.sum(axis=1), np.diff(codes.indptr))
        return (codes @ self._members).toarray(), codes


class OwnResiduals:
    """One code by each class's samples alone; a class gets minus the distance between the query and its sum."""

    def __init__(self, X: NDArray[Any], classes: NDArray[np.intp], how: CodingParameters) -> None:
        self._order = np.argsort(classes, kind="stable")
        self.dictionary = Dictionary(X[self._order], how, np.bincount(classes))

    def scores(self, Q: NDArray[Any]) -> Scores:
        return -residuals(self.dictionary.samples, Q, self.dictionary.codes(Q), self.dictionary.n_parts)

    def decide(self, Q: NDArray[Any]) -> tuple[Scores, csr_array]:
        codes, n_classes = self.dictionary.codes(Q), self.dictionary.n_parts
        distances = residuals(self.dictionary.samples, Q, codes, n_classes)
        return -distances, winners_of(codes, distances, self._order)


class SharedResiduals:
    """One code by all samples; a class gets minus the distance between the query and its own part of the sum.

    ``make_coder`` is given the samples class by class.
    """

    def __init__(
        self, X: NDArray[Any], classes: NDArray[np.intp], make_coder: Callable[[NDArray[Any]], Coder]
    ) -> None:
        self._order = np.argsort(classes, kind="stable")
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(classes))[:-1]])
        self._samples = np.ascontiguousarray(X[self._order])
        self._coder = make_coder(self._samples)

    def scores(self, Q: NDArray[Any]) -> Scores:
        return self.decide(Q)[0]

    def decide(self, Q: NDArray[Any]) -> tuple[Scores, csr_array]:
        codes, n_classes = by_class(self._coder(Q), self._starts), len(self._starts)
        distances = residuals(self._samples, Q, codes, n_classes)
        return -distances, winners_of(codes, distances, self._order)


class NearestOfClasses:
    """Minus the squared distance to the nearest descriptor of each class: a search for each."""

    def __init__(self, X: NDArray[Any], classes: NDArray[np.intp], n_jobs: int | None) -> None:
        self._searches = [
            NeighborSearch(X[classes == c], n_jobs=n_jobs, copy=False) for c in range(classes.max() + 1)
        ]

    def scores(self, Q: NDArray[Any]) -> NDArray[np.float64]:
        return -np.hstack([search.search(Q, 1).distances ** 2 for search in self._searches])


class NearestNearby:
    """The same among a descriptor's nearest; a class that has none of them is as far as the farthest of them."""

    def __init__(self, X: NDArray[Any], classes: NDArray[np.intp], n_near: int, n_jobs: int | None) -> None:
        self._search = NeighborSearch(X, n_jobs=n_jobs, copy=False)
        self._classes, self._n_near = classes, n_near

    def scores(self, Q: NDArray[Any]) -> NDArray[np.float64]:
        found = self._search.search(Q, self._n_near)
        squares = found.distances**2
        evidence = np.repeat(-squares[:, -1:], self._classes.max() + 1, axis=1)
        np.maximum.at(evidence, (np.arange(len(Q))[:, np.newaxis], self._classes[found.indices]), -squares)
        return evidence


def shares_of(sums: Scores) -> Scores:
    """Each row divided by its total, where that is not zero."""
    totals = sums.sum(axis=1, keepdims=True)
    return np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0)


def by_class(codes: csr_array, starts: NDArray[np.int64]) -> csr_array:
    """Each code cut into those by the samples of each class, which begin at ``starts``, one after the other."""
    codes.sort_indices()
    n_queries, n_samples = codes.shape
    firsts = np.arange(n_queries, dtype=np.int64)[:, np.newaxis] * n_samples
    places = np.repeat(firsts.ravel(), np.diff(codes.indptr)) + codes.indices
    indptr = np.append(np.searchsorted(places, (firsts + starts).ravel()), codes.nnz)
    return csr_array((codes.data, codes.indices, indptr), shape=(n_queries * len(starts), n_samples))


def winners_of(codes: csr_array, distances: Scores, order: NDArray[np.intp]) -> csr_array:
    """Of each query's codes, one for each class, that of the nearest; samples get their numbers back."""
    n_queries, n_classes = distances.shape
    winners = codes[np.arange(n_queries) * n_classes + distances.argmin(axis=1)]
    return csr_array((winners.data, order[winners.indices], winners.indptr), shape=winners.shape)
