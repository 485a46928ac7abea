import numpy as np
import pytest
from scipy.sparse import csr_array

from nearboost import N3Classifier
from nearboost.neighbors import METHODS, Neighbors, NeighborSearch
from neighbors.brute_force import assert_same, nearest

X = np.random.default_rng(0).integers(1, 5, (12, 3)).astype(float)


def test_graph_with_groups_leaves_out_the_whole_group():
    groups = np.array([0, 0, 0, 5, 5, 5, 9, 9, 9, 9, 2, 2])
    allowed = groups != groups[:, np.newaxis]
    assert_same(NeighborSearch(X).graph(8, groups=groups), nearest(X, X, 8, "l2", allowed))


def test_graph_rows_without_a_group_leave_out_only_themselves():
    groups = np.array([-1, -1, 0, 0, -1, 1, 1, -1, -1, 3, -1, -1])
    allowed = (groups != groups[:, np.newaxis]) | (groups < 0)
    allowed &= ~np.eye(12, dtype=bool)
    assert_same(NeighborSearch(X).graph(5, groups=groups), nearest(X, X, 5, "l2", allowed))


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int8])
def test_groups_may_be_any_integers(dtype):
    """Two names that differ by 2³² are two groups, and one name is one group whatever type it has."""
    names = np.array([0, 2**32, 2**31, 2**63 - 1] if dtype != np.int8 else [0, 1, 2, 127])
    numbers = np.arange(12) % 4
    groups, query_groups = names[numbers].astype(dtype), names[np.array([1, 0, 3])]
    allowed = groups.astype(object) != query_groups.astype(object)[:, np.newaxis]
    found = NeighborSearch(X).search(X[:3], 9, groups=groups, query_groups=query_groups)
    assert_same(found, nearest(X, X[:3], 9, "l2", allowed))
    expected = NeighborSearch(X).graph(9, groups=numbers)
    assert_same(NeighborSearch(X).graph(9, groups=groups), (expected.indices, expected.distances))


def test_negative_groups_are_none_beside_large_ones():
    groups, query_groups = np.full(12, -(2**40)), np.array([-(2**40), -1, 2**63], dtype=object)
    found = NeighborSearch(X).search(X[:2], 12, groups=groups, query_groups=query_groups[:2].astype(np.int64))
    assert_same(found, nearest(X, X[:2], 12, "l2"))
    found = NeighborSearch(X).search(X[:1], 12, groups=groups, query_groups=query_groups[2:].astype(np.uint64))
    assert_same(found, nearest(X, X[:1], 12, "l2"))


def test_query_group_minus_one_excludes_nothing():
    groups = np.full(12, -1)
    found = NeighborSearch(X).search(X, 12, groups=groups, query_groups=groups)
    assert_same(found, nearest(X, X, 12, "l2"))


def test_first_gives_views_of_the_nearest():
    found = NeighborSearch(X).search(X, 5)
    nearer = found.first(2)
    assert np.shares_memory(nearer.indices, found.indices)
    assert_same(nearer, nearest(X, X, 2, "l2"))
    for k in (0, 6):
        with pytest.raises(ValueError, match=f"k={k} is not between 1 and the 5 neighbours available"):
            found.first(k)


def test_the_record_cannot_be_changed():
    found = NeighborSearch(X).search(X, 1)
    assert isinstance(found, Neighbors)
    with pytest.raises(AttributeError):
        found.indices = found.indices  # type: ignore[misc]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda s: s.graph(12), r"n_neighbors=12 needs more than 12 training samples; use 11 or fewer\."),
        (lambda s: s.search(X, 13), r"n_neighbors=13 needs at least 13 rows to search; use 12 or fewer\."),
        (lambda s: s.search(X, 0), r"n_neighbors=0 must be a whole number of at least 1\."),
        (lambda s: s.graph(-1), r"n_neighbors=-1 must be a whole number"),
        (lambda s: s.graph(2.5), r"n_neighbors=2.5 must be a whole number of at least 1\."),
        (lambda s: s.search(X, "3"), r"n_neighbors='3' must be a whole number of at least 1\."),
        (lambda s: s.search(X, None), r"n_neighbors=None must be a whole number of at least 1\."),
        (lambda s: s.measure(X[:, :2], np.zeros((12, 1), int)), r"queries have 2 features and the"),
        (lambda s: s.measure(X, np.zeros((1, 1), int)), r"There are 1 lists for 12 queries; give one for each\."),
        (lambda s: NeighborSearch(X[:1]).graph(1), r"needs more than 1 training samples; give more rows\."),
        (lambda s: NeighborSearch(X, n_jobs=0), r"n_jobs=0 has no meaning"),
        (lambda s: NeighborSearch(csr_array(X)), r"Rows are sparse, .*; give X\.toarray\(\)\."),
        (lambda s: s.graph(3, groups=np.zeros(12, int)), r"row 0 has only 0; use smaller groups\."),
        (lambda s: s.graph(3, groups=np.arange(12) > 1), r"must be 12 integers"),
        (lambda s: s.graph(3, groups=np.arange(11)), r"must be 12 integers, .* of shape \(11,\)"),
        (lambda s: s.search(X, 3, groups=np.arange(12)), "give both or neither"),
        (lambda s: s.search(X[:, :2], 3), r"queries have 2 features and the searched rows 3"),
        (lambda s: s.search(X[0], 3), r"must form a matrix"),
    ],
)
def test_refusals(ask, message):
    with pytest.raises(ValueError, match=message):
        ask(NeighborSearch(X))


def test_refuses_too_few_rows_outside_a_group():
    groups = np.array([0] * 10 + [1, 2])
    with pytest.raises(ValueError, match=r"row 0 has only 2; use 2 or fewer, or smaller groups\."):
        NeighborSearch(X).graph(3, groups=groups)


def test_refuses_unknown_names():
    with pytest.raises(ValueError, match="metric='l3' is not known; use one of 'l2', 'cosine', 'l1'"):
        NeighborSearch(X, "l3")
    with pytest.raises(ValueError, match="method='kd_tree' is not known; use one of 'exact', 'hnsw'"):
        NeighborSearch(X, method="kd_tree")


def test_cosine_refuses_rows_without_direction():
    with_zero = X.copy()
    with_zero[[4, 7]] = 0
    with pytest.raises(ValueError, match="Row 4 is all zeros"):
        NeighborSearch(with_zero, "cosine")
    with pytest.raises(ValueError, match="Row 4 is all zeros"):
        NeighborSearch(X, "cosine").search(with_zero, 2)
    assert_same(NeighborSearch(with_zero, "l1").search(X, 2), nearest(with_zero, X, 2, "l1"))


def test_cosine_is_one_minus_the_cosine():
    found = NeighborSearch(np.array([[3.0, 0.0], [0.0, 2.0], [-1.0, 0.0]]), "cosine").search([[5.0, 0.0]], 3)
    assert found.indices.tolist() == [[0, 1, 2]]
    np.testing.assert_array_equal(found.distances, [[0.0, 1.0, 2.0]])


class BruteForce:
    """Another back end, in a few lines: measure all rows by `MeasuredRows`, and keep the nearest."""

    metrics = ("l2", "l1")
    exact = True

    def __init__(self, rows):
        self.rows = rows

    def search(self, Q, k, groups, query_groups):
        queries = self.rows.queries(Q.part(slice(0, Q.n_rows)), query_groups)
        every = np.tile(np.arange(len(self.rows.X)), (Q.n_rows, 1))
        indices, sums = np.full((Q.n_rows, k), np.iinfo(np.int32).max, np.int32), np.full((Q.n_rows, k), np.inf)
        self.rows.keep_nearest(every, queries, groups, indices, sums)
        return indices, self.rows.to_distances(sums, queries.units)


@pytest.fixture
def brute_force(monkeypatch):
    monkeypatch.setitem(METHODS, "brute", BruteForce)


@pytest.mark.parametrize("metric", BruteForce.metrics)
def test_another_back_end_is_one_class(metric, brute_force):
    groups = np.arange(12) // 3
    search, expected = NeighborSearch(X, metric, method="brute"), NeighborSearch(X, metric)
    assert_same(search.graph(5, groups), (expected.graph(5, groups).indices, expected.graph(5, groups).distances))
    assert_same(search.search(X + 0.5, 12), nearest(X, X + 0.5, 12, metric))
    with pytest.raises(ValueError, match="row 0 has only 9; use 9 or fewer"):
        search.graph(10, groups)


def test_a_back_end_names_its_metrics(brute_force):
    with pytest.raises(ValueError, match="method='brute' cannot search by metric='cosine'; use one of 'l2', 'l1'"):
        NeighborSearch(X, "cosine", method="brute")


def test_classifiers_take_every_method(brute_force):
    rows = np.random.default_rng(0).normal(size=(60, 3))
    y = (rows[:, 0] > 0).astype(int)
    plain, other = (N3Classifier(5, search=method).fit(rows, y) for method in ("exact", "brute"))
    np.testing.assert_array_equal(other.decision_function(rows), plain.decision_function(rows))
