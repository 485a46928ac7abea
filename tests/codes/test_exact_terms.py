"""Updated scores pick what searching for every term picks, to the last tie: rounding never decides."""

from itertools import product

import numpy as np
import pytest

from codes.problems import GENERIC, NASTY, random_rows
from nearboost import INNCoder
from nearboost.codes import scores
from nearboost.codes.dictionary import Dictionary, SearchedTerms, make_series
from nearboost.codes.local import LocalSearchedTerms, LocalTerms, NearestSamples
from nearboost.codes.products import ProductTerms
from nearboost.codes.series import Series
from nearboost.kernels import inn as kernels
from nearboost.neighbors import NeighborSearch
from neighbors.brute_force import lane_sum

FREE = np.full(6, -1, dtype=np.int32)
NUMBERS = np.arange(700, dtype=np.int32)  # each sample a group of its own
KINDS_OF_NUMBERS = [(kind, np.float64) for kind in GENERIC + NASTY]
KINDS_OF_NUMBERS += [(kind, np.float32) for kind in GENERIC + NASTY if kind not in ("tiny", "huge")]  # it has none


def ignore(n_steps=1):
    """No progress is shown."""


def pick_by_definition(X, q, series, metric, allowed):
    """The nearest of the allowed samples in float64, the lower index of equals; then the query moves on."""
    X, q, picks = X.astype(np.float64), q.astype(np.float64), []
    unit = 2.0 ** np.floor(np.log2(max(np.abs(X).max(), np.abs(q).max())))  # squares would overflow or vanish
    X, q = X / unit, q / unit
    for _ in range(series.n_terms):
        gaps = X[allowed] - q
        sums = lane_sum(np.abs(gaps) if metric == "l1" else gaps * gaps)
        picks.append(allowed[np.argmin(sums)])
        q = (1 + series.regularization) * q - series.regularization * X[picks[-1]]
    return picks


def by_products(X, series, gram_memory=None, n_jobs=1):
    rows = NeighborSearch(X, n_jobs=n_jobs).rows
    picker = ProductTerms(rows, np.array([0, len(X)]), series, gram_memory)
    picker.build_gram()
    return picker


@pytest.mark.pairs
@pytest.mark.parametrize(("kind", "dtype"), KINDS_OF_NUMBERS)
@pytest.mark.parametrize("series", [Series(0.05, 62, 0.0), Series(0.5, 30, 0.0)])
@pytest.mark.parametrize("d", [1, 3, 40, 600])
def test_all_ways_pick_the_same(kind, dtype, series, d):
    X, Q = random_rows(d, kind, m=300 if d < 100 else 60, n=6, d=d, dtype=dtype)
    everyone = np.arange(len(X))
    expected = np.array([pick_by_definition(X, q, series, "l2", everyone) for q in Q])
    for gram_memory in (None, 1.0, 10_000.0):
        found = by_products(X, series, gram_memory).pick(Q, NUMBERS[: len(X)], FREE, ignore)
        np.testing.assert_array_equal(found.picks, expected)
        np.testing.assert_array_equal(found.counts, series.n_terms)
    np.testing.assert_array_equal(
        SearchedTerms(NeighborSearch(X), series).pick(Q, NUMBERS[: len(X)], FREE, ignore).picks, expected
    )
    local = LocalTerms(NearestSamples(NeighborSearch(X).rows), series, len(X)).pick(
        Q, NUMBERS[: len(X)], FREE, ignore
    )
    np.testing.assert_array_equal(local.picks, expected)


@pytest.mark.parametrize("kind", GENERIC + NASTY)
@pytest.mark.parametrize("metric", ["l2", "l1"])
def test_neighborhoods(kind, metric):
    X, Q = random_rows(2, kind, m=120, n=6)
    series = Series(0.05, 62, 0.0)
    search = NeighborSearch(X, metric)
    near = np.sort(search.search(Q, 25).indices, axis=1)
    local = LocalTerms(NearestSamples(search.rows), series, 25)
    picker = local if metric == "l2" else LocalSearchedTerms(search, series, 25)
    found = picker.pick(Q, NUMBERS[: len(X)], FREE, ignore)
    expected = [pick_by_definition(X, q, series, metric, rows) for q, rows in zip(Q, near, strict=True)]
    np.testing.assert_array_equal(found.picks, expected)


@pytest.mark.parametrize("kind", GENERIC + NASTY)
def test_a_row_without_itself(kind):
    X, _ = random_rows(3, kind, m=80)
    series, own = Series(0.05, 62, 0.0), np.arange(0, 80, 3, dtype=np.int32)
    expected = [pick_by_definition(X, X[i], series, "l2", np.delete(np.arange(80), i)) for i in own]
    for gram_memory in (None, 1.0):
        found = by_products(X, series, gram_memory).pick(X[own], NUMBERS[:80], own, ignore)
        np.testing.assert_array_equal(found.picks, expected)


@pytest.mark.pairs
@pytest.mark.parametrize("settings", [{}, {"gram_memory": 1.0}, {"neighborhood": 9}, {"metric": "l1"},
                                      {"metric": "l1", "neighborhood": 9}])  # fmt: skip
@pytest.mark.parametrize("sizes", [(90,), (40, 3, 30, 17)])
@pytest.mark.parametrize("kind", GENERIC + NASTY)
def test_groups_that_are_left_out(kind, sizes, settings):
    """No sample of the query's group is in its codes; a part that has no other gives an empty one."""
    X, Q = random_rows(9, kind, m=90, n=8)
    groups = np.random.default_rng(0).integers(0, 6, 90).astype(np.int32)
    groups[40:43] = 2  # a part of one group
    own = np.array([0, 1, 2, 2, 3, -1, 5, 4], dtype=np.int32)
    how = INNCoder(**settings)
    found = Dictionary(X, how, np.array(sizes)).codes(Q, own, groups)
    series, ends, expected = make_series(how), np.cumsum(sizes), np.zeros((8 * len(sizes), 90))
    for row, (q, part) in enumerate(product(range(8), range(len(sizes)))):
        allowed = np.flatnonzero(groups[: ends[part]] != own[q])
        allowed = allowed[allowed >= ends[part] - sizes[part]]
        if how.neighborhood and len(allowed) > how.neighborhood:
            near = NeighborSearch(X[allowed], how.metric).search(Q[q : q + 1], how.neighborhood)
            allowed = np.sort(allowed[near.indices[0]])
        if len(allowed):
            np.add.at(expected[row], pick_by_definition(X, Q[q], series, how.metric, allowed), series.weights)
    assert (expected.sum(axis=1) == 0).sum() == (2 if len(sizes) > 1 else 0)
    np.testing.assert_array_equal(found.toarray(), expected)


def test_two_samples_without_one():
    X = np.array([[0.0, 1.0], [0.0, 1.0]])
    found = by_products(X, Series(0.5, 4, 0.0)).pick(X, NUMBERS[:2], NUMBERS[:2], ignore)
    np.testing.assert_array_equal(found.picks, [[1] * 4, [0] * 4])


def test_a_coverage_next_to_one():
    """The query ends up ten orders of magnitude away, and the samples are told apart all the same."""
    X, Q = random_rows(4, m=50, n=6)
    series = Series(0.3, 88, 0.0)
    everyone = np.arange(len(X))
    expected = [pick_by_definition(X, q, series, "l2", everyone) for q in Q]
    np.testing.assert_array_equal(by_products(X, series).pick(Q, NUMBERS[: len(X)], FREE, ignore).picks, expected)


@pytest.mark.alone
@pytest.mark.parametrize("kind", ["random", "ties", "near ties"])
def test_threads_pieces_and_memory_do_not_matter(kind, monkeypatch):
    X, Q = random_rows(5, kind, m=2000, n=150, d=20, dtype=np.float32)
    expected = INNCoder(n_jobs=1).fit(X).transform(Q)
    for n_jobs, size, gram_memory in [(2, 64, None), (2, 7, 4e5), (3, 1, 1.0), (1, 1000, 1e6)]:
        monkeypatch.setattr(scores, "QUERIES_PER_PIECE", size)
        codes = INNCoder(n_jobs=n_jobs, gram_memory=gram_memory).fit(X).transform(Q)
        for name in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(codes, name), getattr(expected, name))


def test_blocks_do_not_matter(monkeypatch):
    X, Q = random_rows(6, m=200, n=150)
    for settings in ({}, {"neighborhood": 20}, {"metric": "l1"}):
        expected = INNCoder(**settings).fit(X).transform(Q)
        with monkeypatch.context() as patch:
            patch.setattr("nearboost.codes.dictionary.TERMS_PER_BLOCK", 62 * 40)
            codes = INNCoder(**settings).fit(X).transform(Q)
        for name in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(codes, name), getattr(expected, name))


def test_memory_that_is_short_is_kept_to():
    X, Q = random_rows(7, m=400, n=100)
    picker = by_products(X, Series(0.05, 62, 0.0), gram_memory=2 * 400 * 10)
    assert picker.gram is None
    picker.pick(Q, NUMBERS[:400], np.full(100, -1, dtype=np.int32), ignore)
    [part] = picker._idle_parts
    assert part.grid.nbytes <= 2 * 400 * 10
    assert np.count_nonzero(part.slots >= 0) <= 10
    picker.pick(Q, NUMBERS[:400], np.full(100, -1, dtype=np.int32), ignore)
    assert picker._idle_parts == [part]  # kept for the next queries


@pytest.mark.parametrize("kind", GENERIC + NASTY)
@pytest.mark.parametrize("k", [1, 10, 100, 700])
def test_the_nearest_samples_are_those_of_a_search(kind, k):
    X, Q = random_rows(8, kind, m=700, n=6)
    search = NeighborSearch(X, n_jobs=1)
    nearest = NearestSamples(search.rows)
    workspace = scores.Workspace(np.empty((6, 700), dtype=np.float32), np.empty((6, 700), dtype=np.int32))
    for queries, own in [(Q, FREE), (X[:6], NUMBERS[:6])]:
        if k == 700 and own[0] == 0:
            continue
        near = nearest.find(queries, k, NUMBERS, own, workspace)
        expected = search.search(queries, k, query_groups=own, groups=np.arange(700))
        np.testing.assert_array_equal(near, np.sort(expected.indices, axis=1))


def test_distances_on_the_grid_are_as_near_as_said():
    """The bound holds, and is hardly looser than rounding to the nearest point needs."""
    rng = np.random.default_rng(0)
    distances = rng.random((5, 4000), dtype=np.float32) * np.float32(10.0) ** rng.integers(-20, 20, (5, 1))
    grid, steps = np.empty(distances.shape, dtype=np.uint16), np.empty(5)
    kernels.to_grid(distances, distances.max(axis=1).astype(np.float64), grid, steps)
    off = np.abs(grid * steps[:, np.newaxis] - distances.astype(np.float64)) / steps[:, np.newaxis]
    assert 0.49 < off.max() <= kernels.GRID_ERROR


def test_the_limit_leaves_room_for_two_errors():
    for lowest, error in ((-1000, 3.2), (0, 0.0), (7, 1e6), (2**31 - 10, 100.0)):
        assert kernels.limit_above(lowest, error) >= min(lowest + 2 * error, 2**31 - 1)
