"""From codes, or from neighbours, to a number for each class."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nearboost.codes.dictionary import CodingParameters, Dictionary, residuals
from nearboost.inn.held_out import HeldOut, cross_fit
from nearboost.neighbors import NeighborSearch
from nearboost.problem.targets import class_members

Scores = NDArray[np.float64]
Classes = NDArray[np.int64]


class Coder(Protocol):
    """Samples that rows are coded by."""

    samples: NDArray[Any]

    def codes(self, Q: NDArray[Any]) -> csr_array:
        """A row of weights for each query."""


class Decision(Protocol):
    """How codes decide between classes; weights are None where samples have none of their own."""

    @property
    def samples(self) -> NDArray[Any]:
        """What it was made of, in the order of `classes`."""

    @property
    def classes(self) -> Classes: ...

    @property
    def weights(self) -> NDArray[np.float64] | None: ...

    def scores(self, Q: NDArray[Any]) -> Scores:
        """One column for each class, the largest of which wins."""


class ExplainedDecision(Decision, Protocol):
    """One that can name the samples behind it."""

    @property
    def dictionary(self) -> Coder: ...

    def decide(self, Q: NDArray[Any]) -> tuple[Scores, csr_array]:
        """The scores, and what each sample counts in them."""


class ClassSums:
    """One code by all samples; a class gets its samples' absolute weights, each times the sample's own.

    ``to_one`` divides them by the sum of all.
    """

    def __init__(
        self, dictionary: Coder, classes: Classes, weights: NDArray[np.float64], *, to_one: bool = False
    ) -> None:
        self.dictionary, self.classes, self.weights, self._to_one = dictionary, classes, weights, to_one
        self._members = class_members(classes)

    @property
    def samples(self) -> NDArray[Any]:
        return self.dictionary.samples

    def scores(self, Q: NDArray[Any]) -> Scores:
        return self.decide(Q)[0]

    def decide(self, Q: NDArray[Any]) -> tuple[Scores, csr_array]:
        codes = self.dictionary.codes(Q)
        codes.data = abs(codes.data) * self.weights[codes.indices]
        if self._to_one:
            codes.data /= np.repeat(codes.sum(axis=1), np.diff(codes.indptr))
        return (codes @ self._members).toarray(), codes


class OwnResiduals:
    """One code by each class's samples alone; a class gets minus the distance between the query and its sum.

    ``groups`` are of samples that are held out together: at first, each is of its own.
    """

    weights = None

    def __init__(self, X: NDArray[Any], classes: Classes, how: CodingParameters) -> None:
        self.classes, self._order = classes, np.argsort(classes, kind="stable")
        self.groups = np.arange(len(X), dtype=np.int32)
        self.dictionary = Dictionary(X[self._order], how, np.bincount(classes))

    @property
    def samples(self) -> NDArray[Any]:
        return in_first_order(self.dictionary.samples, self._order)

    @cached_property
    def held_out(self) -> HeldOut:
        """What its probabilities need to know, found when it is first asked for: `fit` only keeps samples."""
        return cross_fit(self.dictionary, self.classes[self._order], self.groups[self._order])

    def scores(self, Q: NDArray[Any]) -> Scores:
        return -residuals(self.dictionary.samples, Q, self.dictionary.codes(Q), self.dictionary.n_parts)

    def decide(self, Q: NDArray[Any]) -> tuple[Scores, csr_array]:
        codes, n_classes = self.dictionary.codes(Q), self.dictionary.n_parts
        distances = residuals(self.dictionary.samples, Q, codes, n_classes)
        return -distances, winners_of(codes, distances, self._order)


class SharedResiduals:
    """One code by all samples; a class gets minus the distance between the query and its own part of the sum.

    ``make_dictionary`` is given the samples class by class.
    """

    weights = None

    def __init__(
        self, X: NDArray[Any], classes: Classes, make_dictionary: Callable[[NDArray[Any]], Coder]
    ) -> None:
        self.classes, self._order = classes, np.argsort(classes, kind="stable")
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(classes))[:-1]])
        self.dictionary = make_dictionary(np.ascontiguousarray(X[self._order]))

    @property
    def samples(self) -> NDArray[Any]:
        return in_first_order(self.dictionary.samples, self._order)

    def scores(self, Q: NDArray[Any]) -> Scores:
        return self.decide(Q)[0]

    def decide(self, Q: NDArray[Any]) -> tuple[Scores, csr_array]:
        codes, n_classes = by_class(self.dictionary.codes(Q), self._starts), len(self._starts)
        distances = residuals(self.dictionary.samples, Q, codes, n_classes)
        return -distances, winners_of(codes, distances, self._order)


class NearestOfClasses:
    """Minus the squared distance to the nearest descriptor of each class: a search for each."""

    weights = None

    def __init__(self, X: NDArray[Any], classes: Classes, n_jobs: int | None) -> None:
        self.classes, self._order = classes, np.argsort(classes, kind="stable")
        self._searches = [
            NeighborSearch(X[classes == c], n_jobs=n_jobs, copy=False) for c in range(classes.max() + 1)
        ]

    @property
    def samples(self) -> NDArray[Any]:
        return in_first_order(np.concatenate([search.rows.X for search in self._searches]), self._order)

    def scores(self, Q: NDArray[Any]) -> NDArray[np.float64]:
        return -np.hstack([search.search(Q, 1).distances ** 2 for search in self._searches])


class NearestNearby:
    """The same among a descriptor's nearest; a class that has none of them is as far as the farthest of them."""

    weights = None

    def __init__(self, X: NDArray[Any], classes: Classes, n_near: int, n_jobs: int | None) -> None:
        self._search = NeighborSearch(X, n_jobs=n_jobs, copy=False)
        self.classes, self._n_near = classes, n_near

    @property
    def samples(self) -> NDArray[Any]:
        return self._search.rows.X

    def scores(self, Q: NDArray[Any]) -> NDArray[np.float64]:
        found = self._search.search(Q, self._n_near)
        squares = found.distances**2
        evidence = np.repeat(-squares[:, -1:], self.classes.max() + 1, axis=1)
        np.maximum.at(evidence, (np.arange(len(Q))[:, np.newaxis], self.classes[found.indices]), -squares)
        return evidence


def in_first_order(rows: NDArray[Any], order: NDArray[np.intp]) -> NDArray[Any]:
    """The rows that were brought into an order, as they came."""
    first = np.empty_like(rows)
    first[order] = rows
    return first


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
