"""What voters say: signed coefficients by class, and the scores they add up to."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from nearboost.boosting.labels import Labels
from nearboost.votes import Votes


@dataclass(frozen=True)
class Leverage:
    """Voter j says ``values[j, c]`` on class c where stored, ``rest[j]`` if not.

    ``mass`` is how much each voter speaks at all: where nobody does, the score is ``silence``. ``normalised``
    divides what was said on a row and class by the mass of those who said it.
    """

    values: csr_array
    rest: NDArray[np.float64]
    mass: "Leverage | None" = None
    silence: NDArray[np.float64] | float = 0.0
    normalised: bool = False

    def scores(self, votes: Votes) -> NDArray[np.float64]:
        """H of each row: the vote b_ij times what j says, added over the voters in the order of their rank."""
        from nearboost.kernels.votes import score_rows

        n_columns = self.values.shape[1]
        scores, divisors = np.zeros((votes.n_rows, n_columns)), np.empty((0, n_columns))
        unsaid: NDArray[np.float64] | float = 0.0
        if self.mass is not None:
            mass = self.mass.scores(votes)
            unsaid = np.where(mass == 0, self.silence, 0.0)
            divisors = np.where(mass == 0, 1.0, mass) if self.normalised else divisors
        score_rows(
            votes.indptr, votes.voters, votes.weights, self.values.indptr, self.values.indices,
            self.values.data, self.rest, np.empty(n_columns), divisors, scores,
        )  # fmt: skip
        return scores + unsaid

    def contributions(self, votes: Votes, row: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The terms of that sum for one row, voters x classes, and what is said where nobody votes."""
        terms = self._terms(votes, row)
        if self.mass is None:
            return terms, np.zeros(terms.shape[1])
        mass = _add_up(self.mass._terms(votes, row))
        if self.normalised:
            terms /= np.where(mass == 0, 1.0, mass)
        return terms, np.where(mass == 0, self.silence, 0.0)

    def _terms(self, votes: Votes, row: int) -> NDArray[np.float64]:
        from nearboost.kernels.votes import voter_contribution

        entries = range(votes.indptr[row], votes.indptr[row + 1])
        terms = np.empty((len(entries), self.values.shape[1]))
        for term, entry in zip(terms, entries, strict=True):
            voter_contribution(
                votes.voters[entry], votes.weights[entry], self.values.indptr, self.values.indices,
                self.values.data, self.rest, term,
            )  # fmt: skip
        return terms


def _add_up(terms: NDArray[np.float64]) -> NDArray[np.float64]:
    """One by one, as scores are added."""
    total = np.zeros(terms.shape[1])
    for term in terms:
        total += term
    return total


def leverage_voters(coefficients: csr_array, labels: Labels, start: NDArray[np.float64]) -> Leverage:
    """y_jc (start_j + α_jc): coefficients signed by the labels; −start_j on classes that are not stored."""
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


def leverage_symmetric(coefficients: csr_array, labels: Labels) -> Leverage:
    """α_j on j's own class and −α_j/(C−1) on every other (the symmetric codes of MLNN and MAPBoost)."""
    alpha = coefficients.toarray().ravel()
    values = csr_array(labels.members.astype(np.float64))
    values.data = values.data * np.repeat(alpha, np.diff(values.indptr))
    values.indptr, values.indices = values.indptr.astype(np.int32), values.indices.astype(np.int32)
    return Leverage(values, -alpha / (labels.n_classes - 1))
