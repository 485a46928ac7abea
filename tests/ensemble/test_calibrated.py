"""Probabilities of classifiers that have scores alone."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LinearRegression, RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.preprocessing import scale
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from nearboost import load, save
from nearboost.ensemble.calibrated import CalibratedScores, judge
from nearboost.problem.calibration import fit_calibration, keep_leader
from nearboost.problem.held_out import spread_folds


class OneVsOneScores(LinearSVC):
    """A classifier that is no `SVC` and has a score for each pair of classes."""

    def decision_function(self, X):
        return SVC(decision_function_shape="ovo").fit(*self.seen_).decision_function(X)

    def fit(self, X, y):
        self.seen_ = X, y
        return super().fit(X, y)


@parametrize_with_checks([CalibratedScores(LinearSVC())])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_temperature_is_that_of_evidence_by_other_folds(n_classes):
    X, y = load_digits(n_class=n_classes, return_X_y=True)
    X, y = X[:150] + np.random.default_rng(0).normal(scale=9, size=(150, 64)), y[:150]
    folds, machine = spread_folds(X, y, None, 5, 0), SVC(C=0.1)

    def evidence_of(fitted, rows):
        """A class has Σ ln σ(3f) over its pairs; with two classes, 3f between them."""
        if n_classes == 2:
            return fitted.decision_function(rows)[:, np.newaxis]
        decisions = fitted.set_params(decision_function_shape="ovo").decision_function(rows)
        fitted.set_params(decision_function_shape="ovr")
        evidence, pairs = np.zeros((len(rows), n_classes)), list(combinations(range(n_classes), 2))
        for (one, other), f in zip(pairs, decisions.T, strict=True):
            evidence[:, one] -= np.log1p(np.exp(-3 * f))
            evidence[:, other] -= np.log1p(np.exp(3 * f))
        return evidence

    by_others = [evidence_of(machine.fit(X[folds != f], y[folds != f]), X[folds == f]) for f in range(5)]
    order = np.concatenate([np.flatnonzero(folds == f) for f in range(5)])
    expected = fit_calibration(np.concatenate(by_others), y[order])
    model = CalibratedScores(machine).fit(X, y)
    assert (model.temperature_, model.uniform_share_) == pytest.approx(
        (expected.temperature, expected.uniform_share), rel=1e-5
    )
    whole = machine.fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))
    np.testing.assert_array_equal(model.predict(X), whole.set_params(break_ties=True).predict(X))
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))
    p = keep_leader(expected.probabilities(evidence_of(whole, X)), model.decision_function(X).reshape(150, -1))
    np.testing.assert_allclose(model.predict_proba(X), p, rtol=1e-4)
    np.testing.assert_array_equal(model.voters_, np.sort(whole.support_))


def test_scores_of_pairs_are_those_of_scikit_learn():
    X, y = load_digits(n_class=6, return_X_y=True)
    machine = SVC().fit(X[:200], y[:200])
    np.testing.assert_allclose(judge(machine, X)[0], machine.decision_function(X), rtol=0, atol=1e-12)
    assert machine.decision_function_shape == "ovr"


def test_rows_sum_to_one_where_pairs_won_and_their_evidence_name_different_classes():
    X, y = load_digits(return_X_y=True)
    model = CalibratedScores(SVC(C=10)).fit(X[::2], y[::2])
    won, evidence = judge(model.estimator_, X[1::2])
    apart = won.argmax(axis=1) != evidence.argmax(axis=1)
    p = model.predict_proba(X[1::2])
    assert apart.any()
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(p.argmax(axis=1), won.argmax(axis=1))


def test_pairs_of_three_classes_are_no_scores_of_classes():
    X, y = load_digits(n_class=3, return_X_y=True)
    by_class = CalibratedScores(SVC()).fit(X[:200], y[:200])
    by_pairs = CalibratedScores(SVC(decision_function_shape="ovo")).fit(X[:200], y[:200])
    np.testing.assert_array_equal(by_pairs.predict_proba(X), by_class.predict_proba(X))


def test_machines_with_many_classes_are_as_sure_as_they_are_right():
    """A winner leads by one pair whether it is sure or not: with such scores they are too careful by a fifth."""
    rng = np.random.default_rng(0)
    centers, y = 1.6 * rng.normal(size=(30, 10)), rng.integers(0, 30, 1300)
    X = centers[y] + rng.normal(size=(1300, 10))
    model = CalibratedScores(SVC(C=10)).fit(X[:300], y[:300])
    p = model.predict_proba(X[300:])
    right = p.argmax(axis=1) == y[300:]
    assert p.max(axis=1).mean() == pytest.approx(right.mean(), abs=0.06)


@pytest.mark.parametrize("estimator", [SVC(C=10), LinearSVC(), RidgeClassifier()])
def test_accuracy_and_log_loss(estimator):
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    model = CalibratedScores(estimator).fit(X[::2], y[::2])
    assert model.held_out_accuracy_ == pytest.approx(model.score(X[1::2], y[1::2]), abs=0.03)
    assert log_loss(y[1::2], model.predict_proba(X[1::2])) < 0.16  # measured: at most .14


def test_classes_that_a_fold_does_not_know():
    X, y = load_digits(return_X_y=True)
    X, y = X[:60], y[:60]
    y[7] = 11
    model = CalibratedScores(SVC()).fit(X, y)
    assert model.uniform_share_ >= 1 / 61  # the single row has nothing to be judged by
    assert model.predict_proba(X).shape == (60, 11)


def test_single_rows_of_classes():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = CalibratedScores(LinearSVC()).fit(np.eye(3), [0, 1, 2])
    assert np.isnan(model.held_out_accuracy_)
    with pytest.warns(UserWarning, match="at least two samples of each class") as caught:
        probabilities = model.predict_proba(np.eye(3))
    assert len(caught) == 1
    np.testing.assert_array_equal(probabilities.argmax(axis=1), [0, 1, 2])
    assert probabilities.min() > 1 / 6


def test_what_cannot_be_calibrated(tmp_path):
    X, y = load_digits(return_X_y=True)
    with pytest.raises(ValueError, match="LinearRegression has no decision_function"):
        CalibratedScores(LinearRegression()).fit(X, y)
    with pytest.raises(ValueError, match="gives 45 scores for 10 classes"):
        CalibratedScores(OneVsOneScores()).fit(X[:200], y[:200])
    model = CalibratedScores(LinearSVC()).fit(X[:200], y[:200])
    save(model, tmp_path / "model.nb")
    np.testing.assert_array_equal(load(tmp_path / "model.nb").predict_proba(X), model.predict_proba(X))
