"""The start coefficient: one number for every voter, from which boosting corrects."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array

from nearboost.boosting.labels import Labels
from nearboost.losses import Loss
from nearboost.votes import Votes

_MOST_ROWS = 5_000  # one number needs no more


def fit_start_coefficient(votes: Votes, vote_counts: csr_array, labels: Labels, loss: Loss) -> float:
    """The constant coefficient with the least risk, both sides of every class weighing the same.

    Row i scores s (2 V_ic − V_i) on class c, V_ic being the votes it gets from members of c. Most pairs
    (i, c) have no voter of c and are on the rest's side: their margin s V_i is the same for all such c,
    so it is summed once and only the other pairs are looked at one by one. The risk is convex in s.
    """
    step = max(1, votes.n_rows // _MOST_ROWS)
    counts, members = vote_counts[::step], labels.members[::step].astype(np.float64)
    total = votes.totals()[::step]
    n_rows = len(total)
    met, own_pairs = _pair_keys(counts), _pair_keys(members)
    pairs = np.union1d(met, own_pairs)
    rows, columns = np.divmod(pairs, labels.n_columns)
    for_class = np.zeros(len(pairs))
    for_class[np.searchsorted(pairs, met)] = counts.data
    own = np.isin(pairs, own_pairs, assume_unique=True)
    direction = np.where(own, 1, -1) * (2 * for_class - total[rows])
    n_members = np.bincount(columns, own, labels.n_columns)
    per_own = 1 / np.maximum(n_members, 1)[columns]
    per_rest = 1 / np.maximum(n_rows - n_members, 1)
    pair_weight = np.where(own, per_own, per_rest[columns])
    mean_total = total.mean()

    def risk(log_scale: float) -> float:
        s = np.exp(log_scale) / mean_total
        unmet = loss.value(s * total)
        return float(
            unmet.sum() * per_rest.sum()
            - per_rest[columns] @ unmet[rows]
            + pair_weight @ loss.value(s * direction)
        )

    best = minimize_scalar(
        risk, bounds=(np.log(1e-2), np.log(1e2)), method="bounded", options={"xatol": 1e-3}
    )
    return float(np.exp(best.x) / mean_total)


def _pair_keys(matrix: csr_array) -> NDArray[np.int64]:
    """The stored entries of a matrix as single numbers, in order; sorts the matrix's own entries too."""
    matrix.sort_indices()
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    return rows * matrix.shape[1] + matrix.indices
