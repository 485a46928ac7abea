"""N3 without rounding: the calibrated hinge loss in exact fractions (Lemma 1 of the N3 paper).

A certifying mode for small sets: every weight, step and coefficient is an exact fraction, so ties are
real ties. Numerators and denominators grow with every round.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from nearboost.boosting.engine import ClassProblems, Course
from nearboost.boosting.newton import start_weights

MOST_ROWS = 1_000
MOST_ROUNDS = 100
_NEWTON_CONSTANT = 4


def weight_from_margin(margin: Fraction) -> Fraction:
    """w = (1 + max(0, −z)) / (2 + |z|)."""
    return (1 + max(Fraction(0), -margin)) / (2 + abs(margin))


def margin_from_weight(weight: Fraction) -> Fraction:
    """z = (1 − 2w) / min(w, 1 − w)."""
    return (1 - 2 * weight) / min(weight, 1 - weight)


@dataclass(frozen=True)
class RationalRule:
    """The Newton rule in fractions; the oracle compares exactly."""

    learning_rate: float
    oracle: str
    min_reverse_neighbors: int

    def prepare(self, problems: ClassProblems) -> "RationalBooster":
        """See the engine."""
        return RationalBooster(self, problems)


class RationalBooster:
    """Boosts the class problems of one set of votes, one plain round after the other."""

    def __init__(self, rule: RationalRule, problems: ClassProblems) -> None:
        self._rule = rule
        self._problems = problems
        reverse = problems.reverse
        self._v = [Fraction(float(v)) for v in problems.weights.product]
        self._members: list[list[tuple[int, Fraction]]] = []
        for j in range(reverse.n_rows):
            part = range(reverse.indptr[j], reverse.indptr[j + 1])
            pairs = [(int(reverse.voters[e]), Fraction(float(reverse.weights[e]))) for e in part]
            self._members.append(pairs)

    def boost(self, column: int, n_rounds: int, draws: NDArray[np.float64]) -> Course:
        """See the engine."""
        codes = [int(code) for code in self._problems.labels.codes(column)]
        margins = self._start_margins(column, codes)
        step = _NEWTON_CONSTANT * Fraction(self._rule.learning_rate)
        picks: list[int] = []
        deltas: list[Fraction] = []
        risk, held_risk = [self._risk(margins)], [self._held_risk(margins)]
        for _ in range(n_rounds):
            weights = [weight_from_margin(z) for z in margins]
            j, eta_over_n = self._choose(codes, weights)
            if j < 0:
                break
            delta = step * eta_over_n
            for i, b in self._members[j]:
                margins[i] += delta * b * codes[i] * codes[j]
            picks.append(j)
            deltas.append(delta)
            risk.append(self._risk(margins))
            held_risk.append(self._held_risk(margins))
        return Course(
            np.array(picks, dtype=np.int32),
            np.array([float(delta) for delta in deltas]),
            np.array(risk),
            np.array(held_risk),
            tuple(deltas),
        )

    def _start_margins(self, column: int, codes: list[int]) -> list[Fraction]:
        own, rest = start_weights(self._problems.labels)
        vote = self._problems.start_scores(column)
        # 1/(2n) is not exact in binary: rebuild it from the whole number 2n.
        return [
            margin_from_weight(Fraction(1, round(1 / (own[i] if code > 0 else rest[i]))))
            + code * Fraction(float(vote[i]))
            for i, code in enumerate(codes)
        ]

    def _choose(self, codes: list[int], weights: list[Fraction]) -> tuple[int, Fraction]:
        """The best candidate and its η / Σ v b²; the first of equals, -1 when no step is positive."""
        best, best_worth, best_step = -1, Fraction(0), Fraction(0)
        for j, members in enumerate(self._members):
            learning = [(i, b) for i, b in members if self._v[i] > 0]
            if len(learning) < max(1, self._rule.min_reverse_neighbors):
                continue
            squares = sum((self._v[i] * b * b for i, b in learning), Fraction(0))
            eta = sum((self._v[i] * weights[i] * b * codes[i] * codes[j] for i, b in learning), Fraction(0))
            worth = eta / squares if self._rule.oracle == "delta" else eta * eta / squares
            if eta > 0 and worth > best_worth:
                best, best_worth, best_step = j, worth, eta / squares
        return best, best_step

    def _risk(self, margins: list[Fraction]) -> float:
        return _hinge_risk(margins, self._problems.weights.product)

    def _held_risk(self, margins: list[Fraction]) -> float:
        return _hinge_risk(margins, self._problems.weights.judge)


def _hinge_risk(margins: list[Fraction], weights: NDArray[np.float64]) -> float:
    """Σ v F(margin), for the record only: the logarithm is where exactness ends."""
    z = np.array([float(margin) for margin in margins])
    return float(weights @ (np.maximum(0, -z) - np.log(2 + np.abs(z))))
