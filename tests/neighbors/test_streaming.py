"""Rows that are searched block by block, from memory or a file: the same bits, whatever there is room for."""

import os
import sys

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from nearboost.base.rows import row_source
from nearboost.neighbors import MeasuredRows, NeighborSearch, rows
from nearboost.neighbors.exact import Lists, offer_blocks, read_queries
from neighbors.brute_force import assert_same

METRICS = ["l2", "cosine", "l1"]
ROOMS = [1.0, 3_000.0, 20_000.0]  # bytes: a row at a time, a few, and several blocks of several runs


def full_of_ties(n_rows=1_300, n_features=6, seed=0):
    """A grid of steps of 0.1 whose rows come sorted, many of them several times."""
    X = np.random.default_rng(seed).integers(1, 4, (n_rows, n_features)) / 10
    return X[np.lexsort(X.T)]


def mapped(folder, array, mode="r"):
    path = folder / f"{len(os.listdir(folder))}.npy"
    np.save(path, array)
    return np.load(path, mmap_mode=mode)


@pytest.fixture(autouse=True)
def little_room(monkeypatch):
    monkeypatch.setattr(rows, "LEAST_ROOM", 1.0)


@pytest.mark.pairs
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("memory", ROOMS)
@pytest.mark.parametrize("place", ["memory", "file"])
def test_same_bits_for_any_memory(metric, dtype, memory, place, tmp_path):
    X = full_of_ties(500).astype(dtype)
    groups = np.arange(len(X)) // 7
    expected = NeighborSearch(X.astype(np.float64), metric)
    given = mapped(tmp_path, X) if place == "file" else X
    search = NeighborSearch(given, metric, memory=memory)
    assert not search.rows.keeps_blocks
    few = X[: 60 if memory > 1 else 3]
    assert_same(search.search(few, 9), as_pair(expected.search(few, 9)))
    if memory > 1:
        assert_same(search.graph(9), as_pair(expected.graph(9)))
        assert_same(search.graph(9, groups), as_pair(expected.graph(9, groups)))
    kept = NeighborSearch(given, metric)
    assert kept.rows.keeps_blocks
    assert_same(kept.graph(9, groups), as_pair(expected.graph(9, groups)))


def as_pair(found):
    return found.indices, found.distances


@hypothesis.settings(max_examples=30, deadline=None)
@hypothesis.given(data=st.data(), metric=st.sampled_from(METRICS))
def test_blocks_of_any_size(data, metric):
    """Sizes that do not divide, and fewer rows in a block than neighbours are wanted."""
    n_rows, d = data.draw(st.integers(2, 90)), data.draw(st.integers(1, 5))
    X = full_of_ties(n_rows, d, data.draw(st.integers(0, 1000)))
    k = data.draw(st.integers(1, n_rows - 1))
    memory = data.draw(st.floats(1, 8 * (n_rows + 40) * d))
    jobs = data.draw(st.sampled_from([1, 2]))
    found = NeighborSearch(X, metric, memory=memory, n_jobs=jobs).graph(k)
    assert_same(found, as_pair(NeighborSearch(X, metric).graph(k)))


@pytest.mark.parametrize("metric", METRICS)
def test_same_bits_for_any_threads(metric, monkeypatch):
    monkeypatch.setattr("nearboost.base.threads.WORTH_THREADS", 1)
    X = full_of_ties(4_000)
    one, two = (NeighborSearch(X, metric, memory=9e4, n_jobs=jobs).graph(5) for jobs in (1, 2))
    assert_same(one, as_pair(two))


def test_blocks_are_runs_from_all_over():
    search = NeighborSearch(full_of_ties(5_000), memory=100_000.0)
    blocks = list(search.rows.blocks_from(0))
    assert len(blocks) == search.rows.count_blocks() > 4
    numbers = [block.numbers for block in blocks]
    np.testing.assert_array_equal(np.sort(np.concatenate(numbers)), np.arange(5_000))
    for block in blocks[:-1]:
        jumps = np.flatnonzero(np.diff(block.numbers) > 1)
        assert len(jumps) > 2
        assert np.diff(jumps).min() >= rows.RUN
        assert block.numbers[-1] - block.numbers[0] > 3_500
    late = np.concatenate([block.numbers for block in search.rows.blocks_from(4_321)])
    np.testing.assert_array_equal(np.sort(late), np.arange(4_321, 5_000))


VIEWS = {
    "rows": lambda X: X[::2],
    "columns": lambda X: X[:, 1:5],
    "backwards": lambda X: X[::-1, ::-1],
    "transposed": lambda X: X.T,
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("mode", ["r", "c", "r+"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_maps_of_any_shape(view, mode, order, tmp_path):
    X = VIEWS[view](mapped(tmp_path, np.asarray(full_of_ties(120, 90), order=order), mode))
    expected = NeighborSearch(np.array(X)).graph(4)
    for memory in (None, 20_000.0):
        assert_same(NeighborSearch(X, memory=memory).graph(4), as_pair(expected))


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, bool, ">f4"])
def test_maps_of_other_numbers(dtype, tmp_path):
    X = (10 * full_of_ties(200)).astype(dtype)
    search = NeighborSearch(mapped(tmp_path, X), "l1", memory=4_000.0)
    assert_same(search.graph(3), as_pair(NeighborSearch(X.astype(float), "l1").graph(3)))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_hnsw_reads_maps_and_half_values(dtype, tmp_path):
    pytest.importorskip("faiss")
    X = np.random.default_rng(0).normal(size=(300, 5)).astype(dtype)
    expected = NeighborSearch(X.astype(np.float64), method="hnsw").graph(4)
    for given in (X, mapped(tmp_path, X)):
        assert_same(NeighborSearch(given, method="hnsw", memory=1.0).graph(4), as_pair(expected))


@pytest.mark.parametrize("metric", METRICS)
def test_one_range_of_queries_by_plain_functions(metric):
    """As a task of a cluster: rows come in parts, and lists are carried on from one to the next."""
    X, nobody = full_of_ties(), np.empty(0, dtype=np.int32)
    ruler, part = MeasuredRows(X, metric), slice(200, 260)
    queries = read_queries(ruler, row_source(X), part, np.full(len(X), -1, np.int32))
    lists = Lists.empty(60, 8)
    for start in range(0, len(X), 270):
        numbers = np.arange(start, min(start + 270, len(X)), dtype=np.int32)
        block = ruler.block(X[numbers], numbers, ruler.norms_of(numbers))
        offer_blocks(ruler, [block], queries, nobody, lists)
    expected = NeighborSearch(X, metric).search(X[part], 8)
    np.testing.assert_array_equal(lists.indices, expected.indices)
    np.testing.assert_array_equal(ruler.to_distances(lists.sums, queries.units), expected.distances)


@pytest.mark.parametrize("metric", METRICS)
def test_listed_rows_are_measured_a_few_at_a_time(metric, tmp_path):
    X = full_of_ties()
    listed = np.random.default_rng(0).permuted(np.tile(np.arange(len(X)), (5, 1)), axis=1)[:, :40]
    listed[2, 7] = -1
    expected = NeighborSearch(X, metric).measure(X[:5], listed)
    search = NeighborSearch(mapped(tmp_path, X), metric, memory=2_000.0)
    assert_same(search.measure(X[:5], listed), as_pair(expected))


def test_huge_and_tiny_numbers(tmp_path):
    for factor in (1e200, 1e-250):
        X = full_of_ties() * factor
        found = NeighborSearch(mapped(tmp_path, X), memory=40_000.0).graph(3)
        assert_same(found, as_pair(NeighborSearch(X).graph(3)))
    X[7, 2] = 1e300
    with pytest.raises(ValueError, match=r"Row 7 holds 1e\+300, beside which distances between rows such as 0"):
        NeighborSearch(mapped(tmp_path, X), memory=40_000.0)


@pytest.mark.parametrize("memory", [None, 3_000.0])
def test_what_is_not_finite_is_named_by_its_row(memory, tmp_path):
    X = full_of_ties().astype(np.float16)
    X[1_111, 3] = np.inf
    for given in (X, mapped(tmp_path, X)):
        with pytest.raises(ValueError, match=r"Row 1111 .*; half values overflow beyond 65,504, so divide"):
            NeighborSearch(given, memory=memory)
        with pytest.raises(ValueError, match=r"Row 1111 .*; half values overflow"):
            NeighborSearch(X[:1_000], memory=memory).search(given, 3)
    X[1_111, 3] = np.nan
    for given in (X, mapped(tmp_path, X), X.astype(np.float32), mapped(tmp_path, X.astype(np.float64))):
        with pytest.raises(ValueError, match=r"Row 1111 .* NaN or infinity; (drop|remove)"):
            NeighborSearch(given, memory=memory)


def test_rows_without_direction_are_named(tmp_path):
    X = full_of_ties()
    X[1_234] = 0
    with pytest.raises(ValueError, match="Row 1234 is all zeros and has no direction"):
        NeighborSearch(mapped(tmp_path, X), "cosine", memory=3_000.0)
    with pytest.raises(ValueError, match="Row 1234 is all zeros and has no direction"):
        NeighborSearch(X[:1_000], "cosine", memory=3_000.0).search(mapped(tmp_path, X), 2)


def test_no_rows_and_no_memory():
    with pytest.raises(ValueError, match="There are no rows to search; give one at least"):
        NeighborSearch(np.empty((0, 3)))
    with pytest.raises(ValueError, match="have no features to be measured by; give one at least"):
        NeighborSearch(np.empty((3, 0)))
    with pytest.raises(ValueError, match="complex numbers, which have no order; give real and imaginary parts"):
        NeighborSearch([[1j, 2]])
    for memory in (0, -1, np.nan, "much"):
        with pytest.raises(ValueError, match=r"memory=.* must be a number above 0"):
            NeighborSearch(full_of_ties(), memory=memory)
    assert len(NeighborSearch(full_of_ties(), memory=9e4).search(np.empty((0, 6)), 3).indices) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be cut short there")
def test_a_file_that_shrinks_while_it_is_searched(tmp_path):
    X = mapped(tmp_path, full_of_ties())
    search = NeighborSearch(X, memory=3_000.0)
    os.truncate(tmp_path / "0.npy", 5_000)
    with pytest.raises(ValueError, match=r"0.npy was cut short after it was opened, to 5,000 of"):
        search.graph(3)


@pytest.mark.parametrize("metric", METRICS)
def test_equal_rows_are_no_trouble(metric):
    """Ten thousand of them, with a few others: no list is full of ties that cost more than measuring all."""
    X = np.tile(np.float32([0.1, 0.2, 0.3, 0.4]), (10_000, 1))
    X[::1_000] *= np.arange(2, 12)[:, np.newaxis]
    for memory in (None, 30_000.0):
        found = NeighborSearch(X, metric, memory=memory).graph(5)
        assert found.indices[17].tolist() == ([0, 1, 2, 3, 4] if metric == "cosine" else [1, 2, 3, 4, 5])
        assert not found.distances[1].any()
