"""From a neighbour graph to leveraged prototypes: learn, keep the best, learn again, judge.

Each step is one function over small immutable records; nothing here knows about estimators.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nearboost.base.progress import progress_bar
from nearboost.base.threads import map_in_threads
from nearboost.boosting.engine import (
    ClassProblems,
    Course,
    ExampleWeights,
    StepRule,
    boost,
    gather_coefficients,
)
from nearboost.boosting.labels import Labels
from nearboost.boosting.neighborhood import largest_neighborhood
from nearboost.boosting.ranking import rank_examples, ranking_width
from nearboost.boosting.start import PlainVote, count_plain_vote, fit_start_coefficient
from nearboost.losses import Loss
from nearboost.neighbors import Neighbors, NeighborSearch
from nearboost.problem.calibration import leading_class
from nearboost.votes import VoteRule, Votes, cast_votes, votes_from_neighbors


@dataclass(frozen=True)
class TrainingSet:
    """The rows that take part in learning. ``groups`` keeps rows that belong together from voting on each
    other; without groups of the user's, each row is a group of its own."""

    X: NDArray[np.floating]
    labels: Labels
    weights: ExampleWeights
    groups: NDArray[np.int32]

    @property
    def voter_weight(self) -> NDArray[np.float64]:
        """How much each row counts in the plain vote: its weight, 1 on average."""
        weight = self.weights.product
        return weight / weight.mean()


@dataclass(frozen=True)
class Recipe:
    """How to learn; the estimators' parameters after validation."""

    rule: StepRule
    loss: Loss
    n_neighbors: int
    n_rounds: int
    n_prototypes: int | None
    vote_rule: VoteRule
    start: str
    metric: str
    search: str
    vote_from: str
    early_stopping: bool
    choose_rounds: bool
    random_state: int
    draws_at_random: bool
    n_jobs: int | None
    verbose: int

    def nearest(self, neighbors: Neighbors) -> Neighbors:
        """The neighbours that vote: the first ``n_neighbors``, or as many as there are."""
        k = min(self.n_neighbors, neighbors.n_neighbors)
        return neighbors.first(k) if k else neighbors  # nobody to ask, nobody to vote

    def generator(self) -> np.random.RandomState:
        """A fresh generator: every use starts from the same seed, so that fits repeat."""
        return np.random.RandomState(self.random_state)

    def build_search(self, X: NDArray[np.floating]) -> NeighborSearch:
        """A search over some rows."""
        return NeighborSearch(X, self.metric, method=self.search, n_jobs=self.n_jobs, verbose=self.verbose)


@dataclass(frozen=True)
class Learned:
    """Coefficients α over all training rows (voters x class problems) and how they came about."""

    coefficients: csr_array
    start_coefficient: float
    courses: list[Course]

    @property
    def voters(self) -> NDArray[np.int64]:
        """Rows with a coefficient that is not zero: the prototypes."""
        return np.flatnonzero(np.diff(self.coefficients.indptr))


def shorten(learned: Learned, n_rounds: int) -> Learned:
    """What had been learned after ``n_rounds`` rounds: a point on the same path, nothing is refitted."""
    courses = [
        Course(c.picks[:n_rounds], c.deltas[:n_rounds], c.risk[: n_rounds + 1], c.held_out_risk[: n_rounds + 1])
        for c in learned.courses
    ]
    coefficients = gather_coefficients(courses, learned.coefficients.shape[0])
    return Learned(coefficients, learned.start_coefficient, courses)


def held_out_path(learned: list[Learned]) -> NDArray[np.float64]:
    """Held-out risk after each round, summed over classes and judge folds; a class that stopped stays put."""
    paths = [course.held_out_risk for one in learned for course in one.courses]
    total = np.zeros(max(map(len, paths)))
    for path in paths:
        total[: len(path)] += path
        total[len(path) :] += path[-1]
    return total


def neighbors_among(
    data: TrainingSet, rows: NDArray[np.integer], voters: NDArray[np.int64], recipe: Recipe
) -> Neighbors:
    """The neighbours of some training rows among some voters, as indices of training rows."""
    groups = data.groups[voters]
    largest = int(np.unique(groups, return_counts=True)[1].max()) if len(voters) else 0
    k = min(recipe.n_neighbors, len(voters) - largest)  # fewer voters than neighbours: all vote
    if k < 1:
        raise ValueError(
            f"{len(voters)} prototypes leave some training rows without a neighbour; keep more prototypes."
        )
    found = recipe.build_search(data.X[voters]).search(
        data.X[rows], k, query_groups=data.groups[rows], groups=groups
    )
    return Neighbors(voters[found.indices].astype(np.int32), found.distances)


@dataclass(frozen=True)
class Electorate:
    """Who may vote: the prototypes kept (None: everyone), and what they say before anything is learned.

    ``seen`` is the graph that queries will see; None when it depends on coefficients still to be learned.
    ``vote_rule`` is the one that queries will be voted on by.
    """

    prototypes: NDArray[np.int64] | None
    seen: Neighbors | None
    vote_rule: VoteRule
    votes: Votes
    reverse: Votes
    plain_vote: PlainVote | None


def elect(data: TrainingSet, graph: Neighbors, weights: ExampleWeights, recipe: Recipe) -> Electorate:
    """Keep the best prototypes, if so many are asked for, and look at the graph over them."""
    n_rows = data.labels.n_rows
    prototypes: NDArray[np.int64] | None = None
    seen: Neighbors | None = graph
    rule, votes = hold_vote(graph, data, recipe)
    if recipe.n_prototypes is not None:
        width = min(ranking_width(n_rows, recipe.n_prototypes), graph.n_neighbors)
        by_rank = votes_from_neighbors(graph.first(width), n_rows, "rank")
        ranking = rank_examples(by_rank, data.labels, weights, recipe.n_prototypes, n_jobs=recipe.n_jobs)
        prototypes = np.sort(ranking[: recipe.n_prototypes])
        if recipe.vote_from == "all":
            votes = votes.only(prototypes)
        else:
            seen = neighbors_among(data, np.arange(n_rows), prototypes, recipe)
            rule, votes = hold_vote(seen, data, recipe)
    elif recipe.vote_from == "prototypes":
        seen = None
    plain_vote = count_plain_vote(votes, data.labels, data.voter_weight) if recipe.start == "vote" else None
    return Electorate(prototypes, seen, rule, votes, votes.reversed(), plain_vote)


def hold_vote(graph: Neighbors, data: TrainingSet, recipe: Recipe) -> tuple[VoteRule, Votes]:
    """The votes on all training rows by their neighbours, and the rule that made them."""
    nearest = recipe.nearest(graph)
    rule = recipe.vote_rule.fitted(nearest)
    return rule, cast_votes(nearest, rule.in_training(nearest, data.X), len(nearest.indices))


def learn(
    voters: Electorate,
    data: TrainingSet,
    weights: ExampleWeights,
    recipe: Recipe,
    n_rounds: int,
    title: str = "Boosting",
) -> Learned:
    """Learn the coefficients of these voters."""
    start, vote = 0.0, voters.plain_vote
    if vote is not None:
        start = fit_start_coefficient(vote, data.labels, weights.product, recipe.loss)
    problems = ClassProblems(voters.votes, voters.reverse, data.labels, weights, start, vote)
    courses = boost(
        problems,
        recipe.rule,
        n_rounds,
        random_state=recipe.generator() if recipe.draws_at_random else None,
        n_jobs=recipe.n_jobs,
        verbose=recipe.verbose,
        title=title,
    )
    return Learned(gather_coefficients(courses, voters.votes.n_voters), start, courses)


def query_votes(
    rows: NDArray[np.int64], neighbors: Neighbors, voters: Electorate, data: TrainingSet, recipe: Recipe
) -> Votes:
    """Votes on some training rows whose neighbours are known, as queries are voted on."""
    nearest = recipe.nearest(neighbors)
    weights = voters.vote_rule.on_queries(nearest, data.X[rows], data.X)
    votes = cast_votes(nearest, weights, data.labels.n_rows)
    return votes if voters.prototypes is None else votes.only(voters.prototypes)


@dataclass(frozen=True)
class Judged:
    """A judge fold and what was learned without its labels.

    ``known_votes`` on its rows, as if they were queries, where these do not depend on what was learned.
    """

    fold: NDArray[np.int64]
    electorate: Electorate
    learned: Learned
    known_votes: Votes | None

    def votes(self, learned: Learned, data: TrainingSet, recipe: Recipe) -> Votes:
        """Votes on the fold's rows as if they were queries."""
        if self.known_votes is not None:
            return self.known_votes
        if largest_neighborhood(data.groups[learned.voters]) < 1:  # somebody would have nobody to ask
            neighbors = Neighbors(np.empty((len(self.fold), 0), dtype=np.int32), np.empty((len(self.fold), 0)))
        else:
            neighbors = neighbors_among(data, self.fold, learned.voters, recipe)
        return query_votes(self.fold, neighbors, self.electorate, data, recipe)

    def n_heard(self, data: TrainingSet, recipe: Recipe, n_rounds: int) -> int:
        """How many of the fold's rows have a voter with something to say."""
        if self.learned.start_coefficient:
            return len(self.fold)  # everyone has
        learned = shorten(self.learned, n_rounds)
        speaks = np.zeros(data.labels.n_rows)
        speaks[learned.voters] = 1.0
        return int(np.count_nonzero(self.votes(learned, data, recipe).matrix() @ speaks))

    def scores(self, data: TrainingSet, recipe: Recipe, n_rounds: int) -> NDArray[np.float64]:
        """Scores of the fold's rows as if they were queries, after ``n_rounds`` rounds."""
        learned = shorten(self.learned, n_rounds)
        votes = self.votes(learned, data, recipe)
        start = learned.start_coefficient * data.voter_weight
        prior = data.labels.shares(data.weights.hold_out(self.fold).product)
        return recipe.rule.leverage(learned.coefficients, data.labels, start, prior).scores(votes)


@dataclass(frozen=True)
class Outcome:
    """What training found. ``judged`` and ``held_out_scores`` speak of the rows of the judge folds."""

    learned: Learned
    vote_rule: VoteRule
    prototypes: NDArray[np.int64]
    n_rounds: int
    judged: NDArray[np.int64]
    n_heard: int  # of these, with a voter who had something to say
    held_out_scores: NDArray[np.float64]
    held_out_risk: NDArray[np.float64] | None


def train(data: TrainingSet, graph: Neighbors, recipe: Recipe, folds: list[NDArray[np.int64]]) -> Outcome:
    """Judge first, because the judges may choose the number of rounds; then learn from all rows."""
    everyone = elect(data, graph, data.weights, recipe)
    judges = judge(folds, everyone, data, graph, recipe)
    risk = held_out_path([judge.learned for judge in judges]) if judges else None
    n_rounds = recipe.n_rounds
    if risk is not None and recipe.early_stopping:
        n_rounds = int(np.argmin(risk))
    elif judges and recipe.choose_rounds:
        n_rounds = choose_rounds(judges, data, recipe)
    learned = learn(everyone, data, data.weights, recipe, n_rounds)
    held_out = [judge.scores(data, recipe, n_rounds) for judge in judges]
    return Outcome(
        learned,
        everyone.vote_rule,
        learned.voters if everyone.prototypes is None else everyone.prototypes,
        n_rounds,
        np.concatenate(folds) if folds else np.empty(0, dtype=np.int64),
        sum(judge.n_heard(data, recipe, n_rounds) for judge in judges),
        np.concatenate(held_out) if folds else np.empty((0, data.labels.n_columns)),
        risk,
    )


def judge(
    folds: list[NDArray[np.int64]], everyone: Electorate, data: TrainingSet, graph: Neighbors, recipe: Recipe
) -> list[Judged]:
    """Learn once without each fold. Where there is one problem only, threads take a fold each."""
    by_fold = len(folds) > 1 and recipe.rule.n_problems(data.labels) == 1
    inside = replace(recipe, n_jobs=1, verbose=0) if by_fold else recipe

    def judge_one(number: int) -> Judged:
        fold = folds[number]
        weights = data.weights.hold_out(fold)
        # A choice of prototypes has seen the fold's labels and must be made again without them.
        electorate = everyone if recipe.n_prototypes is None else elect(data, graph, weights, inside)
        title = f"Judge fold {number + 1} of {len(folds)}"
        learned = learn(electorate, data, weights, inside, recipe.n_rounds, title)
        seen, known = electorate.seen, None
        if seen is not None:
            neighbors = Neighbors(seen.indices[fold], seen.distances[fold])
            known = query_votes(fold, neighbors, electorate, data, recipe)
        return Judged(fold, electorate, learned, known)

    with progress_bar("Judge folds", len(folds), recipe.verbose if by_fold else 0) as advance:
        return map_in_threads(judge_one, range(len(folds)), recipe.n_jobs if by_fold else 1, advance)


def choose_rounds(judges: list[Judged], data: TrainingSet, recipe: Recipe) -> int:
    """The number of rounds, among 0, 1, 2, 4, …, with the fewest errors on the judges' rows.

    All are points on the judges' paths, so nothing is learned again; equals go to the fewest rounds. The plain
    vote of all rows (no rounds at all) is only left for a gain larger than its standard error, √n for n rows on
    which the two disagree about being right: where learning does not help, it is left alone. The plain vote of
    a few prototypes, which has lost rows it relied on, enjoys no such favour. From zero, no rounds would be no
    model, and equals go to the most rounds, which leave the fewest rows without a voter.
    """
    if data.labels.multilabel or any(judge.electorate.seen is None for judge in judges):
        return recipe.n_rounds
    rows = np.concatenate([judge.fold for judge in judges])
    truth, weight = data.labels.classes()[rows], data.weights.product[rows]
    weight = weight / weight.mean()
    choices = [0, *(2**power for power in range(31) if 2**power < recipe.n_rounds), recipe.n_rounds]
    from_zero = recipe.start == "zero"
    if from_zero:
        choices = choices[:0:-1]
    wrong = []
    for n_rounds in choices:
        scores = np.concatenate([judge.scores(data, recipe, n_rounds) for judge in judges])
        wrong.append(weight * (leading_class(scores) != truth))
    best = int(np.argmin([errors.sum() for errors in wrong]))
    gain = wrong[0] - wrong[best]
    doubtful = not from_zero and recipe.n_prototypes is None and gain.sum() <= np.sqrt((gain**2).sum())
    return 0 if doubtful else choices[best]
