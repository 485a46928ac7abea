"""From codes to a number for each class."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nearboost.codes.dictionary import CodingParameters, Dictionary


class Decision(Protocol):
    """How codes decide between classes."""

    n_terms: int

    def decide(self, Q: NDArray[Any]) -> tuple[NDArray[np.float64], csr_array]:
        """Scores, one column for each class, the largest of which wins; and what each sample counts in them."""


class ClassSums:
    """One code by all samples; a class gets the sum of its samples' weights, each times the sample's own."""

    def __init__(
        self, X: NDArray[Any], classes: NDArray[np.intp], weights: NDArray[np.float64], how: CodingParameters
    ) -> None:
        self._dictionary = Dictionary(X, how)
        self._weights = weights
        ends = np.arange(len(X) + 1)
        self._members = csr_array((np.ones(len(X)), classes, ends), shape=(len(X), classes.max() + 1))
        self.n_terms = self._dictionary.series.n_terms

    def decide(self, Q: NDArray[Any]) -> tuple[NDArray[np.float64], csr_array]:
        codes = self._dictionary.codes(Q)
        codes.data *= self._weights[codes.indices]
        return (codes @ self._members).toarray(), codes


class ClassResiduals:
    """One code by each class's samples alone; a class gets minus the distance between the query and its sum."""

    def __init__(self, X: NDArray[Any], classes: NDArray[np.intp], how: CodingParameters) -> None:
        self._order = np.argsort(classes, kind="stable")
        self._dictionary = Dictionary(X[self._order], how, np.bincount(classes))
        self.n_terms = self._dictionary.series.n_terms

    def decide(self, Q: NDArray[Any]) -> tuple[NDArray[np.float64], csr_array]:
        codes = self._dictionary.codes(Q)
        residuals = self._dictionary.residuals(Q, codes)
        n_queries, n_classes = residuals.shape
        winners = codes[np.arange(n_queries) * n_classes + residuals.argmin(axis=1)]
        samples = self._order[winners.indices]
        return -residuals, csr_array((winners.data, samples, winners.indptr), shape=winners.shape)
