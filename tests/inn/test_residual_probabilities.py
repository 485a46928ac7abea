"""Probabilities of decisions by residuals, calibrated on rows that are coded by others."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.metrics import log_loss
from sklearn.preprocessing import scale

from nearboost import INNClassifier, load, save
from nearboost.problem import others as held_out

LAMBDA = 0.3


def made(n=60, seed=0, n_classes=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return rng.normal(size=(n, 4)) + np.eye(4)[y], y


def model(**settings):
    return INNClassifier(LAMBDA, decision="residual", **settings)


def test_probabilities_are_a_power_of_the_residuals():
    X, y = made()
    fitted = model().fit(X[:50], y[:50])
    powers = (-fitted.decision_function(X[50:])) ** (-1 / fitted.temperature_)
    probabilities = fitted.predict_proba(X[50:])
    share = fitted._held_out.found.calibration.uniform_share
    assert share >= 1 / 52  # a row in all is for every class
    mixed = (1 - share) * powers / powers.sum(axis=1, keepdims=True) + share / 3
    np.testing.assert_allclose(probabilities, mixed, rtol=1e-9)
    np.testing.assert_array_equal(fitted.classes_[probabilities.argmax(axis=1)], fitted.predict(X[50:]))


@pytest.mark.parametrize(("name", "most"), [("digits", 0.06), ("wine", 0.12)])
def test_log_loss(name, most):
    """Measured: .04 and .08, means of three halves."""
    X, y = (load_digits if name == "digits" else load_wine)(return_X_y=True)
    X = X / 16 if name == "digits" else scale(X)
    fitted = model().fit(X[::2], y[::2])
    assert log_loss(y[1::2], fitted.predict_proba(X[1::2])) < most
    assert fitted.held_out_accuracy_ == pytest.approx(fitted.score(X[1::2], y[1::2]), abs=0.03)


@pytest.mark.parametrize("change", ["order", "threads", "added", "forgotten", "saved"])
def test_the_same_bits(change, tmp_path):
    X, y = made()
    groups = np.arange(60) // 2
    fitted = model(n_jobs=1).fit(X, y, groups=groups)
    if change == "order":
        order = np.random.default_rng(1).permutation(60)
        other = model().fit(X[order], y[order], groups=groups[order])
    elif change == "threads":
        other = model(n_jobs=2).fit(X, y, groups=groups)
    elif change == "added":
        other = model().fit(X[:40], y[:40], groups=groups[:40]).add(X[40:], y[40:], groups=groups[40:])
    elif change == "forgotten":
        more, numbers = np.vstack([X, X[:5] + 1]), np.append(groups, groups[:5])
        other = model().fit(more, np.append(y, y[:5]), groups=numbers).forget(range(60, 65))
    else:
        save(fitted, tmp_path / "model.nb")
        other = load(tmp_path / "model.nb")
    assert (other.temperature_, other.held_out_accuracy_) == (fitted.temperature_, fitted.held_out_accuracy_)
    np.testing.assert_array_equal(other.predict_proba(X + 0.1), fitted.predict_proba(X + 0.1))


def test_many_rows_hold_out_some(monkeypatch):
    monkeypatch.setattr(held_out, "LARGE", 50)
    monkeypatch.setattr(held_out, "MOST_HELD_OUT", 20)
    X, y = made()
    _, some = held_out.deal(np.arange(60, dtype=np.uint64), y, np.arange(60, dtype=np.int32), 50)
    assert np.bincount(y[some]).tolist() == [7, 7, 6]
    fitted, order = model().fit(X, y), np.random.default_rng(1).permutation(60)
    assert fitted.held_out_accuracy_ in np.arange(21) / 20
    assert model().fit(X[order], y[order]).temperature_ == fitted.temperature_


def test_a_class_of_one_row_beside_larger_ones():
    """It counts as far where it is left out."""
    X, y = made()
    y[0] = 3
    assert model().fit(X, y).held_out_accuracy_ <= 59 / 60


def test_groups_that_do_not_fit():
    X, y = made()
    with pytest.raises(ValueError, match=r"groups has shape \(3,\) but there are 60 samples"):
        model().fit(X, y, groups=[1, 2, 3])
    with pytest.raises(ValueError, match="groups cannot be sorted; give numbers or texts"):
        model().fit(X, y, groups=np.array([1, "a", 2] * 20, dtype=object))
    with pytest.raises(ValueError, match="fitted with groups; give the group of each new sample"):
        model().fit(X, y, groups=y).add(X[:2], y[:2])


@pytest.mark.filterwarnings("ignore:No class has two different samples")
def test_no_probability_is_missing():
    zeros = np.vstack([np.zeros((1, 4)), np.eye(4), -np.eye(4)])
    y = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2])
    for X in (zeros, 1e200 * zeros, 1e-200 * zeros, np.zeros((9, 4))):
        probabilities = model().fit(X, y).predict_proba(np.vstack([X, 1e9 * X]))
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model().fit(zeros, np.zeros(9)).predict_proba(zeros), 1.0)
