"""Codes and decisions equal the plain reading of the paper."""

import numpy as np
import pytest

from codes.problems import GENERIC, random_rows
from nearboost import INNClassifier, INNCoder
from reference import inn

SERIES = [(0.05, 0.95), (0.25, 0.95), (1.0, 0.99), (30.0, 0.95)]


def assert_same_codes(codes, expected):
    np.testing.assert_allclose(codes.toarray(), expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(codes.toarray() > 0, np.array(expected) > 0)


@pytest.mark.pairs
@pytest.mark.parametrize(("lam", "beta"), SERIES)
@pytest.mark.parametrize("kind", GENERIC)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("m", "d"), [(60, 5), (700, 3), (1500, 40)])
def test_codes(kind, dtype, m, d, lam, beta):
    X, Q = random_rows(m, kind, m=m, d=d, dtype=dtype)
    coder = INNCoder(lam, coverage=beta).fit(X)
    K = inn.n_terms(lam, beta)
    assert coder.terms_ == K
    assert_same_codes(coder.transform(Q), [inn.code(X, q, lam, K) for q in Q])


def test_more_samples_than_one_chunk_of_each_size():
    X, Q = random_rows(0, m=5000, d=6, n=20, dtype=np.float32)
    assert_same_codes(INNCoder().fit(X).transform(Q), [inn.code(X, q, 0.05, 62) for q in Q])


@pytest.mark.pairs
@pytest.mark.parametrize("kind", GENERIC)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["l2", "l1"])
@pytest.mark.parametrize("n_near", [1, 7, 60])
def test_neighborhoods(kind, dtype, metric, n_near):
    X, Q = random_rows(1, kind, dtype=dtype)
    coder = INNCoder(0.1, metric=metric, neighborhood=n_near).fit(X)
    assert_same_codes(
        coder.transform(Q), [inn.local_code(X, q, 0.1, coder.terms_, n_near, metric=metric) for q in Q]
    )


@pytest.mark.parametrize("kind", GENERIC)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_l1(kind, dtype):
    X, Q = random_rows(2, kind, dtype=dtype)
    coder = INNCoder(0.1, metric="l1").fit(X)
    assert_same_codes(coder.transform(Q), [inn.code(X, q, 0.1, coder.terms_, metric="l1") for q in Q])


@pytest.mark.parametrize("kind", GENERIC)
@pytest.mark.parametrize("metric", ["l2", "l1"])
@pytest.mark.parametrize("gram_memory", [None, 1.0])
def test_leave_one_out(kind, metric, gram_memory):
    X, _ = random_rows(3, kind, dtype=np.float32)
    coder = INNCoder(0.1, metric=metric, gram_memory=gram_memory).fit(X)
    codes = coder.leave_one_out()
    assert_same_codes(codes, [inn.code_by_others(X, i, 0.1, coder.terms_, metric=metric) for i in range(len(X))])
    assert not codes.diagonal().any()


def test_leave_one_out_in_a_neighborhood():
    X, _ = random_rows(4)
    coder = INNCoder(0.1, neighborhood=9).fit(X)
    expected = []
    for i in range(len(X)):
        others = np.delete(np.arange(len(X)), i)
        w = np.zeros(len(X))
        w[others] = inn.local_code(X[others], X[i], 0.1, coder.terms_, 9)
        expected.append(w)
    assert_same_codes(coder.leave_one_out(), expected)


@pytest.mark.parametrize("settings", [{}, {"neighborhood": 20}, {"metric": "l1"}, {"gram_memory": 1.0}])
def test_tolerance(settings):
    """Codes stop one by one, as soon as the sum is near enough."""
    X, Q = random_rows(5)
    coder = INNCoder(0.1, tolerance=0.6, **settings).fit(X)
    n_near, metric = settings.get("neighborhood", len(X)), settings.get("metric", "l2")
    expected = [inn.local_code(X, q, 0.1, 32, n_near, metric=metric, eps=0.6) for q in Q]
    codes = coder.transform(Q)
    assert_same_codes(codes, expected)
    sums = codes.sum(axis=1)
    assert coder.terms_ == 32
    assert len(np.unique(np.round(sums, 9))) > 3
    stopped = sums < 0.95
    assert stopped.any()
    residuals = np.linalg.norm(Q - coder.reconstruct(codes), axis=1)
    assert np.all(residuals[stopped] <= 0.6)


def test_few_terms():
    X, Q = random_rows(6)
    for max_terms in (1, 2, 5, 1000):
        coder = INNCoder(0.05, max_terms=max_terms).fit(X)
        assert coder.terms_ == min(max_terms, 62)
        assert_same_codes(coder.transform(Q), [inn.code(X, q, 0.05, coder.terms_) for q in Q])


@pytest.mark.pairs
@pytest.mark.parametrize("kind", GENERIC)
@pytest.mark.parametrize("settings", [{}, {"neighborhood": 15}, {"metric": "l1"}])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_class_sums(kind, settings, n_classes):
    X, Q = random_rows(7, kind, dtype=np.float32)
    y = np.arange(len(X)) % n_classes
    weights = np.random.default_rng(0).uniform(0.5, 2, len(X))
    model = INNClassifier(0.1, **settings).fit(X, y, sample_weight=weights)
    n_near, metric = settings.get("neighborhood", len(X)), settings.get("metric", "l2")
    codes = np.array([inn.local_code(X, q, 0.1, model.terms_, n_near, metric=metric) for q in Q])
    sums = (codes * weights) @ np.eye(n_classes)[y]
    scores = model.decision_function(Q)
    np.testing.assert_allclose(scores, sums[:, 1] - sums[:, 0] if n_classes == 2 else sums, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(model.predict(Q), sums.argmax(axis=1))
    if not settings:
        plain = [inn.class_sums(X, y, q, 0.1, model.terms_, weights) for q in Q]
        np.testing.assert_allclose(sums, plain, rtol=0, atol=1e-12)


@pytest.mark.pairs
@pytest.mark.parametrize("kind", GENERIC)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["l2", "l1"])
@pytest.mark.parametrize("gram_memory", [None, 1.0, 2000.0])
def test_class_residuals(kind, dtype, metric, gram_memory):
    """Classes of very different sizes, in mixed order."""
    X, Q = random_rows(8, kind, m=300, dtype=dtype)
    y = np.random.default_rng(0).choice(4, len(X), p=[0.7, 0.2, 0.08, 0.02])
    model = INNClassifier(0.1, decision="residual", metric=metric, gram_memory=gram_memory).fit(X, y)
    expected = np.array([inn.class_residuals(X, y, q, 0.1, model.terms_, metric=metric) for q in Q])
    np.testing.assert_allclose(model.decision_function(Q), -expected, rtol=0, atol=1e-9)
    elected = np.take_along_axis(expected, model.predict(Q)[:, None], axis=1).ravel()
    np.testing.assert_allclose(elected, expected.min(axis=1), rtol=0, atol=1e-9)


def test_class_residuals_in_neighborhoods():
    """Of each class, or all of a smaller class."""
    X, Q = random_rows(9, m=100)
    y = np.random.default_rng(0).choice(3, len(X), p=[0.6, 0.35, 0.05])
    model = INNClassifier(0.1, decision="residual", neighborhood=10).fit(X, y)
    expected = np.zeros((len(Q), 3))
    for c in range(3):
        part = X[y == c]
        codes = np.array([inn.local_code(part, q, 0.1, model.terms_, 10) for q in Q])
        expected[:, c] = np.linalg.norm(Q - codes @ part, axis=1)
    np.testing.assert_allclose(model.decision_function(Q), -expected, rtol=0, atol=1e-9)
