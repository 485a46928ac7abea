"""From a neighbour graph to leveraged prototypes: choose who votes, learn their weights, and cross-fit.

Each step is one function over small immutable records; nothing here knows about estimators. Cross-fitting gives
honest scores of training rows without another search: the weights of a row's neighbours were fitted on its own
label, so leaving the row out of the vote is not enough. The rows of a fold keep the vote that all have from the
start, but no weight is learned for them and they are left out of every sum; scored afterwards, they are as good as
new.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nearboost.base.progress import progress_bar
from nearboost.base.rows import row_source
from nearboost.base.threads import map_in_threads
from nearboost.boosting.centroids import find_centroids, neighbors_among_centroids
from nearboost.boosting.engine import (
    ClassProblems,
    Learned,
    PlainVote,
    StepRule,
    boost,
    count_plain_vote,
    fit_start_coefficient,
    gather_coefficients,
    held_out_path,
    shorten,
)
from nearboost.boosting.newton import rank_examples, ranking_width
from nearboost.losses import Loss
from nearboost.neighbors import Neighbors, NeighborSearch
from nearboost.problem.held_out import FEW_ROWS, best_scores, most_groups
from nearboost.problem.targets import ExampleWeights, TrainingSet, count_outside
from nearboost.votes import VoteRule, Votes, cast_votes, votes_from_neighbors


@dataclass(frozen=True)
class Recipe:
    """How to learn; the estimators' parameters after validation."""

    rule: StepRule
    loss: Loss
    n_neighbors: int
    n_rounds: int
    n_prototypes: int | None
    centroids: bool  # or examples
    vote_rule: VoteRule
    start: str
    metric: str
    search: str
    vote_from: str
    early_stopping: bool
    choose_rounds: bool
    random_state: int
    draws_at_random: bool
    memory: float | None
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
        """A search over rows that nobody else writes to."""
        return NeighborSearch(
            X,
            self.metric,
            method=self.search,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            copy=False,
            memory=self.memory,
        )


def neighbors_among(
    data: TrainingSet, rows: NDArray[np.integer], voters: NDArray[np.int64], recipe: Recipe
) -> Neighbors:
    """The neighbours of some training rows among some voters, as indices of training rows."""
    source, groups = row_source(data.X), data.groups[voters]
    k = min(recipe.n_neighbors, count_outside(groups))  # fewer voters than neighbours: all vote
    if k < 1:
        raise ValueError(
            f"{len(voters)} prototypes leave some training rows without a neighbour; keep more prototypes."
        )
    found = recipe.build_search(source.take(voters)).search(
        source.only(rows), k, query_groups=data.groups[rows], groups=groups
    )
    return Neighbors(voters[found.indices].astype(np.int32), found.distances)


@dataclass(frozen=True)
class Voters:
    """Who may vote: the prototypes kept (None: all rows), and their votes on the training rows.

    ``graph`` is the one that queries will see; None when it depends on coefficients still to be learned.
    ``vote_rule`` is the one that queries will be voted on by. ``X`` is where voters stand, ``weight`` what each
    counts in the plain vote, both by number of training row.
    """

    prototypes: NDArray[np.int64] | None
    graph: Neighbors | None
    vote_rule: VoteRule
    votes: Votes
    reverse: Votes
    plain_vote: PlainVote | None
    X: NDArray[np.floating]
    weight: NDArray[np.float64]

    def standing(self, numbers: NDArray[np.int64] | slice) -> NDArray[np.floating]:
        """Where some of them stand, in memory, or all of them."""
        return self.X if isinstance(numbers, slice) else row_source(self.X).take(numbers)


def choose_voters(data: TrainingSet, graph: Neighbors, weights: ExampleWeights, recipe: Recipe) -> Voters:
    """Keep the best prototypes, if so many are asked for, and look at the graph over them."""
    prototypes: NDArray[np.int64] | None = None
    seen: Neighbors | None = graph
    X, voter_weight = data.X, data.voter_weight
    if recipe.n_prototypes is not None and recipe.centroids:
        centroids = find_centroids(data, weights, recipe.n_prototypes, recipe.metric, recipe.random_state)
        prototypes, X, voter_weight = centroids.rows, centroids.move(X), centroids.weigh(voter_weight)
        search = recipe.build_search(centroids.places)
        seen = neighbors_among_centroids(data, centroids, recipe.n_neighbors, search)
    elif recipe.n_prototypes is not None:
        prototypes = choose_examples(data, graph, weights, recipe)
        if recipe.vote_from == "prototypes":
            seen = neighbors_among(data, np.arange(len(X)), prototypes, recipe)
    elif recipe.vote_from == "prototypes":
        seen = None
    nearest = recipe.nearest(graph if seen is None else seen)
    rule = recipe.vote_rule.fitted(nearest)
    votes = cast_votes(nearest, rule.in_training(nearest, data.X, X), len(data.X))
    if prototypes is not None and recipe.vote_from == "all":
        votes = votes.only(prototypes)
    plain_vote = count_plain_vote(votes, data.labels, voter_weight) if recipe.start == "vote" else None
    return Voters(prototypes, seen, rule, votes, votes.reversed(), plain_vote, X, voter_weight)


def choose_examples(
    data: TrainingSet, graph: Neighbors, weights: ExampleWeights, recipe: Recipe
) -> NDArray[np.int64]:
    """The examples that are of most use, so many as are asked for; of each class one, if these are enough."""
    assert recipe.n_prototypes is not None
    width = min(ranking_width(len(data.X), recipe.n_prototypes), graph.n_neighbors)
    by_rank = votes_from_neighbors(graph.first(width), len(data.X), "rank")
    ranking = rank_examples(by_rank, data.labels, weights, recipe.n_prototypes, n_jobs=recipe.n_jobs)
    _, firsts = np.unique(data.labels.classes()[ranking], return_index=True)
    if len(firsts) <= recipe.n_prototypes:
        ranking = np.concatenate([ranking[firsts], np.delete(ranking, firsts)])
    return np.sort(ranking[: recipe.n_prototypes])


def learn_coefficients(
    voters: Voters,
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
    runs = boost(
        problems,
        recipe.rule,
        n_rounds,
        random_state=recipe.generator() if recipe.draws_at_random else None,
        n_jobs=recipe.n_jobs,
        verbose=recipe.verbose,
        title=title,
    )
    return Learned(gather_coefficients(runs, voters.votes.n_voters), start, runs)


def cast_query_votes(
    rows: NDArray[np.int64], neighbors: Neighbors, voters: Voters, data: TrainingSet, recipe: Recipe
) -> Votes:
    """Votes on some training rows whose neighbours are known, as queries are voted on; but not by copies."""
    nearest = recipe.nearest(neighbors)
    weights = voters.vote_rule.on_queries(nearest, row_source(data.X).only(rows), voters.X)
    votes = cast_votes(nearest, without_copies(nearest, weights), data.labels.n_rows)
    return votes if voters.prototypes is None else votes.only(voters.prototypes)


def without_copies(neighbors: Neighbors, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights of votes without those of neighbours at no distance: a copy of a row tells all about it."""
    return np.where(neighbors.distances > 0, weights, 0.0)


@dataclass(frozen=True)
class FoldFit:
    """A held-out fold and what was learned without its labels.

    ``known_votes`` on its rows, as if they were queries, where these do not depend on what was learned.
    """

    fold: NDArray[np.int64]
    voters: Voters
    learned: Learned
    known_votes: Votes | None

    def votes(self, learned: Learned, data: TrainingSet, recipe: Recipe) -> Votes:
        """Votes on the fold's rows as if they were queries."""
        if self.known_votes is not None:
            return self.known_votes
        if count_outside(data.groups[learned.voters]) < 1:  # somebody would have nobody to ask
            neighbors = Neighbors(np.empty((len(self.fold), 0), dtype=np.int32), np.empty((len(self.fold), 0)))
        else:
            neighbors = neighbors_among(data, self.fold, learned.voters, recipe)
        return cast_query_votes(self.fold, neighbors, self.voters, data, recipe)

    def reached(self, data: TrainingSet, recipe: Recipe, n_rounds: int) -> NDArray[np.bool_]:
        """Which of the fold's rows have a voter with a weight."""
        learned = shorten(self.learned, n_rounds)
        weighs = np.full(data.labels.n_rows, float(learned.start_coefficient > 0))  # from the start, or learned
        weighs[learned.voters] = 1.0
        return np.asarray(self.votes(learned, data, recipe).matrix() @ weighs > 0)

    def scores(self, data: TrainingSet, recipe: Recipe, n_rounds: int) -> NDArray[np.float64]:
        """Scores of the fold's rows as if they were queries, after ``n_rounds`` rounds."""
        learned = shorten(self.learned, n_rounds)
        votes = self.votes(learned, data, recipe)
        start = learned.start_coefficient * self.voters.weight
        prior = data.labels.shares(data.weights.hold_out(self.fold).product)
        return recipe.rule.leverage(learned.coefficients, data.labels, start, prior).scores(votes)


@dataclass(frozen=True)
class Outcome:
    """What training found."""

    learned: Learned
    voters: Voters
    prototypes: NDArray[np.int64]
    n_rounds: int
    held_out_rows: NDArray[np.int64]
    known: NDArray[np.bool_]  # which of these are of a class that others could be learned to vote for
    n_reached: int  # of these, with a voter that has a weight
    held_out_scores: NDArray[np.float64]
    held_out_risk: NDArray[np.float64] | None

    @property
    def is_judged(self) -> bool:
        """Whether held-out figures tell how new rows will fare: half of the rows could be known, from somebody."""
        return self.n_reached > 0 and self.n_reached >= len(self.held_out_rows) / 2


def train(
    data: TrainingSet,
    graph: Neighbors,
    recipe: Recipe,
    folds: list[NDArray[np.int64]],
    known: NDArray[np.bool_],
) -> Outcome:
    """Cross-fit first, because held-out rows may choose the number of rounds; then learn from all rows.

    ``known`` tells of each row whether it can be judged by others at all.
    """
    voters = choose_voters(data, graph, data.weights, recipe)
    fits = cross_fit(folds, voters, data, graph, recipe)
    risk = held_out_path([fit.learned for fit in fits]) if fits else None
    n_rounds = recipe.n_rounds
    if risk is not None and recipe.early_stopping:
        n_rounds = int(np.argmin(risk))
    elif fits and recipe.choose_rounds:
        n_rounds = choose_rounds(fits, data, recipe, known)
    learned = learn_coefficients(voters, data, data.weights, recipe, n_rounds)
    held_out = [fit.scores(data, recipe, n_rounds) for fit in fits]
    rows = np.concatenate([*folds, np.empty(0, dtype=np.int64)])
    reached = [known[fit.fold] & fit.reached(data, recipe, n_rounds) for fit in fits]
    return Outcome(
        learned,
        voters,
        learned.voters if voters.prototypes is None else voters.prototypes,
        n_rounds,
        rows,
        known[rows],
        sum(int(one.sum()) for one in reached),
        np.concatenate(held_out) if folds else np.empty((0, data.labels.n_columns)),
        risk,
    )


def cross_fit(
    folds: list[NDArray[np.int64]], everyone: Voters, data: TrainingSet, graph: Neighbors, recipe: Recipe
) -> list[FoldFit]:
    """Learn once without each fold. Where there is one problem only, threads take a fold each."""
    by_fold = len(folds) > 1 and recipe.rule.n_problems(data.labels) == 1
    inside = replace(recipe, n_jobs=1, verbose=0) if by_fold else recipe

    def fit_without(number: int) -> FoldFit:
        fold = folds[number]
        weights = data.weights.hold_out(fold)
        # A choice of prototypes has seen the fold's labels and must be made again without them.
        voters = everyone if recipe.n_prototypes is None else choose_voters(data, graph, weights, inside)
        title = f"Held-out fold {number + 1} of {len(folds)}"
        learned = learn_coefficients(voters, data, weights, inside, recipe.n_rounds, title)
        known = None
        if voters.graph is not None:
            neighbors = Neighbors(voters.graph.indices[fold], voters.graph.distances[fold])
            known = cast_query_votes(fold, neighbors, voters, data, recipe)
        return FoldFit(fold, voters, learned, known)

    with progress_bar("Held-out folds", len(folds), recipe.verbose if by_fold else 0) as advance:
        return map_in_threads(fit_without, range(len(folds)), recipe.n_jobs if by_fold else 1, advance)


def choose_rounds(fits: list[FoldFit], data: TrainingSet, recipe: Recipe, known: NDArray[np.bool_]) -> int:
    """The number of rounds, among 0, 1, 2, 4, …, with the best scores of held-out rows.

    All are points on the folds' paths, so nothing is learned again; equals go to the fewest rounds. From zero, no
    rounds would be no model, and equals go to the most rounds, which leave the fewest rows without a voter.
    """
    if data.labels.multilabel or any(fit.voters.graph is None for fit in fits):
        return recipe.n_rounds
    choices = [0, *(2**power for power in range(31) if 2**power < recipe.n_rounds), recipe.n_rounds]
    if recipe.start == "zero":
        choices = choices[:0:-1]
    rows = np.concatenate([fit.fold for fit in fits])
    if not known[rows].any():
        return recipe.n_rounds
    judges = np.flatnonzero(known[rows])
    scores = (np.concatenate([fit.scores(data, recipe, n_rounds) for fit in fits])[judges] for n_rounds in choices)
    rows = rows[judges]
    return choices[best_scores(scores, data.labels.take(rows), data.weights.product[rows])[0]]


def choose_n_neighbors(neighbors: Neighbors, data: TrainingSet, recipe: Recipe) -> int:
    """The number of neighbours whose plain vote is the best on training rows, each left out.

    One graph at the largest number serves all candidates. Among few prototypes, votes that do not fade must not
    outnumber a class's share of them, or all of them would vote on every query alike. Where boosting starts from
    zero, most of all rows will have no weight, and the largest number that is right as often serves best; but few
    prototypes nearly all get one, and their own plain vote tells.
    """
    labels, rule, most, from_zero = data.labels, recipe.vote_rule, neighbors.n_neighbors, recipe.start == "zero"
    if len(most_groups(labels, data.groups)) < 2:  # nobody has a neighbour of its own class
        return min(rule.candidates)
    few = recipe.n_prototypes is not None and not rule.fades
    if few and from_zero:
        widest = replace(recipe, n_neighbors=min(most, max(rule.candidates)))
        neighbors = choose_voters(data, neighbors, data.weights, widest).graph or neighbors
        most = neighbors.n_neighbors
    elif few:
        most = min(most, max(1, (recipe.n_prototypes or 0) // labels.n_classes))
    candidates = [k for k in rule.candidates if k <= most]
    # Where most rows are there several times, a few neighbours are nobody but copies.
    strangers = [(neighbors.distances[:, :k] > 0).any(axis=1).mean() for k in candidates]
    candidates = [k for k, share in zip(candidates, strangers, strict=True) if share >= 0.5] or candidates[-1:]
    judges = np.arange(0, labels.n_rows, -(-labels.n_rows // FEW_ROWS))

    def vote_of(k: int) -> NDArray[np.float64]:
        nearest = neighbors.first(k)
        weights = rule.fitted(nearest).in_training(nearest, data.X)
        votes = cast_votes(nearest, without_copies(nearest, weights), labels.n_rows)
        vote = count_plain_vote(votes, labels, data.voter_weight)
        return 2 * vote.by_class[judges].toarray() - vote.total[judges, np.newaxis]

    scores = map(vote_of, candidates)
    best = best_scores(scores, labels.take(judges), data.weights.product[judges])
    return candidates[max(best) if from_zero and not few else best[0]]
