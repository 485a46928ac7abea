"""SoftDiscriminant equals its plain reading, keeps what it promises, and fits among scikit-learn's tools."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from metric.problems import noisy_rows
from nearboost import KNNClassifier
from nearboost.metric.discriminant import ROWS_PER_BLOCK, SoftDiscriminant
from reference.discriminant import soft_discriminant


@parametrize_with_checks([SoftDiscriminant()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.pairs
@pytest.mark.parametrize("shrinkage", [0.01, 0.5, 1.0])
@pytest.mark.parametrize("rest", [0.1, 0.5, 1.0])
@pytest.mark.parametrize(("n_rows", "n_features", "n_classes"), [(60, 6, 3), (40, 2, 4), (20, 30, 5), (30, 1, 2)])
def test_plain_reading(shrinkage, rest, n_rows, n_features, n_classes):
    rng = np.random.default_rng(n_features)
    y = np.r_[np.arange(n_classes), rng.integers(0, n_classes, n_rows - n_classes)]  # classes of any size
    X = rng.normal(size=(n_rows, n_features)) @ rng.normal(size=(n_features, n_features)) + y[:, None]
    Z = SoftDiscriminant(shrinkage, rest=rest).fit_transform(X, y)
    np.testing.assert_allclose(Z, soft_discriminant(X, y, shrinkage, rest), rtol=0, atol=1e-9)


def test_many_rows_are_read_in_blocks():
    X, y = noisy_rows(0, m=2 * ROWS_PER_BLOCK + 7)
    Z = SoftDiscriminant(0.1).fit_transform(X, y)
    np.testing.assert_allclose(Z, soft_discriminant(X, y, 0.1, 0.5), rtol=0, atol=1e-9)


def test_the_metric_does_not_depend_on_unit_place_or_turn():
    X, y = noisy_rows(0, m=90)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(10, 10)))[0]

    def distances(rows):
        Z = SoftDiscriminant().fit_transform(rows, y)
        return np.linalg.norm(Z[:, None] - Z, axis=2)

    np.testing.assert_allclose(distances(1000 * X @ turn + 5), distances(X), rtol=0, atol=1e-9)


def test_within_classes_rows_are_white_without_much_shrinkage():
    X, y = noisy_rows(0)
    Z = SoftDiscriminant(1e-9, rest=1.0).fit_transform(X, y)
    within = Z - np.stack([Z[y == c].mean(axis=0) for c in range(3)])[y]
    np.testing.assert_allclose(within.T @ within / len(Z), np.eye(10), rtol=0, atol=1e-6)


def test_little_rest_is_linear_discriminants():
    """Distances between rows are those of scikit-learn's discriminants, up to their unit."""
    X, y = noisy_rows(0)
    model = SoftDiscriminant(1e-9, rest=1e-7).fit(X, y)
    plain = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    ours, theirs = (
        np.linalg.norm(Z[:50, None] - Z[50:100], axis=2) for Z in (model.transform(X), plain.transform(X))
    )
    np.testing.assert_allclose(ours / ours.mean(), theirs / theirs.mean(), rtol=0, atol=1e-5)
    assert model.n_discriminants_ == 2


def test_neighbours_gain():
    X, y = noisy_rows(0)
    new, truth = noisy_rows(1)
    plain = KNNClassifier(1).fit(X, y).score(new, truth)
    model = make_pipeline(SoftDiscriminant(0.1, rest=0.2), KNNClassifier(1)).fit(X, y)
    assert model.score(new, truth) > plain + 0.2


def test_equal_means_leave_whitening():
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = SoftDiscriminant(rest=0.5).fit(np.r_[X, -X, -X, X], np.repeat([0, 1], 40))
    whitened = SoftDiscriminant(rest=1.0).fit(np.r_[X, -X, -X, X], np.repeat([0, 1], 40))
    assert model.n_discriminants_ == 0
    np.testing.assert_allclose(2 * model.components_, whitened.components_, rtol=0, atol=1e-9)


def test_single_precision_stays_single():
    X, y = noisy_rows(0, m=60)
    X = X.astype(np.float32)
    Z, exact = SoftDiscriminant().fit_transform(X, y), SoftDiscriminant().fit_transform(X.astype(np.float64), y)
    assert Z.dtype == np.float32
    np.testing.assert_allclose(Z, exact, rtol=0, atol=1e-5)


def test_names_and_state():
    X, y = noisy_rows(0, m=60)
    model = SoftDiscriminant().fit(X, np.array(["one", "two", "three"])[y])
    assert model.get_feature_names_out()[:2].tolist() == ["softdiscriminant0", "softdiscriminant1"]
    with pytest.raises(NotFittedError):
        SoftDiscriminant().transform(X)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"shrinkage": 0}, "shrinkage=0 must be a number above 0 and at most 1"),
        ({"shrinkage": 1.5}, "shrinkage=1.5 must be a number above 0 and at most 1"),
        ({"rest": 0}, "rest=0 must be a number above 0 and at most 1"),
        ({"rest": np.nan}, "rest=nan must be a number above 0 and at most 1"),
    ],
)
def test_wrong_settings(settings, message):
    X, y = noisy_rows(0, m=30)
    with pytest.raises(ValueError, match=message):
        SoftDiscriminant(**settings).fit(X, y)


def test_wrong_data():
    X, y = noisy_rows(0, m=30)
    with pytest.raises(ValueError, match="y holds only one class; SoftDiscriminant needs rows of two classes"):
        SoftDiscriminant().fit(X, np.zeros(30))
    with pytest.raises(
        ValueError, match="The rows of each class are all equal; give classes with rows that differ"
    ):
        SoftDiscriminant().fit(X[y], y)
    with pytest.raises(ValueError, match="All rows of X are equal"):
        SoftDiscriminant().fit(np.ones((30, 3)), y)
    with pytest.raises(ValueError, match="too far for squared distances"):
        SoftDiscriminant().fit(X * 1e200, y)
    with pytest.raises(ValueError, match="X contains NaN in row"):
        SoftDiscriminant().fit(np.where(X > 2, np.nan, X), y)
