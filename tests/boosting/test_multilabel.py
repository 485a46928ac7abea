"""Several labels a row, given as a 0/1 matrix."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from boosting.problems import random_rows
from nearboost import N3Classifier, UNNClassifier
from reference import n3 as reference_n3

X, CLASSES = random_rows(51, m=120, n_classes=3)
Y = np.stack([CLASSES == 0, CLASSES >= 1, X[:, 1] > 0, X.sum(axis=1) > 1], axis=1).astype(int)
Y[5] = 0
Y[6] = 1
BOTH = pytest.mark.parametrize("cls", [N3Classifier, UNNClassifier])


def assert_answers_agree(model, Q, n_labels):
    predicted, p, scores = model.predict(Q), model.predict_proba(Q), model.decision_function(Q)
    assert predicted.shape == p.shape == scores.shape == (len(Q), n_labels)
    assert predicted.dtype.kind == "i"
    assert np.all((predicted == 0) | (predicted == 1))
    assert np.all((p >= 0) & (p <= 1))
    np.testing.assert_array_equal(predicted, p > 0.5)
    np.testing.assert_array_equal(predicted, scores > 0)
    posteriors = model.class_posteriors(Q)
    assert np.all((posteriors >= 0) & (posteriors <= 1))


@BOTH
@pytest.mark.parametrize("settings", [
    {}, {"start": "zero"}, {"n_prototypes": 20}, {"calibration": None, "vote_weights": "rank"},
    {"early_stopping": True}, {"vote_from": "prototypes", "n_rounds": 10}, {"class_weight": "balanced"},
])  # fmt: skip
def test_predictions_are_a_matrix_that_agrees_with_scores_and_probabilities(cls, settings):
    model = cls(7, **settings).fit(X, Y)
    assert_answers_agree(model, np.vstack([X, X + 0.2]), 4)
    np.testing.assert_array_equal(model.classes_, np.arange(4))
    assert model.coefficients_.shape[1] == 4
    assert (model.predict(X) == Y).mean() > 0.8


@BOTH
def test_scores_that_cancel_but_for_rounding(cls):
    """Rank votes 1 − 1/2 − 1/3 − 1/6 leave 1e-17: all answers must take it the same way."""
    rows = np.round(X)
    for k in (4, 6, 7):
        model = cls(k, vote_weights="rank", calibration=None, n_rounds=1).fit(rows, Y)
        assert_answers_agree(model, rows, 4)


@BOTH
def test_a_label_never_present_and_one_always(cls):
    matrix = np.column_stack([Y, np.zeros(120, dtype=int), np.ones(120, dtype=int)])
    model = cls(7).fit(X, matrix)
    assert_answers_agree(model, X, 6)
    assert not model.predict(X)[:, 4].any()
    assert model.predict(X)[:, 5].all()
    assert np.all(np.isfinite(model.predict_proba(X)))
    assert model.predict_proba(X)[:, 4].max() < 0.1
    assert model.predict_proba(X)[:, 5].min() > 0.9


@BOTH
def test_rows_without_labels_and_rows_with_all(cls):
    matrix = Y.copy()
    matrix[::4] = 0
    matrix[1::4] = 1
    assert_answers_agree(cls(5).fit(X, matrix), X, 4)


@BOTH
def test_no_labels_at_all(cls):
    model = cls(5).fit(X, np.zeros((120, 3), dtype=int))
    assert_answers_agree(model, X, 3)
    assert not model.predict(X).any()


@BOTH
def test_matrices_of_other_kinds(cls):
    expected = cls(7).fit(X, Y).decision_function(X)
    for matrix in (Y.astype(bool), Y.astype(float), Y.tolist(), csr_matrix(Y)):
        np.testing.assert_array_equal(cls(7).fit(X, matrix).decision_function(X), expected)


@pytest.mark.parametrize("loss", ["log", "mat", "hinge", "squared"])
def test_published_n3_with_each_rows_own_label_count(loss):
    from boosting.problems import brute_force

    model = N3Classifier(
        6, loss=loss, vote_weights="uniform", start="zero", oracle="delta", n_rounds=30, calibration=None
    ).fit(X, Y)
    labelled = np.flatnonzero((Y.sum(axis=1) > 0) & (Y.sum(axis=1) < 4))
    codes = np.where(Y == 1, 1, -1)
    start = reference_n3.start_weights(codes)
    assert len(labelled) < len(X)
    alpha = np.zeros((len(X), 4))
    alpha[model.prototypes_] = model.coefficients_.toarray()
    for c in range(4):
        run = reference_n3.n3(brute_force(X, 6).indices, codes[:, c], start[:, c], loss=loss, n_rounds=30)
        np.testing.assert_allclose(alpha[:, c], run.alpha, rtol=0, atol=1e-9)


@BOTH
def test_what_needs_one_label_a_row(cls):
    model = cls(7).fit(X, Y)
    with pytest.raises(ValueError, match="single-label"):
        model.predict(X, reject_below=0.5)
    with pytest.raises(ValueError, match="single-label"):
        model.predict_top(X, 2)


@BOTH
def test_pruning_and_weights(cls):
    weights = np.ones(120)
    weights[::5] = 0
    model = cls(7, n_rounds=10).fit(X, Y, sample_weight=weights)
    assert np.all(weights[model.prototypes_] > 0)
    there = weights > 0
    np.testing.assert_array_equal(
        model.decision_function(X), cls(7, n_rounds=10).fit(X[there], Y[there]).decision_function(X)
    )
    assert len(model.prune(11).prototypes_) == 11
