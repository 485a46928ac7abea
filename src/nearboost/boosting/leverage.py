"""What voters say: signed coefficients by class, and the scores they add up to."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from nearboost.boosting.labels import Labels
from nearboost.votes import Votes


@dataclass(frozen=True)
class Leverage:
    """Voter j says ``values[j, c]`` = y_jc (start_j + α_jc) where stored, ``rest[j]`` = −start_j if not."""

    values: csr_array
    rest: NDArray[np.float64]

    def scores(self, votes: Votes) -> NDArray[np.float64]:
        """H of each row: b_ij · y_jc (start_j + α_jc), added over the voters in the order of their rank."""
        from nearboost.kernels.votes import score_rows

        n_columns = self.values.shape[1]
        scores = np.zeros((votes.n_rows, n_columns))
        score_rows(
            votes.indptr, votes.voters, votes.weights, self.values.indptr, self.values.indices,
            self.values.data, self.rest, np.empty(n_columns), scores,
        )  # fmt: skip
        return scores

    def contributions(self, votes: Votes, row: int) -> NDArray[np.float64]:
        """The terms of that sum for one row: voters x class problems."""
        from nearboost.kernels.votes import voter_contribution

        entries = range(votes.indptr[row], votes.indptr[row + 1])
        terms = np.empty((len(entries), self.values.shape[1]))
        for term, entry in zip(terms, entries, strict=True):
            voter_contribution(
                votes.voters[entry], votes.weights[entry], self.values.indptr, self.values.indices,
                self.values.data, self.rest, term,
            )  # fmt: skip
        return terms


def leverage_voters(coefficients: csr_array, labels: Labels, start: NDArray[np.float64]) -> Leverage:
    """Sign the coefficients α of some voters by their labels and add what each starts with."""
    alpha, members = coo_array(coefficients), coo_array(labels.members)
    members.data = np.ones(len(members.data))
    rows, columns = np.concatenate([alpha.row, members.row]), np.concatenate([alpha.col, members.col])

    def on_both(of_alpha: NDArray[np.float64], of_members: NDArray[np.float64]) -> csr_array:
        data = np.concatenate([of_alpha, of_members])
        return csr_array((data, (rows, columns)), shape=coefficients.shape)

    values = on_both(alpha.data, np.zeros_like(members.data))
    sign = 2 * on_both(np.zeros_like(alpha.data), members.data).data - 1
    values.data = sign * (np.repeat(start, np.diff(values.indptr)) + values.data)
    values.eliminate_zeros()
    values.indptr, values.indices = values.indptr.astype(np.int32), values.indices.astype(np.int32)
    return Leverage(values, -start)
