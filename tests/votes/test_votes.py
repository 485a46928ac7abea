"""Votes: weights by rank or distance, and the matrix they form."""

from dataclasses import replace

import numpy as np
import pytest

import nearboost as nb
from nearboost.neighbors import Neighbors, as_csr
from nearboost.votes import VOTE_WEIGHTS, PlainVotes, rules, soft_rank_weights, votes_from_neighbors


def neighbors(seed=0, n_rows=12, n_voters=20, k=5):
    rng = np.random.default_rng(seed)
    indices = np.array([rng.permutation(n_voters)[:k] for _ in range(n_rows)], dtype=np.int32)
    return Neighbors(indices, np.sort(rng.uniform(0, 3, (n_rows, k)), axis=1))


def test_kinds():
    found = neighbors()
    assert VOTE_WEIGHTS == ("uniform", "rank", "gaussian")
    np.testing.assert_array_equal(votes_from_neighbors(found, 20, "uniform").weights, 1)
    rank = votes_from_neighbors(found, 20, "rank").weights.reshape(12, 5)
    np.testing.assert_array_equal(rank, np.tile([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5], (12, 1)))
    gaussian = votes_from_neighbors(found, 20, "gaussian").weights.reshape(12, 5)
    d, rho = found.distances, found.distances[:, -1:]
    np.testing.assert_allclose(gaussian, np.exp(-(d**2) / (2 * rho**2)), rtol=1e-13)
    np.testing.assert_allclose(gaussian[:, -1], np.exp(-0.5), rtol=1e-15)


def test_gaussian_votes_at_distance_zero_count_fully():
    found = Neighbors(np.array([[0, 1], [1, 2]], dtype=np.int32), np.array([[0.0, 0.0], [0.0, 2.0]]))
    np.testing.assert_array_equal(votes_from_neighbors(found, 3, "gaussian").weights, [1, 1, 1, np.exp(-0.5)])


def test_soft_votes():
    """β_r = 1/(1 + e^{λ(r−1)}): half for the first, less for each further rank."""
    weights = soft_rank_weights(6, 0.8)
    np.testing.assert_allclose(weights, [1 / (1 + np.exp(0.8 * (r - 1))) for r in range(1, 7)], rtol=1e-15)
    assert weights[0] == 0.5
    with np.errstate(all="raise"):
        assert np.all(np.isfinite(soft_rank_weights(50, 1e3)))
    rule = PlainVotes("uniform", soft_lambda=0.8)
    np.testing.assert_array_equal(rule.on_queries(neighbors()), np.tile(weights[:5], (12, 1)))
    np.testing.assert_array_equal(rule.in_training(neighbors()), 1)


@pytest.mark.parametrize("kind", VOTE_WEIGHTS)
def test_matrix_and_totals(kind):
    found = neighbors(1)
    votes = votes_from_neighbors(found, 20, kind)
    assert (votes.n_rows, votes.n_voters) == (12, 20)
    expected = np.zeros((12, 20))
    np.put_along_axis(expected, found.indices.astype(int), votes.weights.reshape(12, 5), axis=1)
    np.testing.assert_array_equal(votes.matrix().toarray(), expected)
    np.testing.assert_allclose(votes.totals(), expected.sum(axis=1), rtol=1e-15)


@pytest.mark.parametrize("kind", VOTE_WEIGHTS)
def test_reversed(kind):
    votes = votes_from_neighbors(neighbors(2), 20, kind)
    back = votes.reversed()
    assert (back.n_rows, back.n_voters) == (20, 12)
    np.testing.assert_array_equal(back.matrix().toarray(), votes.matrix().toarray().T)
    for j in range(20):
        assert np.all(np.diff(back.voters[back.indptr[j] : back.indptr[j + 1]]) > 0)
    again = back.reversed()
    np.testing.assert_array_equal(again.matrix().toarray(), votes.matrix().toarray())
    assert again.n_voters == 20
    np.testing.assert_array_equal(again.indptr, votes.indptr)


def test_only():
    found = neighbors(3)
    votes = votes_from_neighbors(found, 20, "rank")
    chosen = np.array([1, 4, 5, 17])
    some = votes.only(chosen)
    expected = votes.matrix().toarray()
    expected[:, np.setdiff1d(np.arange(20), chosen)] = 0
    np.testing.assert_array_equal(some.matrix().toarray(), expected)
    assert some.n_voters == 20
    for row in range(12):  # still in the order of their rank
        kept = some.voters[some.indptr[row] : some.indptr[row + 1]]
        np.testing.assert_array_equal(kept, [j for j in found.indices[row] if j in chosen])
    assert votes.only(np.arange(20)).voters.tolist() == votes.voters.tolist()
    nobody = votes.only(np.array([], dtype=int))
    assert nobody.n_rows == 12
    assert not nobody.totals().any()
    assert nobody.reversed().n_rows == 20


@pytest.mark.parametrize("kind", VOTE_WEIGHTS)
def test_no_neighbours_no_votes(kind):
    votes = votes_from_neighbors(Neighbors(np.empty((3, 0), dtype=np.int32), np.empty((3, 0))), 5, kind)
    assert votes.n_rows == 3
    assert len(votes.voters) == 0


def with_long_pointers(neighbors):
    """As if there were more votes than int32 can count."""
    indptr, voters = as_csr(neighbors)
    return indptr.astype(np.int64), voters


def test_some_votes_of_very_many_keep_long_pointers():
    votes = votes_from_neighbors(neighbors(3), 20, "rank")
    long = replace(votes, indptr=votes.indptr.astype(np.int64))
    keep = votes.weights > 0.3
    assert long.where(keep).indptr.dtype == long.reversed().indptr.dtype == np.int64
    assert votes.where(keep).indptr.dtype == np.int32
    np.testing.assert_array_equal(long.where(keep).indptr, votes.where(keep).indptr)


@pytest.mark.parametrize("kind", [nb.N3Classifier, nb.UNNClassifier, nb.MLNNClassifier, nb.MAPBoostClassifier])
def test_kernels_take_long_pointers(kind, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 4)), np.arange(80) % 3
    model = kind(5, n_prototypes=40, vote_from="all", random_state=0)
    expected = model.fit(X, y).decision_function(X)
    monkeypatch.setattr(rules, "as_csr", with_long_pointers)
    np.testing.assert_array_equal(model.fit(X, y).decision_function(X), expected)
