"""Picks, steps and risks equal the plain readings of the pseudo-code."""

import numpy as np
import pytest

from boosting.problems import make_problems, random_rows
from nearboost.boosting.engine import boost, gather_coefficients
from nearboost.boosting.newton import NewtonRule
from nearboost.boosting.universal import UniversalRule
from nearboost.losses import get_loss
from reference import n3 as reference_n3
from reference import unn as reference_unn

N3_LOSSES = ["log", "binlog", "mat", "hinge", "squared"]
UNN_LOSSES = ["exp", "log", "mat"]
KINDS = ["random", "ties", "unbalanced"]


def compare(run, expected):
    assert run.picks.tolist() == expected.picks
    np.testing.assert_allclose(run.deltas, expected.deltas, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(run.risk, expected.risk, rtol=1e-9)
    alpha = gather_coefficients([run], len(expected.alpha)).toarray().ravel()
    np.testing.assert_allclose(alpha, expected.alpha, rtol=1e-9, atol=1e-9)


def all_codes(problems):
    if problems.labels.n_columns == 1:  # two classes: the second is +1
        code = problems.labels.codes(0).astype(int)
        return np.stack([code, -code], axis=1)
    return np.stack([problems.labels.codes(c).astype(int) for c in range(problems.labels.n_columns)], axis=1)


@pytest.mark.pairs
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", N3_LOSSES)
@pytest.mark.parametrize(
    ("vote_weights", "oracle", "learning_rate", "floor"),
    [
        ("uniform", "delta", 1.0, 1),
        ("rank", "decrease", 0.5, 1),
        ("gaussian", "delta", 1.0, 3),
        ("uniform", "decrease", 1.0, 2),
    ],
)
def test_n3(kind, loss, vote_weights, oracle, learning_rate, floor):
    X, classes = random_rows(3, kind=kind, n_classes=2 if kind == "unbalanced" else 4)
    v = np.random.default_rng(1).uniform(0.5, 2, len(X)) if vote_weights == "rank" else None
    problems = make_problems(X, classes, vote_weights=vote_weights, sample=v)
    runs = boost(problems, NewtonRule(get_loss(loss), learning_rate, oracle, floor), 60, n_jobs=1)
    indices, votes = problems.votes.voters.reshape(len(X), -1), problems.votes.weights.reshape(len(X), -1)
    codes = all_codes(problems)
    for column, run in enumerate(runs):
        expected = reference_n3.n3(
            indices, codes[:, column], reference_n3.start_weights(codes)[:, column], loss=loss, n_rounds=60,
            votes=votes, example_weight=v, learning_rate=learning_rate, oracle=oracle,
            min_reverse_neighbors=floor,
        )  # fmt: skip
        compare(run, expected)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_plain_vote_is_what_voters_say_for_less_what_they_say_against(n_classes):
    X, classes = random_rows(6, n_classes=n_classes)
    v = np.random.default_rng(3).uniform(0.5, 2, len(X))
    problems = make_problems(X, classes, vote_weights="rank", sample=v, start=0.3)
    voters, votes = (part.reshape(len(X), -1) for part in (problems.votes.voters, problems.votes.weights))
    for column in range(problems.labels.n_columns):
        codes = problems.labels.codes(column)
        expected = 0.3 * (votes * v[voters] * codes[voters]).sum(axis=1)
        np.testing.assert_allclose(problems.start_scores(column), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.pairs
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", UNN_LOSSES)
@pytest.mark.parametrize(
    ("vote_weights", "delta", "oracle", "balance", "learning_rate"),
    [
        ("uniform", "closed_form", "delta", "uniform", 1.0),
        ("uniform", "closed_form", "decrease", "none", 1.0),
        ("uniform", "exact", "delta", "uniform", 0.5),
        ("rank", "closed_form", "delta", "uniform", 1.0),
        ("gaussian", "exact", "decrease", "uniform", 1.0),
    ],
)
def test_unn(kind, loss, vote_weights, delta, oracle, balance, learning_rate):
    X, classes = random_rows(5, kind=kind, n_classes=2 if kind == "unbalanced" else 3)
    v = np.random.default_rng(2).uniform(0.5, 2, len(X)) if oracle == "decrease" else None
    problems = make_problems(X, classes, vote_weights=vote_weights, sample=v)
    rule = UniversalRule(get_loss(loss), learning_rate, oracle, 1, delta, balance)
    runs = boost(problems, rule, 40, n_jobs=1)
    indices, votes = problems.votes.voters.reshape(len(X), -1), problems.votes.weights.reshape(len(X), -1)
    for column, run in enumerate(runs):
        y = problems.labels.codes(column).astype(int)
        start = reference_unn.start_weights(y, v, balance="none" if balance == "none" else "half")
        expected = reference_unn.unn(
            indices, y, start, loss=loss, n_rounds=40, votes=None if vote_weights == "uniform" else votes,
            delta=delta, learning_rate=learning_rate, oracle=oracle,
        )  # fmt: skip
        compare(run, expected)
