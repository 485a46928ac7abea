"""N3 without rounding: the calibrated hinge loss in exact fractions (Lemma 1 of the N3 paper).

A certifying mode for small sets: every weight, step and coefficient is an exact fraction, so ties are
real ties. Numerators and denominators grow with every round.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from nearboost.base.progress import Advance
from nearboost.boosting.engine import BoostingRun, ClassProblems, OneVsRest
from nearboost.boosting.newton import start_weights
from nearboost.votes import Votes

MOST_ROWS = 1_000
MOST_ROUNDS = 10
_NEWTON_CONSTANT = 4


def weight_from_margin(margin: Fraction) -> Fraction:
    """w = (1 + max(0, −z)) / (2 + |z|)."""
    return (1 + max(Fraction(0), -margin)) / (2 + abs(margin))


def margin_from_weight(weight: Fraction) -> Fraction:
    """z = (1 − 2w) / min(w, 1 − w)."""
    return (1 - 2 * weight) / min(weight, 1 - weight)


@dataclass(frozen=True)
class RationalRule(OneVsRest):
    """The Newton rule in fractions; the oracle compares exactly."""

    learning_rate: float
    oracle: str
    min_reverse_neighbors: int

    def prepare(self, problems: ClassProblems) -> "RationalBooster":
        """See the engine."""
        return RationalBooster(self, problems)


class RationalBooster:
    """Boosts the class problems of one set of votes; like the float kernel, a round touches R_j's voters only."""

    def __init__(self, rule: RationalRule, problems: ClassProblems) -> None:
        self._rule = rule
        self._problems = problems
        self._v = [Fraction(float(v)) for v in problems.weights.product]
        self._voters = _rows_of(problems.votes)
        self._members = _rows_of(problems.reverse)
        self._squares, self._eligible = [], []
        for members, may_learn in zip(self._members, problems.may_learn, strict=True):
            learning = [(i, b) for i, b in members if self._v[i] > 0]
            self._squares.append(sum((self._v[i] * b * b for i, b in learning), Fraction(0)))
            self._eligible.append(may_learn and len(learning) >= max(1, rule.min_reverse_neighbors))

    def boost(self, column: int, n_rounds: int, draws: NDArray[np.float64], advance: Advance) -> BoostingRun:
        """See the engine."""
        codes = [int(code) for code in self._problems.labels.codes(column)]
        margins = self._start_margins(column, codes)
        weights = [weight_from_margin(z) for z in margins]
        # η_j of every voter, kept up to date; what the oracle compares follows from it.
        sums = [
            sum((self._v[i] * weights[i] * b * codes[i] for i, b in members), Fraction(0))
            for members in self._members
        ]
        worths = [self._worth(j, codes[j] * sums[j]) for j in range(len(sums))]
        step = _NEWTON_CONSTANT * Fraction(self._rule.learning_rate)
        picks: list[int] = []
        deltas: list[Fraction] = []
        risk, held_risk = [self._risk(margins)], [self._held_risk(margins)]
        for _ in range(n_rounds):
            j = _first_of_best(worths)
            if j < 0:
                break
            delta = step * codes[j] * sums[j] / self._squares[j]
            touched = set()
            for i, b in self._members[j]:  # a pick changes R_j, and the sums of the voters of its members
                margins[i] += delta * b * codes[i] * codes[j]
                change = self._v[i] * codes[i] * (weight_from_margin(margins[i]) - weights[i])
                weights[i] = weight_from_margin(margins[i])
                for n, b_n in self._voters[i]:
                    sums[n] += change * b_n
                    touched.add(n)
            for n in touched:
                worths[n] = self._worth(n, codes[n] * sums[n])
            picks.append(j)
            deltas.append(delta)
            risk.append(self._risk(margins))
            held_risk.append(self._held_risk(margins))
        advance(n_rounds)
        floats = np.array([float(delta) for delta in deltas])
        return BoostingRun(
            np.array(picks, dtype=np.int32), floats, np.array(risk), np.array(held_risk), tuple(deltas)
        )

    def _start_margins(self, column: int, codes: list[int]) -> list[Fraction]:
        """Margins of the start weights, which are 1/(2n): rebuilt exactly from the whole number 2n."""
        own, rest = start_weights(self._problems.labels)
        vote = self._problems.start_scores(column)
        margins = []
        for i, code in enumerate(codes):
            weight = Fraction(1, round(1 / (own[i] if code > 0 else rest[i])))
            margins.append(margin_from_weight(weight) + code * Fraction(float(vote[i])))
        return margins

    def _worth(self, j: int, eta: Fraction) -> Fraction:
        """What the oracle compares for voter j; 0 for one that may not be picked."""
        if eta <= 0 or not self._eligible[j]:
            return Fraction(0)
        return eta / self._squares[j] if self._rule.oracle == "delta" else eta * eta / self._squares[j]

    def _risk(self, margins: list[Fraction]) -> float:
        return _hinge_risk(margins, self._problems.weights.product)

    def _held_risk(self, margins: list[Fraction]) -> float:
        return _hinge_risk(margins, self._problems.weights.held_out)


def exact_coefficients(runs: list[BoostingRun]) -> list[dict[int, Fraction]]:
    """For each class problem, the exact coefficient of every voter it picked."""
    tables: list[dict[int, Fraction]] = []
    for run in runs:
        table: dict[int, Fraction] = {}
        for pick, delta in zip(run.picks.tolist(), run.exact_deltas or (), strict=True):
            table[pick] = table.get(pick, Fraction(0)) + delta
        tables.append(table)
    return tables


def _rows_of(votes: Votes) -> list[list[tuple[int, Fraction]]]:
    """The rows of a vote matrix as lists of (column, exact vote)."""
    pairs = [(int(j), Fraction(float(b))) for j, b in zip(votes.voters, votes.weights, strict=True)]
    return [pairs[begin:end] for begin, end in pairwise(votes.indptr.tolist())]


def _first_of_best(worths: list[Fraction]) -> int:
    """The lowest index of the largest worth, -1 when all are 0; floats only narrow the field."""
    floats = np.array([float(worth) for worth in worths])
    if not floats.max() > 0:
        return -1
    field = np.flatnonzero(floats >= floats.max() * (1 - 1e-12))
    return int(max(field, key=lambda j: (worths[j], -j)))


def _hinge_risk(margins: list[Fraction], weights: NDArray[np.float64]) -> float:
    """Σ v F(margin), for the record only: the logarithm is where exactness ends."""
    z = np.array([float(margin) for margin in margins])
    return float(weights @ (np.maximum(0, -z) - np.log(2 + np.abs(z))))
