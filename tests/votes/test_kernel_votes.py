"""Votes by kernels: what MLNN and MAPBoost count a neighbour for."""

import numpy as np
import pytest

from nearboost.neighbors import Neighbors
from nearboost.votes import KernelVotes, cast_votes


def graph(seed=0, m=15, k=5):
    rng = np.random.default_rng(seed)
    indices = np.stack([rng.choice(np.delete(np.arange(m), i), k, replace=False) for i in range(m)])
    return Neighbors(indices.astype(np.int32), np.sort(rng.uniform(0.1, 3, (m, k)), axis=1))


def test_knn_votes_are_alike():
    assert KernelVotes("knn").alike
    np.testing.assert_array_equal(KernelVotes("knn").in_training(graph()), 1)


def test_fixed_gaussian():
    found = graph()
    given = KernelVotes("gaussian", 0.7)
    np.testing.assert_allclose(given.on_queries(found), np.exp(-(found.distances**2) / (2 * 0.7**2)), rtol=1e-14)
    assert given.fitted(found) is given
    assert KernelVotes("gaussian").fitted(found).sigma == np.median(found.distances[:, -1])


def test_duplicates_do_not_narrow_the_gaussian():
    found = graph(m=7)
    found.distances[:4] = 0.0
    assert KernelVotes("gaussian").fitted(found).sigma == np.median(found.distances[4:, -1])


@pytest.mark.parametrize(
    ("sigma", "width"),
    [(None, lambda rho: rho), (0.5, lambda rho: rho / 2), ("sqrt", lambda rho: np.sqrt(2 * rho))],
)
def test_adaptive_gaussian(sigma, width):
    found = graph(1)
    rule = KernelVotes("adaptive", sigma).fitted(found)
    expected = np.exp(-(found.distances**2) / (2 * width(found.distances[:, -1:]) ** 2))
    np.testing.assert_allclose(rule.in_training(found), expected, rtol=1e-14)
    np.testing.assert_array_equal(rule.on_queries(found), rule.in_training(found))


def test_a_kernel_of_ones_own():
    found = graph(2)
    rule = KernelVotes(lambda d: 1 / (1 + d))
    np.testing.assert_allclose(rule.on_queries(found), 1 / (1 + found.distances), rtol=1e-15)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda d: d[:, :1], "one similarity for each distance"),
        (lambda d: -d, "at least 0"),
        (lambda d: np.full_like(d, np.nan), "at least 0"),
    ],
)
def test_kernels_that_cannot_be_used(kernel, message):
    with pytest.raises(ValueError, match=message):
        KernelVotes(kernel).on_queries(graph())


def test_density_votes_sum_to_one_with_the_voters_own_bandwidth_in_training():
    found = graph(3)
    rule = KernelVotes("adaptive", density=True).fitted(found)
    radius = found.distances[:, -1]
    own = np.exp(-(found.distances**2) / (2 * radius[found.indices] ** 2))  # sample point, in training
    np.testing.assert_allclose(rule.in_training(found), own / own.sum(axis=1, keepdims=True), rtol=1e-14)
    balloon = np.exp(-(found.distances**2) / (2 * radius[:, None] ** 2))  # of the row voted on, for queries
    np.testing.assert_allclose(rule.on_queries(found), balloon / balloon.sum(axis=1, keepdims=True), rtol=1e-14)
    np.testing.assert_allclose(KernelVotes("knn", density=True).in_training(found), 1 / 5, rtol=1e-15)


def test_a_vote_of_a_millionth_is_none():
    found = Neighbors(
        np.array([[1, 2], [0, 2], [0, 1]], dtype=np.int32), np.array([[0.0, 9.0], [0.1, 5.0], [1, 1]])
    )
    weights = KernelVotes("gaussian", 1.0).on_queries(found)
    assert weights[0].tolist() == [1.0, 0.0]
    assert (weights[1] > 0).all()
    votes = cast_votes(found, weights, 3)
    assert votes.voters.tolist() == [1, 0, 2, 0, 1]
    assert votes.indptr.tolist() == [0, 1, 3, 5]


def test_voters_that_all_lie_on_the_row_count_fully():
    zeros = Neighbors(np.array([[1, 2], [0, 2], [0, 1]], dtype=np.int32), np.zeros((3, 2)))
    for rule in (KernelVotes("adaptive"), KernelVotes("gaussian").fitted(zeros)):
        np.testing.assert_array_equal(rule.on_queries(zeros), 1)
    np.testing.assert_array_equal(KernelVotes("adaptive", density=True).in_training(zeros), 0.5)
