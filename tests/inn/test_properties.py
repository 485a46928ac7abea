"""What must hold of every code."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codes.problems import GENERIC, NASTY, random_rows
from nearboost import INNClassifier, INNCoder, NeighborSearch
from nearboost.codes.series import count_terms
from reference import inn

ORDINARY = [kind for kind in GENERIC + NASTY if kind not in ("tiny", "huge")]  # numpy compares residuals


@st.composite
def problems(draw):
    """Rows of any kind, a way to code them, and λ."""
    d, m = draw(st.integers(1, 12)), draw(st.integers(13, 90))
    X, Q = random_rows(draw(st.integers(0, 10**6)), draw(st.sampled_from(ORDINARY)), m=m, d=d)
    ways = [{}, {"gram_memory": 1.0}, {"neighborhood": 13}, {"metric": "l1"}, {"metric": "l1", "neighborhood": 5}]
    return X, Q, draw(st.sampled_from(ways)), draw(st.floats(0.03, 3.0))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(problems(), st.floats(0.1, 0.99), st.integers(1, 40))
def test_weights_sum_to_the_geometric_series(problem, coverage, max_terms):
    """1 − (1+λ)^−K, eq. (7): the share asked for, unless there are fewer terms."""
    X, Q, way, lam = problem
    coder = INNCoder(lam, coverage=coverage, max_terms=max_terms, **way).fit(X)
    codes = coder.transform(Q)
    np.testing.assert_allclose(codes.sum(axis=1), 1 - (1 + lam) ** -float(coder.terms_), rtol=1e-12)
    assert np.all(codes.data > 0)
    assert np.all(codes.sum(axis=1) >= coverage - 1e-12) or coder.terms_ == max_terms
    assert codes.has_canonical_format


@settings(max_examples=40, deadline=None, derandomize=True)
@given(problems())
def test_residuals_follow_the_recursion(problem):
    """q = q_(k+1) / (1+λ)^k + Σ w_i s_i after any number of terms, eq. (2), which are those of shorter codes."""
    X, Q, way, lam = problem
    moved = Q.astype(float)
    before = np.zeros((len(Q), len(X)))
    for k in range(1, 6):
        coder = INNCoder(lam, coverage=0.999999, max_terms=k, **way).fit(X)
        codes = coder.transform(Q)
        newest = codes.toarray() - before
        assert np.all(np.count_nonzero(newest, axis=1) == 1)  # one term more
        samples = newest.argmax(axis=1)
        np.testing.assert_allclose(newest.max(axis=1), lam / (1 + lam) ** k, rtol=1e-9)  # eq. (3)
        moved = (1 + lam) * moved - lam * X[samples]  # eq. (1)
        rest = moved / (1 + lam) ** k
        np.testing.assert_allclose(
            coder.reconstruct(codes) + rest, Q, rtol=0, atol=1e-9 * max(1, np.abs(Q).max(), np.abs(X).max())
        )
        before = codes.toarray()


@settings(max_examples=30, deadline=None, derandomize=True)
@given(problems(), st.sampled_from([1e3, 1e9, 1e200]))
def test_a_large_regularization_is_the_nearest_neighbour(problem, lam):
    X, Q, way, _ = problem
    coder = INNCoder(lam, **way).fit(X)
    assert coder.terms_ == 1
    codes = coder.transform(Q)
    nearest = NeighborSearch(X, way.get("metric", "l2")).search(Q, 1).indices[:, 0]
    np.testing.assert_array_equal(codes.indices, nearest)
    np.testing.assert_allclose(codes.data, 1.0, rtol=2 / lam)


@pytest.mark.alone
@settings(max_examples=40, deadline=None, derandomize=True)
@given(problems(), st.sampled_from([2, 3]), st.sampled_from([1.0, 1e3, 1e4]))
def test_threads_and_memory_do_not_matter(problem, n_jobs, gram_memory):
    X, Q, way, lam = problem
    one = INNCoder(lam, **way, n_jobs=1).fit(X).transform(Q)
    other = INNCoder(lam, **(way | {"gram_memory": gram_memory}), n_jobs=n_jobs).fit(X).transform(Q)
    np.testing.assert_array_equal(one.toarray(), other.toarray())


@settings(max_examples=30, deadline=None, derandomize=True)
@given(problems(), st.sampled_from(["weights", "residual"]))
def test_the_order_of_queries_does_not_matter(problem, decision):
    X, Q, way, lam = problem
    y = np.arange(len(X)) % 3
    model = INNClassifier(lam, decision=decision, **way).fit(X, y)
    together = model.decision_function(Q)
    alone = np.concatenate([model.decision_function(q[None]) for q in Q[::-1]])[::-1]
    np.testing.assert_array_equal(together, alone)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.floats(1e-3, 1e3), st.floats(1e-6, 1 - 1e-9), st.one_of(st.none(), st.integers(1, 50)))
def test_the_number_of_terms(lam, beta, max_terms):
    """The fewest that make up the share."""
    K = count_terms(lam, beta, max_terms)
    assert min(inn.n_terms(lam, beta), max_terms or 10**6) == K or abs(1 - (1 + lam) ** -float(K) - beta) < 1e-9
    if max_terms is None:
        assert 1 - (1 + lam) ** -float(K) >= beta - 1e-9
        assert K == 1 or 1 - (1 + lam) ** -(K - 1.0) < beta + 1e-9


def test_published_numbers_of_terms():
    assert count_terms(0.05, 0.95, None) == 62
    assert count_terms(0.25, 0.95, None) == 14
    assert count_terms(0.5, 0.95, None) == 8  # figure 1
    assert count_terms(1.0, 0.75, None) == 2  # 1/2 + 1/4, whatever rounding says
    assert count_terms(0.1, 0.95, None) == 32


def test_the_paper_s_figure_1():
    """Weights .333, .222, .148, .099, .066, .044, .029, .019 for λ = .5."""
    coder = INNCoder(0.5).fit(np.eye(3))
    np.testing.assert_allclose(
        coder._dictionary.series.weights, [0.333, 0.222, 0.148, 0.099, 0.066, 0.044, 0.029, 0.019], atol=6e-4
    )


def test_more_terms_come_nearer():
    """Inside the samples' hull the sum comes as near as the weights that are left out."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    Q = 0.3 * rng.normal(size=(50, 4))
    residuals = []
    for coverage in (0.5, 0.9, 0.99, 0.999):
        coder = INNCoder(0.05, coverage=coverage).fit(X)
        residuals.append(np.linalg.norm(Q - coder.reconstruct(coder.transform(Q)), axis=1).mean())
    assert residuals == sorted(residuals, reverse=True)
    assert residuals[-1] < 0.01 * np.linalg.norm(Q, axis=1).mean()
