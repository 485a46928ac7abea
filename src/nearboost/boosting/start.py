"""The plain vote, and the one coefficient with which boosting starts from it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array

from nearboost.boosting.labels import Labels
from nearboost.losses import Loss
from nearboost.votes import Votes

_MOST_ROWS = 5_000  # one number needs no more


@dataclass(frozen=True)
class PlainVote:
    """What voters say before anything is learned: V_ic, the votes on row i by members of class c, and V_i.

    V_i counts all votes on the row, so it scores s (2 V_ic − V_i) on class c, s being the start coefficient.
    """

    by_class: csr_array
    total: NDArray[np.float64]

    def scores(self, column: int) -> NDArray[np.float64]:
        """2 V_ic − V_i of every row."""
        return 2 * self.by_class[:, [column]].toarray().ravel() - self.total


def count_plain_vote(votes: Votes, labels: Labels, voter_weight: NDArray[np.float64]) -> PlainVote:
    """Count the votes by class; a voter of weight 2 counts as two."""
    matrix = votes.matrix()
    members = csr_array(labels.members.astype(np.float64))
    members.data *= np.repeat(voter_weight, np.diff(members.indptr))
    by_class = csr_array(matrix @ members)
    by_class.sort_indices()
    return PlainVote(by_class, matrix @ voter_weight)


def fit_start_coefficient(vote: PlainVote, labels: Labels, row_weight: NDArray[np.float64], loss: Loss) -> float:
    """The start coefficient with the least risk, both sides of every class weighing the same.

    Most pairs (i, c) have no voter of c and are on the rest's side: their margin s V_i is the same for all
    such c, so it is summed once and only the other pairs are looked at one by one. The risk is convex in s.

    Half a row on which all votes are wrong is added: where no row errs the risk falls for ever, and one odd row
    more or less (the judge folds differ by a few) must not change the scale of all scores.
    """
    step = max(1, len(row_weight) // _MOST_ROWS)
    by_class, members = vote.by_class[::step], csr_array(labels.members[::step])
    total, row_weight = vote.total[::step], row_weight[::step]
    met, own_pairs = _pair_keys(by_class), _pair_keys(members)
    pairs = np.union1d(met, own_pairs)
    rows, columns = np.divmod(pairs, labels.n_columns)
    for_class = np.zeros(len(pairs))
    for_class[np.searchsorted(pairs, met)] = by_class.data
    own = np.isin(pairs, own_pairs, assume_unique=True)
    direction = np.where(own, 1, -1) * (2 * for_class - total[rows])
    counts = row_weight > 0  # judged rows must not tell how many of each class they are
    n_members = np.bincount(columns, own & counts[rows], labels.n_columns)
    per_own, per_rest = 1 / np.maximum(n_members, 1), 1 / np.maximum(counts.sum() - n_members, 1)
    pair_weight = row_weight[rows] * np.where(own, per_own[columns], per_rest[columns])
    mean_total = total.mean()
    unseen_weight = (
        labels.n_columns * row_weight.sum() / counts.sum() ** 2
    )  # half a row, on both sides of each class

    def risk(log_scale: float) -> float:
        s = np.exp(log_scale) / mean_total
        unmet = row_weight * loss.value(s * total)
        met_risk = pair_weight @ loss.value(s * direction)
        seen_risk = unmet.sum() * per_rest.sum() - per_rest[columns] @ unmet[rows] + met_risk
        return float(seen_risk + unseen_weight * loss.value(np.array(-np.exp(log_scale))))

    bounds = (np.log(1e-2), np.log(1e2))
    best = minimize_scalar(risk, bounds=bounds, method="bounded", options={"xatol": 1e-3})
    return float(np.exp(best.x) / mean_total)


def _pair_keys(matrix: csr_array) -> NDArray[np.int64]:
    """The stored entries of a matrix with sorted rows as single numbers, in order."""
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    return rows * matrix.shape[1] + matrix.indices
