"""N3's step rule, safe Newton steps on any loss with a transfer function; and the ranking of examples by it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearboost.base.progress import Advance
from nearboost.boosting.engine import (
    ORACLES,
    BoostingRun,
    ClassProblems,
    OneVsRest,
    boost,
    empty_record,
    run_from,
)
from nearboost.kernels.records import NewtonExamples, NewtonState, NewtonStep
from nearboost.losses import Loss, get_loss
from nearboost.problem.targets import ExampleWeights, Labels
from nearboost.votes import Votes


def start_weights(labels: Labels) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """w_i = 1/‖1 + y_ic y_i‖₁ of each row, were it on the class's side and were it on the rest's.

    The norm is twice the number of codes that agree with y_ic.
    """
    own = labels.positives_per_row
    return 1 / (2 * np.maximum(own, 1)), 1 / (2 * np.maximum(labels.n_classes - own, 1))


@dataclass(frozen=True)
class NewtonRule(OneVsRest):
    """δ = learning_rate · L Σ v w b y y / Σ v b² (Table 2 of the N3 paper with weights and votes)."""

    loss: Loss
    learning_rate: float
    oracle: str
    min_reverse_neighbors: int

    def prepare(self, problems: ClassProblems) -> "NewtonBooster":
        """See the engine."""
        return NewtonBooster(self, problems)

    def offsets(self, labels: Labels) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Margins that the start weights stand for, on the class's side and on the rest's."""
        own, rest = start_weights(labels)
        return self.loss.margin_from_weight(own), self.loss.margin_from_weight(rest)


class NewtonBooster:
    """Boosts the class problems of one set of votes.

    Rows on the rest's side that no voter of the class votes on start alike in every class problem, so
    their weights and vote sums are made once and each class moves only the rows that differ.
    """

    def __init__(self, rule: NewtonRule, problems: ClassProblems) -> None:
        from nearboost.kernels import newton

        self._kernels = newton
        self._problems = problems
        self._graph = problems.graph()
        loss, n_voters = rule.loss, problems.votes.n_voters
        self._step = NewtonStep(
            loss.code,
            loss.weight_scale,
            rule.learning_rate * loss.newton_constant,
            ORACLES.index(rule.oracle),
        )
        # Who may be picked: voters on enough rows that count, with a denominator Σ v b² to divide by.
        v = problems.weights.product
        count, squares = np.empty(n_voters, dtype=np.int64), np.empty(n_voters)
        newton.reverse_totals(self._graph, v, count, squares)
        eligible = (count >= max(1, rule.min_reverse_neighbors)) & (squares > 0) & problems.may_learn
        self._examples = NewtonExamples(v, problems.weights.held_out, squares, eligible)
        # Every row as if it were on the rest's side, and nobody of the class voted on it: true of most rows.
        self._own_offset, self._rest_offset = rule.offsets(problems.labels)
        self._margin = self._rest_offset.copy()
        if problems.plain_vote is not None:
            self._margin += problems.start_coefficient * problems.plain_vote.total
            self._votes_by_class = problems.plain_vote.by_class.tocsc()
        self._weight, self._sums = np.empty(len(v)), np.empty(n_voters)
        newton.weigh_rest(self._graph, v, self._step, self._margin, self._weight, self._sums)
        self._risk = newton.total_risk(loss.code, self._margin, v)
        self._held_risk = newton.total_risk(loss.code, self._margin, problems.weights.held_out)

    def _rows_that_differ(self, column: int) -> tuple[NDArray[np.int32], NDArray[np.int8], NDArray[np.float64]]:
        """Rows of the class and rows its members vote on, with codes and start margins."""
        members = self._problems.labels.members_of(column)
        vote = self._problems.plain_vote
        if vote is None:
            return members.astype(np.int32), np.ones(len(members), dtype=np.int8), self._own_offset[members]
        counts = self._votes_by_class
        part = slice(counts.indptr[column], counts.indptr[column + 1])
        is_member, is_met = np.zeros((2, len(self._margin)), dtype=bool)
        is_member[members], is_met[counts.indices[part]] = True, True
        unmet = members[~is_met[members]]
        rows = np.concatenate([counts.indices[part], unmet]).astype(np.int32)
        for_class = np.concatenate([counts.data[part], np.zeros(len(unmet))])
        codes = np.where(is_member[rows], 1, -1).astype(np.int8)
        offsets = np.where(codes > 0, self._own_offset[rows], self._rest_offset[rows])
        start = self._problems.start_coefficient * (2 * for_class - vote.total[rows])
        return rows, codes, offsets + codes * start

    def boost(self, column: int, n_rounds: int, draws: NDArray[np.float64], advance: Advance) -> BoostingRun:
        """See the engine."""
        kernels, graph, examples, step = self._kernels, self._graph, self._examples, self._step
        n_voters = self._problems.votes.n_voters
        state = NewtonState(
            codes=np.full(len(self._margin), -1, dtype=np.int8),
            margin=self._margin.copy(),
            weight=self._weight.copy(),
            sums=self._sums.copy(),
            tree=np.empty(2 << (n_voters - 1).bit_length()),
            touched=np.empty(n_voters, dtype=np.int32),
            stamp=np.zeros(n_voters, dtype=np.int32),
        )
        rows, codes, margins = self._rows_that_differ(column)
        risk_change, held_change = kernels.start_class(graph, examples, step, state, rows, codes, margins)
        kernels.plant_tree(examples, step, state)
        record = empty_record(n_rounds)
        record.risk[0], record.held_risk[0] = self._risk + risk_change, self._held_risk + held_change
        done = kernels.newton_rounds(graph, examples, step, state, draws, record)
        advance(n_rounds)
        return run_from(record, done)


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
    left = weights.product > 0  # held-out rows are no prototypes: what covers their place must be another row
    while left.any() and sum(map(len, ranked)) < n_wanted:
        rest = votes.only(np.flatnonzero(left))
        problems = ClassProblems(rest, rest.reversed(), labels, weights)
        first_round = np.full(votes.n_voters, np.inf)
        for run in boost(problems, rule, n_rounds, n_jobs=n_jobs):
            picks, rounds = np.unique(run.picks, return_index=True)
            first_round[picks] = np.minimum(first_round[picks], rounds)
        picked = np.flatnonzero(np.isfinite(first_round))
        if not len(picked):
            break
        ranked.append(picked[np.argsort(first_round[picked], kind="stable")])
        left[picked] = False
    return np.concatenate([*ranked, np.flatnonzero(left)]).astype(np.int64)
