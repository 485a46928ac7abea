"""One engine for every boosted neighbour: votes, label codes, a step rule, an oracle.

The engine runs the class problems side by side and gathers what they learned; a step rule (N3's Newton
steps, UNN's) boosts one class problem. Classes are independent, so results do not depend on threads.
Boosting starts from nothing or from the plain vote; `Leverage` makes scores of learned coefficients.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.sparse import coo_array, csr_array

from nearboost.base.progress import Advance, progress_bar
from nearboost.base.threads import map_in_threads
from nearboost.kernels.records import Record, VoteGraph
from nearboost.losses import Loss
from nearboost.problem.targets import ExampleWeights, Labels
from nearboost.votes import Votes

ORACLES = ("delta", "decrease", "random")
_MOST_ROWS = 5_000  # for the start coefficient: one number needs no more


@dataclass(frozen=True)
class BoostingRun:
    """How the boosting of one class problem went: round t picked ``picks[t]`` and moved it by ``deltas[t]``.

    ``risk`` and ``held_out_risk`` have one entry more: the risk before the first round.
    """

    picks: NDArray[np.int32]
    deltas: NDArray[np.float64]
    risk: NDArray[np.float64]
    held_out_risk: NDArray[np.float64]
    exact_deltas: tuple[Fraction, ...] | None = None  # in rational arithmetic
    diagnostics: Any = None  # of rules that measure the quantities of their theory


def empty_record(n_rounds: int) -> Record:
    """Room for what the rounds of one class problem write down."""
    return Record(
        np.empty(n_rounds, dtype=np.int32), np.empty(n_rounds), np.empty(n_rounds + 1), np.empty(n_rounds + 1)
    )


def run_from(record: Record, n_rounds: int, diagnostics: Any = None) -> BoostingRun:
    """The first rounds of a record; copied, so that a class that stopped early keeps no empty room."""
    picks, deltas, risk, held_risk = record
    return BoostingRun(
        picks[:n_rounds].copy(),
        deltas[:n_rounds].copy(),
        risk[: n_rounds + 1].copy(),
        held_risk[: n_rounds + 1].copy(),
        diagnostics=diagnostics,
    )


@dataclass(frozen=True)
class PlainVote:
    """The vote before anything is learned: V_ic, the votes on row i by members of class c, and V_i.

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
    more or less (the held-out folds differ by a few) must not change the scale of all scores. Where nobody votes,
    as no prototype is a neighbour of any row, there is nothing to scale.
    """
    step = max(1, len(row_weight) // _MOST_ROWS)
    by_class, members = vote.by_class[::step], csr_array(labels.members[::step])
    total, row_weight = vote.total[::step], row_weight[::step]
    if not total.any():
        return 0.0
    # The pairs looked at one by one: some voter of c votes on the row, or the row is of c itself.
    met, own_pairs = _pair_keys(by_class), _pair_keys(members)
    pairs = np.union1d(met, own_pairs)
    rows, columns = np.divmod(pairs, labels.n_columns)
    for_class = np.zeros(len(pairs))
    for_class[np.searchsorted(pairs, met)] = by_class.data
    own = np.isin(pairs, own_pairs, assume_unique=True)
    direction = np.where(own, 1, -1) * (2 * for_class - total[rows])  # the margin at s = 1
    # Each side of a class weighs 1 in all; held-out rows must not reveal how many of each class they are.
    counts = row_weight > 0
    n_members = np.bincount(columns, own & counts[rows], labels.n_columns)
    per_own, per_rest = 1 / np.maximum(n_members, 1), 1 / np.maximum(counts.sum() - n_members, 1)
    pair_weight = row_weight[rows] * np.where(own, per_own[columns], per_rest[columns])
    mean_total = total.mean()
    half_row = labels.n_columns * row_weight.sum() / counts.sum() ** 2  # on both sides of each class

    def risk(log_scale: float) -> float:
        s = np.exp(log_scale) / mean_total
        unmet = row_weight * loss.value(s * total)
        met_risk = pair_weight @ loss.value(s * direction)
        seen_risk = unmet.sum() * per_rest.sum() - per_rest[columns] @ unmet[rows] + met_risk
        return float(seen_risk + half_row * loss.value(np.array(-np.exp(log_scale))))

    bounds = (np.log(1e-2), np.log(1e2))
    best = minimize_scalar(risk, bounds=bounds, method="bounded", options={"xatol": 1e-3})
    # With half of its digits zero, sums of ±s over any voters are exact, so that votes that tie have equal scores.
    digits, exponent = np.frexp(np.exp(best.x) / mean_total)  # voters of next to no weight need a large s
    return float(np.ldexp(float(np.float32(digits)), exponent))


def _pair_keys(matrix: csr_array) -> NDArray[np.int64]:
    """The stored entries of a matrix with sorted rows as single numbers, in order."""
    rows = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    return rows * matrix.shape[1] + matrix.indices


@dataclass(frozen=True)
class Leverage:
    """Voter j adds ``values[j, c]`` to the score of class c where stored, ``rest[j]`` if not, times its vote.

    ``mass`` is the absolute weight of each voter: where a row has none, the score is ``silence``. ``normalised``
    divides the sum of a row and class by the mass of its voters.
    """

    values: csr_array
    rest: NDArray[np.float64]
    mass: "Leverage | None" = None
    silence: NDArray[np.float64] | float = 0.0
    normalised: bool = False

    def __post_init__(self) -> None:
        """Long pointers, however many values there are: one kind for kernels, and none that wraps around."""
        self.values.indptr = self.values.indptr.astype(np.int64)
        self.values.indices = self.values.indices.astype(np.int32)

    def scores(self, votes: Votes) -> NDArray[np.float64]:
        """H of each row: the vote b_ij times what j adds, summed over the voters in the order of their rank."""
        from nearboost.kernels.votes import score_rows

        n_columns = self.values.shape[1]
        scores, divisors = np.zeros((votes.n_rows, n_columns)), np.empty((0, n_columns))
        default: NDArray[np.float64] | float = 0.0
        if self.mass is not None:
            mass = self.mass.scores(votes)
            default = np.where(mass == 0, self.silence, 0.0)
            divisors = np.where(mass == 0, 1.0, mass) if self.normalised else divisors
        score_rows(
            votes.indptr, votes.voters, votes.weights, self.values.indptr, self.values.indices,
            self.values.data, self.rest, np.empty(n_columns), divisors, scores,
        )  # fmt: skip
        return scores + default

    def contributions(self, votes: Votes, row: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The terms of that sum for one row, voters x classes, and the score where nobody votes."""
        terms = self._terms(votes, row)
        if self.mass is None:
            return terms, np.zeros(terms.shape[1])
        mass = _add_up(self.mass._terms(votes, row))
        if self.normalised:
            terms /= np.where(mass == 0, 1.0, mass)
        return terms, np.where(mass == 0, self.silence, 0.0)

    def _terms(self, votes: Votes, row: int) -> NDArray[np.float64]:
        from nearboost.kernels.votes import voter_contribution

        entries = range(votes.indptr[row], votes.indptr[row + 1])
        terms = np.empty((len(entries), self.values.shape[1]))
        for term, entry in zip(terms, entries, strict=True):
            voter_contribution(
                votes.voters[entry], votes.weights[entry], self.values.indptr, self.values.indices,
                self.values.data, self.rest, term,
            )  # fmt: skip
        return terms


def _add_up(terms: NDArray[np.float64]) -> NDArray[np.float64]:
    """One by one, as scores are added."""
    total = np.zeros(terms.shape[1])
    for term in terms:
        total += term
    return total


def leverage_voters(coefficients: csr_array, labels: Labels, start: NDArray[np.float64]) -> Leverage:
    """y_jc (start_j + α_jc): coefficients signed by the labels; −start_j on classes that are not stored."""
    alpha, members = coo_array(coefficients), coo_array(labels.members)
    members.data = np.ones(len(members.data))
    rows, columns = np.concatenate([alpha.row, members.row]), np.concatenate([alpha.col, members.col])

    def on_both(of_alpha: NDArray[np.float64], of_members: NDArray[np.float64]) -> csr_array:
        data = np.concatenate([of_alpha, of_members])
        return csr_array((data, (rows, columns)), shape=coefficients.shape)

    values = on_both(alpha.data, np.zeros_like(members.data))
    sign = 2 * on_both(np.zeros_like(alpha.data), members.data).data - 1
    values.data = sign * (np.repeat(start, np.diff(values.indptr)) + values.data)
    values.eliminate_zeros()
    return Leverage(values, -start)


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

    @property
    def may_learn(self) -> NDArray[np.bool_]:
        """Voters that may be given a coefficient: all but held-out rows.

        These would be picked before any other. In a tight class a held-out row votes on all rows that are learned
        from, while each of those votes on the others alone; and the row that is then scored is the one whose
        voters were left without a weight.
        """
        return self.weights.sample > 0

    def graph(self) -> VoteGraph:
        """The votes as kernels take them: with long pointers, however many there are, lest these compile twice."""
        votes, reverse = self.votes, self.reverse
        ptr, reverse_ptr = votes.indptr.astype(np.int64), reverse.indptr.astype(np.int64)
        return VoteGraph(ptr, votes.voters, votes.weights, reverse_ptr, reverse.voters, reverse.weights)


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
        """What voters with these coefficients and labels add to scores."""

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

    def boost(self, column: int, n_rounds: int, draws: NDArray[np.float64], advance: Advance) -> BoostingRun:
        """Run at most ``n_rounds`` rounds on the problem of ``column``, and advance by so many."""


def boost(
    problems: ClassProblems,
    rule: StepRule,
    n_rounds: int,
    *,
    random_state: np.random.RandomState | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    title: str = "Boosting",
) -> list[BoostingRun]:
    """Boost every problem, each for at most ``n_rounds`` rounds."""
    n_problems, booster = rule.n_problems(problems.labels), rule.prepare(problems)
    # Seeds are drawn for all classes beforehand, so that threads cannot change the draws.
    seeds = np.zeros(n_problems, dtype=int)
    if random_state is not None:
        seeds = random_state.randint(2**31, size=n_problems)

    def boost_one(column: int) -> BoostingRun:
        draws = np.random.default_rng(seeds[column]).random(n_rounds if random_state is not None else 0)
        return booster.boost(column, n_rounds, draws, advance)

    with progress_bar(title, n_problems * n_rounds, verbose) as advance:
        return map_in_threads(boost_one, range(n_problems), n_jobs)


def gather_coefficients(runs: list[BoostingRun], n_voters: int) -> csr_array:
    """α: what each voter gained over the rounds, voters x class problems."""
    rows = np.concatenate([run.picks for run in runs])
    columns = np.repeat(np.arange(len(runs)), [len(run.picks) for run in runs])
    deltas = np.concatenate([run.deltas for run in runs])
    return csr_array((deltas, (rows, columns)), shape=(n_voters, len(runs)))  # sums repeated picks


@dataclass(frozen=True)
class Learned:
    """Coefficients α over all training rows (voters x class problems) and how they came about."""

    coefficients: csr_array
    start_coefficient: float
    runs: list[BoostingRun]

    @property
    def voters(self) -> NDArray[np.int64]:
        """Rows with a coefficient that is not zero: the prototypes."""
        return np.flatnonzero(np.diff(self.coefficients.indptr))


def shorten(learned: Learned, n_rounds: int) -> Learned:
    """What had been learned after ``n_rounds`` rounds: a point on the same path, nothing is refitted."""
    runs = [
        BoostingRun(
            r.picks[:n_rounds], r.deltas[:n_rounds], r.risk[: n_rounds + 1], r.held_out_risk[: n_rounds + 1]
        )
        for r in learned.runs
    ]
    coefficients = gather_coefficients(runs, learned.coefficients.shape[0])
    return Learned(coefficients, learned.start_coefficient, runs)


def held_out_path(learned: list[Learned]) -> NDArray[np.float64]:
    """Held-out risk after each round, summed over classes and folds; a class that stopped stays put."""
    paths = [run.held_out_risk for one in learned for run in one.runs]
    total = np.zeros(max(map(len, paths)))
    for path in paths:
        total[: len(path)] += path
        total[len(path) :] += path[-1]
    return total
