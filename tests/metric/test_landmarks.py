"""LandmarkMap: inner products are close to the kernel, and draws are even and independent of the order of rows."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from nearboost import LandmarkMap
from nearboost.metric.landmarks import LEAST_EIGENVALUE


@parametrize_with_checks([LandmarkMap()])
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


def rows(n=80, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) + 50.0  # far from the origin


@pytest.mark.parametrize("gamma", [None, 0.02, 3.0])
def test_the_kernel_between_landmarks(gamma):
    """Up to the directions that are left out."""
    X = rows()
    model = LandmarkMap(gamma=gamma).fit(X)
    kernel = rbf_kernel(X, gamma=model.gamma_)
    off = np.linalg.norm(model.transform(X) @ model.transform(X).T - kernel, ord=2)
    assert off <= LEAST_EIGENVALUE * np.linalg.norm(kernel, ord=2) * (1 + 1e-6)
    assert model.gamma_ == pytest.approx(gamma or 1 / (4 * X.var(axis=0).sum()))


def test_more_landmarks_are_closer_to_the_kernel():
    X, Q = rows(300), rows(40, seed=1)

    def off(n_landmarks):
        model = LandmarkMap(n_landmarks).fit(X)
        products = model.transform(Q) @ model.transform(Q).T
        return np.abs(products - rbf_kernel(Q, gamma=model.gamma_)).mean()

    assert off(300) < off(40) < off(10)
    assert off(300) < 0.001


def test_landmarks_are_drawn_evenly():
    X, y = rows(), np.repeat(["few", "many"], [10, 70])
    model = LandmarkMap(30).fit(X, y)
    assert np.unique(y[model.landmark_rows_], return_counts=True)[1].tolist() == [10, 20]
    np.testing.assert_array_equal(model.landmarks_, X[model.landmark_rows_] - model.mean_)
    assert len(LandmarkMap(30).fit(X, np.linspace(0, 1, 80)).landmarks_) == 30  # no classes
    other = LandmarkMap(30, random_state=1).fit(X, y)
    assert set(other.landmark_rows_) != set(model.landmark_rows_)


def test_any_order_and_either_precision():
    X, y = rows(), np.arange(80) % 3
    order = np.random.default_rng(0).permutation(80)
    model = LandmarkMap(20).fit(X, y)
    expected = model.transform(X)
    np.testing.assert_array_equal(LandmarkMap(20).fit(X[order], y[order]).transform(X), expected)
    single = model.transform(X.astype(np.float32))
    assert single.dtype == LandmarkMap(20).fit_transform(X.astype(np.float32), y).dtype == np.float32
    np.testing.assert_allclose(single, expected, atol=1e-3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_landmarks": 0}, "n_landmarks=0 must be"),
        ({"gamma": -1.0}, "gamma=-1.0 must be a number above 0"),
        ({"gamma": np.nan}, "gamma=nan must be a number above 0"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        LandmarkMap(**settings).fit(rows())


def test_wrong_rows():
    with pytest.raises(ValueError, match="All rows of X are equal"):
        LandmarkMap().fit(np.ones((5, 2)))
    with pytest.raises(ValueError, match="too far for squared distances"):
        LandmarkMap().fit(1e200 * rows())


def test_one_label_per_row():
    with pytest.raises(ValueError, match="give one per sample"):
        LandmarkMap(5).fit(np.eye(8), np.arange(4))
