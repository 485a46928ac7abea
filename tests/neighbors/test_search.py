import numpy as np
import pytest

from nearboost.neighbors import Neighbors, NeighborSearch
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
        with pytest.raises(ValueError, match=f"k={k} is not between 1 and the 5 neighbours at hand"):
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
        (lambda s: s.search(X, 0), r"n_neighbors=0 asks for nothing; use 1 or more\."),
        (lambda s: s.graph(-1), r"n_neighbors=-1 asks for nothing"),
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
