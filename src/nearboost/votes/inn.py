"""Votes as iterative nearest neighbours code a row: each neighbour's weight in the sum that stands for it."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from nearboost.codes.local import pick_among
from nearboost.codes.series import Series, count_terms
from nearboost.neighbors import MeasuredRows, Neighbors
from nearboost.votes.rules import CANDIDATES, Weights

REGULARIZATION, COVERAGE = 0.05, 0.95  # as published: 62 terms


@dataclass(frozen=True)
class CodeVotes:
    """INN codes over the neighbours; the plain vote then is INNC in their neighbourhood."""

    metric: str
    n_jobs: int | None = None
    candidates: ClassVar = (*CANDIDATES, 31, 100)

    def __post_init__(self) -> None:
        if self.metric == "cosine":
            raise ValueError(
                'vote_weights="inn" adds rows up, which metric="cosine" cannot measure; scale rows to unit length '
                'and use metric="l2".'
            )

    @property
    def alike(self) -> bool:
        """See `VoteRule`."""
        return False

    @property
    def fades(self) -> bool:
        """See `VoteRule`: a neighbour that adds nothing gets no vote."""
        return True

    def fitted(self, graph: Neighbors) -> "CodeVotes":
        """Nothing depends on the graph."""
        return self

    def in_training(self, graph: Neighbors, X: NDArray[Any]) -> Weights:
        """See `VoteRule`."""
        return self.on_queries(graph, X, X)

    def on_queries(self, neighbors: Neighbors, Q: NDArray[Any], X: NDArray[Any]) -> Weights:
        """See `VoteRule`."""
        from nearboost.kernels import inn as kernels

        weights = np.zeros(neighbors.indices.shape)
        if not weights.size:
            return weights
        series = Series(REGULARIZATION, count_terms(REGULARIZATION, COVERAGE, None), 0.0)
        terms = pick_among(MeasuredRows(X, self.metric, self.n_jobs), series, Q, neighbors.indices)
        kernels.weights_of(neighbors.indices, terms.picks, series.weights, np.zeros(len(X)), weights)
        return weights
