"""Lists of others: measured as a search measures, completed by a search, judged by one."""

import numpy as np
import pytest

from nearboost.neighbors import NeighborSearch, rows
from neighbors.brute_force import assert_same

METRICS = ["l2", "cosine", "l1"]


def grid(n_rows=400, n_features=5, seed=0):
    """Steps of 0.1, so that distances tie, and duplicates."""
    return np.random.default_rng(seed).integers(1, 4, (n_rows, n_features)) / 10


def proposed(graph, rng, n_more=7):
    """The rows of a graph in any order, with others, repetitions, the row itself and gaps."""
    n_rows, k = graph.indices.shape
    others = rng.integers(0, n_rows, (n_rows, n_more))
    numbers = np.arange(n_rows)[:, np.newaxis]
    lists = np.hstack([graph.indices, others, graph.indices[:, : k // 2], numbers, np.full((n_rows, 2), -1)])
    return rng.permuted(lists, axis=1)


@pytest.mark.pairs
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_lists_that_hold_the_neighbours_become_the_exact_graph(metric, dtype, grouped, kind):
    X = grid().astype(dtype)
    groups = np.arange(len(X)) // 9 if grouped else None
    search = NeighborSearch(X, metric)
    exact = search.graph(6, groups)
    lists = proposed(exact, np.random.default_rng(1)).astype(kind)
    assert_same(search.refine(lists, 6, groups, too_short="refuse"), (exact.indices, exact.distances))


@pytest.mark.parametrize("memory", [None, 3_000.0])
def test_mapped_rows_and_lists_in_little_memory(memory, tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "LEAST_ROOM", 1.0)
    X, maps = grid(), []
    exact = NeighborSearch(X).graph(6)
    for name, array in (("X", X), ("lists", proposed(exact, np.random.default_rng(1)))):
        np.save(tmp_path / f"{name}.npy", array)
        maps.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    found = NeighborSearch(maps[0], memory=memory).refine(maps[1], 6, too_short="refuse")
    assert_same(found, (exact.indices, exact.distances))


def test_only_what_is_proposed_counts():
    X = grid()
    lists = np.random.default_rng(2).integers(0, 50, (len(X), 30))
    found = NeighborSearch(X).refine(lists, 4, too_short="refuse")
    assert (found.indices[:, :, np.newaxis] == lists[:, np.newaxis]).any(axis=2).all()
    assert (np.diff(found.distances, axis=1) >= 0).all()


@pytest.mark.parametrize("method", ["exact", "hnsw"])
def test_lists_that_are_too_short_are_searched_exactly_or_refused(method):
    if method == "hnsw":
        pytest.importorskip("faiss")
    X = grid()
    search, exact = NeighborSearch(X, method=method), NeighborSearch(X).graph(6)
    lists = exact.indices.copy()
    lists[[30, 77], 2:] = -1
    lists[200] = 200  # itself, and nothing else
    assert_same(search.refine(lists, 6), (exact.indices, exact.distances))
    with pytest.raises(
        ValueError, match="Row 30 has 2 candidates that count, and 3 rows have fewer than k=6; propo"
    ):
        search.refine(lists, 6, too_short="refuse")


def test_recall_is_the_share_of_rows_as_near_as_the_exact_neighbours():
    X = np.random.default_rng(0).normal(size=(600, 4))
    search = NeighborSearch(X)
    graph = search.graph(5)
    lists = graph.indices.copy()
    missing = np.random.default_rng(1).random(lists.shape) < 0.2
    lists[missing] = -1
    every = search.recall(lists, 600)
    assert every == (pytest.approx(1 - missing.mean()), 0.0, 600)
    few = search.recall(lists, 150)
    assert few.share != every.share
    assert abs(few.share - every.share) < 4 * few.standard_error
    shares = 1 - missing.mean(axis=1)
    assert few.standard_error == pytest.approx(np.std(shares) * np.sqrt((1 - 150 / 600) / 150), rel=0.2)


def test_recall_does_not_ask_for_the_rule_of_ties_and_is_never_certain_of_a_sample():
    X = np.repeat(np.random.default_rng(0).normal(size=(100, 3)), 8, axis=0)
    numbers = np.arange(len(X))
    others = (
        numbers[:, np.newaxis] // 8 * 8 + (numbers[:, np.newaxis] + np.arange(1, 5)) % 8
    )  # equal rows, any four
    search = NeighborSearch(X)
    assert np.mean(others == search.graph(4).indices) < 0.7
    found = search.recall(others, 200)
    assert found.share == 1.0
    assert found.standard_error == pytest.approx(np.sqrt(1 - 200 / 800) / (4 * 200))
    assert search.recall(others, 10**6) == (1.0, 0.0, 800)


def test_recall_leaves_out_rows_of_the_own_group():
    groups = np.arange(200) // 4
    X = 10.0 * groups[:, np.newaxis] + grid(200)  # near their own group
    search = NeighborSearch(X)
    assert search.recall(search.graph(3, groups), 200, groups).share == 1.0
    assert search.recall(search.graph(3), 200, groups).share == 0.0


@pytest.mark.parametrize(
    ("lists", "sentence"),
    [
        (
            np.zeros((20, 3)),
            r"Candidates must be whole numbers of shape \(20, number of candidates\), a list for ea",
        ),
        (np.zeros((19, 3), int), "a list for each row, not int64 of shape \\(19, 3\\)"),
        (np.zeros((20, 0), int), "a list for each row, not int64 of shape \\(20, 0\\)"),
        (np.full((20, 3), 20), "Row 20 is proposed for row 0, and there are 20, numbered from 0; use -1 for none"),
        (np.full((20, 3), -2), "Row -2 is proposed for row 0"),
        (np.full((20, 3), 2**32 - 1, np.uint32), "Row 4294967295 is proposed for row 0"),
    ],
)
def test_lists_that_are_none(lists, sentence):
    search = NeighborSearch(grid(20))
    with pytest.raises(ValueError, match=sentence):
        search.refine(lists, 2)
    with pytest.raises(ValueError, match=sentence):
        search.recall(lists)


def test_more_neighbours_than_there_are():
    search = NeighborSearch(grid(20))
    lists = np.zeros((20, 25), int)
    for k in (0, 20):
        with pytest.raises(ValueError, match=f"k={k} must be a whole number of at least 1 and at most 19"):
            search.refine(lists, k)
    with pytest.raises(ValueError, match="k=3 must be a whole number of at least 1 and at most 2"):
        search.refine(lists, 3, np.minimum(np.arange(20), 2))
    with pytest.raises(ValueError, match="the graph's number of neighbours=25 must be"):
        search.recall(lists)
    with pytest.raises(ValueError, match="too_short='drop' is not known; use one of 'search', 'refuse'"):
        search.refine(lists, 3, too_short="drop")
