"""UNN's step rule: balanced start weights, closed-form or exact δ, each example at most once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearboost.base.progress import Advance
from nearboost.boosting.engine import (
    ORACLES,
    BoostingRun,
    ClassProblems,
    ExampleWeights,
    OneVsRest,
    empty_record,
    run_from,
)
from nearboost.kernels.records import UniversalState, UniversalStep
from nearboost.losses import Loss

BALANCES = ("uniform", "none", "adaptive")
# Table 2.2 writes w = −F' for exp and log, and −2F' for mat (its F is twice ours).
_WEIGHT_SCALES = {"exp": 1.0, "log": 1.0, "mat": 0.5}


def start_weights(codes: NDArray[np.int8], weights: ExampleWeights, balance: str) -> NDArray[np.float64]:
    """Start weights of one class problem, summing to 1; half of the mass on each side unless "none"."""
    mass = weights.sample.copy()
    if balance != "none":
        for side in (codes > 0, codes < 0):
            total = mass[side].sum()
            if total > 0:
                mass[side] /= 2 * total
    mass *= weights.by_class  # class weights act after the halving, or it would undo them
    return mass / mass.sum()


def weight_of_margin(loss: Loss, margin: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weight of Table 2.2 that stands for a margin."""
    return -loss.derivative(margin) / _WEIGHT_SCALES[loss.name]


def margin_of_weight(loss: Loss, weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """The margin that a weight of Table 2.2 stands for."""
    return loss.margin_from_weight(weight * _WEIGHT_SCALES[loss.name] / loss.weight_scale)


@dataclass(frozen=True)
class UniversalRule(OneVsRest):
    """δ from W⁺ and W⁻, the weights in R_j that agree and disagree with j (Table 2.2)."""

    loss: Loss
    learning_rate: float
    oracle: str
    min_reverse_neighbors: int
    delta: str
    balance: str

    def prepare(self, problems: ClassProblems) -> "UniversalBooster":
        """See the engine."""
        return UniversalBooster(self, problems)


class UniversalBooster:
    """Boosts the class problems of one set of votes."""

    def __init__(self, rule: UniversalRule, problems: ClassProblems) -> None:
        from nearboost.kernels import universal

        self._kernels = universal
        self._rule = rule
        self._problems = problems
        self._graph = problems.graph()
        # The closed form holds for votes of 1; other votes need the root of (2.15).
        self._closed_form = rule.delta == "closed_form" and bool(np.all(problems.votes.weights == 1))
        learning = problems.weights.product > 0
        members = np.concatenate([[0], np.cumsum(learning[self._graph.reverse])])
        counts = members[self._graph.reverse_ptr[1:]] - members[self._graph.reverse_ptr[:-1]]
        self._eligible = (counts >= max(1, rule.min_reverse_neighbors)) & problems.may_learn

    def boost(self, column: int, n_rounds: int, draws: NDArray[np.float64], advance: Advance) -> BoostingRun:
        """See the engine."""
        kernels, rule, loss = self._kernels, self._rule, self._rule.loss
        weights, n_voters = self._problems.weights, self._problems.votes.n_voters
        codes = self._problems.labels.codes(column)
        # Margins are those that the start weights stand for, moved by the plain vote, and then weights again.
        first = start_weights(codes, weights, rule.balance)
        learning = first > 0
        margin = codes * self._problems.start_scores(column)  # held-out rows have no start weight
        margin[learning] += margin_of_weight(loss, first[learning])
        raw = np.zeros_like(first)
        raw[learning] = weight_of_margin(loss, margin[learning])
        state = UniversalState(
            codes=codes,
            raw=raw,
            margin=margin,
            held_out_weight=weights.held_out / max(weights.held_out.sum(), np.finfo(float).tiny),
            agree=np.empty(n_voters),
            differ=np.empty(n_voters),
            mean_vote=np.empty(n_voters),
            largest_vote=np.empty(n_voters),
            open=self._eligible.astype(np.float64),
            known=np.zeros(n_voters),
            changed=np.ones(n_voters, dtype=np.bool_),
        )
        kernels.side_sums(self._graph, state)
        record = empty_record(n_rounds)
        record.risk[0] = loss.value(margin[learning]).sum()
        record.held_risk[0] = (state.held_out_weight * loss.value(margin)).sum()
        step = self._step(float((codes[learning] > 0).mean()), int(learning.sum()))
        done = kernels.universal_rounds(self._graph, step, state, draws, record)
        advance(n_rounds)
        return run_from(record, done)

    def _step(self, share: float, n_learning: int) -> UniversalStep:
        """The step of a class with this share of the rows.

        "adaptive", our definition: a voter's W⁻ is smoothed by its own side's share of the rows and its W⁺ by
        the other's, so that voters of the larger side need more support to be picked.
        """
        rule, smoothing = self._rule, 1 / n_learning
        most = 1 - smoothing  # a class may be held out as a whole: neither side's smoothing may vanish
        tilt = min(most, max(-most, 1 - 2 * share))
        return UniversalStep(
            rule.loss.code,
            self._closed_form,
            rule.learning_rate,
            smoothing,
            smoothing * tilt if rule.balance == "adaptive" else 0.0,
            ORACLES.index(rule.oracle),
        )
