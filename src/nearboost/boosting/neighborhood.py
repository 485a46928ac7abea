"""How many neighbours: what the rows allow, and what the plain vote recommends."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nearboost.boosting.labels import Labels
from nearboost.neighbors import Neighbors
from nearboost.votes import VoteRule, cast_votes


def largest_neighborhood(groups: NDArray[np.int32]) -> int:
    """The most neighbours that every row has outside its own group."""
    return len(groups) - int(np.unique(groups, return_counts=True)[1].max(initial=0))


def choose_n_neighbors(
    neighbors: Neighbors, X: NDArray[np.floating], labels: Labels, rule: VoteRule, n_prototypes: int | None = None
) -> int:
    """The largest number of neighbours whose plain vote is right as often as the best number's, left out.

    "As often" means within one standard error, two for votes that fade; the largest because learned weights make
    use of farther neighbours. One graph at the largest number serves all candidates. Multilabel rows count as
    right when the label with the most votes is theirs. Among few prototypes, votes that do not fade must not
    outnumber a class's share of them, or all voters would be heard on every query alike.
    """
    most = neighbors.n_neighbors
    if n_prototypes is not None and not rule.fades:
        most = min(most, max(1, n_prototypes // labels.n_classes))
    candidates = [k for k in rule.candidates if k <= most]
    share = np.array([_plain_vote_hits(neighbors.first(k), X, labels, rule) for k in candidates]) / labels.n_rows
    best = share.max()
    error = np.sqrt(best * (1 - best) / labels.n_rows)
    tolerance = error * (2 if rule.fades else 1)  # far neighbours of little weight do little harm
    return candidates[int(np.flatnonzero(share >= best - tolerance)[-1])]


def _plain_vote_hits(neighbors: Neighbors, X: NDArray[np.floating], labels: Labels, rule: VoteRule) -> int:
    """How many rows the plain vote gets right; a tie is a miss unless the first of the tied classes is right."""
    votes = cast_votes(neighbors, rule.fitted(neighbors).in_training(neighbors, X), labels.n_rows)
    counts = csr_array(votes.matrix() @ labels.members.astype(np.float64))
    if labels.n_columns == 1 and not labels.multilabel:
        elected = counts.toarray().ravel() > votes.totals() / 2
        return int((elected == (labels.codes(0) > 0)).sum())
    counts.sort_indices()
    rows = np.repeat(np.arange(labels.n_rows), np.diff(counts.indptr))
    most = np.zeros(labels.n_rows)
    np.maximum.at(most, rows, counts.data)
    leading = np.flatnonzero(counts.data == most[rows])
    _, first = np.unique(rows[leading], return_index=True)
    leader = leading[first]
    return int(labels.members[rows[leader], counts.indices[leader]].sum())


def drop_rows(neighbors: Neighbors, kept: NDArray[np.int64], n_rows: int) -> Neighbors:
    """The graph among the kept rows: each row's nearest kept neighbours, as many as every row has."""
    new_index = np.full(n_rows, -1)
    new_index[kept] = np.arange(len(kept))
    indices, distances = new_index[neighbors.indices[kept]], neighbors.distances[kept]
    k = int((indices >= 0).sum(axis=1).min())
    first = np.argsort(indices < 0, axis=1, kind="stable")[:, :k]
    return Neighbors(
        np.take_along_axis(indices, first, axis=1).astype(np.int32),
        np.take_along_axis(distances, first, axis=1),
    )
