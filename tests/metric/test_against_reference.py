"""The learned matrix equals the plain reading of the pseudo-code, and the reading keeps what the paper proves."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from metric.problems import random_pairs
from nearboost import ITML
from nearboost.metric.itml import prior_factor
from reference.itml import itml

KINDS = ["random", "ties", "duplicates"]


def learn(problem, n_sweeps, **settings):
    """So many sweeps, no fewer."""
    X, pairs, same, bounds = problem
    model = ITML(max_sweeps=n_sweeps, tol=1e-300, bounds=bounds, **settings)
    with pytest.warns(ConvergenceWarning, match="raise max_sweeps or tol, or lower gamma"):
        return model.fit_pairs(X, pairs, same)


@pytest.mark.pairs
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gamma", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("d", [1, 2, 5, 8])
def test_itml(kind, gamma, d):
    problem = random_pairs(d, kind=kind, d=d, n_pairs=60 + d % 2)
    model = learn(problem, 7, gamma=gamma)
    expected, _ = itml(*problem, gamma=gamma, n_sweeps=7)
    np.testing.assert_allclose(model.metric_matrix_, expected, rtol=0, atol=1e-8)
    assert model.n_sweeps_ == 7


@pytest.mark.parametrize("kind", KINDS)
def test_itml_from_the_inverse_covariance(kind):
    problem = random_pairs(11, kind=kind)
    start = prior_factor(problem[0], "covariance")
    expected, _ = itml(*problem, n_sweeps=5, prior=start.T @ start)
    model = learn(problem, 5, prior="covariance")
    np.testing.assert_allclose(model.metric_matrix_, expected, rtol=0, atol=1e-8)


def test_itml_on_many_pairs_and_sweeps():
    problem = random_pairs(3, m=100, d=12, n_pairs=700)
    model = learn(problem, 30)
    expected, _ = itml(*problem, n_sweeps=30)
    np.testing.assert_allclose(model.metric_matrix_, expected, rtol=0, atol=1e-8)


def test_it_stops_by_the_change_of_the_dual_variables():
    """Σ|λ − λ'| / (‖λ‖ + ‖λ'‖), as the authors' program has it."""
    problem = random_pairs(5)
    X, pairs, same, bounds = problem
    model = ITML(bounds=bounds, tol=0.02).fit_pairs(X, pairs, same)
    duals = [itml(*problem, n_sweeps=n)[1] for n in range(model.n_sweeps_ + 1)]
    changes = [
        np.abs(new - old).sum() / (np.linalg.norm(new) + np.linalg.norm(old)) for old, new in pairwise(duals)
    ]
    assert changes[-1] <= 0.02 < min(changes[:-1])


@pytest.mark.parametrize("gamma", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("same", [True, False])
def test_a_projection_meets_the_slack(gamma, same):
    """The step is right when the distance of a pair beyond its bound becomes its new slack, whatever γ."""
    X, bounds = np.array([[0.0, 0.0], [3.0, 4.0]]), (2.0, 40.0)
    A, duals = itml(X, [[0, 1]], [same], bounds, gamma=gamma)
    v, sign = X[0] - X[1], 1 if same else -1
    slack = 1 / (1 / bounds[0 if same else 1] - sign * duals[0] / gamma)  # steps 3.6 and 3.7 from λ = 0
    assert v @ A @ v == pytest.approx(slack, rel=1e-12)
    assert 2 < slack < 25 if same else 25 < slack < 40
    with pytest.warns(UserWarning, match="give pairs of both kinds"):
        model = ITML(gamma, bounds=bounds, tol=100.0).fit_pairs(X, [[0, 1]], [same])
    np.testing.assert_allclose(model.metric_matrix_, A, rtol=0, atol=1e-12)


@pytest.mark.parametrize("gamma", [0.1, 1.0, 5.0])
def test_the_limit_is_the_minimum(gamma):
    """A⁻¹ = A₀⁻¹ + Σ δ λ v vᵀ, λ ≥ 0, no pair beyond its slack and λ = 0 within: what a minimum must fulfil."""
    X, pairs, same, bounds = problem = random_pairs(7, m=12, d=3, n_pairs=20)
    A, duals = itml(*problem, gamma=gamma, n_sweeps=3000)
    sign, v = np.where(same, 1, -1), X[pairs[:, 0]] - X[pairs[:, 1]]
    np.testing.assert_allclose(np.linalg.inv(A), np.eye(3) + (v.T * (sign * duals)) @ v, rtol=0, atol=1e-9)
    assert np.all(duals >= 0)
    excess = sign * (np.einsum("ij,jk,ik->i", v, A, v) - 1 / (1 / np.where(same, *bounds) - sign * duals / gamma))
    assert np.all(excess < 1e-6)
    assert np.all((duals < 1e-9) | (excess > -1e-6))
    model = ITML(gamma, bounds=bounds, tol=1e-10, max_sweeps=100_000).fit_pairs(X, pairs, same)
    np.testing.assert_allclose(model.metric_matrix_, A, rtol=0, atol=1e-6)
