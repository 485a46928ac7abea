"""Who votes on whom, and how much: votes as a sparse matrix, and the rules that make them from neighbours.

Votes go by rank or distance (UNN, N3), by a kernel (MLNN, MAPBoost), or by the codes of iterative nearest
neighbours.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nearboost.base.rows import BYTES_AT_ONCE, RowSource, row_source
from nearboost.codes.local import pick_among
from nearboost.codes.series import Series, count_terms
from nearboost.neighbors import MeasuredRows, Neighbors, as_csr, transpose

CANDIDATES = (1, 3, 5, 7, 11, 15, 31)
VOTE_WEIGHTS = ("uniform", "rank", "gaussian")
KERNELS = ("knn", "gaussian", "adaptive")
NO_VOTE = 1e-6  # a kernel value below this share of the row's largest
REGULARIZATION, COVERAGE = 0.05, 0.95  # of INN codes, as published: 62 terms

Features = NDArray[np.floating] | RowSource  # rows of which some are read at a time, if at all
Weights = NDArray[np.float64]
Kernel = str | Callable[[Weights], Weights]


@dataclass(frozen=True)
class Votes:
    """Votes in CSR form: row i lists who votes on example i, in the order of rank, with what weight b_ij ≥ 0.

    ``indptr`` is int32, or int64 where there are too many votes for it.
    """

    indptr: NDArray[np.integer]
    voters: NDArray[np.int32]
    weights: NDArray[np.float64]
    n_voters: int

    @property
    def n_rows(self) -> int:
        """Number of examples voted on."""
        return len(self.indptr) - 1

    def totals(self) -> NDArray[np.float64]:
        """Σ of the votes on each row."""
        return self.matrix() @ np.ones(self.n_voters)

    def matrix(self) -> csr_array:
        """The votes as a SciPy matrix, rows x voters, sharing memory."""
        return csr_array((self.weights, self.voters, self.indptr), shape=(self.n_rows, self.n_voters))

    def reversed(self) -> "Votes":
        """The transpose: row j lists the examples R_j that j votes on."""
        indptr, rows, weights = transpose(self.indptr, self.voters, self.weights, self.n_voters)
        return Votes(indptr, rows, weights, self.n_rows)

    def only(self, voters: NDArray[np.integer]) -> "Votes":
        """The same votes without those of any other voter."""
        may_vote = np.zeros(self.n_voters, dtype=bool)
        may_vote[voters] = True
        return self.where(may_vote[self.voters])

    def where(self, keep: NDArray[np.bool_]) -> "Votes":
        """Some of the votes."""
        indptr = np.concatenate([[0], np.cumsum(keep)])[self.indptr].astype(self.indptr.dtype)
        return Votes(indptr, self.voters[keep], self.weights[keep], self.n_voters)


class VoteRule(Protocol):
    """Weighs neighbours, sorted from the nearest, in training and at query time."""

    @property
    def alike(self) -> bool:
        """Whether every voter's vote is the same."""

    @property
    def candidates(self) -> tuple[int, ...]:
        """The numbers of neighbours worth a try."""

    @property
    def fades(self) -> bool:
        """Whether the votes of far neighbours count so little that a few more do no harm."""

    def fitted(self, graph: Neighbors) -> "VoteRule":
        """The same rule with what it takes from the graph that training rows see."""

    def in_training(self, graph: Neighbors, X: Features, voters: Features | None = None) -> Weights:
        """Votes on all training rows ``X``; row j of them and of the graph is also voter j, wherever it stands."""

    def on_queries(self, neighbors: Neighbors, Q: Features, X: Features) -> Weights:
        """Votes on rows ``Q`` that are not voters themselves; the voters are rows of ``X``."""


@dataclass(frozen=True)
class PlainVotes:
    """ "uniform" is 1 (as published), "rank" 1/r at rank r, "gaussian" exp(−d²/2ρ²) with ρ the farthest voter's
    distance. ``soft_lambda`` is the soft UNN of eq. (2.31), for queries."""

    kind: str
    soft_lambda: float | None = None
    candidates: ClassVar = CANDIDATES

    @property
    def alike(self) -> bool:
        """See `VoteRule`."""
        return self.kind == "uniform"

    @property
    def fades(self) -> bool:
        """See `VoteRule`."""
        return self.kind == "rank"

    def fitted(self, graph: Neighbors) -> "PlainVotes":
        """Nothing depends on the graph."""
        return self

    def in_training(self, graph: Neighbors, X: Features | None = None, voters: Features | None = None) -> Weights:
        """See `VoteRule`; what the rows hold does not matter."""
        n_rows, k = graph.indices.shape
        if self.kind == "gaussian":
            return gaussian(graph.distances, farthest(graph))
        return np.tile(1 / np.arange(1, k + 1) if self.kind == "rank" else np.ones(k), (n_rows, 1))

    def on_queries(self, neighbors: Neighbors, Q: Features | None = None, X: Features | None = None) -> Weights:
        """See `VoteRule`; what the rows hold does not matter."""
        if self.soft_lambda is None:
            return self.in_training(neighbors)
        n_rows, k = neighbors.indices.shape
        return np.tile(soft_rank_weights(k, self.soft_lambda), (n_rows, 1))


@dataclass(frozen=True)
class KernelVotes:
    """A kernel, cut off at the k-th neighbour.

    "knn" is 1; "gaussian" exp(−d²/2σ²) with one σ for all (``sigma``, by default the median distance ρ_k of the
    k-th neighbour in training, where it is not zero); "adaptive" the same with σ = ρ_k of the row voted on, times
    ``sigma``, or √(2ρ_k) for ``sigma="sqrt"``; a callable takes distances and returns similarities.

    ``density`` makes the votes of MAPBoost: they sum to 1 on each row, and in training an adaptive bandwidth is
    the voter's own (the sample-point estimator) rather than that of the row voted on (the balloon estimator).
    """

    kernel: Kernel
    sigma: float | str | None = None
    density: bool = False
    candidates: ClassVar = CANDIDATES

    @property
    def alike(self) -> bool:
        """See `VoteRule`."""
        return self.kernel == "knn"

    @property
    def fades(self) -> bool:
        """See `VoteRule`."""
        return False

    def fitted(self, graph: Neighbors) -> "KernelVotes":
        """With σ of the fixed Gaussian known."""
        if self.kernel != "gaussian" or self.sigma is not None:
            return self
        radius = farthest(graph)
        apart = radius[radius > 0]  # not among duplicates
        return replace(self, sigma=float(np.median(apart if len(apart) else radius)))

    def in_training(self, graph: Neighbors, X: Features | None = None, voters: Features | None = None) -> Weights:
        """See `VoteRule`; what the rows hold does not matter."""
        radius = farthest(graph)
        return self._weigh(graph.distances, radius[graph.indices, 0] if self.density else radius)

    def on_queries(self, neighbors: Neighbors, Q: Features | None = None, X: Features | None = None) -> Weights:
        """See `VoteRule`; what the rows hold does not matter."""
        return self._weigh(neighbors.distances, farthest(neighbors))

    def _weigh(self, distances: Weights, radius: Weights) -> Weights:
        if not distances.size:
            values = np.ones_like(distances)
        elif callable(self.kernel):
            values = check_similarities(self.kernel(distances.copy()), distances)  # it may write into them
        elif self.kernel == "knn":
            values = np.ones_like(distances)
        else:
            values = gaussian(distances, self._bandwidth(radius), relative=self.density)
        values = np.where(values < NO_VOTE * values.max(axis=1, keepdims=True, initial=0.0), 0.0, values)
        if not self.density:
            return values
        total = values.sum(axis=1, keepdims=True)
        return np.divide(values, total, out=np.zeros_like(values), where=total > 0)

    def _bandwidth(self, radius: Weights) -> Weights:
        if self.kernel == "gaussian":
            return np.full_like(radius, self.sigma)
        if self.sigma == "sqrt":
            return np.sqrt(2 * radius)
        return radius if self.sigma is None else radius * float(self.sigma)


@dataclass(frozen=True)
class CodeVotes:
    """A neighbour's weight in the row's INN code over its neighbours; the plain vote then is INNC among them."""

    metric: str
    n_jobs: int | None = None
    candidates: ClassVar = (*CANDIDATES, 100)

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

    def in_training(self, graph: Neighbors, X: Features, voters: Features | None = None) -> Weights:
        """See `VoteRule`."""
        return self.on_queries(graph, X, X if voters is None else voters)

    def on_queries(self, neighbors: Neighbors, Q: Features, X: Features) -> Weights:
        """See `VoteRule`."""
        weights = np.zeros(neighbors.indices.shape)
        if not weights.size:
            return weights
        voters, queries = row_source(X), row_source(Q)
        if voters.lie_in_memory:
            return self._weigh(neighbors.indices, queries.part(slice(0, len(queries))), voters.X)
        most = max(1, voters.fitting(BYTES_AT_ONCE) // neighbors.n_neighbors)
        for start, rows in queries.blocks(BYTES_AT_ONCE, most):
            part = slice(start, start + len(rows))
            numbers, places = np.unique(neighbors.indices[part], return_inverse=True)
            near: NDArray[np.int32] = places.reshape(len(rows), -1).astype(np.int32)
            weights[part] = self._weigh(near, rows, voters.take(numbers))
        return weights

    def _weigh(self, near: NDArray[np.int32], Q: NDArray[Any], X: NDArray[Any]) -> Weights:
        """Votes of near rows of X, given by their numbers."""
        from nearboost.kernels import inn as kernels

        series = Series(REGULARIZATION, count_terms(REGULARIZATION, COVERAGE, None), 0.0)
        terms = pick_among(MeasuredRows(X, self.metric, self.n_jobs), series, Q, near)
        weights = np.zeros(near.shape)
        kernels.weights_of(near, terms.picks, series.weights, np.zeros(len(X)), weights)
        return weights


def cast_votes(neighbors: Neighbors, weights: Weights, n_voters: int) -> Votes:
    """Votes of neighbours with these weights; a weight of zero is no vote."""
    indptr, voters = as_csr(neighbors)
    flat = np.ascontiguousarray(weights).ravel()
    votes = Votes(indptr, voters, flat, n_voters)
    return votes if flat.all() else votes.where(flat > 0)


def votes_from_neighbors(neighbors: Neighbors, n_voters: int, kind: str) -> Votes:
    """Plain votes of some ``kind``, see `PlainVotes`."""
    return cast_votes(neighbors, PlainVotes(kind).in_training(neighbors), n_voters)


def farthest(neighbors: Neighbors) -> Weights:
    """ρ_k of every row, the distance of its farthest voter, as a column."""
    return neighbors.distances[:, -1:]


def gaussian(distances: Weights, bandwidth: Weights, *, relative: bool = False) -> Weights:
    """exp(−d²/2σ²), or ``relative`` to the largest on the row, which then cannot vanish.

    A bandwidth of zero stands among duplicates, which all count fully.
    """
    exponents = np.divide(distances, bandwidth, out=np.zeros_like(distances), where=bandwidth > 0) ** 2 / 2
    return np.exp(exponents.min(axis=1, keepdims=True) - exponents if relative else -exponents)


def soft_rank_weights(k: int, soft_lambda: float) -> Weights:
    """β_r = 1/(1 + e^{λ(r−1)}), eq. (2.31), for ranks 1 to k."""
    return 1 / (1 + np.exp(np.minimum(soft_lambda * np.arange(k), 700.0)))


def check_similarities(values: object, distances: Weights) -> Weights:
    """What a kernel of the user's returned, if it can be used."""
    similarities = np.asarray(values, dtype=np.float64)
    if similarities.shape != distances.shape:
        raise ValueError(
            f"The kernel returned shape {similarities.shape} for distances of shape {distances.shape}; it must "
            "return one similarity for each distance."
        )
    if not np.all(np.isfinite(similarities)) or np.any(similarities < 0):
        raise ValueError(
            "The kernel returned numbers below zero or not finite; similarities must be at least 0, also at "
            "distance 0."
        )
    return similarities
