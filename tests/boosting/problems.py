"""Small problems for the tests of boosting: random, full of ties, unbalanced."""

import numpy as np

from nearboost.boosting.engine import ClassProblems, count_plain_vote
from nearboost.neighbors import Neighbors
from nearboost.problem.targets import ExampleWeights, labels_from_classes
from nearboost.votes import PlainVotes, Votes, cast_votes


def random_rows(seed, m=60, n_classes=4, kind="random"):
    """Rows and class numbers. "ties" has grid values and duplicates, "unbalanced" one class in ten."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 2))
    if kind == "ties":
        X = np.round(X)
    classes = np.clip(np.round(X[:, 0] + rng.normal(scale=0.5, size=m)) + 1, 0, n_classes - 1).astype(int)
    if kind == "unbalanced":
        classes = (rng.random(m) < 0.1).astype(int)
    classes[:n_classes] = np.arange(n_classes)
    return X, classes


def brute_force(X, k):
    """Neighbour lists by definition: float64, no self, ties to the lower index."""
    squared = ((X[:, None].astype(float) - X[None]) ** 2).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    indices = np.argsort(squared, axis=1, kind="stable")[:, :k]
    return Neighbors(indices.astype(np.int32), np.sqrt(np.take_along_axis(squared, indices, axis=1)))


def make_problems(X, classes, k=5, vote_weights="uniform", sample=None, by_class=None, start=0.0):
    """Class problems of the engine over the brute-force graph; ``vote_weights`` is a kind or a rule."""
    m, graph = len(X), brute_force(X, k)
    rule = PlainVotes(vote_weights) if isinstance(vote_weights, str) else vote_weights.fitted(graph)
    votes: Votes = cast_votes(graph, rule.in_training(graph), m)
    labels = labels_from_classes(classes, int(classes.max()) + 1)
    weights = ExampleWeights(
        np.ones(m) if sample is None else sample, np.ones(m) if by_class is None else by_class, np.zeros(m)
    )
    vote = count_plain_vote(votes, labels, weights.product) if start else None
    return ClassProblems(votes, votes.reversed(), labels, weights, start, vote)
