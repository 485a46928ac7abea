"""What must hold of every learned metric."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metric.problems import noisy_rows, random_pairs
from nearboost import ITML
from nearboost.kernels.itml import sweep_pairs
from nearboost.metric.itml import split_metric

KINDS = ["random", "ties", "duplicates"]


def learn(model, *problem):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few sweeps, pairs of one kind: allowed here
        return model.fit_pairs(*problem)


def squared_distances(A, X, pairs):
    v = X[pairs[:, 0]] - X[pairs[:, 1]]
    return np.einsum("ij,jk,ik->i", v, A, v)


def assert_metric(model):
    A, L = model.metric_matrix_, model.components_
    assert A.dtype == L.dtype == np.float64
    np.testing.assert_array_equal(A, A.T)
    np.linalg.cholesky(A)  # succeeds for positive definite matrices only
    np.testing.assert_array_equal(L, np.triu(L))
    assert np.all(np.diag(L) > 0)
    scale = np.sqrt(np.outer(np.diag(A), np.diag(A)))
    np.testing.assert_allclose(L.T @ L / scale, A / scale, rtol=0, atol=1e-9)


@st.composite
def problems(draw):
    """Pairs of any kind on rows of any width; features of scales up to a million apart, some constant."""
    d, m = draw(st.integers(1, 9)), draw(st.integers(10, 20))
    kind, n_pairs = draw(st.sampled_from(KINDS)), draw(st.integers(8, 80))
    X, pairs, same, _ = random_pairs(draw(st.integers(0, 10**6)), kind=kind, m=m, d=d, n_pairs=n_pairs)
    X = X * 10.0 ** np.random.default_rng(d).integers(-3, 4, d) if draw(st.booleans()) else X
    if d > 1 and draw(st.booleans()):
        X[:, 0] = 0.1
    X[0, -1] += 0.37  # one row at least differs from the others
    return X, pairs, same


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    problems(),
    st.sampled_from([1e-6, 0.1, 1.0, 100.0, 1e9]),
    st.sampled_from(["identity", "covariance"]),
    st.sampled_from([None, (1e-6, 1e6), (1.0, 1.0)]),
)
def test_the_metric_is_symmetric_and_positive_definite(problem, gamma, prior, bounds):
    assert_metric(learn(ITML(gamma, prior=prior, bounds=bounds, max_sweeps=30), *problem))


def test_it_stays_so_over_hundreds_of_thousands_of_updates():
    X, pairs, same, bounds = random_pairs(0, m=200, d=20, n_pairs=2000)
    model = learn(ITML(100.0, bounds=bounds, max_sweeps=300, tol=1e-300), X, pairs, same)
    assert_metric(model)
    assert np.linalg.cond(model.metric_matrix_) < 1e6


def test_rounding_does_not_pile_up():
    """A⁻¹ = A₀⁻¹ + Σ δ λ v vᵀ holds at every step: after 200,000 of them to ten digits."""
    X, pairs, same, bounds = random_pairs(1, m=200, d=20, n_pairs=2000)
    factor, slacks, duals = np.eye(20), 1 / np.where(same, *bounds), np.zeros(2000)
    for _ in range(100):
        sweep_pairs(factor, X, pairs, same, 1.0, 1 / np.where(same, *bounds), slacks, duals)
    v = X[pairs[:, 0]] - X[pairs[:, 1]]
    inverse = np.eye(20) + (v.T * (np.where(same, 1, -1) * duals)) @ v
    np.testing.assert_allclose(factor @ factor.T @ inverse, np.eye(20), rtol=0, atol=1e-10)


@pytest.mark.parametrize("distance", [1e3, 1e9, 1e13])
def test_rows_far_out_do_not_make_it_singular(distance):
    """Similar pairs so many times farther than the others: the direction all but vanishes, NaN never comes."""
    X, y = noisy_rows(0, m=60)
    X[7] += distance * np.random.default_rng(0).normal(size=X.shape[1])
    v = X[7] - X[10]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = ITML(n_constraints=1000, tol=0.01).fit(X, y)
    assert_metric(model)
    assert np.all(np.isfinite(model.transform(X)))
    assert v @ model.metric_matrix_ @ v < 1e-3 * (v @ v)
    assert model.metric_matrix_[0, 0] > 2  # the others are learned from all the same
    assert [("remove outlying rows" in str(w.message)) for w in caught] == [True] * (distance > 1e3)


def test_a_direction_that_rounding_has_eaten_is_kept_wider():
    with pytest.warns(UserWarning, match="remove outlying rows, or lower gamma"):
        components, metric = split_metric(np.array([[1.0, 1.0], [0.0, -1e-20]]))
    np.linalg.cholesky(metric)
    np.testing.assert_allclose(metric, np.ones((2, 2)), rtol=0, atol=1e-9)
    np.testing.assert_allclose(components.T @ components, metric, rtol=0, atol=1e-15)


@pytest.mark.parametrize("kind", KINDS)
def test_a_pair_has_no_direction(kind):
    X, pairs, same, bounds = random_pairs(2, kind=kind)
    model = ITML(bounds=bounds).fit_pairs(X, pairs, same)
    turned = ITML(bounds=bounds).fit_pairs(X, pairs[:, ::-1], same)
    np.testing.assert_array_equal(model.metric_matrix_, turned.metric_matrix_)


def test_the_order_of_pairs_does_not_matter_in_the_end():
    X, pairs, same, bounds = random_pairs(4)
    mixed = np.random.default_rng(0).permutation(len(pairs))
    model = ITML(bounds=bounds, tol=1e-9, max_sweeps=50_000)
    one = model.fit_pairs(X, pairs, same).metric_matrix_
    np.testing.assert_allclose(
        model.fit_pairs(X, pairs[mixed], same[mixed]).metric_matrix_, one, rtol=0, atol=1e-5
    )


def test_rows_that_no_pair_names_do_not_matter():
    X, pairs, same, bounds = random_pairs(4)
    model = ITML(bounds=bounds).fit_pairs(X, pairs, same)
    more = ITML(bounds=bounds).fit_pairs(np.vstack([np.full((3, 5), 7.0), X]), pairs + 3, same)
    np.testing.assert_array_equal(more.metric_matrix_, model.metric_matrix_)


@pytest.mark.parametrize("gamma", [0.1, 1.0, 10.0])
def test_pairs_come_closer_to_their_bounds(gamma):
    """What is left of the violations, in the measure that slack is charged by, falls; and the more γ, the more."""
    X, pairs, same, bounds = random_pairs(6)

    def violation(A):
        ratio = squared_distances(A, X, pairs) / np.where(same, *bounds)
        beyond = np.where(same, np.maximum(ratio, 1), np.minimum(ratio, 1))
        return np.sum(beyond - np.log(beyond) - 1)

    left = violation(ITML(gamma, bounds=bounds, max_sweeps=20_000).fit_pairs(X, pairs, same).metric_matrix_)
    less_slack = ITML(10 * gamma, bounds=bounds, max_sweeps=20_000).fit_pairs(X, pairs, same)
    assert violation(less_slack.metric_matrix_) < left < violation(np.eye(5))


def test_satisfied_pairs_change_nothing():
    X, pairs, same, _ = random_pairs(6)
    distances = squared_distances(np.eye(5), X, pairs)
    same = distances < np.median(distances)
    model = ITML(bounds=[np.median(distances)] * 2).fit_pairs(X, pairs, same)
    np.testing.assert_allclose(model.metric_matrix_, np.eye(5), rtol=0, atol=1e-14)
    assert model.n_sweeps_ == 1


@pytest.mark.parametrize("scale", [1e-120, 1e-3, 2.0**70, 1e120])
def test_the_scale_of_the_rows_does_not_matter(scale):
    """With the identity the matrix is the same, with the covariance the transformed rows are."""
    X, y = noisy_rows(0, m=90)
    model, scaled = ITML().fit(X, y), ITML().fit(scale * X, y)
    np.testing.assert_allclose(scaled.metric_matrix_, model.metric_matrix_, rtol=0, atol=1e-8)
    np.testing.assert_allclose(scaled.bounds_ / scale**2, model.bounds_, rtol=1e-12)
    model, scaled = ITML(prior="covariance").fit(X, y), ITML(prior="covariance").fit(scale * X, y)
    np.testing.assert_allclose(scaled.transform(scale * X), model.transform(X), rtol=0, atol=1e-8)


def test_the_place_of_the_rows_does_not_matter():
    X, y = noisy_rows(0, m=90)
    for prior in ("identity", "covariance"):
        model, moved = ITML(prior=prior).fit(X, y), ITML(prior=prior).fit(X + 1e6, y)
        np.testing.assert_allclose(moved.metric_matrix_, model.metric_matrix_, rtol=0, atol=1e-6)
