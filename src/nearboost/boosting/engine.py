"""One engine for every boosted neighbour: votes, label codes, a step rule, an oracle.

The engine runs the class problems side by side and gathers what they learned; a step rule (N3's Newton
steps, UNN's) boosts one class problem. Classes are independent, so results do not depend on threads.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nearboost.base.progress import progress_bar
from nearboost.base.threads import map_in_threads
from nearboost.boosting.labels import Labels
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


def empty_record(n_rounds: int) -> Record:
    """Room for what the rounds of one class problem write down."""
    return Record(
        np.empty(n_rounds, dtype=np.int32), np.empty(n_rounds), np.empty(n_rounds + 1), np.empty(n_rounds + 1)
    )


def course_of(record: Record, n_rounds: int) -> Course:
    """The first rounds of a record; copied, so that a class that stopped early keeps no empty room."""
    picks, deltas, risk, held_risk = record
    return Course(
        picks[:n_rounds].copy(),
        deltas[:n_rounds].copy(),
        risk[: n_rounds + 1].copy(),
        held_risk[: n_rounds + 1].copy(),
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
    """Boosts class problems one at a time."""

    def prepare(self, problems: ClassProblems) -> "ClassBooster":
        """Do once what all classes share."""


class ClassBooster(Protocol):
    """Boosts one class of prepared problems."""

    def boost(self, column: int, n_rounds: int, draws: NDArray[np.float64]) -> Course:
        """Run at most ``n_rounds`` rounds on the problem of ``column``."""


def boost(
    problems: ClassProblems,
    rule: StepRule,
    n_rounds: int | Sequence[int],
    *,
    random_state: np.random.RandomState | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    title: str = "Boosting classes",
) -> list[Course]:
    """Boost every class problem; ``n_rounds`` is one number or one per problem."""
    n_columns = problems.labels.n_columns
    rounds = np.broadcast_to(np.asarray(n_rounds), (n_columns,))
    booster = rule.prepare(problems)
    # Seeds are drawn for all classes beforehand, so that threads cannot change the draws.
    seeds = np.zeros(n_columns, dtype=int) if random_state is None else random_state.randint(2**31, size=n_columns)

    def boost_one(column: int) -> Course:
        draws = np.random.default_rng(seeds[column]).random(rounds[column] if random_state is not None else 0)
        return booster.boost(column, int(rounds[column]), draws)

    with progress_bar(title, n_columns, verbose) as advance:
        return map_in_threads(boost_one, range(n_columns), n_jobs, advance)


def gather_coefficients(courses: list[Course], n_voters: int) -> csr_array:
    """α: what each voter gained over the rounds, voters x class problems."""
    rows = np.concatenate([course.picks for course in courses])
    columns = np.repeat(np.arange(len(courses)), [len(course.picks) for course in courses])
    deltas = np.concatenate([course.deltas for course in courses])
    return csr_array((deltas, (rows, columns)), shape=(n_voters, len(courses)))  # sums repeated picks
