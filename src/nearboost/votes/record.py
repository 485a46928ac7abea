"""Votes as a sparse matrix: row i lists who votes on example i, with what weight b_ij ≥ 0."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nearboost.neighbors import Neighbors, as_csr, transpose

VOTE_WEIGHTS = ("uniform", "rank", "gaussian")


@dataclass(frozen=True)
class Votes:
    """Votes in CSR form over ``n_voters`` voters; voters stand in the order of their rank."""

    indptr: NDArray[np.int32]
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
        keep = may_vote[self.voters]
        indptr = np.concatenate([[0], np.cumsum(keep)])[self.indptr].astype(np.int32)
        return Votes(indptr, self.voters[keep], self.weights[keep], self.n_voters)


def votes_from_neighbors(
    neighbors: Neighbors, n_voters: int, kind: str, soft_lambda: float | None = None
) -> Votes:
    """Let each neighbour vote with a weight by ``kind``.

    "uniform" is 1 (the papers), "rank" 1/r for the neighbour of rank r, "gaussian" exp(−d²/2ρ²) with
    ρ the distance of the farthest voter. ``soft_lambda`` is the soft UNN of eq. (2.31), for queries.
    """
    n_rows, k = neighbors.indices.shape
    if soft_lambda is not None:
        weights = np.tile(soft_rank_weights(k, soft_lambda), (n_rows, 1))
    elif kind == "rank":
        weights = np.tile(1 / np.arange(1, k + 1), (n_rows, 1))
    elif kind == "gaussian":
        weights = _gaussian_weights(neighbors.distances)
    else:
        weights = np.ones((n_rows, k))
    indptr, voters = as_csr(neighbors)
    return Votes(indptr, voters, weights.ravel(), n_voters)


def soft_rank_weights(k: int, soft_lambda: float) -> NDArray[np.float64]:
    """β_r = 1/(1 + e^{λ(r−1)}), eq. (2.31), for ranks 1 to k."""
    return 1 / (1 + np.exp(np.minimum(soft_lambda * np.arange(k), 700.0)))


def _gaussian_weights(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """All voters at distance zero (ρ = 0) count fully."""
    radius = distances[:, -1:]
    share = np.divide(distances, radius, out=np.zeros_like(distances), where=radius > 0)
    return np.exp(-0.5 * share**2)
