"""A repaired graph is the one that a new search finds, in all bits."""

import numpy as np
import pytest

from nearboost.neighbors import NeighborSearch, repair_graph
from nearboost.neighbors.repair import choose_width
from neighbors.test_exact import make

METRICS = ["l2", "cosine", "l1"]
KINDS = ["gaussian", "grid", "duplicates", "near duplicates", "constant", "one feature", "offset"]
KINDS += ["outlier", "heavy tails"]
K = 5


def changed(X, kept, new, metric="l2", *, k=K, spare=2, groups=None, new_groups=None, method="exact"):
    """The repaired graph and the one of a new search, over the rows that stay and new ones."""
    whole = np.concatenate([X[kept], new])
    after = None if groups is None else np.concatenate([groups[kept], new_groups])
    before = NeighborSearch(X, metric, method=method).graph(k + spare, groups)
    search = NeighborSearch(whole, metric, method=method)
    return repair_graph(before, X, kept, search, k, after), search.graph(k, after)


def assert_equal(repaired, expected):
    first = repaired.first(expected.n_neighbors)
    np.testing.assert_array_equal(first.indices, expected.indices)
    np.testing.assert_array_equal(first.distances, expected.distances)
    assert repaired.indices.dtype == np.int32
    assert repaired.distances.dtype == np.float64


def draw(rng, n_rows, share):
    return np.flatnonzero(rng.random(n_rows) >= share)


@pytest.mark.pairs
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("n_new", [0, 1, 70])
def test_equals_a_new_search(kind, metric, share, n_new):
    rng = np.random.default_rng(n_new)
    X = make(kind, 600)
    new = np.concatenate([make(kind, 70, seed=1)[:n_new], X[: n_new // 2]])  # copies of old rows as well
    assert_equal(*changed(X, draw(rng, len(X), share), new, metric))


@pytest.mark.pairs
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", ["gaussian", "grid", "duplicates"])
@pytest.mark.parametrize("spare", [0, 1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_groups(kind, metric, spare, dtype):
    """Rows of one group stay out of each other's lists; new rows come to old groups, to new ones and to none."""
    rng = np.random.default_rng(spare)
    X, new = make(kind, 400).astype(dtype), make(kind, 30, seed=1).astype(dtype)
    groups, new_groups = rng.integers(-1, 60, len(X)), rng.integers(-1, 80, len(new))
    kept = draw(rng, len(X), 0.05)
    assert_equal(*changed(X, kept, new, metric, spare=spare, groups=groups, new_groups=new_groups))


@pytest.mark.parametrize("seed", range(20))
def test_small_graphs(seed):
    """Until hardly more rows are left than neighbours are needed."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (30, 2)).astype(float)
    kept, new = draw(rng, 30, rng.uniform(0, 0.8)), rng.integers(0, 3, (rng.integers(0, 8), 2)).astype(float)
    k = min(6, len(kept) + len(new) - 1)
    assert_equal(*changed(X, kept, new, METRICS[seed % 3] if X.all() and new.all() else "l2", k=k))


def test_equal_distances_of_different_sums():
    """Two sums may have one square root; the nearer row comes first, though it came later."""
    gaps = 0.7 + 2.0**-52 * np.arange(8)
    sums = 1 + gaps**2
    same = (np.sqrt(sums[1:]) == np.sqrt(sums[:-1])) & (sums[1:] > sums[:-1])
    nearer, farther = gaps[np.argmax(same)], gaps[np.argmax(same) + 1]
    X = np.array([[0.0, 0.0], [1.0, farther], [9.0, 9.0], [8.0, 8.0]])
    repaired, expected = changed(X, np.arange(4), np.array([[1.0, nearer]]), k=2, spare=0)
    assert same.any()
    assert expected.indices[0].tolist() == [4, 1]
    assert expected.distances[0, 0] == expected.distances[0, 1]
    assert_equal(repaired, expected)


@pytest.mark.parametrize("metric", ["l2", "l1"])
def test_units_change_with_the_largest_row(metric):
    """Sums are of other units beside a huge row than without it; then all lists are made anew."""
    rng = np.random.default_rng(0)
    small = 1e-70 * rng.standard_normal((60, 3))
    huge = np.full((1, 3), 1e70)
    assert_equal(*changed(np.concatenate([small, huge]), np.arange(60), small[:3], metric))
    assert_equal(*changed(small, np.arange(60), huge, metric))


def test_few_rows_are_searched(monkeypatch):
    """One per cent of the rows gone: without spare columns those that lost one, with them next to none."""
    from nearboost.neighbors import repair

    asked = []

    class Counting(repair.ExactSearch):
        def search(self, Q, *args):
            asked.append(Q.n_rows)
            return super().search(Q, *args)

    monkeypatch.setattr(repair, "ExactSearch", Counting)
    X = make("gaussian", 5000)
    kept = draw(np.random.default_rng(0), len(X), 0.01)
    for spare, least, most in ((0, 100, 300), (2, 0, 50)):
        asked.clear()
        assert_equal(*changed(X, kept, X[:0], spare=spare))
        assert least <= sum(asked) <= most
    asked.clear()
    assert_equal(*changed(X, np.arange(len(X)), X[:50] + 0.1))
    assert asked == [50]


def test_spare_columns_are_used_up_slowly():
    lengths = np.array([7] * 880 + [6] * 112 + [5] * 7 + [4])
    assert choose_width(lengths, 5, 7) == 6  # 8 rows are searched rather than 120
    assert choose_width(lengths, 5, 5) == 5
    assert choose_width(lengths - 3, 5, 7) == 5
    assert choose_width(lengths[:880], 5, 7) == 7


def test_too_few_rows_are_left():
    X = make("gaussian", 20)
    graph = NeighborSearch(X).graph(5)
    with pytest.raises(ValueError, match="n_neighbors=5 needs more than 4 training samples; use 3 or fewer"):
        repair_graph(graph, X, np.arange(4), NeighborSearch(X[:4]), 5)


def test_approximate_graphs_are_built_anew():
    pytest.importorskip("faiss")
    X = make("gaussian", 300)
    assert_equal(*changed(X, np.arange(10, 300), X[:10], method="hnsw"))
