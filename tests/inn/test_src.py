"""SRC decides by the codes of the lasso, by each solver."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from nearboost import SRCClassifier
from nearboost.codes.l1 import L1Dictionary

DTYPES = {"check_estimators_dtypes": "a row of its small integers is all zeros, which is an error"}
WEIGHTS = {"weights": "a copy of a sample shares its weight", "residual": "copies count again in the calibration"}
X, y = load_digits(return_X_y=True)
X = X / 16


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def plain_scores(rows, labels, queries, regularization, decision, neighborhood=None):
    """From the codes, by definition."""
    codes = L1Dictionary(rows, regularization, neighborhood=neighborhood).codes(queries).toarray()
    scores = np.empty((len(queries), labels.max() + 1))
    for c in range(scores.shape[1]):
        own = labels == c
        if decision == "weights":
            scores[:, c] = abs(codes[:, own]).sum(axis=1) / abs(codes).sum(axis=1)
        else:
            scores[:, c] = -np.linalg.norm(queries - codes[:, own] @ rows[own], axis=1)
    return scores


@pytest.mark.parametrize("decision", ["weights", "residual"])
@pytest.mark.parametrize("neighborhood", [None, 40])
@pytest.mark.parametrize("normalize", [True, False])
def test_scores_by_definition(decision, neighborhood, normalize):
    model = SRCClassifier(decision=decision, neighborhood=neighborhood, normalize=normalize)
    model.fit(X[:300], y[:300])
    rows, queries = (unit(X[:300]), unit(X[300:330])) if normalize else (X[:300], X[300:330])
    expected = plain_scores(rows, y[:300], queries, 0.05, decision, neighborhood)
    np.testing.assert_allclose(model.decision_function(X[300:330]), expected, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X[300:330]), expected.argmax(axis=1))


@pytest.mark.parametrize("decision", ["weights", "residual"])
def test_explanations_name_the_samples_behind_the_scores(decision):
    model = SRCClassifier(decision=decision).fit(X[:300], y[:300])
    codes = L1Dictionary(unit(X[:300]), 0.05).codes(unit(X[300:320])).toarray()
    for row, one in enumerate(model.explain(X[300:320])):
        winner = one.classes[one.scores.argmax()]
        counted = codes[row][one.samples]
        assert np.all(np.diff(abs(one.weights)) <= 0)
        np.testing.assert_array_equal(one.labels, y[one.samples])
        if decision == "weights":
            np.testing.assert_allclose(one.weights, abs(counted) / abs(codes[row]).sum(), atol=1e-9)
            np.testing.assert_allclose(np.bincount(one.labels, one.weights, minlength=10), one.scores, atol=1e-9)
        else:
            assert set(one.labels) == {winner}
            np.testing.assert_allclose(one.weights, counted, atol=1e-9)


def test_rows_without_weights_get_equal_shares_and_one_warning():
    model = SRCClassifier(2.0).fit(X[:300], y[:300])
    with pytest.warns(UserWarning, match="5 of 5 rows have no weights and get the first class") as record:
        probabilities = model.predict_proba(X[300:305])
    assert len(record) == 1
    assert record[0].filename == __file__
    np.testing.assert_array_equal(probabilities, 0.1)


def test_sample_weights():
    weight = np.ones(300)
    weight[::3] = 0
    left = SRCClassifier().fit(X[:300], y[:300], weight)
    out = SRCClassifier().fit(X[:300][weight > 0], y[:300][weight > 0])
    np.testing.assert_array_equal(left.decision_function(X[300:330]), out.decision_function(X[300:330]))
    assert all(np.all(weight[one.samples] > 0) for one in left.explain(X[300:310]))
    np.testing.assert_array_equal(left.voters_, np.flatnonzero(weight))


@pytest.mark.parametrize("decision", ["weights", "residual"])
def test_a_class_of_one_sample_is_found(decision):
    labels = np.where(np.arange(300) == 17, 10, y[:300])
    model = SRCClassifier(decision=decision).fit(X[:300], labels)
    assert model.predict(X[17:18]) == [10]
    assert model.explain(X[17:18])[0].samples[0] == 17
    np.testing.assert_array_equal(SRCClassifier(decision=decision).fit(X[:9], np.ones(9)).predict(X[9:20]), 1)


def test_copies_of_samples_change_no_score():
    """A copy takes over, or not, but never counts besides."""
    twice, labels = np.vstack([X[:300], X[:300]]), np.concatenate([y[:300], y[:300]])
    for decision in ("weights", "residual"):
        plain = SRCClassifier(decision=decision).fit(X[:300], y[:300]).decision_function(X[300:330])
        model = SRCClassifier(decision=decision).fit(twice, labels)
        np.testing.assert_allclose(model.decision_function(X[300:330]), plain, atol=1e-9)


def test_a_row_of_zeros_has_nothing_to_say():
    model = SRCClassifier(decision="residual", normalize=False).fit(X[:300], y[:300])
    with pytest.warns(
        UserWarning, match="1 of 2 rows have no weights and get the first class, the first is row 1"
    ):
        scores = model.decision_function(np.vstack([X[300], np.zeros(64)]))
    np.testing.assert_array_equal(scores[1], 0.0)
    with pytest.warns(UserWarning, match="have no weights"):
        assert model.explain(np.zeros((1, 64)))[0].samples.size == 0


@pytest.mark.alone
def test_threads_do_not_matter():
    one, two = (SRCClassifier(n_jobs=n).fit(X[:900], y[:900]).decision_function(X[900:1200]) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_mistakes_are_named():
    for bad in (0, -1, np.nan):
        with pytest.raises(ValueError, match=r"regularization=.* must be a number above 0"):
            SRCClassifier(bad).fit(X, y)
    with pytest.raises(ValueError, match="solver='l1ls' is not known; use one of 'lasso'"):
        SRCClassifier(solver="l1ls").fit(X, y)
    for gone in ("lars", "fista"):
        with pytest.raises(ValueError, match=f"solver='{gone}' is gone; use 'lasso', which gives the same codes"):
            SRCClassifier(solver=gone).fit(X, y)
    with pytest.raises(ValueError, match="neighborhood=2000 is more than the n_samples=1797"):
        SRCClassifier(neighborhood=2000).fit(X, y)
    with pytest.raises(ValueError, match="Row 0 is all zeros"):
        SRCClassifier().fit(X, y).predict(np.zeros((1, 64)))


def expected_failures(estimator):
    return DTYPES | {"check_sample_weight_equivalence_on_dense_data": WEIGHTS[estimator.decision]}


@parametrize_with_checks([SRCClassifier()], expected_failed_checks=expected_failures)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([SRCClassifier(decision="residual")], expected_failed_checks=expected_failures)
def test_scikit_learn_of_other_settings(estimator, check):
    check(estimator)
