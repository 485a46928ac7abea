"""Votes as a sparse matrix: row i lists who votes on example i, with what weight b_ij ≥ 0."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nearboost.neighbors import transpose


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
        return self.where(may_vote[self.voters])

    def where(self, keep: NDArray[np.bool_]) -> "Votes":
        """Some of the votes."""
        indptr = np.concatenate([[0], np.cumsum(keep)])[self.indptr].astype(np.int32)
        return Votes(indptr, self.voters[keep], self.weights[keep], self.n_voters)
