import builtins
import multiprocessing
import os

import numpy as np
import pytest

from nearboost.neighbors import NeighborSearch
from neighbors.brute_force import assert_same, nearest

faiss = pytest.importorskip("faiss")

METRICS = ["l2", "cosine", "l1"]


def blobs(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_rows, 10)) + 4 * rng.integers(0, 3, (n_rows, 1))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_finds_nearly_all_neighbours_at_their_exact_distances(metric, dtype):
    X, Q = blobs(2000).astype(dtype), blobs(100, seed=1).astype(dtype)
    found = NeighborSearch(X, metric, method="hnsw").search(Q, 8)
    every = NeighborSearch(X, metric).search(Q, len(X))
    distance_of = np.empty_like(every.distances)
    np.put_along_axis(distance_of, every.indices.astype(np.int64), every.distances, axis=1)
    np.testing.assert_array_equal(
        found.distances, np.take_along_axis(distance_of, found.indices.astype(np.int64), axis=1)
    )
    assert np.mean(found.indices == every.first(8).indices) > 0.97


@pytest.mark.parametrize("metric", METRICS)
def test_backends_agree_on_ties_and_duplicates(metric):
    """With few rows the approximate search sees them all, so only the tie rule can differ."""
    X = np.random.default_rng(0).integers(1, 3, (50, 4)).astype(float)
    exact = NeighborSearch(X, metric).graph(41)
    assert_same(NeighborSearch(X, metric, method="hnsw").graph(41), (exact.indices, exact.distances))


def test_rows_of_the_own_group_are_made_up_for():
    X = blobs(1000)
    groups = np.arange(1000) // 200  # more than the search asks for beyond k
    query_groups = np.zeros(50, dtype=int)
    allowed = np.broadcast_to(groups != 0, (50, 1000))
    search = NeighborSearch(X, method="hnsw")
    found = search.search(X[:50], 5, groups=groups, query_groups=query_groups)
    assert (groups[found.indices] != 0).all()
    expected, _ = nearest(X, X[:50], 5, "l2", allowed)
    assert np.mean(found.indices == expected) > 0.9


def test_complete_where_a_group_leaves_few_rows():
    X = blobs(1000)
    groups = np.zeros(1000, dtype=int)
    groups[::100] = 1  # a query of group 0 may only have these ten
    query_groups = np.zeros(20, dtype=int)
    found = NeighborSearch(X, method="hnsw").search(X[:20], 10, groups=groups, query_groups=query_groups)
    assert_same(found, nearest(X, X[:20], 10, "l2", np.broadcast_to(groups == 1, (20, 1000))))
    with pytest.raises(ValueError, match="row 0 has only 10"):
        NeighborSearch(X, method="hnsw").search(X[:20], 11, groups=groups, query_groups=query_groups)


@pytest.mark.parametrize("metric", METRICS)
def test_graph_never_lists_the_row_itself(metric):
    X = np.repeat(blobs(300), 2, axis=0)
    graph = NeighborSearch(X, metric, method="hnsw").graph(5)
    assert not (graph.indices == np.arange(600)[:, np.newaxis]).any()
    assert (graph.distances[:, 0] == 0).mean() > 0.95


@pytest.mark.alone
def test_same_input_same_answer_for_any_threads():
    X = blobs(3000).astype(np.float32)
    one, again, two = (NeighborSearch(X, method="hnsw", n_jobs=n).graph(6) for n in (1, 1, 2))
    for other in (again, two):
        assert_same(other, (one.indices, one.distances))


@pytest.mark.alone
def test_faiss_keeps_its_number_of_threads():
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(3)
    try:
        NeighborSearch(blobs(50), method="hnsw", n_jobs=1).graph(3)
        assert faiss.omp_get_max_threads() == 3
    finally:
        faiss.omp_set_num_threads(before)


def search_and_build(search, X, answers):
    answers.put((search.graph(6), NeighborSearch(X, method="hnsw").graph(6)))


@pytest.mark.alone
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_searches_on():
    """FAISS's threads stay with the parent; the child must not wait for them."""
    X = blobs(3000)
    search = NeighborSearch(X, method="hnsw", n_jobs=2)
    expected = search.graph(6)
    fork = multiprocessing.get_context("fork")
    answers = fork.Queue()
    child = fork.Process(target=search_and_build, args=(search, X, answers))
    child.start()
    try:
        for found in answers.get(timeout=60):
            assert_same(found, (expected.indices, expected.distances))
    finally:
        child.kill()
        child.join()


def test_missing_faiss_names_its_cure(monkeypatch):
    plain_import = builtins.__import__

    def without_faiss(name, *args, **kwargs):
        if name == "faiss":
            raise ImportError(name)
        return plain_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_faiss)
    with pytest.raises(ImportError, match=r'pip install "nearboost\[approximate\]"'):
        NeighborSearch(blobs(50), method="hnsw")
    NeighborSearch(blobs(50)).graph(3)
