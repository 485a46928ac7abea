"""The geometric series that a code is: which weights, how many terms, when to stop; and who picks its terms."""

import math
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from nearboost.base.progress import Advance

Groups = NDArray[np.int32]

MOST_TERMS = 100_000
MOST_SEARCHES = 10_000  # where each term is a search


@dataclass(frozen=True)
class Series:
    """λ, the largest number of terms, and the residual that ends the series early (0 never does)."""

    regularization: float
    n_terms: int
    tolerance: float

    @property
    def weights(self) -> NDArray[np.float64]:
        """w_i = λ/(1+λ)^i, eq. (3)."""
        return self.regularization * (1 + self.regularization) ** -np.arange(1.0, self.n_terms + 1)


@dataclass(frozen=True)
class Terms:
    """The samples picked for some codes, a row for each, of which the first ``counts`` hold."""

    picks: NDArray[np.int32]
    counts: NDArray[np.int32]

    @classmethod
    def empty(cls, n_codes: int, series: Series) -> Self:
        """Room for so many codes."""
        return cls(np.empty((n_codes, series.n_terms), dtype=np.int32), np.zeros(n_codes, dtype=np.int32))

    def __getitem__(self, codes: slice) -> "Terms":
        return Terms(self.picks[codes], self.counts[codes])


class TermPicker(Protocol):
    """A way to pick the terms of codes."""

    def pick(self, Q: NDArray[Any], groups: Groups, own: Groups, advance: Advance) -> Terms:
        """Terms for each query; ``own`` is the group of samples a query may not have, -1 for none.

        ``advance`` is called with the number of finished queries. Several codes of one query
        follow each other.
        """


def count_terms(regularization: float, coverage: float, max_terms: int | None) -> int:
    """K of eq. (8), the terms that make up the share ``coverage`` of all weights; at most ``max_terms``."""
    exact = -math.log1p(-coverage) / math.log1p(regularization)
    # A whole number stays one in spite of rounding.
    needed = math.inf if exact > MOST_TERMS else max(1, math.ceil(exact * (1 - 2.0**-40)))
    if max_terms is not None and max_terms < needed:
        needed = max_terms
    if needed > MOST_TERMS:
        raise ValueError(
            f"regularization={regularization:g} and coverage={coverage:g} ask for {exact:.3g} terms; "
            f"raise regularization, lower coverage or give max_terms (at most {MOST_TERMS:,})."
        )
    return int(needed)
