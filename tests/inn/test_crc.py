"""CRC equals its printed formulas, whichever side is factored."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from nearboost import CRCClassifier
from nearboost.inn import crc
from reference import ridge

EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": "a copy of a sample shares its weight",
    "check_estimators_dtypes": "a row of its small integers is all zeros, which is an error",
}
OF_RESIDUALS = {
    "check_decision_proba_consistency": "probabilities go by ratios of residuals, scores by differences"
}
SHAPES = {"condensed": (60, 5), "features": (30, 20), "samples": (20, 40)}


def problem(shape, seed=0):
    rng = np.random.default_rng(seed)
    X, Q = rng.normal(size=shape), rng.normal(size=(9, shape[1]))
    return X, np.sort(rng.integers(4, size=shape[0])), Q


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("normalize", [True, False])
def test_scores_are_those_of_the_formulas(shape, normalize):
    X, y, Q = problem(shape)
    y[:4] = range(4)
    before, rows = (unit(X), unit(Q)) if normalize else (X, Q)
    by_residual = CRCClassifier(0.01, normalize=normalize).fit(X, y)
    by_weights = CRCClassifier(0.01, normalize=normalize, decision="weights").fit(X, y)
    expected = np.array([ridge.class_residuals(before, y, q, 0.01) for q in rows])
    np.testing.assert_allclose(by_residual.decision_function(Q), -expected, rtol=1e-9)
    sums = np.array([ridge.class_sums(before, y, q, 0.01) for q in rows])
    shares = sums / sums.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(by_weights.decision_function(Q), shares, rtol=1e-9)
    np.testing.assert_array_equal(by_residual.predict(Q), expected.argmin(axis=1))


def test_the_shapes_above_take_all_ways():
    codes = [CRCClassifier().fit(*problem(shape)[:2])._decision.codes for shape in SHAPES.values()]
    assert [len(one.X) for one in codes] == [20, 30, 20]  # four classes of five rows, where these were more
    assert [one.by_features for one in codes] == [True, True, False]


@pytest.mark.parametrize("decision", ["residual", "weights"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_blocks_do_not_matter(monkeypatch, shape, decision):
    X, y, Q = problem(shape)
    model = CRCClassifier(decision=decision).fit(X, y)
    whole = model.decision_function(Q)
    monkeypatch.setattr(crc, "ENTRIES_AT_ONCE", 1)
    np.testing.assert_allclose(model.decision_function(Q), whole, rtol=1e-10)


def test_sample_weights():
    X, y, Q = problem((60, 5))
    weight = np.ones(60)
    weight[::3] = 0
    left, out = CRCClassifier().fit(X, y, weight), CRCClassifier().fit(X[weight > 0], y[weight > 0])
    np.testing.assert_array_equal(left.decision_function(Q), out.decision_function(Q))
    np.testing.assert_array_equal(left.voters_, np.flatnonzero(weight))
    heavy = CRCClassifier(decision="weights").fit(X, y, np.where(y == 1, 2.0, 1.0)).decision_function(Q)
    plain = CRCClassifier(decision="weights").fit(X, y).decision_function(Q)
    doubled = plain * [1, 2, 1, 1]
    np.testing.assert_allclose(heavy, doubled / doubled.sum(axis=1, keepdims=True), rtol=1e-12)


def test_nearly_dependent_features_and_a_tiny_ridge():
    """Where squares of lengths would lose all digits, lengths keep them."""
    X, y, _ = problem((200, 6))
    rng = np.random.default_rng(1)
    X = np.hstack([X, 1e-3 * X @ rng.normal(size=(6, 3))])
    Q = np.hstack([rng.normal(size=(9, 6)), 1e-3 * rng.normal(size=(9, 3))])
    U, s, V = np.linalg.svd(X, full_matrices=False)
    weights = (Q @ V.T * (s / (s**2 + 1e-8))) @ U.T
    expected = np.empty((9, 4))
    for c in range(4):
        own = weights[:, y == c]
        expected[:, c] = np.linalg.norm(Q - own @ X[y == c], axis=1) / np.linalg.norm(own, axis=1)
    model = CRCClassifier(1e-8, normalize=False).fit(X, y)
    np.testing.assert_allclose(model.decision_function(Q), -expected, rtol=1e-9)


def test_duplicates_and_tiny_ridges_are_fine():
    X, y, Q = problem((20, 40))
    model = CRCClassifier(1e-8).fit(np.vstack([X, X]), np.concatenate([y, y]))
    assert np.isfinite(model.decision_function(Q)).all()
    np.testing.assert_array_equal(model.predict(X), y)


@pytest.mark.parametrize("decision", ["residual", "weights"])
def test_a_class_of_one_sample_and_a_row_of_zeros(decision):
    X, y, _ = problem((20, 40))
    model = CRCClassifier(decision=decision, normalize=False).fit(X, np.where(np.arange(20) == 7, 4, y))
    assert model.predict(X[7:8]) == [4]
    scores = model.decision_function(np.zeros((1, 40)))
    assert np.isfinite(scores).all()
    assert np.ptp(scores) == 0.0
    np.testing.assert_array_equal(model.predict_proba(np.zeros((1, 40))), 0.2)


def test_digits():
    X, y = load_digits(return_X_y=True)
    assert CRCClassifier().fit(X[::2].astype(np.float32), y[::2]).score(X[1::2].astype(np.float32), y[1::2]) > 0.94


def test_mistakes_are_named():
    X, y, Q = problem((30, 20))
    for bad in (0, -1, np.nan, "a"):
        with pytest.raises(ValueError, match=r"regularization=.* must be a number above 0"):
            CRCClassifier(bad).fit(X, y)
    with pytest.raises(ValueError, match="decision='vote' is not known"):
        CRCClassifier(decision="vote").fit(X, y)
    with pytest.raises(ValueError, match="Row 2 is all zeros and has no direction"):
        CRCClassifier().fit(X, y).predict(np.where(np.arange(9)[:, np.newaxis] == 2, 0, Q))


@parametrize_with_checks([CRCClassifier()], expected_failed_checks=lambda _: EXPECTED_FAILURES | OF_RESIDUALS)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([CRCClassifier(decision="weights")], expected_failed_checks=lambda _: EXPECTED_FAILURES)
def test_scikit_learn_of_other_settings(estimator, check):
    check(estimator)


def test_a_class_without_weights_is_the_farthest():
    assert crc.ratio(np.array([2.0, 3.0]), np.array([4.0, 0.0])).tolist() == [0.5, np.finfo(np.float64).max]


def test_rows_too_large_for_the_ridge_are_named():
    X, y, _ = problem((30, 20))
    with pytest.raises(ValueError, match="is lost next to products of rows as large as"):
        CRCClassifier(normalize=False).fit(np.hstack([X, X]) * 1e8, y)
    with pytest.raises(ValueError, match="whose products with others may overflow"):
        CRCClassifier(normalize=False).fit(X * 1e250, y)
