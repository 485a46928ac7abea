"""What one descriptor says for each class by its nearest neighbours; by its code, see `ClassSums`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.neighbors import NeighborSearch


class NearestOfClasses:
    """Minus the squared distance to the nearest descriptor of each class: a search for each."""

    def __init__(self, X: NDArray[Any], classes: NDArray[np.intp], n_jobs: int | None) -> None:
        self._searches = [NeighborSearch(X[classes == c], n_jobs=n_jobs) for c in range(classes.max() + 1)]

    def scores(self, Q: NDArray[Any]) -> NDArray[np.float64]:
        return -np.hstack([search.search(Q, 1).distances ** 2 for search in self._searches])


class NearestNearby:
    """The same among a descriptor's nearest; a class that has none of them is as far as the farthest of them."""

    def __init__(self, X: NDArray[Any], classes: NDArray[np.intp], n_near: int, n_jobs: int | None) -> None:
        self._search = NeighborSearch(X, n_jobs=n_jobs)
        self._classes, self._n_near = classes, n_near

    def scores(self, Q: NDArray[Any]) -> NDArray[np.float64]:
        found = self._search.search(Q, self._n_near)
        squares = found.distances**2
        evidence = np.repeat(-squares[:, -1:], self._classes.max() + 1, axis=1)
        np.maximum.at(evidence, (np.arange(len(Q))[:, np.newaxis], self._classes[found.indices]), -squares)
        return evidence
