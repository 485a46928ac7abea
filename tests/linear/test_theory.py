"""Steps by eq. (C.8) lower the risk by what (4.20) promises, each of them."""

import numpy as np
import pytest

from linear.problems import noisy_classes
from nearboost.base.rows import RowSource
from nearboost.linear.objectives import Objective
from nearboost.linear.rows import Problem
from nearboost.linear.slnd import SLNDClassifier
from nearboost.linear.theory import run_theory
from nearboost.losses import get_loss
from nearboost.problem.targets import labels_from_classes
from reference.slnd import CURVATURES, inverse_hessian

X, Y = noisy_classes(150)


def whitened(loss, rank):
    """Coordinates z with the metric 1, from H* itself."""
    d, P = np.linalg.eigh(inverse_hessian(X, rank, loss))
    return X @ P * np.sqrt(np.maximum(d, 0))


@pytest.mark.pairs
@pytest.mark.parametrize("loss", ["log", "hinge", "mat", "squared"])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("weighted", [False, True])
def test_guaranteed_decrease(loss, epsilon, weighted):
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.2, 3, len(X)) if weighted else np.ones(len(X))
    problem = Problem(RowSource(X), labels_from_classes(Y, 4), weights, np.arange(len(X)), np.arange(len(X)))
    Z = whitened("log", 5)
    course = run_theory(problem, Z, Objective(loss, 4), np.ones(Z.shape[1]), epsilon, rng.permutation(len(X)))
    # The 1/m of (4.20) comes from ‖s‖₁ ≥ ‖s‖₂; with weights it is the least of their shares.
    least_share = weights.min() / weights.sum()
    promised = 2 * course.gammas**2 * epsilon * (1 - epsilon) / get_loss(loss).curvature_at_zero * least_share
    assert np.all(np.diff(course.risks, axis=0) <= -promised + 1e-12)
    assert course.gammas.max() > 0.05
    assert 0 < (course.etas < 0).mean() < 0.5
    margins = np.where(Y[:, None] == np.arange(4), 1, -1) * (Z @ course.V)
    risk = np.average(get_loss(loss).value(margins), axis=0, weights=weights)
    np.testing.assert_allclose(course.risks[-1], risk, rtol=0, atol=1e-12)


@pytest.mark.parametrize("loss", ["log", "hinge"])
def test_the_printed_step(loss):
    """η of (C.8), from the sums as they are printed, in update (4.16)."""
    H, curvature = inverse_hessian(X, 4, loss), CURVATURES[loss]
    order = np.random.default_rng(0).permutation(len(X))
    y, w = np.where(Y == 2, 1, -1), np.zeros(8)
    for i in order:
        p = -get_loss(loss).derivative(y * (X @ w))
        pi = p[i] * X @ H @ X[i]  # (C.3)
        e, size = (p * y * y[i] * pi).sum(), (pi**2).sum()
        eta = 2 * (1 - 0.3) * e / (curvature * size)
        w = w + eta * y[i] * p[i] * H @ X[i]
    settings = {"rank": 4, "damping": 0, "epsilon": 0.3, "fit_intercept": False, "random_state": 0}
    model = SLNDClassifier(loss, step="theory", **settings).fit(X, Y)
    np.testing.assert_allclose(model.coef_[2], w, rtol=0, atol=1e-9)


def test_diagnostics():
    model = SLNDClassifier("log", step="theory", max_passes=2).fit(X, Y)
    gammas = list(model.diagnostics_["gamma"].values())
    assert list(model.diagnostics_["gamma"]) == ["0", "0.05", "0.25", "0.5", "0.75", "0.95", "1"]
    assert gammas[0] >= 0
    assert np.all(np.diff(gammas) >= 0)
    assert gammas[-1] <= 1
    assert 0 < model.diagnostics_["negative_steps"] < 0.5
    assert model.diagnostics_["largest_rise"] < 1e-12
    assert len(model.history_["risk"]) == model.n_passes_ == 2
    assert not hasattr(SLNDClassifier("log").fit(X, Y), "diagnostics_")
    assert not hasattr(model, "partial_fit")
    assert not hasattr(model.set_params(step="auto").fit(X, Y), "diagnostics_")
