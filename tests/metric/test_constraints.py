"""Pairs drawn and bounds chosen."""

from itertools import combinations

import numpy as np
import pytest

from metric.problems import noisy_rows
from nearboost import ITML
from nearboost.metric.itml import MOST_SAMPLED, draw_pairs, prior_factor


def as_set(pairs):
    return {frozenset(pair) for pair in pairs.tolist()}


@pytest.mark.parametrize("m", [2, 3, 4, 7, 10])
def test_all_pairs_are_drawn_where_there_are_not_more(m):
    pairs = draw_pairs(m, 1000, np.random.RandomState(0))
    assert len(pairs) == m * (m - 1) // 2
    assert as_set(pairs) == {frozenset(pair) for pair in combinations(range(m), 2)}


def test_pairs_are_different_and_equally_likely():
    m, n_pairs, n_draws = 10, 9, 2000
    counts = np.zeros((m, m))
    for seed in range(n_draws):
        pairs = draw_pairs(m, n_pairs, np.random.RandomState(seed))
        assert len(as_set(pairs)) == n_pairs
        counts[pairs.min(axis=1), pairs.max(axis=1)] += 1
    expected = n_draws * n_pairs / 45
    seen = counts[np.triu_indices(m, 1)]
    assert seen.sum() == n_draws * n_pairs
    assert np.abs(seen - expected).max() < 5 * np.sqrt(expected)


def test_many_rows():
    pairs = draw_pairs(3_000_000, 1000, np.random.RandomState(0))
    assert len(as_set(pairs)) == 1000
    assert 0 <= pairs.min() < 100_000 < 2_900_000 < pairs.max() < 3_000_000


def record_pairs(monkeypatch):
    """The pairs that fits learn from."""
    learned = []
    learn = ITML._learn

    def listen(self, X, pairs, same, random_state):
        learned.append((pairs, same))
        return learn(self, X, pairs, same, random_state)

    monkeypatch.setattr(ITML, "_learn", listen)
    return learned


def test_twenty_pairs_for_each_pair_of_classes(monkeypatch):
    learned = record_pairs(monkeypatch)
    X, y = noisy_rows(0)
    ITML().fit(X, y)
    ITML(n_constraints=500).fit(X, np.array(["one", "two", "three"])[y])
    assert [len(pairs) for pairs, _ in learned] == [180, 500]
    for pairs, same in learned:
        np.testing.assert_array_equal(same, y[pairs[:, 0]] == y[pairs[:, 1]])


@pytest.mark.parametrize("prior", ["identity", "covariance"])
def test_bounds_are_percentiles_of_squared_distances_under_the_prior(prior):
    X, y = noisy_rows(1, m=80)  # 3,160 pairs: all of them are looked at
    assert MOST_SAMPLED > 80 * 79 // 2
    start = prior_factor(X, prior)
    squared = [(v := start @ (X[i] - X[j])) @ v for i, j in combinations(range(80), 2)]
    model = ITML(prior=prior).fit(X, y)
    np.testing.assert_allclose(model.bounds_, np.percentile(squared, (5, 95)), rtol=1e-12)


def test_equal_rows_do_not_count_for_the_bounds():
    X, y = noisy_rows(1, m=30)
    twice = ITML().fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    squared = [np.sum((X[i] - X[j]) ** 2) for i, j in combinations(np.repeat(range(30), 2), 2) if i != j]
    np.testing.assert_allclose(twice.bounds_, np.percentile(squared, (5, 95)), rtol=1e-12)
    noise = 1e-14 * np.random.default_rng(0).normal(size=(60, 10))  # equal but for rounding
    nearly = ITML().fit(np.repeat(X, 2, axis=0) + noise, np.repeat(y, 2))
    np.testing.assert_allclose(nearly.bounds_, twice.bounds_, rtol=1e-9)
    np.testing.assert_allclose(nearly.metric_matrix_, twice.metric_matrix_, rtol=0, atol=1e-9)


def test_the_inverse_covariance_of_many_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 4)) @ rng.normal(size=(4, 4)) * [1, 10, 1e-3, 1e6]
    start = prior_factor(X, "covariance")
    scale = X.std(axis=0)
    expected = np.linalg.inv(np.cov(X.T, bias=True)) * np.outer(scale, scale)
    np.testing.assert_allclose(
        start.T @ start * np.outer(scale, scale), expected, rtol=0, atol=0.02 * expected.max()
    )


@pytest.mark.parametrize("case", ["collinear", "constant", "wide", "two rows", "signs"])
def test_the_inverse_covariance_exists_for_any_data(case):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6))
    if case == "collinear":
        X[:, 3:] = X[:, :3] * [2, -3, 1]
    elif case == "constant":
        X[:, 2] = 0.1
    elif case == "wide":
        X = rng.normal(size=(8, 50))
    elif case == "two rows":
        X = X[:2]
    else:
        X = np.repeat(rng.choice([-1.0, 1.0], (40, 1)), 3, axis=1)
    start = prior_factor(X, "covariance")
    A = start.T @ start
    assert np.all(np.isfinite(A))
    np.linalg.cholesky(A)
