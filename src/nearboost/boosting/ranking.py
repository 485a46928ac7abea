"""Which examples to keep: a greedy cover of the training rows by their neighbours."""

import numpy as np
from numpy.typing import NDArray

from nearboost.boosting.engine import ClassProblems, ExampleWeights, boost
from nearboost.boosting.labels import Labels
from nearboost.boosting.newton import NewtonRule
from nearboost.losses import get_loss
from nearboost.votes import Votes


def ranking_width(n_rows: int, n_wanted: int) -> int:
    """Neighbours to rank by: three times the rows that a prototype stands for, within 21 and 31."""
    return int(np.clip(3 * n_rows // n_wanted, 21, 31))


def rank_examples(
    votes: Votes, labels: Labels, weights: ExampleWeights, n_wanted: int, *, n_jobs: int | None = None
) -> NDArray[np.int64]:
    """Rows, the most useful first; at least the first ``n_wanted`` are ranked by use.

    The order is that in which N3 from zero, with the squared loss and the largest guaranteed decrease, first
    picks them. The squared loss stops counting a row once its margin is ½, so each pick is the example that
    covers the most rows which its class has not covered yet: plain boosting would go on about the hard rows
    and leave the easy ones, which nobody votes on after pruning, to chance. When all is covered, the rest is
    ranked by covering once more without those already ranked.
    """
    rule = NewtonRule(get_loss("squared"), learning_rate=1.0, oracle="decrease", min_reverse_neighbors=1)
    n_rounds = 20 + 4 * -(-n_wanted // labels.n_columns)
    ranked: list[NDArray[np.int64]] = []
    left = weights.product > 0  # judges do not vote: what covers their place must be somebody else
    while left.any() and sum(map(len, ranked)) < n_wanted:
        rest = votes.only(np.flatnonzero(left))
        problems = ClassProblems(rest, rest.reversed(), labels, weights)
        first_round = np.full(votes.n_voters, np.inf)
        for course in boost(problems, rule, n_rounds, n_jobs=n_jobs):
            picks, rounds = np.unique(course.picks, return_index=True)
            first_round[picks] = np.minimum(first_round[picks], rounds)
        picked = np.flatnonzero(np.isfinite(first_round))
        if not len(picked):
            break
        ranked.append(picked[np.argsort(first_round[picked], kind="stable")])
        left[picked] = False
    return np.concatenate([*ranked, np.flatnonzero(left)]).astype(np.int64)
