"""What must hold of every fit: risks that never rise, honest probabilities, one answer from all methods."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boosting.problems import random_rows
from nearboost import N3Classifier, UNNClassifier

N3_LOSSES = ["log", "binlog", "mat", "hinge", "squared"]
UNN_LOSSES = ["exp", "log", "mat"]
VOTES = ["uniform", "rank", "gaussian"]


@st.composite
def problems(draw, most_classes=4):
    """Rows, labels of at least two classes and weights; half of the draws lie on a grid full of duplicates."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, n_classes = draw(st.integers(6, 40)), draw(st.integers(2, most_classes))
    X = rng.normal(size=(m, 2))
    if draw(st.booleans()):
        X = np.round(X)
    y = np.clip(np.round(X[:, 0] + rng.normal(scale=0.7, size=m)) + 1, 0, n_classes - 1).astype(int)
    y[:n_classes] = np.arange(n_classes)
    weights = 10 ** rng.uniform(-2, 2, m) if draw(st.booleans()) else np.ones(m)
    return X, y, weights


def fit_quietly(model, X, y, weights=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # "No example was worth leveraging" is allowed here
        return model.fit(X, y, sample_weight=weights)


def assert_never_rises(history):
    for risk in history:
        # Each entry is the last one plus a change: rounding of the sum, nothing more.
        assert np.diff(risk).max(initial=-np.inf) <= 1e-13 * np.abs(risk).max()
        assert np.all(np.isfinite(risk))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    problems(),
    st.sampled_from(N3_LOSSES),
    st.sampled_from(VOTES),
    st.sampled_from(["zero", "vote"]),
    st.sampled_from(["delta", "decrease", "random"]),
    st.floats(0.05, 1.0),
)
def test_the_risk_of_n3_never_rises(problem, loss, votes, start, oracle, learning_rate):
    X, y, weights = problem
    model = N3Classifier(
        3, loss=loss, vote_weights=votes, start=start, oracle=oracle, learning_rate=learning_rate,
        n_rounds=30, calibration=None,
    )  # fmt: skip
    assert_never_rises(fit_quietly(model, X, y, weights).history_)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    problems(),
    st.sampled_from(VOTES),
    st.sampled_from(["zero", "vote"]),
    st.sampled_from(["delta", "decrease", "random"]),
    st.sampled_from(["closed_form", "exact"]),
    st.sampled_from(["uniform", "none"]),
    st.floats(0.05, 1.0),
)
def test_the_exponential_risk_of_unn_never_rises(problem, votes, start, oracle, delta, balance, learning_rate):
    """Smoothing moves W⁺/W⁻ towards 1, so that δ falls short of the minimum and never goes beyond it."""
    X, y, weights = problem
    model = UNNClassifier(
        3, vote_weights=votes, start=start, oracle=oracle, delta=delta, balance=balance,
        learning_rate=learning_rate, n_rounds=30, calibration=None,
    )  # fmt: skip
    assert_never_rises(fit_quietly(model, X, y, weights).history_)


def any_model(draw_from):
    """An estimator with settings that change what is searched and who votes."""
    cls, loss = draw_from(
        st.sampled_from([(N3Classifier, x) for x in N3_LOSSES] + [(UNNClassifier, x) for x in UNN_LOSSES])
    )
    return cls(
        draw_from(st.sampled_from([1, 3, "auto"])),
        loss=loss,
        vote_weights=draw_from(st.sampled_from(VOTES)),
        start=draw_from(st.sampled_from(["zero", "vote"])),
        vote_from=draw_from(st.sampled_from(["auto", "all", "prototypes"])),
        n_prototypes=draw_from(st.sampled_from([None, 5, 0.5])),
        calibration=draw_from(st.sampled_from(["temperature", None])),
        n_rounds=draw_from(st.sampled_from([None, 1, 12])),
    )


def assert_methods_agree(model, X, Q):
    p, scores, predicted = model.predict_proba(Q), model.decision_function(Q), model.predict(Q)
    assert p.shape == (len(Q), len(model.classes_))
    assert np.all((p >= 0) & (p <= 1))
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=0, atol=1e-12)
    posteriors = model.class_posteriors(Q)
    assert posteriors.shape == p.shape
    assert np.all((posteriors >= 0) & (posteriors <= 1))
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], predicted)
    np.testing.assert_array_equal(model.predict_top(Q, 1).ravel(), predicted)
    if len(model.classes_) == 2:
        assert scores.shape == (len(Q),)
        np.testing.assert_array_equal(scores > 0, predicted == model.classes_[1])
    else:
        assert scores.shape == p.shape
        np.testing.assert_array_equal(model.classes_[scores.argmax(axis=1)], predicted)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.data(), problems())
def test_probabilities_scores_and_predictions_agree(data, problem):
    X, y, weights = problem
    model = fit_quietly(any_model(data.draw), X, y, weights)
    assert_methods_agree(model, X, np.vstack([X, X + 0.3]))


def test_the_leader_keeps_the_lead_however_little_the_temperature_leaves_of_it():
    """Labels at random give a huge temperature; scores that differ in the last digits must still decide."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(300, 2)))
    for seed in range(5):
        y = np.random.default_rng(seed).integers(0, 3, 300)
        assert_methods_agree(N3Classifier(15, vote_weights="rank").fit(X, y), X, X)
        assert_methods_agree(N3Classifier(15, vote_weights="gaussian", n_rounds=1).fit(X, y), X, X)


def test_few_rows_and_many_near_ties():
    """Sums of the same coefficients in another order differ in the last bit: one answer all the same."""
    for seed in range(60):
        X, y = random_rows(seed, m=17, n_classes=3)
        assert_methods_agree(N3Classifier(vote_weights="uniform").fit(X, y), X, X)


def test_two_scores_one_rounding_apart_have_probabilities_in_the_same_order():
    from nearboost.problem.calibration import Calibration, leading_class

    scores = np.array([[0.3, np.nextafter(0.3, 1), 0.1], [1.0, 1.0, np.nextafter(1.0, 2)]])
    two = np.array([[5e-324], [1e-30], [-1e-30], [0.0]])
    for temperature in [1e-3, 1.0, 1e6]:
        for s in (scores, two):
            p = Calibration(temperature).probabilities(s)
            np.testing.assert_array_equal(p.argmax(axis=1), leading_class(s))
    p = Calibration(1.0, multilabel=True).probabilities(two)
    np.testing.assert_array_equal(p > 0.5, two > 0)


@pytest.mark.parametrize("loss", UNN_LOSSES)
def test_unn_keeps_its_digits_while_the_weights_vanish(loss):
    """Far apart classes: the weights fall to 1e-14 of what they were, and so must what is left of their sums."""
    from boosting.problems import make_problems
    from nearboost.boosting.engine import boost
    from nearboost.boosting.universal import UniversalRule
    from nearboost.losses import get_loss
    from reference import unn as reference

    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 30])
    problems = make_problems(X, np.repeat([0, 1], 40), k=10)
    rule = UniversalRule(get_loss(loss), 1.0, "delta", 1, "closed_form", "uniform")
    run = boost(problems, rule, 80, n_jobs=1)[0]
    y = problems.labels.codes(0).astype(int)
    indices = problems.votes.voters.reshape(len(X), -1)
    expected = reference.unn(indices, y, reference.start_weights(y), loss=loss, n_rounds=80)
    assert run.picks.tolist() == expected.picks
    np.testing.assert_allclose(run.deltas, expected.deltas, rtol=1e-6)
