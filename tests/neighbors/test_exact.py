import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearboost.kernels import search as kernels
from nearboost.neighbors import MeasuredRows, NeighborSearch, exact, rows
from nearboost.neighbors.grid import padded
from neighbors.brute_force import assert_same, nearest

METRICS = ["l2", "cosine", "l1"]
DTYPES = [np.float32, np.float64]


def make(kind, n_rows=1500, seed=0):
    """Data on which float32 arithmetic alone goes wrong in one way or another."""
    rng = np.random.default_rng(seed)
    if kind == "gaussian":
        return rng.standard_normal((n_rows, 37))
    if kind == "grid":
        return rng.integers(1, 4, (n_rows, 5)).astype(float)
    if kind == "duplicates":
        return rng.standard_normal((20, 40))[rng.integers(0, 20, n_rows)]
    if kind == "near duplicates":
        return make("duplicates", n_rows, seed) * (1 + 1e-7 * rng.integers(0, 3, (n_rows, 1)))
    if kind == "constant":
        return np.full((n_rows, 3), 0.1)
    if kind == "one feature":
        return rng.uniform(0.5, 1, (n_rows, 1))
    if kind == "offset":
        return 1e6 + rng.integers(0, 50, (n_rows, 4)) / 16
    if kind == "outlier":
        X = 1e-3 * rng.standard_normal((n_rows, 6))
        X[7] = 1e6
        return X
    if kind == "sorted":
        return np.sort(rng.standard_normal((n_rows, 33)), axis=0)
    if kind == "heavy tails":
        return rng.standard_cauchy((n_rows, 21))
    if kind == "few values":
        X = rng.standard_normal((n_rows, 30)) * (rng.random((n_rows, 30)) < 0.02)
        X[:, 0] = 1e-3  # cosine needs a direction
        return X
    raise ValueError(kind)


KINDS = ["gaussian", "grid", "duplicates", "near duplicates", "constant", "one feature", "offset"]
KINDS += ["outlier", "sorted", "heavy tails", "few values"]


@pytest.mark.pairs
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_equals_brute_force_to_the_last_bit(kind, dtype, metric):
    X = make(kind).astype(dtype)
    Q = np.concatenate([X[::20], make(kind, 40, seed=1).astype(dtype)])
    assert_same(NeighborSearch(X, metric).search(Q, 9), nearest(X, Q, 9, metric))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", ["gaussian", "grid", "duplicates"])
def test_graph_leaves_out_the_row_but_not_its_duplicates(kind, metric):
    X = make(kind, 400)
    others = ~np.eye(len(X), dtype=bool)
    assert_same(NeighborSearch(X, metric).graph(6), nearest(X, X, 6, metric, others))


@settings(max_examples=60, deadline=None)
@given(data=st.data(), metric=st.sampled_from(METRICS), dtype=st.sampled_from(DTYPES))
def test_grids_with_groups_equal_brute_force(data, metric, dtype):
    rng = np.random.default_rng(data.draw(st.integers(0, 10_000)))
    n_rows, n_queries, d = (data.draw(st.integers(1, most)) for most in (60, 12, 5))
    n_values = data.draw(st.integers(1, 4))
    X = rng.integers(1, 1 + n_values, (n_rows, d)).astype(dtype)
    Q = rng.integers(1, 1 + n_values, (n_queries, d)).astype(dtype)
    groups = rng.integers(0, 4, n_rows).astype(np.int32)
    query_groups = rng.integers(-1, 4, n_queries).astype(np.int32)
    allowed = groups != query_groups[:, np.newaxis]
    k = data.draw(st.integers(1, n_rows))
    search = NeighborSearch(X, metric)
    if allowed.sum(axis=1).min() < k:
        with pytest.raises(ValueError, match="rows of other groups"):
            search.search(Q, k, groups=groups, query_groups=query_groups)
    else:
        found = search.search(Q, k, groups=groups, query_groups=query_groups)
        assert_same(found, nearest(X, Q, k, metric, allowed))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("exponent", [-1000, -700, -130, 130, 700, 1010])
def test_any_size_of_numbers(metric, exponent):
    """A power of two changes no neighbour, and distances by exactly that factor."""
    X, Q = (np.round(make("gaussian", n, seed)[:, :5] * 64) for n, seed in ((600, 0), (30, 1)))
    Q += 1000  # no zero rows
    X += 1000
    factor = np.ldexp(1.0, exponent)
    plain = NeighborSearch(X, metric).search(Q, 5)
    scaled = NeighborSearch(X * factor, metric).search(Q * factor, 5)
    np.testing.assert_array_equal(scaled.indices, plain.indices)
    expected = plain.distances if metric == "cosine" else plain.distances * factor
    np.testing.assert_array_equal(scaled.distances, expected)


@pytest.mark.parametrize(("metric", "huge"), [("l2", 1e162), ("l2", 1e300), ("l1", 1e300)])
def test_rows_whose_distances_would_vanish_beside_a_huge_value_are_refused(metric, huge):
    X = make("gaussian", 60)[:, :5]
    X[17, 2] = huge
    X[20] = 0.0  # at its own size from all others, whatever the unit
    with pytest.raises(
        ValueError, match=r"Row 17 holds 1e\+.*, beside which distances .* vanish in float64; correct"
    ):
        NeighborSearch(X, metric)
    NeighborSearch(np.delete(X, 20, axis=0), "cosine")  # rows of unit length


@pytest.mark.parametrize(("metric", "huge"), [("l2", 1e140), ("l1", 1e280)])
def test_a_huge_value_changes_no_other_distance(metric, huge):
    X = make("gaussian", 60)[:, :5]
    plain = NeighborSearch(X[:59], metric).search(X[:59], 3)
    X[59, 2] = huge
    found = NeighborSearch(X, metric).search(X[:59], 3)
    np.testing.assert_array_equal(found.indices, plain.indices)
    np.testing.assert_allclose(found.distances, plain.distances, rtol=1e-14)


@pytest.mark.parametrize("metric", METRICS)
def test_the_largest_float32_numbers(metric):
    X = (make("gaussian", 600) * 5e37).astype(np.float32)
    assert_same(NeighborSearch(X, metric).search(X[:20], 5), nearest(X, X[:20], 5, metric))


@pytest.mark.parametrize("metric", ["l2", "l1"])
@pytest.mark.parametrize("size", [1e3, 1e9, 1e15, 1e100])
def test_far_queries(metric, size):
    X, Q = make("gaussian", 600), make("gaussian", 5, seed=1)
    Q[:3] *= size
    assert_same(NeighborSearch(X, metric).search(Q, 5), nearest(X, Q, 5, metric))


@pytest.mark.parametrize("metric", ["l2", "l1"])
@pytest.mark.parametrize("size", [1e3, 1e9, 1e12, 1e14, 1e30])
def test_far_queries_of_tiny_rows(metric, size):
    X, Q = 1e-50 * make("gaussian", 2500), 1e-50 * size * make("gaussian", 5, seed=1)
    assert_same(NeighborSearch(X, metric).search(Q, 5), nearest(X, Q, 5, metric))


@pytest.mark.parametrize("metric", ["l2", "l1"])
def test_a_query_beyond_squares_is_equally_far_from_all(metric):
    X = make("gaussian", 50)
    found = NeighborSearch(X, metric).search(np.full((1, 37), 1e200), 4)
    assert found.indices.tolist() == [[0, 1, 2, 3]]
    np.testing.assert_allclose(found.distances, 1e200 * (37 if metric == "l1" else np.sqrt(37)))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_never_exceed_what_is_measured(kind, metric):
    """The certificate itself: were it wrong by a rounding, results would be wrong once in a while."""
    X = make(kind, 300)
    measured = MeasuredRows(X, metric)
    Q = np.concatenate([X[:40], make(kind, 20, seed=1), -30 * X[:4]])
    queries = measured.queries(Q, np.full(len(Q), -1, np.int32))
    lanes = np.empty(kernels.N_LANES)
    for block in measured.blocks:
        offsets = block.offsets
        if metric == "l1":
            shadow = padded(queries.shadow, 0, 2)
            scores = np.empty((len(shadow), offsets.size), np.float32)
            kernels.negative_l1(shadow, block.shadow, scores)
        else:
            scores = queries.shadow @ block.shadow
        for r in range(len(Q)):
            bounds = (offsets - scores[r]).astype(float) + queries.bases[r]
            for j in range(offsets.size):
                i = block.numbers[j]
                divisor = measured.norms[i] if metric == "cosine" else queries.units[r]
                total = kernels.measure(X[i], queries.measured[r], divisor, measured.code, lanes)
                assert bounds[j] <= queries.gains[r] * total


@pytest.mark.alone
@pytest.mark.parametrize("metric", METRICS)
def test_same_bits_for_any_threads_and_blocks(metric, monkeypatch):
    X = make("near duplicates", 900)
    one = NeighborSearch(X, metric, n_jobs=1).graph(7)
    two = NeighborSearch(X, metric, n_jobs=2).graph(7)
    monkeypatch.setattr(exact, "QUERIES_PER_PIECE", 13)
    monkeypatch.setattr(rows, "ROWS_PER_BLOCK", 70)
    small = NeighborSearch(X, metric, n_jobs=2).graph(7)
    for other in (two, small):
        assert_same(other, (one.indices, one.distances))


@pytest.mark.parametrize("metric", METRICS)
def test_one_query_gets_the_answer_it_gets_among_many(metric):
    X, Q = make("gaussian", 800), make("gaussian", 6, seed=1)
    together = NeighborSearch(X, metric).search(Q, 5)
    for r in range(len(Q)):
        alone = NeighborSearch(X, metric).search(Q[r : r + 1], 5)
        assert_same(alone, (together.indices[r : r + 1], together.distances[r : r + 1]))


def test_mixed_precision_read_only_and_strided_input():
    X, Q = make("gaussian", 300), make("gaussian", 20, seed=1).astype(np.float32)
    expected = nearest(X, Q, 4, "l2")
    X.flags.writeable = False
    assert_same(NeighborSearch(X).search(Q, 4), expected)
    assert_same(NeighborSearch(np.asfortranarray(X)).search(np.repeat(Q, 2, axis=0)[::2], 4), expected)


def test_integers_are_taken_as_numbers():
    X = make("grid", 100)
    assert_same(NeighborSearch(X.astype(np.uint8)).search(X[:9].astype(np.int64), 4), nearest(X, X[:9], 4, "l2"))


@pytest.mark.alone
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", ["gaussian", "constant"])
def test_memory_does_not_grow_with_queries_times_rows(kind, metric):
    X, Q = make(kind, 2000)[:, :3], make(kind, 40_000, seed=1)[:, :3]
    search = NeighborSearch(X, metric, n_jobs=2)
    search.search(Q[:10], 3)
    tracemalloc.start()
    found = search.search(Q, 3)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    answer = found.indices.nbytes + found.distances.nbytes
    assert peak - answer < 16e6  # all distances at once would be 320 MB


def test_no_queries():
    found = NeighborSearch(make("grid", 30)).search(np.empty((0, 5)), 4)
    assert found.indices.shape == found.distances.shape == (0, 4)


def test_importing_loads_neither_numba_nor_faiss():
    code = "import nearboost.neighbors, sys; assert not {'numba', 'faiss'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
