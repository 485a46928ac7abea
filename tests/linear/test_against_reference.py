"""Passes in whitened coordinates are the literal updates on the features, in the same order."""

import numpy as np
import pytest

from linear.problems import noisy_classes
from nearboost.base.rows import RowSource
from nearboost.linear.descent import draw_balanced
from nearboost.linear.rows import Problem
from nearboost.linear.slnd import SLNDClassifier
from nearboost.problem.targets import labels_from_classes
from reference.slnd import slnd

X, Y = noisy_classes()
PUBLISHED = {"damping": 0, "step": 0.01, "batch_size": 1, "tol": None}


def orders(n_rows, n_passes, seed=0):
    """The generator of each pass, before it draws."""
    return [np.random.default_rng((seed, number)) for number in range(n_passes)]


@pytest.mark.pairs
@pytest.mark.parametrize("loss", ["log", "hinge", "squared"])
@pytest.mark.parametrize("rank", [3, 8])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_one_row_at_a_time(loss, rank, n_classes):
    y = Y % n_classes
    model = SLNDClassifier(loss, rank=rank, max_passes=3, fit_intercept=False, random_state=5, **PUBLISHED).fit(
        X, y
    )
    order = np.concatenate([generator.permutation(len(X)) for generator in orders(len(X), 3, seed=5)])
    for row, c in enumerate([1] if n_classes == 2 else range(4)):
        expected = slnd(X, np.where(y == c, 1, -1), order, 0.01, rank, loss)
        np.testing.assert_allclose(model.coef_[row], expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_array_equal(model.intercept_, 0)


def test_with_a_constant():
    """The intercept is the weight of a constant 1, which is part of the second moments."""
    model = SLNDClassifier("log", rank=9, max_passes=2, **PUBLISHED).fit(X, Y)
    order = np.concatenate([generator.permutation(len(X)) for generator in orders(len(X), 2)])
    appended = np.hstack([X, np.ones((len(X), 1))])
    for c in range(4):
        expected = slnd(appended, np.where(c == Y, 1, -1), order, 0.01, 9, "log")
        np.testing.assert_allclose(np.append(model.coef_[c], model.intercept_[c]), expected, rtol=0, atol=1e-9)


def test_balanced():
    """Each class learns on its own rows and as many others, in the order of the pass."""
    settings = {**PUBLISHED, "balanced": True, "max_passes": 2, "fit_intercept": False}
    model = SLNDClassifier("log", rank=8, **settings).fit(X, Y)
    problem = Problem(
        RowSource(X), labels_from_classes(Y, 4), np.ones(len(X)), np.arange(len(X)), np.arange(len(X))
    )
    of_class = [[] for _ in range(4)]
    for generator in orders(len(X), 2):
        starts, columns = draw_balanced(problem, generator)
        order = generator.permutation(len(X))
        for c in range(4):
            drawn = np.array([c in columns[starts[i] : starts[i + 1]] for i in range(len(X))])
            assert np.all(drawn[c == Y])
            assert drawn[c != Y].sum() == (c == Y).sum()
            of_class[c].append(order[drawn[order]])
    for c in range(4):
        assert set(of_class[c][0]) != set(of_class[c][1])  # drawn afresh
        expected = slnd(X, np.where(c == Y, 1, -1), np.concatenate(of_class[c]), 0.01, 8, "log")
        np.testing.assert_allclose(model.coef_[c], expected, rtol=0, atol=1e-9)


def test_weights():
    weights = np.random.default_rng(0).uniform(0.2, 3, len(X))
    weights /= weights.mean()
    model = SLNDClassifier("log", rank=5, max_passes=1, fit_intercept=False, **PUBLISHED).fit(X, Y, weights)
    order = orders(len(X), 1)[0].permutation(len(X))
    for c in range(4):
        expected = slnd(X, np.where(c == Y, 1, -1), order, 0.01, 5, "log", weights)
        np.testing.assert_allclose(model.coef_[c], expected, rtol=0, atol=1e-9)


def test_multinomial_against_its_formula():
    model = SLNDClassifier("multinomial", rank=8, max_passes=1, fit_intercept=False, **PUBLISHED).fit(X, Y)
    H = 2 * np.linalg.inv(X.T @ X / len(X))  # ½ is the largest curvature of the softmax
    W = np.zeros((8, 4))
    for i in orders(len(X), 1)[0].permutation(len(X)):
        shares = np.exp(X[i] @ W)
        W -= 0.01 * np.outer(H @ X[i], shares / shares.sum() - np.eye(4)[Y[i]])
    np.testing.assert_allclose(model.coef_.T, W, rtol=0, atol=1e-9)


@pytest.mark.parametrize("batch_size", [7, 300, 1000])
def test_the_step_multiplies_the_sum_over_a_batch(batch_size):
    settings = {**PUBLISHED, "batch_size": batch_size, "max_passes": 1, "fit_intercept": False}
    model = SLNDClassifier("log", rank=8, **settings).fit(X, Y)
    H = np.linalg.inv(0.25 * X.T @ X / len(X))
    order, w, y = orders(len(X), 1)[0].permutation(len(X)), np.zeros(8), np.where(Y == 0, 1, -1)
    for start in range(0, len(X), batch_size):
        rows = order[start : start + batch_size]
        w = w + 0.01 * H @ X[rows].T @ (y[rows] / (1 + np.exp(y[rows] * (X[rows] @ w))))
    np.testing.assert_allclose(model.coef_[0], w, rtol=0, atol=1e-9)


def test_average_of_several_steps_a_pass():
    """The mean of the weights after each step since the first pass, by the literal updates."""
    settings = {**PUBLISHED, "batch_size": 100, "max_passes": 3, "fit_intercept": False}
    averaged = SLNDClassifier("log", rank=8, average=True, **settings).fit(X, Y)
    H = np.linalg.inv(0.25 * X.T @ X / len(X))
    w, y, course = np.zeros(8), np.where(Y == 0, 1, -1), []
    for number, generator in enumerate(orders(len(X), 3)):
        for rows in np.split(generator.permutation(len(X)), range(100, len(X), 100)):
            w = w + 0.01 * H @ X[rows].T @ (y[rows] / (1 + np.exp(y[rows] * (X[rows] @ w))))
            course += [w] if number else []
    np.testing.assert_allclose(averaged.coef_[0], np.mean(course, axis=0), rtol=0, atol=1e-9)


def test_average():
    """The mean of the weights after each step since the first pass."""
    settings = {**PUBLISHED, "max_passes": 2, "fit_intercept": False, "batch_size": 300}
    course = [SLNDClassifier("log", rank=8, **settings | {"max_passes": n}).fit(X, Y).coef_ for n in (2, 3)]
    averaged = SLNDClassifier("log", rank=8, average=True, **settings | {"max_passes": 3}).fit(X, Y).coef_
    np.testing.assert_allclose(averaged, np.mean(course, axis=0), rtol=0, atol=1e-12)
