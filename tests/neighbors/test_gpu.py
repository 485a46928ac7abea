"""The same bits as "exact" on every device, whatever the memory."""

import pickle
from contextlib import ExitStack

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devices import needs_torch, on_devices, on_gpu
from nearboost.base.device import open_device
from nearboost.neighbors import NeighborSearch, gpu_parts, halves
from nearboost.neighbors.gpu import EXACT_PRODUCTS
from neighbors.brute_force import assert_same, nearest
from neighbors.test_exact import DTYPES, KINDS, METRICS, make

pytestmark = needs_torch

LITTLE = 3e6  # bytes: several blocks of rows, and several tiles in each


def search_on(device, X, metric="l2", memory=1e9):
    return NeighborSearch(X, metric, method=device, memory=memory)


@pytest.mark.pairs
@on_devices
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("memory", [1e9, LITTLE])
def test_equals_brute_force_to_the_last_bit(memory, kind, dtype, metric, device):
    X = make(kind).astype(dtype)
    Q = np.concatenate([X[::20], make(kind, 40, seed=1).astype(dtype)])
    assert_same(search_on(device, X, metric, memory).search(Q, 9), nearest(X, Q, 9, metric))


@on_devices
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", ["gaussian", "grid", "duplicates"])
def test_graph_leaves_out_the_row_but_not_its_duplicates(kind, metric, device):
    X = make(kind, 400)
    others = ~np.eye(len(X), dtype=bool)
    assert_same(search_on(device, X, metric).graph(6), nearest(X, X, 6, metric, others))


@on_devices
@settings(max_examples=40, deadline=None)
@given(data=st.data(), metric=st.sampled_from(METRICS), dtype=st.sampled_from(DTYPES))
def test_grids_with_groups_equal_brute_force(device, data, metric, dtype):
    rng = np.random.default_rng(data.draw(st.integers(0, 10_000)))
    n_rows, n_queries, d = (data.draw(st.integers(1, most)) for most in (60, 12, 5))
    n_values = data.draw(st.integers(1, 4))
    X = rng.integers(1, 1 + n_values, (n_rows, d)).astype(dtype)
    Q = rng.integers(1, 1 + n_values, (n_queries, d)).astype(dtype)
    groups = rng.integers(0, 4, n_rows).astype(np.int32)
    query_groups = rng.integers(-1, 4, n_queries).astype(np.int32)
    allowed = groups != query_groups[:, np.newaxis]
    k = data.draw(st.integers(1, n_rows))
    search = search_on(device, X, metric)
    if allowed.sum(axis=1).min() < k:
        with pytest.raises(ValueError, match="rows of other groups"):
            search.search(Q, k, groups=groups, query_groups=query_groups)
    else:
        found = search.search(Q, k, groups=groups, query_groups=query_groups)
        assert_same(found, nearest(X, Q, k, metric, allowed))


@on_devices
def test_a_group_may_hold_all_that_is_near(device):
    """Rows of the query's own group take no place among those that are proposed."""
    X = make("gaussian", 1200)
    groups = np.arange(1200) % 4
    near = np.sort(np.concatenate([X[groups == 0] / 10, X[groups != 0]]), axis=0)
    allowed = groups != groups[:, np.newaxis]
    search = search_on(device, near, memory=LITTLE)
    assert_same(search.graph(5, groups=groups), nearest(near, near, 5, "l2", allowed))


@on_devices
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("exponent", [-1000, -700, -130, 130, 700, 1010])
def test_any_size_of_numbers(exponent, metric, device):
    X, Q = (np.round(make("gaussian", n, seed)[:, :5] * 64) + 1000 for n, seed in ((600, 0), (30, 1)))
    factor = np.ldexp(1.0, exponent)
    plain = NeighborSearch(X * factor, metric).search(Q * factor, 5)
    assert_same(search_on(device, X * factor, metric).search(Q * factor, 5), (plain.indices, plain.distances))


@on_devices
@pytest.mark.parametrize("metric", ["l2", "l1"])
@pytest.mark.parametrize("size", [1e3, 1e9, 1e30, 1e100, 1e200])
@pytest.mark.parametrize("unit", [1.0, 1e-50])
def test_far_queries(unit, size, metric, device):
    X, Q = make("gaussian", 600) * unit, make("gaussian", 5, seed=1) * unit
    Q[:3] *= size
    expected = NeighborSearch(X, metric).search(Q, 5)
    assert_same(search_on(device, X, metric).search(Q, 5), (expected.indices, expected.distances))


@on_devices
@pytest.mark.parametrize("metric", METRICS)
def test_ten_thousand_equal_rows(metric, device):
    """Of equal rows the lowest numbers count, and not all are measured for that."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((50, 8)), np.tile(rng.standard_normal(8), (10_000, 1))])
    X = X[rng.permutation(len(X))]
    expected = NeighborSearch(X, metric).search(X[::40], 20)
    assert_same(search_on(device, X, metric, 2e7).search(X[::40], 20), (expected.indices, expected.distances))


@on_devices
def test_steps_of_a_tenth(device):
    """Distances which float32 cannot tell apart."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 11, (3000, 6)) * 0.1
    expected = NeighborSearch(X).graph(10)
    assert_same(search_on(device, X).graph(10), (expected.indices, expected.distances))


@on_devices
@pytest.mark.parametrize("metric", METRICS)
def test_half_precision_rows_are_the_numbers_they_are(metric, device):
    X = make("gaussian", 700).astype(np.float16)
    expected = NeighborSearch(X.astype(np.float64), metric).graph(8)
    assert_same(search_on(device, X, metric).graph(8), (expected.indices, expected.distances))


@on_devices
def test_rows_of_a_file_are_loaded_in_blocks(device, tmp_path):
    X = make("gaussian", 4000).astype(np.float32)
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    found = search_on(device, mapped, memory=LITTLE).graph(7)
    expected = NeighborSearch(X).graph(7)
    assert_same(found, (expected.indices, expected.distances))


@on_devices
def test_share_proved_is_reported(device):
    X = make("gaussian", 1500)
    search = search_on(device, X)
    search.graph(5)
    assert search.share_proved == 1.0
    assert np.isnan(search_on("exact", X).share_proved)
    search = search_on(device, make("duplicates"))
    assert np.isnan(search.share_proved)
    search.graph(9)
    assert search.share_proved < 0.5


@on_devices
def test_memory_must_have_room_for_a_tile(device):
    search = search_on(device, make("gaussian", 3000), memory=1e5)
    message = (
        r"memory=100,000 has no room for a tile of 32 queries and 1,024 rows of 37 features .*; give ([\d,]+)"
    )
    with pytest.raises(ValueError, match=message) as raised:
        search.graph(3)
    enough = int(str(raised.value).split("give ")[1].split(" ")[0].replace(",", ""))
    search._backend.memory = enough
    expected = NeighborSearch(make("gaussian", 3000)).graph(3)
    assert_same(search.graph(3), (expected.indices, expected.distances))
    search._backend.memory = enough - 10_000
    with pytest.raises(ValueError, match="no room"):
        search.graph(3)


@on_devices
def test_cosine_refuses_rows_without_direction(device):
    X = make("gaussian", 100)
    Q = X.copy()
    Q[[40, 70]] = 0
    with pytest.raises(ValueError, match="Row 40 is all zeros"):
        NeighborSearch(Q, "cosine", method=device)
    with pytest.raises(ValueError, match="Row 40 is all zeros"):
        NeighborSearch(X, "cosine", method=device).search(Q, 2)


@on_devices
def test_more_neighbours_than_rows(device):
    search = NeighborSearch(make("gaussian", 12), method=device)
    with pytest.raises(ValueError, match=r"n_neighbors=13 needs at least 13 rows to search; use 12 or fewer\."):
        search.search(make("gaussian", 2), 13)
    X, Q = make("gaussian", 12), make("gaussian", 2)
    assert_same(search.search(Q, 12), nearest(X, Q, 12, "l2"))


@on_devices
def test_pickles_hold_no_tensors(device):
    """They open where there is no such device."""
    X = make("gaussian", 300)
    search = NeighborSearch(X, method=device)
    expected = search.graph(4)
    written = pickle.dumps(search)
    assert b"torch" not in written.replace(b"torch:cpu", b"")
    assert_same(pickle.loads(written).graph(4), (expected.indices, expected.distances))


@on_devices
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("memory", [1e9, LITTLE])
def test_tensors_stay_on_their_device(memory, dtype, metric, device):
    import torch

    X, Q = (torch.from_numpy(make("near duplicates", n, n)).to(getattr(torch, dtype)) for n in (1500, 60))
    expected = NeighborSearch(X.double().numpy(), metric).search(Q.double().numpy(), 7)
    on_device = X.to(open_device(device))
    search = search_on(device, on_device, metric, memory)
    assert search.rows.X.data_ptr() == on_device.data_ptr()
    for queries in (Q.to(open_device(device)), Q.double().numpy()):
        assert_same(search.search(queries, 7), (expected.indices, expected.distances))
    from_array = search_on(device, X.numpy(), metric, memory).search(Q.to(open_device(device)), 7)
    assert_same(from_array, (expected.indices, expected.distances))
    graph = NeighborSearch(X.double().numpy(), metric).graph(5)
    assert_same(search.graph(5), (graph.indices, graph.distances))


@needs_torch
def test_tensors_on_the_cpu_are_arrays_for_other_methods():
    import torch

    X = make("gaussian", 200)
    expected = NeighborSearch(X).graph(4)
    for tensor in (torch.from_numpy(X), torch.from_numpy(X).requires_grad_()):
        search = NeighborSearch(tensor)
        assert_same(search.graph(4), (expected.indices, expected.distances))
        assert not np.shares_memory(search.rows.X, X)


@on_devices
@pytest.mark.parametrize(
    ("dtype", "cure"), [("float32", "drop it"), ("float16", "half values overflow beyond 65,504")]
)
def test_rows_of_tensors_that_are_not_finite_are_named(dtype, cure, device):
    import torch

    X = torch.zeros(3000, 5, dtype=getattr(torch, dtype))
    X[2017, 3] = np.inf
    with pytest.raises(ValueError, match=f"Row 2017 holds NaN or infinity; {cure}"):
        search_on(device, X.to(open_device(device)))


@on_devices
@pytest.mark.parametrize("exponent", [-700, 0, 700])
def test_tensors_of_any_size(exponent, device):
    import torch

    X = make("gaussian", 500) * np.ldexp(1.0, exponent)
    expected = NeighborSearch(X).graph(4)
    found = search_on(device, torch.from_numpy(X).to(open_device(device))).graph(4)
    assert_same(found, (expected.indices, expected.distances))


@on_devices
def test_tensors_are_refused_as_arrays_are(device):
    import torch

    X = torch.from_numpy(make("gaussian", 60)[:, :5]).to(open_device(device))
    zero, huge = X.clone(), X.clone()
    zero[40], huge[17, 2], huge[20] = 0, 1e162, 0
    with pytest.raises(ValueError, match="Row 40 is all zeros"):
        search_on(device, zero, "cosine")
    with pytest.raises(ValueError, match=r"Row 17 holds 1e\+162, beside which distances"):
        search_on(device, huge)
    with pytest.raises(ValueError, match="must form a matrix"):
        search_on(device, X[0])
    with pytest.raises(ValueError, match=r"A tensor is sparse, .* give tensor.to_dense\(\)"):
        search_on(device, X.to_sparse())
    with pytest.raises(ValueError, match="2 features and the searched rows 5"):
        search_on(device, X).search(X[:, :2], 3)
    listed = np.zeros((60, 1), dtype=int)
    for ask in (
        lambda search: search.measure(np.zeros((1, 5)), listed[:1]),
        lambda search: search.refine(listed, 1),
        lambda search: search.recall(listed),
    ):
        with pytest.raises(ValueError, match="Listed rows of a tensor are not measured"):
            ask(search_on(device, X))
    with pytest.raises(ValueError, match="There are no rows"):
        search_on(device, X[:0])
    meta = torch.zeros((2, 5), device="meta")
    with pytest.raises(ValueError, match=r"lies? on .*meta"):
        search_on(device, X).search(meta, 3)


@on_devices
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", ["gaussian", "grid", "duplicates", "sorted"])
def test_each_product_serves_both_rows_of_a_graph(kind, metric, device, monkeypatch):
    X = make(kind, 900)
    groups = np.random.default_rng(0).integers(-1, 300, len(X))
    plain = NeighborSearch(X, metric)
    search = search_on(device, X, metric)
    sizes = []
    products = search._backend.bounds.products
    monkeypatch.setattr(gpu_parts, "MOST_SIDE", 130)
    monkeypatch.setattr(
        search._backend.bounds, "products", lambda q, x: sizes.append(len(q.rows) * len(x.rows)) or products(q, x)
    )
    for named in (None, groups):
        expected = plain.graph(9, groups=named)
        assert_same(search.graph(9, groups=named), (expected.indices, expected.distances))
    assert sum(sizes) < 2 * 0.6 * len(X) ** 2


@on_devices
def test_rows_as_queries_of_other_groups(device, monkeypatch):
    """Then one of a pair may be a neighbour of the other, which may not be one of it."""
    X, rng = make("gaussian", 300), np.random.default_rng(0)
    monkeypatch.setattr(gpu_parts, "MOST_SIDE", 40)
    named = {"groups": (groups := rng.integers(0, 4, len(X))), "query_groups": rng.permutation(groups)}
    expected = NeighborSearch(X).search(X, 5, **named)
    found = NeighborSearch(X, method=device, copy=False).search(X, 5, **named)
    assert_same(found, (expected.indices, expected.distances))


def test_sums_of_a_large_tile_are_made_in_strips(monkeypatch):
    """PyTorch starts no kernel on a GPU for 2³¹ of them."""
    import torch

    sizes, cdist = [], torch.cdist
    monkeypatch.setattr(torch, "cdist", lambda q, x, p: sizes.append(len(q) * len(x)) or cdist(q, x, p))
    monkeypatch.setattr(halves, "SUMS_AT_ONCE", 5000)
    X = make("gaussian", 900)
    expected = NeighborSearch(X, "l1").graph(4)
    assert_same(search_on("torch:cpu", X, "l1").graph(4), (expected.indices, expected.distances))
    assert max(sizes) <= 5000


@on_devices
def test_rows_that_stayed_leave_where_more_neighbours_need_their_room(device):
    X = make("gaussian", 5000)
    search = search_on(device, X, memory=5e6)
    for k in (3, 50, 3):
        expected = NeighborSearch(X).search(X[:50], k)
        assert_same(search.search(X[:50], k), (expected.indices, expected.distances))


@on_devices
@pytest.mark.parametrize("metric", METRICS)
def test_strided_tensors(metric, device):
    import torch

    X = make("gaussian", 600)
    given = torch.from_numpy(X).to(open_device(device))
    for rows in (given[:, :20], given[::2, ::3], given.T[:, :300]):
        expected = NeighborSearch(rows.cpu().numpy().copy(), metric).graph(5)
        assert_same(search_on(device, rows, metric).graph(5), (expected.indices, expected.distances))


@on_devices
@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_rows_of_a_file_that_are_not_finite_are_named(metric, device, tmp_path):
    X = make("gaussian", 5000).astype(np.float16)
    X[4321, 3] = np.nan
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    with pytest.raises(ValueError, match="Row 4321 of the mapped file contains NaN or infinity"):
        search_on(device, mapped, metric, LITTLE).graph(3)
    search = search_on(device, make("gaussian", 100))
    with pytest.raises(ValueError, match="Row 4321 of the mapped file contains NaN or infinity"):
        search.search(mapped, 3)


@pytest.mark.parametrize("memory", [3e6, 1e8, 8e9, 7e10])
@pytest.mark.parametrize("n_features", [8, 300, 4096])
def test_room_is_within_memory(n_features, memory):
    """Tiles, queries, pairs and rows, of which two blocks are there at a time unless all fit."""
    row_bytes, n_rows = 6.0 * n_features, 10_000_000
    try:
        room = gpu_parts.Room.of(memory, n_features, row_bytes, n_rows, n_rows)
    except ValueError:
        assert memory < 4 * row_bytes * 1024 or memory < 8 * 32 * n_features * 32
        return
    score, number = gpu_parts.BYTES_OF_A_SCORE, 8 * n_features
    used = [
        score * room.queries * room.columns,
        number * gpu_parts.NUMBERS_OF_A_QUERY * room.queries,
        number * gpu_parts.NUMBERS_OF_A_PAIR * room.pairs,
        row_bytes * room.rows * (1 if room.rows == n_rows else 2),
    ]
    assert sum(used) <= memory
    assert score * room.side**2 <= memory / 4
    assert room.queries >= 32
    assert room.columns >= 1024


def test_lists_are_merged_as_far_as_there_is_room(monkeypatch):
    """With many neighbours those of all rows at once would take several times the memory."""
    sizes, merged, memory, k = [], [], 1e7, 100
    keep, keep_pairs = gpu_parts.Queries.keep, gpu_parts.Queries.keep_pairs

    def measured(queries, which, sums, rows):
        sizes.append(sums.numel())
        keep(queries, which, sums, rows)

    def merging(queries, *pairs):
        sizes.clear()
        keep_pairs(queries, *pairs)
        merged.extend(sizes)

    monkeypatch.setattr(gpu_parts, "MOST_SIDE", 64)
    monkeypatch.setattr(gpu_parts.Queries, "keep", measured)
    monkeypatch.setattr(gpu_parts.Queries, "keep_pairs", merging)
    X = make("gaussian", 500)
    expected = NeighborSearch(X).graph(k)
    assert_same(search_on("torch:cpu", X, memory=memory).graph(k), (expected.indices, expected.distances))
    assert merged
    assert max(merged) * gpu_parts.BYTES_OF_A_LISTED_PAIR < memory / 16


@pytest.mark.parametrize("kind", ["array", "tensor"])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("shape", "k", "memory"),
    [((60_000, 64), 9, 1e9), ((60_000, 64), 9, 1e8), ((30_000, 32), 300, 2e8), ((20_000, 1024), 9, 5e8)],
)
@pytest.mark.parametrize("device", [pytest.param("gpu", marks=on_gpu)])
def test_a_gpu_gives_no_more_than_memory(device, shape, k, memory, metric, kind):
    """Beside tensors that were there before."""
    import torch

    X = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    if kind == "tensor":
        X = torch.from_numpy(X).to(open_device(device))
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    search_on(device, X, metric, memory).graph(k)
    assert torch.cuda.max_memory_allocated() - before <= memory


def test_products_are_exact_until_the_last_search_ends():
    import torch

    name, matmul = "allow_fp16_reduced_precision_reduction", torch.backends.cuda.matmul
    before = getattr(matmul, name)
    first, second = (ExitStack() for _ in range(2))
    for search in (first, second):
        search.enter_context(EXACT_PRODUCTS)
    first.close()
    assert not getattr(matmul, name)
    second.close()
    assert getattr(matmul, name) == before


def test_a_gpu_that_is_full_is_a_sentence(monkeypatch):
    import torch

    def fill(*_):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 6.00 GiB. GPU 0 has ...")

    search = search_on("torch:cpu", make("gaussian", 300))
    monkeypatch.setattr(search._backend.bounds, "products", fill)
    with pytest.raises(MemoryError, match=r"Give memory=, in bytes, less.*CUDA out of memory\.$"):
        search.graph(3)
