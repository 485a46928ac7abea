"""Wide sparse rows, of which nothing is left out: leading eigenvectors have rates of their own."""

import tracemalloc

import numpy as np
import pytest
from benchmarks.text import make_texts
from scipy.sparse import csr_array, hstack, random_array
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from nearboost.base.rows import RowSource
from nearboost.linear.coordinates import WithRemainder, beside
from nearboost.linear.descent import FixedMetric, PassOptions, Schedule, State, run_pass
from nearboost.linear.objectives import Objective
from nearboost.linear.projection import Projection
from nearboost.linear.rows import Problem
from nearboost.linear.slnd import SLNDClassifier
from nearboost.problem.targets import labels_from_classes, number_groups


def test_beside():
    rng = np.random.default_rng(0)
    block, dense = csr_array(random_array((7, 5), density=0.4, rng=rng)), rng.standard_normal((7, 2))
    both = beside(block, dense)
    np.testing.assert_array_equal(both.toarray(), np.hstack([block.toarray(), dense]))
    assert both.has_canonical_format


@pytest.mark.parametrize("loss", ["multinomial", "hinge"])
@pytest.mark.parametrize("intercept", [True, False])
def test_steps_in_the_metric_of_all_directions(intercept, loss):
    """Against w ← w + η H zᵀ(y p) with H written out: b_j along the eigenvectors, b across, in scaled features."""
    rng = np.random.default_rng(1)
    X, y = csr_array(random_array((40, 12), density=0.4, rng=rng)), rng.integers(3, size=40)
    scale = rng.uniform(0.5, 2, 12)
    rows = X.toarray() * scale
    scales = np.append(scale, 1.0) if intercept else scale
    rows = np.hstack([rows, np.ones((40, 1))]) if intercept else rows
    values, P = np.linalg.eigh(rows.T @ rows / 40)
    P, leading, rest = P[:, -3:], np.array([0.3, 0.2, 0.1]), 0.7
    coordinates = WithRemainder(P * scales[:, np.newaxis], values[-3:], scales, np.ones(len(scales)), intercept)
    metric = FixedMetric(coordinates.with_rates(leading, rest)[:, np.newaxis])
    labels, objective = labels_from_classes(y, 3), Objective(loss, 3)
    problem = Problem(RowSource(X), labels, np.ones(40), number_groups(None, 40), np.arange(40))
    options, V = PassOptions(8, False, False, 0), np.zeros((len(scales) + 3, 3))
    state = State(coordinates, objective, metric, Schedule(0.05), options, V)
    run_pass(state, Projection(problem, coordinates, 1e9, 1))
    W, H = np.zeros((len(scales), 3)), rest * np.eye(len(scales)) + (P * (leading - rest)) @ P.T
    for batch in np.random.default_rng((0, 0)).permutation(40).reshape(5, 8):
        scores, signs = rows[batch] @ W, labels.signs(batch)
        if loss == "multinomial":
            shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
            slopes = (signs > 0) - shares
        else:
            slopes = -signs * objective.loss.derivative(signs * scores)
        W += 0.05 * H @ rows[batch].T @ slopes
    weights, constant = coordinates.to_features(state.V)
    np.testing.assert_allclose(weights, W[:12] * scale[:, np.newaxis], atol=1e-12)
    np.testing.assert_allclose(constant, W[12] if intercept else 0, atol=1e-12)
    np.testing.assert_allclose(coordinates.of_features(weights, constant)[: len(weights)], weights)


def test_level_with_logistic_regression_on_text():
    X, y = make_texts(2_400, 8_000, 6, 60, seed=5)
    model = SLNDClassifier().fit(X[:1200], y[:1200])
    other = LogisticRegression(C=30, max_iter=1_000).fit(X[:1200], y[:1200])
    assert model.rank_ < 64
    assert model.score(X[1200:], y[1200:]) > other.score(X[1200:], y[1200:]) - 0.01
    losses = [log_loss(y[1200:], one.predict_proba(X[1200:])) for one in (model, other)]
    assert losses[0] < losses[1]
    assert abs(model.held_out_accuracy_ - model.score(X[1200:], y[1200:])) < 0.05


def test_very_few_words_do_not_diverge():
    X, y = make_texts(1_600, 8_000, 4, 5, seed=6)
    model = SLNDClassifier().fit(X[:800], y[:800])
    other = LogisticRegression(max_iter=1_000).fit(X[:800], y[:800])
    assert model.score(X[800:], y[800:]) > other.score(X[800:], y[800:]) - 0.02


def test_features_of_any_scale():
    """Columns in units of their own: they are scaled, without a scaler, and stay sparse."""
    X, y = make_texts(1_600, 3_000, 3, 80, seed=7)
    X = csr_array(X * 10.0 ** np.random.default_rng(0).uniform(-3, 3, X.shape[1]))
    model = SLNDClassifier().fit(X[:800], y[:800])
    assert model.scaling_ == "standard"
    assert model.score(X[800:], y[800:]) > LogisticRegression(max_iter=300).fit(X[:800], y[:800]).score(
        X[800:], y[800:]
    )


@pytest.mark.alone
def test_rows_are_never_dense():
    """Dense, these rows take 400 MB."""
    rng = np.random.default_rng(0)
    y = np.arange(1000) % 2
    first = csr_array(np.where(y == 1, 1.0, 0.5)[:, np.newaxis])
    X = csr_array(hstack([first, random_array((1000, 49_999), density=0.0002, rng=rng)]))
    model = SLNDClassifier(max_passes=2, n_jobs=2)
    model.fit(X[:50], y[:50])  # what compiles kernels is not counted
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e8
    assert model.score(X, y) > 0.9


def test_rows_that_are_projected_anew_in_each_pass():
    X, y = make_texts(600, 2_000, 3, 40, seed=8)
    settings = {"max_passes": 3, "random_state": 1}
    model = SLNDClassifier(memory=1e5, **settings).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.score(X, y) == pytest.approx(SLNDClassifier(**settings).fit(X, y).score(X, y), abs=0.05)
