"""From codes, or from neighbours, to a number for each class."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nearboost.base.rows import row_source
from nearboost.codes.dictionary import CodingParameters, Dictionary, count_others, residuals
from nearboost.codes.series import Groups
from nearboost.neighbors import Neighbors, NeighborSearch
from nearboost.problem.targets import class_members

Scores = NDArray[np.float64]
Classes = NDArray[np.int64]
LEAST = 1e-12  # of a row's largest residual: a class that explains the row exactly is sure to be its own


class Coder(Protocol):
    """Samples that rows are coded by."""

    samples: NDArray[Any]

    def codes(self, Q: NDArray[Any], own: Groups | None = None, groups: Groups | None = None) -> csr_array:
        """A row of weights for each query, zero for samples of the group that is its own."""


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

    def scores_by_others(self, held: NDArray[np.int64], groups: Groups) -> Scores:
        """Those of some samples, which make up whole groups, by the samples of other groups."""

    def evidence(self, scores: Scores) -> Scores:
        """What a temperature divides: in the order of the scores, and free of the rows' units."""


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

    def scores_by_others(self, held: NDArray[np.int64], groups: Groups) -> Scores:
        rows = row_source(self.samples).only(held).take(np.arange(len(held)))
        return self.decide(rows, groups[held], groups)[0]

    def evidence(self, scores: Scores) -> Scores:
        return shares_of(scores)

    def decide(
        self, Q: NDArray[Any], own: Groups | None = None, groups: Groups | None = None
    ) -> tuple[Scores, csr_array]:
        codes = self.dictionary.codes(Q, own, groups)
        codes.data = abs(codes.data) * self.weights[codes.indices]
        if self._to_one:
            codes.data /= np.repeat(codes.sum(axis=1), np.diff(codes.indptr))
        return (codes @ self._members).toarray(), codes


class ResidualDecision:
    """A class gets minus a distance. Probabilities are proportional to a power of the distances."""

    def evidence(self, scores: Scores) -> Scores:
        return closeness(-scores)


class OwnResiduals(ResidualDecision):
    """One code by each class's samples alone; a class gets minus the distance between the query and its sum."""

    weights = None

    def __init__(self, X: NDArray[Any], classes: Classes, how: CodingParameters) -> None:
        self.classes, self._order = classes, np.argsort(classes, kind="stable")
        self.dictionary = Dictionary(X[self._order], how, np.bincount(classes))

    @property
    def samples(self) -> NDArray[Any]:
        return in_first_order(self.dictionary.samples, self._order)

    def scores_by_others(self, held: NDArray[np.int64], groups: Groups) -> Scores:
        rows = self.samples[held]
        codes = self.dictionary.codes(rows, groups[held], groups[self._order])
        distances = residuals(self.dictionary.samples, rows, codes, self.dictionary.n_parts)
        empty = np.diff(codes.indptr).reshape(distances.shape) == 0  # a class without others is as far as any
        return -np.where(empty, np.where(empty, 0.0, distances).max(axis=1, keepdims=True), distances)

    def scores(self, Q: NDArray[Any]) -> Scores:
        return -residuals(self.dictionary.samples, Q, self.dictionary.codes(Q), self.dictionary.n_parts)

    def decide(self, Q: NDArray[Any]) -> tuple[Scores, csr_array]:
        codes, n_classes = self.dictionary.codes(Q), self.dictionary.n_parts
        distances = residuals(self.dictionary.samples, Q, codes, n_classes)
        return -distances, winners_of(codes, distances, self._order)


class SharedResiduals(ResidualDecision):
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

    def scores_by_others(self, held: NDArray[np.int64], groups: Groups) -> Scores:
        return self.decide(self.samples[held], groups[held], groups[self._order])[0]

    def decide(
        self, Q: NDArray[Any], own: Groups | None = None, groups: Groups | None = None
    ) -> tuple[Scores, csr_array]:
        codes, n_classes = by_class(self.dictionary.codes(Q, own, groups), self._starts), len(self._starts)
        distances = residuals(self.dictionary.samples, Q, codes, n_classes)
        return -distances, winners_of(codes, distances, self._order)


class NearestDecision:
    """Minus squared distances, which add up as naive Bayes would have it."""

    def evidence(self, scores: Scores) -> Scores:
        return scores


class NearestOfClasses(NearestDecision):
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

    def scores_by_others(self, held: NDArray[np.int64], groups: Groups) -> Scores:
        rows, own, scores = self.samples[held], groups[held], np.full((len(held), len(self._searches)), np.nan)
        for c, search in enumerate(self._searches):
            others = groups[self.classes == c]
            there = np.flatnonzero(count_others(others, own))
            if there.size:
                found = search.search(rows[there], 1, query_groups=own[there], groups=others)
                scores[there, c] = -(found.distances[:, 0] ** 2)
        return np.where(np.isnan(scores), np.nanmin(scores, axis=1, keepdims=True), scores)  # as far as any


class NearestNearby(NearestDecision):
    """The same among a descriptor's nearest; a class that has none of them is as far as the farthest of them."""

    weights = None

    def __init__(self, X: NDArray[Any], classes: Classes, n_near: int, n_jobs: int | None) -> None:
        self._search = NeighborSearch(X, n_jobs=n_jobs, copy=False)
        self.classes, self._n_near = classes, n_near

    @property
    def samples(self) -> NDArray[Any]:
        return self._search.rows.X

    def scores(self, Q: NDArray[Any]) -> NDArray[np.float64]:
        return self._scores(self._search.search(Q, self._n_near))

    def scores_by_others(self, held: NDArray[np.int64], groups: Groups) -> Scores:
        n_near = min(self._n_near, len(groups) - int(np.bincount(groups).max()))
        return self._scores(
            self._search.search(self.samples[held], n_near, query_groups=groups[held], groups=groups)
        )

    def _scores(self, found: Neighbors) -> Scores:
        squares = found.distances**2
        scores = np.repeat(-squares[:, -1:], self.classes.max() + 1, axis=1)
        np.maximum.at(scores, (np.arange(len(scores))[:, np.newaxis], self.classes[found.indices]), -squares)
        return scores


def in_first_order(rows: NDArray[Any], order: NDArray[np.intp]) -> NDArray[Any]:
    """The rows that were brought into an order, as they came."""
    first = np.empty_like(rows)
    first[order] = rows
    return first


def closeness(distances: Scores) -> Scores:
    """−log of each distance, in units of the row's largest that is finite."""
    largest = np.finfo(np.float64).max
    farthest = distances.max(axis=1, keepdims=True, where=distances < largest, initial=0.0)
    with np.errstate(over="ignore"):  # what overflows is farther
        shares = np.divide(distances, farthest, out=np.ones_like(distances), where=farthest > 0)
    return -np.log(np.clip(shares, LEAST, 1.0))


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
