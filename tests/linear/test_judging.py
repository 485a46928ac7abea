"""Rows held out in turn: calibrated probabilities, honest accuracies, and the scaling that they choose."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from linear.problems import noisy_classes
from nearboost.linear.sgd import LinearSGDClassifier
from nearboost.linear.slnd import SLNDClassifier

SCALED = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def halves(X, y, n_rows, seed=0):
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:n_rows], order[n_rows:]
    return X[train], y[train], X[test], y[test]


@pytest.mark.parametrize("model", [SLNDClassifier(), LinearSGDClassifier(), SLNDClassifier("hinge")])
def test_separable_rows_leave_some_doubt(model):
    """All judges are right, however long the steps."""
    X, y = load_digits(return_X_y=True)
    X, y, Q, truth = halves(X[y < 2], y[y < 2], 100)
    probabilities = model.fit(X, y).predict_proba(Q)
    assert log_loss(truth, probabilities) < 0.06
    assert probabilities.min() > 1e-4
    assert model.temperature_ > 0
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


@pytest.mark.parametrize("model", [SLNDClassifier(), LinearSGDClassifier(scaling="standard")])
def test_probabilities_and_accuracy_are_those_of_new_rows(model):
    X, y = noisy_classes(2000)
    model.fit(X[:1000], y[:1000])
    assert abs(model.held_out_accuracy_ - model.score(X[1000:], y[1000:])) < 0.03
    probabilities = model.predict_proba(X[1000:])
    right = probabilities.argmax(axis=1) == y[1000:]
    assert abs(probabilities.max(axis=1).mean() - right.mean()) < 0.03
    assert np.isnan(model.partial_fit(X[1000:], y[1000:]).held_out_accuracy_)  # that of other weights


@pytest.mark.parametrize("as_given", [np.asarray, csr_matrix])
@pytest.mark.parametrize("model", [SLNDClassifier(), LinearSGDClassifier(scaling="standard")])
def test_copies_do_not_judge_each_other(model, as_given):
    """Three copies of each row say no more of rows to come than one does."""
    X, y, Q, truth = halves(*load_digits(return_X_y=True), 100)
    thrice = np.repeat(np.arange(100), 3)
    model.fit(as_given(X[thrice]), y[thrice])
    assert model.held_out_accuracy_ < model.score(as_given(Q), truth) + 0.06
    with pytest.warns(UserWarning, match="held-out accuracy is unknown"):
        model.fit(as_given(X[[0, 1] * 20]), [0, 1] * 20)
    assert np.isnan(model.held_out_accuracy_)


def test_few_rows_of_many_features():
    """Rows held out have no part in the coordinates they are judged in, or scores would be of another size."""
    rng = np.random.default_rng(0)
    means, y = rng.standard_normal((10, 300)), np.arange(1000) % 10
    X = means[y] + 4 * rng.standard_normal((1000, 300))
    model = SLNDClassifier().fit(X[:150], y[:150])
    probabilities = model.predict_proba(X[150:])
    assert abs(probabilities.max(axis=1).mean() - model.score(X[150:], y[150:])) < 0.08


@pytest.mark.parametrize("model", [SLNDClassifier(), LinearSGDClassifier()])
def test_one_row_of_each_class(model):
    """Nothing can be held out: finite answers and one warning."""
    X, y = np.random.default_rng(0).standard_normal((12, 5)), np.arange(12)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert ["not calibrated" in str(one.message) for one in said] == [True]
    assert np.isnan(model.held_out_accuracy_)
    assert model.predict_proba(X).min() > 0
    assert model.report_["n_held_out"] == 0


def test_early_stopping_is_judged_by_the_rows_that_stop_it():
    X, y = noisy_classes(600)
    model = SLNDClassifier(early_stopping=True).fit(X, y)
    assert model.held_out_accuracy_ == pytest.approx(max(model.history_["held_out_accuracy"]))
    assert model.report_["n_held_out"] == 120


@pytest.mark.parametrize("load", [load_digits, load_wine, load_breast_cancer])
def test_features_of_any_scale(load):
    """A point or so and a fifth of the log-loss from a logistic regression on scaled features, in any units."""
    X, y = load(return_X_y=True)
    X = X * 10.0 ** np.random.default_rng(7).uniform(-3, 3, X.shape[1])
    X, y, Q, truth = halves(X, y, len(y) // 2)
    model, other = SLNDClassifier().fit(X, y), SCALED.fit(X, y)
    assert model.scaling_ == "standard"
    assert model.score(Q, truth) > other.score(Q, truth) - 0.012
    assert log_loss(truth, model.predict_proba(Q)) < 1.2 * log_loss(truth, other.predict_proba(Q))


def test_a_scaling_that_is_given():
    """The same as scaling by hand; a given step is one for rows as they are."""
    X, y = noisy_classes(300)
    settings = {"rank": 6, "damping": 0.01, "step": 0.02, "max_passes": 3}
    by_hand = StandardScaler().fit(X)
    model = SLNDClassifier(scaling="standard", **settings).fit(X, y)
    plain = SLNDClassifier(**settings).fit(by_hand.transform(X), y)
    assert plain.scaling_ == "none"
    scores = plain.decision_function(by_hand.transform(X))
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=0, atol=1e-9)
    model.partial_fit(X, y)
    plain.partial_fit(by_hand.transform(X), y)
    scores = plain.decision_function(by_hand.transform(X))
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=0, atol=1e-9)
    with pytest.raises(ValueError, match="scaling='l2' is not known"):
        SLNDClassifier(scaling="l2").fit(X, y)


def test_the_loss_gives_its_leading_class_the_largest_probability():
    X, y = noisy_classes(40)
    model = SLNDClassifier(calibration=None, n_jobs=1).fit(X, y == 1)
    model.coef_, model.intercept_ = (
        np.full_like(model.coef_, 1e-17),
        np.zeros_like(model.intercept_),
    )  # all but tied
    assert np.abs(model.decision_function(X)).max() < 1e-12
    assert len(np.unique(model.predict(X))) == 2
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))
