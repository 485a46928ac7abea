"""Every vote can be named, and the votes add up to the score."""

import numpy as np
import pytest

from boosting.problems import random_rows
from nearboost import N3Classifier, UNNClassifier

X, Y3 = random_rows(11, m=150, n_classes=3)
Y2 = (Y3 > 0).astype(int)
YM = np.stack([Y3 == 0, Y3 >= 1, X[:, 1] > 0], axis=1).astype(int)
QUERIES = np.vstack([X[:20], X[:20] + 0.17])


def assert_adds_up(model):
    explanations = model.explain(QUERIES)
    scores = model.decision_function(QUERIES)
    assert len(explanations) == len(QUERIES)
    for explanation, score, query in zip(explanations, scores, QUERIES, strict=True):
        total = np.zeros(explanation.contributions.shape[1])
        for contribution in explanation.contributions:  # the stated order: nearest first, then the intercept
            total = total + contribution
        total = total + explanation.intercept
        np.testing.assert_array_equal(total, np.atleast_1d(score))
        np.testing.assert_array_equal(explanation.total(), total)
        n = len(explanation.prototypes)
        assert n <= model.n_neighbors_
        assert explanation.distances.shape == explanation.votes.shape == (n,)
        assert explanation.contributions.shape == (n, np.size(score))
        assert np.all(np.diff(explanation.distances) >= 0)
        assert len(set(explanation.prototypes.tolist())) == n
        measured = np.sqrt(((X[explanation.prototypes] - query) ** 2).sum(axis=1))
        np.testing.assert_allclose(explanation.distances, measured, rtol=1e-12, atol=1e-300)
        np.testing.assert_array_equal(explanation.classes, model.classes_)


@pytest.mark.pairs
@pytest.mark.parametrize("y", [Y2, Y3, YM], ids=["two", "three", "multilabel"])
@pytest.mark.parametrize("start", ["zero", "vote"])
@pytest.mark.parametrize("vote_from", ["all", "prototypes"])
@pytest.mark.parametrize("n_prototypes", [None, 30])
@pytest.mark.parametrize("model", [N3Classifier(7), UNNClassifier(7), UNNClassifier(7, soft_lambda=0.5)])
def test_contributions_add_up_to_the_score(model, y, start, vote_from, n_prototypes):
    model = model.set_params(start=start, vote_from=vote_from, n_prototypes=n_prototypes, n_rounds=25)
    model.fit(X, y)
    assert_adds_up(model)
    voters = np.unique(np.concatenate([e.prototypes for e in model.explain(QUERIES[::4])]))
    if vote_from == "prototypes" or n_prototypes is not None:
        assert np.all(np.isin(voters, model.prototypes_))


def test_votes_are_those_of_the_rank():
    y = Y3
    ranks = np.arange(1, 6)
    explained = N3Classifier(5, vote_weights="rank").fit(X, y).explain(QUERIES)[3]
    np.testing.assert_array_equal(explained.votes, 1 / ranks)
    soft = UNNClassifier(5, soft_lambda=0.7).fit(X, y).explain(QUERIES)[3]
    np.testing.assert_allclose(soft.votes, 1 / (1 + np.exp(0.7 * (ranks - 1))), rtol=1e-15)
    gaussian = N3Classifier(5, vote_weights="gaussian").fit(X, y).explain(QUERIES)[30]
    np.testing.assert_allclose(
        gaussian.votes, np.exp(-(gaussian.distances**2) / (2 * gaussian.distances[-1] ** 2)), rtol=1e-12
    )


def test_with_silent_neighbours_votes_and_distances_still_line_up():
    """vote_from="all" with n_prototypes: the rank counts all neighbours, but only prototypes are listed."""
    model = N3Classifier(9, vote_weights="rank", n_prototypes=40, vote_from="all").fit(X, Y3)
    everyone = np.argsort(((X[None] - QUERIES[:, None]) ** 2).sum(axis=2), axis=1, kind="stable")[:, :9]
    for explanation, row in zip(model.explain(QUERIES), everyone, strict=True):
        prototypes = np.isin(row, model.prototypes_)
        np.testing.assert_array_equal(explanation.prototypes, row[prototypes])
        np.testing.assert_array_equal(explanation.votes, (1 / np.arange(1, 10))[prototypes])


def test_prototypes_are_rows_of_the_user_when_some_weigh_nothing():
    weights = np.ones(len(X))
    weights[::3] = 0
    explanations = N3Classifier(5).fit(X, Y3, sample_weight=weights).explain(QUERIES)
    for explanation, query in zip(explanations, QUERIES, strict=True):
        assert np.all(weights[explanation.prototypes] > 0)
        measured = np.sqrt(((X[explanation.prototypes] - query) ** 2).sum(axis=1))
        np.testing.assert_allclose(explanation.distances, measured, rtol=1e-12, atol=1e-300)
