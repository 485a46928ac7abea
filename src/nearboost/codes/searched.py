"""Exact codes under L1: one neighbour search for each term, because absolute values have no products to update."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.progress import Advance
from nearboost.codes.series import Series, Terms
from nearboost.neighbors import NeighborSearch


class SearchedTerms:
    """Picks terms as they are defined, by searching the neighbour of the moved query."""

    def __init__(self, search: NeighborSearch, series: Series) -> None:
        self.search = search
        self.series = series

    def pick(self, Q: NDArray[Any], own: NDArray[np.int32], advance: Advance) -> Terms:
        X, factor = self.search.rows.X, self.series.regularization
        numbers = np.arange(len(X), dtype=np.int32)
        terms = Terms.of(len(Q), self.series)
        open_, moved = np.arange(len(Q)), Q.astype(np.float64)
        for t, weight in enumerate(self.series.weights):
            found = self.search.search(moved, 1, query_groups=own[open_], groups=numbers).indices[:, 0]
            terms.picks[open_, t] = found
            terms.counts[open_] = t + 1
            moved = (1 + factor) * moved - factor * X[found].astype(np.float64)  # eq. (1)
            if self.series.tolerance > 0:
                residuals = np.linalg.norm(moved, axis=1) * (weight / factor)  # eq. (2)
                left = residuals > self.series.tolerance
                open_, moved = open_[left], moved[left]
            if not open_.size:
                break
        advance(len(Q))
        return terms
