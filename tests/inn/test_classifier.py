"""INNClassifier among scikit-learn's tools, what it explains, and what it says to bad input."""

import pickle

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from codes.problems import random_rows
from nearboost import INNClassifier, INNCoder
from nearboost.inn.code_classifier import unit_rows

X, Q = random_rows(0, m=90)
Y = np.arange(90) % 3
DECISIONS = ["weights", "residual"]

# Of two equal samples the first is picked, and its weight counts once; a sample of weight 2 counts twice.
PICKED_ONCE = "a repeated sample is picked as one, a weighted one counts more"


def expected_failures(estimator):
    failures = {}
    if estimator.decision == "weights":
        failures |= {"check_sample_weight_equivalence_on_dense_data": PICKED_ONCE}
    else:
        failures |= {
            "check_sample_weight_equivalence_on_dense_data": "repeated rows count again in the temperature",
            "check_decision_proba_consistency": "probabilities go by ratios of residuals, scores by differences",
        }
    if estimator.normalize:
        failures |= {"check_estimators_dtypes": "a row of its small integers is all zeros, which is an error"}
    return failures


@parametrize_with_checks(
    [INNClassifier()],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [INNClassifier(decision="residual"), INNClassifier(normalize=True, neighborhood=5)],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks_of_other_settings(estimator, check):
    check(estimator)


def test_digits():
    digits, labels = load_digits(return_X_y=True)
    train, test = slice(None, None, 2), slice(1, None, 2)
    scores = {
        decision: INNClassifier(normalize=True, decision=decision)
        .fit(digits[train], labels[train])
        .score(digits[test], labels[test])
        for decision in DECISIONS
    }
    assert scores["weights"] > 0.98
    assert scores["residual"] > 0.98


@pytest.mark.parametrize("decision", DECISIONS)
@pytest.mark.parametrize("labels", [np.array(["a", "b", "c"]), np.array([7, -1, 3])])
def test_names_of_classes(decision, labels):
    y = labels[Y]
    model = INNClassifier(0.2, decision=decision).fit(X, y)
    np.testing.assert_array_equal(model.classes_, np.sort(labels))
    scores = model.decision_function(Q)
    np.testing.assert_array_equal(model.predict(Q), model.classes_[scores.argmax(axis=1)])
    assert model.n_features_in_ == 5
    assert model.terms_ == 17
    two = INNClassifier(0.2, decision=decision).fit(X, Y > 0)
    assert two.decision_function(Q).shape == (len(Q),)
    np.testing.assert_array_equal(two.predict(Q), two.decision_function(Q) > 0)


def test_probabilities():
    """They grow with shares of the weights; a row in all is left to every class alike."""
    model = INNClassifier().fit(X, Y)
    shares = model.decision_function(Q) / (1 - 1.05**-62)
    expected = 91 / 92 * softmax(shares / model.temperature_, axis=1) + 1 / 92 / 3
    np.testing.assert_allclose(model.predict_proba(Q), expected, rtol=1e-9)
    calibrated = CalibratedClassifierCV(INNClassifier(decision="residual"), cv=3).fit(X, Y)
    np.testing.assert_allclose(calibrated.predict_proba(Q).sum(axis=1), 1.0)


def test_explanations_of_sums():
    rows, y = X.copy(), np.array(["red", "green", "blue"])[Y]
    weights = np.where(np.arange(90) % 7 == 0, 0.0, np.random.default_rng(0).uniform(0.5, 2, 90))
    model = INNClassifier().fit(rows, y, sample_weight=weights)
    kept = np.flatnonzero(weights)
    codes = INNCoder().fit(rows[kept]).transform(Q).toarray()
    for explanation, code, scores in zip(model.explain(Q), codes, model.decision_function(Q), strict=True):
        np.testing.assert_array_equal(np.sort(explanation.samples), kept[code > 0])
        counted = np.zeros(90)
        counted[kept] = code * weights[kept]
        np.testing.assert_allclose(explanation.weights, counted[explanation.samples], rtol=1e-12)
        assert np.all(np.diff(explanation.weights) <= 0)
        np.testing.assert_array_equal(explanation.labels, y[explanation.samples])
        np.testing.assert_array_equal(explanation.scores, scores)
        np.testing.assert_array_equal(explanation.classes, ["blue", "green", "red"])
        sums = [explanation.weights[explanation.labels == name].sum() for name in explanation.classes]
        np.testing.assert_allclose(sums, scores, rtol=1e-12)


def test_explanations_of_residuals():
    rng = np.random.default_rng(0)
    order = rng.permutation(90)
    model = INNClassifier(decision="residual").fit(X[order], Y[order])
    for explanation, query in zip(model.explain(Q), Q, strict=True):
        winner = explanation.classes[explanation.scores.argmax()]
        assert np.all(explanation.labels == winner)
        np.testing.assert_array_equal(Y[order][explanation.samples], explanation.labels)
        rest = query - explanation.weights @ X[order][explanation.samples]
        assert np.linalg.norm(rest) == pytest.approx(-explanation.scores.max(), abs=1e-12)


@pytest.mark.parametrize("decision", DECISIONS)
def test_a_sample_of_no_weight_is_left_out(decision):
    weights = np.where(np.arange(90) % 4 == 0, 0.0, 1.0)
    model = INNClassifier(decision=decision).fit(X, Y, sample_weight=weights)
    without = INNClassifier(decision=decision).fit(X[weights > 0], Y[weights > 0])
    np.testing.assert_array_equal(model.decision_function(Q), without.decision_function(Q))
    assert all(np.all(weights[explanation.samples] > 0) for explanation in model.explain(Q))
    np.testing.assert_array_equal(model.voters_, np.flatnonzero(weights))
    assert not hasattr(INNClassifier(), "voters_")


def test_residuals_heed_no_other_weights():
    model = INNClassifier(decision="residual").fit(X, Y, sample_weight=1 + np.arange(90))
    plain = INNClassifier(decision="residual").fit(X, Y)
    np.testing.assert_array_equal(model.decision_function(Q), plain.decision_function(Q))


@pytest.mark.parametrize("decision", DECISIONS)
def test_the_first_of_equal_classes(decision):
    """The same samples under two names: a tie, which the first name wins."""
    y = np.repeat([1, 0], 45)
    model = INNClassifier(decision=decision).fit(np.vstack([X[:45], X[:45]]), y)
    # By weights the copy with the lower index takes all of a sample's weight; by residuals the classes tie.
    np.testing.assert_array_equal(model.predict(Q), 1 if decision == "weights" else 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("decision", DECISIONS)
def test_unit_length(dtype, decision):
    rows, queries = X.astype(dtype), Q.astype(dtype)
    lengths = np.random.default_rng(0).choice([2.0**-90, 0.25, 8.0, 2.0**90], (90, 1)).astype(dtype)
    model = INNClassifier(normalize=True, decision=decision).fit(lengths * rows, Y)
    unit = (rows / np.linalg.norm(rows.astype(float), axis=1, keepdims=True)).astype(dtype)
    units = (queries / np.linalg.norm(queries.astype(float), axis=1, keepdims=True)).astype(dtype)
    plain = INNClassifier(decision=decision).fit(unit, Y)
    np.testing.assert_allclose(
        model.decision_function(0.5 * queries), plain.decision_function(units), rtol=0, atol=1e-6
    )


@pytest.mark.alone
@pytest.mark.parametrize("decision", DECISIONS)
def test_clone_pickle_and_threads(decision):
    model = INNClassifier(0.1, decision=decision, n_jobs=1).fit(X, Y)
    expected = model.decision_function(Q)
    for other in (clone(model).fit(X, Y), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.decision_function(Q), expected)
    other = INNClassifier(0.1, decision=decision, n_jobs=2, gram_memory=500.0).fit(X, Y)
    np.testing.assert_array_equal(other.decision_function(Q), expected)


@pytest.mark.parametrize("scale", [1e-250, 1e250])
def test_residuals_of_any_size(scale):
    plain = INNClassifier(decision="residual").fit(X, Y)
    model = INNClassifier(decision="residual").fit(scale * X, Y)
    np.testing.assert_allclose(model.decision_function(scale * Q) / scale, plain.decision_function(Q), rtol=1e-9)


def test_one_class():
    for decision in DECISIONS:
        model = INNClassifier(decision=decision).fit(X, np.zeros(90))
        np.testing.assert_array_equal(model.predict(Q), 0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"regularization": 0}, "regularization=0 must be a number above 0"),
        ({"coverage": 2}, "coverage=2 must be below 1"),
        ({"max_terms": 0}, "max_terms=0 must be a whole number"),
        ({"normalize": "l2"}, "normalize='l2' must be True or False"),
        ({"decision": "votes"}, "decision='votes' is not known; use one of 'weights', 'residual'"),
        ({"neighborhood": 91}, "neighborhood=91 is more than the n_samples=90"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        INNClassifier(**settings).fit(X, Y)


def test_wrong_rows():
    zeros = X.copy()
    zeros[[4, 8]] = 0.0
    with pytest.raises(
        ValueError, match="Row 4 is all zeros and has no direction; drop it or use normalize=False"
    ):
        INNClassifier(normalize=True).fit(zeros, Y)
    model = INNClassifier(normalize=True).fit(X, Y)
    with pytest.raises(ValueError, match="Row 4 is all zeros"):
        model.predict(zeros)
    INNClassifier().fit(zeros, Y).predict(zeros)
    with pytest.raises(ValueError, match="X contains NaN in row"):
        model.predict(np.full((2, 5), np.nan))
    with pytest.raises(ValueError, match="X has 3 features, but INNClassifier is expecting 5 features"):
        model.predict(X[:, :3])
    with pytest.raises(ValueError, match="Unknown label type"):
        INNClassifier().fit(X, Y + 0.5)
    with pytest.raises(ValueError, match="sample_weight is zero for every sample"):
        INNClassifier().fit(X, Y, sample_weight=np.zeros(90))


@pytest.mark.parametrize("decision", DECISIONS)
def test_settings_changed_after_the_fit_do_not_matter(decision):
    model = INNClassifier(decision=decision).fit(X, Y)
    expected, probabilities = model.decision_function(Q), model.predict_proba(Q)
    other = "residual" if decision == "weights" else "weights"
    model.set_params(decision=other, normalize=True)
    np.testing.assert_array_equal(model.decision_function(Q), expected)
    np.testing.assert_array_equal(model.predict_proba(Q), probabilities)


@pytest.mark.parametrize("decision", DECISIONS)
def test_blocks_of_rows_do_not_matter(monkeypatch, decision):
    model = INNClassifier(decision=decision).fit(X, Y)
    expected = model.decision_function(Q)
    monkeypatch.setattr(INNClassifier, "_rows_at_once", 5)
    np.testing.assert_array_equal(model.decision_function(Q), expected)


def test_unit_rows_of_any_size():
    rows = np.random.default_rng(0).normal(size=(4, 3))
    for scale in (1e-250, 1e250):
        np.testing.assert_allclose(unit_rows(rows * scale), unit_rows(rows), rtol=1e-14)
