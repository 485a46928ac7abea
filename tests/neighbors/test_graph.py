import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array

from nearboost.neighbors import Neighbors, NeighborSearch, as_csr, check_graph, transpose


@settings(max_examples=50, deadline=None)
@given(
    n_rows=st.integers(0, 30),
    n_columns=st.integers(0, 30),
    seed=st.integers(0, 1000),
    dtype=st.sampled_from([np.int32, np.int64]),
)
def test_transpose_equals_scipy_and_undoes_itself(n_rows, n_columns, seed, dtype):
    matrix = csr_array(random_array((n_rows, n_columns), density=0.3, rng=seed))
    matrix.sort_indices()
    given_matrix = (matrix.indptr.astype(dtype), matrix.indices.astype(np.int32), matrix.data)
    turned = transpose(*given_matrix, n_columns)
    expected = csr_array(matrix.T)
    expected.sort_indices()
    for ours, theirs in zip(turned, (expected.indptr, expected.indices, expected.data), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert turned[0].dtype == dtype
    assert turned[1].dtype == np.int32
    for ours, before in zip(transpose(*turned, n_rows), given_matrix, strict=True):
        np.testing.assert_array_equal(ours, before)


def test_transpose_of_the_neighbour_graph_lists_who_points_here():
    X = np.random.default_rng(0).standard_normal((60, 2))
    graph = NeighborSearch(X).graph(5)
    indptr, indices = as_csr(graph)
    assert indptr.dtype == indices.dtype == np.int32
    reverse_indptr, reverse, distances = transpose(indptr, indices, graph.distances.ravel(), 60)
    for j in range(60):
        here = slice(reverse_indptr[j], reverse_indptr[j + 1])
        rows, places = np.nonzero(graph.indices == j)
        assert reverse[here].tolist() == rows.tolist()
        np.testing.assert_array_equal(distances[here], graph.distances[rows, places])


def test_as_csr_of_a_view():
    graph = NeighborSearch(np.arange(6.0).reshape(-1, 1)).graph(4).first(2)
    indptr, indices = as_csr(graph)
    assert indptr.tolist() == [0, 2, 4, 6, 8, 10, 12]
    np.testing.assert_array_equal(indices.reshape(6, 2), graph.indices)


INDICES = np.array([[1, 2], [2, 0], [1, 0]])
DISTANCES = np.array([[1.0, 3.0], [2.0, 2.0], [0.0, 3.0]])


def test_check_graph_gives_the_whole_graph():
    checked = check_graph((INDICES, DISTANCES.astype(np.float32)), 3, 1)
    assert isinstance(checked, Neighbors)
    assert checked.indices.dtype == np.int32
    assert checked.distances.dtype == np.float64
    assert checked.indices.tolist() == INDICES.tolist()


def changed(array, row, column, value):
    array = array.copy()
    array[row, column] = value
    return array


@pytest.mark.parametrize(
    ("graph", "n_rows", "k", "message"),
    [
        (INDICES, 3, 1, "is a pair"),
        (5, 3, 1, "is a pair"),
        ((INDICES, DISTANCES[:, :1]), 3, 1, r"matrices of one shape, not \(3, 2\) and \(3, 1\)"),
        ((INDICES[0], DISTANCES[0]), 3, 1, r"matrices of one shape"),
        ((INDICES, DISTANCES), 4, 1, "has 3 rows for 4 training samples"),
        ((INDICES, DISTANCES), 3, 5, "n_neighbors=5 needs a graph of at least 5 columns; it has 2"),
        ((INDICES.astype(float), DISTANCES), 3, 2, "indices must be integers, not float64"),
        ((INDICES, DISTANCES.astype(complex)), 3, 2, "distances must be real numbers, not complex128"),
        ((changed(INDICES, 1, 0, 3), DISTANCES), 3, 2, "Row 1 of the graph lists an index outside 0 to 2"),
        ((changed(INDICES, 2, 1, -1), DISTANCES), 3, 2, "Row 2 of the graph lists an index outside 0 to 2"),
        ((changed(INDICES, 1, 0, 1), DISTANCES), 3, 2, "Row 1 of the graph lists itself"),
        ((changed(INDICES, 0, 1, 1), DISTANCES), 3, 2, "Row 0 of the graph lists a neighbour twice"),
        ((INDICES, changed(DISTANCES, 0, 1, np.nan)), 3, 2, "Row 0 .* not a finite number"),
        ((INDICES, changed(DISTANCES, 2, 0, -1.0)), 3, 2, "Row 2 .* not a finite number"),
        ((INDICES, changed(DISTANCES, 1, 1, np.inf)), 3, 2, "Row 1 .* not a finite number"),
        ((INDICES, changed(DISTANCES, 1, 0, 2.5)), 3, 2, "Row 1 of the graph is not sorted"),
    ],
)
def test_check_graph_refusals(graph, n_rows, k, message):
    with pytest.raises(ValueError, match=message):
        check_graph(graph, n_rows, k)
