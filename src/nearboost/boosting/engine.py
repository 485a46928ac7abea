"""One engine for every boosted neighbour: votes, label codes, a step rule, an oracle.

The engine runs the class problems side by side and gathers what they learned; a step rule (N3's Newton
steps, UNN's) boosts one class problem. Classes are independent, so results do not depend on threads.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nearboost.base.progress import Advance, progress_bar
from nearboost.base.threads import map_in_threads
from nearboost.boosting.labels import Labels
from nearboost.boosting.leverage import Leverage, leverage_voters
from nearboost.boosting.start import PlainVote
from nearboost.kernels.records import Record, VoteGraph
from nearboost.votes import Votes

ORACLES = ("delta", "decrease", "random")


@dataclass(frozen=True)
class ExampleWeights:
    """How much each example's loss counts; 0 leaves the example out of learning.

    ``sample`` and ``by_class`` are kept apart because UNN halves its start mass between them.
    ``judge`` weighs the held-out examples, on which the risk is measured but nothing is learned.
    """

    sample: NDArray[np.float64]
    by_class: NDArray[np.float64]
    judge: NDArray[np.float64]

    @property
    def product(self) -> NDArray[np.float64]:
        """v, what multiplies the loss."""
        return self.sample * self.by_class

    def hold_out(self, rows: NDArray[np.integer]) -> "ExampleWeights":
        """The same weights with ``rows`` moved from learning to judging."""
        sample, judge = self.sample.copy(), np.zeros_like(self.judge)
        judge[rows] = self.product[rows]
        sample[rows] = 0.0
        return ExampleWeights(sample, self.by_class, judge)


@dataclass(frozen=True)
class Course:
    """How the boosting of one class problem went: round t picked ``picks[t]`` and moved it by ``deltas[t]``.

    ``risk`` and ``held_out_risk`` have one entry more: the risk before the first round.
    """

    picks: NDArray[np.int32]
    deltas: NDArray[np.float64]
    risk: NDArray[np.float64]
    held_out_risk: NDArray[np.float64]
    exact_deltas: tuple[Fraction, ...] | None = None  # in rational arithmetic
    diagnostics: Any = None  # of rules that measure what their theory speaks of


def empty_record(n_rounds: int) -> Record:
    """Room for what the rounds of one class problem write down."""
    return Record(
        np.empty(n_rounds, dtype=np.int32), np.empty(n_rounds), np.empty(n_rounds + 1), np.empty(n_rounds + 1)
    )


def course_of(record: Record, n_rounds: int, diagnostics: Any = None) -> Course:
    """The first rounds of a record; copied, so that a class that stopped early keeps no empty room."""
    picks, deltas, risk, held_risk = record
    return Course(
        picks[:n_rounds].copy(),
        deltas[:n_rounds].copy(),
        risk[: n_rounds + 1].copy(),
        held_risk[: n_rounds + 1].copy(),
        diagnostics=diagnostics,
    )


@dataclass(frozen=True)
class ClassProblems:
    """What a step rule needs to know about all class problems."""

    votes: Votes
    reverse: Votes
    labels: Labels
    weights: ExampleWeights
    start_coefficient: float = 0.0
    plain_vote: PlainVote | None = None  # where the start coefficient is not zero

    def start_scores(self, column: int) -> NDArray[np.float64]:
        """y-free start scores H of every row: the plain vote times the start coefficient."""
        if self.plain_vote is None:
            return np.zeros(self.votes.n_rows)
        return self.start_coefficient * self.plain_vote.scores(column)

    def graph(self) -> VoteGraph:
        """The votes as kernels take them."""
        votes, reverse = self.votes, self.reverse
        return VoteGraph(
            votes.indptr, votes.voters, votes.weights, reverse.indptr, reverse.voters, reverse.weights
        )


class StepRule(Protocol):
    """Boosts problems one at a time, and knows what its coefficients mean."""

    def n_problems(self, labels: Labels) -> int:
        """How many problems the labels make."""

    def leverage(
        self,
        coefficients: csr_array,
        labels: Labels,
        start: NDArray[np.float64],
        prior: NDArray[np.float64],
    ) -> Leverage:
        """What voters with these coefficients and labels say."""

    def prepare(self, problems: ClassProblems) -> "ClassBooster":
        """Do once what all classes share."""


class OneVsRest:
    """A rule with one problem, and one coefficient of every voter, per class."""

    def n_problems(self, labels: Labels) -> int:
        """See `StepRule`."""
        return labels.n_columns

    def leverage(
        self,
        coefficients: csr_array,
        labels: Labels,
        start: NDArray[np.float64],
        prior: NDArray[np.float64],
    ) -> Leverage:
        """See `StepRule`; where nobody votes every score is zero, whatever the prior."""
        return leverage_voters(coefficients, labels, start)


class ClassBooster(Protocol):
    """Boosts one of the prepared problems."""

    def boost(self, column: int, n_rounds: int, draws: NDArray[np.float64], advance: Advance) -> Course:
        """Run at most ``n_rounds`` rounds on the problem of ``column``, and advance by so many."""


def boost(
    problems: ClassProblems,
    rule: StepRule,
    n_rounds: int | Sequence[int],
    *,
    random_state: np.random.RandomState | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    title: str = "Boosting",
) -> list[Course]:
    """Boost every problem; ``n_rounds`` is one number or one per problem."""
    n_problems = rule.n_problems(problems.labels)
    rounds = np.broadcast_to(np.asarray(n_rounds), (n_problems,))
    booster = rule.prepare(problems)
    # Seeds are drawn for all classes beforehand, so that threads cannot change the draws.
    seeds = np.zeros(n_problems, dtype=int)
    if random_state is not None:
        seeds = random_state.randint(2**31, size=n_problems)

    def boost_one(column: int) -> Course:
        draws = np.random.default_rng(seeds[column]).random(rounds[column] if random_state is not None else 0)
        return booster.boost(column, int(rounds[column]), draws, advance)

    with progress_bar(title, int(rounds.sum()), verbose) as advance:
        return map_in_threads(boost_one, range(n_problems), n_jobs)


def gather_coefficients(courses: list[Course], n_voters: int) -> csr_array:
    """α: what each voter gained over the rounds, voters x class problems."""
    rows = np.concatenate([course.picks for course in courses])
    columns = np.repeat(np.arange(len(courses)), [len(course.picks) for course in courses])
    deltas = np.concatenate([course.deltas for course in courses])
    return csr_array((deltas, (rows, columns)), shape=(n_voters, len(courses)))  # sums repeated picks
