"""What one descriptor says for each class, in three ways."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nearboost.inn.decisions import membership, shares_of
from nearboost.neighbors import NeighborSearch


class Evidence(Protocol):
    """A way to compare descriptors with those of each class."""

    def of(self, Q: NDArray[Any]) -> NDArray[np.float64]:
        """A number for each descriptor and class; the more, the likelier."""


class CodeSums:
    """The absolute weights of a descriptor's code, summed by class, eq. (15).

    Parameters
    ----------
    code : gives the weights of all training descriptors for each descriptor
    classes : the class of each training descriptor
    to_one : whether weights are divided by their sum, eq. (14)
    """

    def __init__(self, code: Callable[[NDArray[Any]], csr_array], classes: NDArray[np.intp], to_one: bool) -> None:
        self._code, self._to_one = code, to_one
        self._members = membership(classes)

    def of(self, Q: NDArray[Any]) -> NDArray[np.float64]:
        codes = abs(self._code(Q))
        sums: NDArray[np.float64] = (codes @ self._members).toarray()
        if not self._to_one:
            return sums
        return shares_of(sums)  # a code without weights says nothing


class NearestOfClasses:
    """Minus the squared distance to the nearest descriptor of each class: a search for each."""

    def __init__(self, X: NDArray[Any], classes: NDArray[np.intp], n_jobs: int | None) -> None:
        self._searches = [NeighborSearch(X[classes == c], n_jobs=n_jobs) for c in range(classes.max() + 1)]

    def of(self, Q: NDArray[Any]) -> NDArray[np.float64]:
        return -np.hstack([search.search(Q, 1).distances ** 2 for search in self._searches])


class NearestNearby:
    """The same among a descriptor's nearest; a class that has none of them is as far as the farthest of them."""

    def __init__(self, X: NDArray[Any], classes: NDArray[np.intp], n_near: int, n_jobs: int | None) -> None:
        self._search = NeighborSearch(X, n_jobs=n_jobs)
        self._classes, self._n_near = classes, n_near

    def of(self, Q: NDArray[Any]) -> NDArray[np.float64]:
        found = self._search.search(Q, self._n_near)
        squares = found.distances**2
        evidence = np.repeat(-squares[:, -1:], self._classes.max() + 1, axis=1)
        np.maximum.at(evidence, (np.arange(len(Q))[:, np.newaxis], self._classes[found.indices]), -squares)
        return evidence
