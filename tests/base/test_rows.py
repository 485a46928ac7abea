import numpy as np
import pytest

from nearboost.base import maps
from nearboost.base.maps import BYTES_AT_ONCE, LARGE_PAGE
from nearboost.base.rows import MappedRowSource, RowSource, row_source

X = np.random.default_rng(0).integers(-50, 50, (900, 6))


@pytest.fixture(params=["file", "pages"])
def way(request, monkeypatch):
    """How maps are read: from their file, or, where the system does not tell which that is, from their pages."""
    if request.param == "pages":
        monkeypatch.setattr(maps, "_path_of", lambda _: None)
    return request.param


def mapped(folder, array, mode="r"):
    np.save(folder / "rows.npy", array)
    return np.load(folder / "rows.npy", mmap_mode=mode)


@pytest.mark.parametrize(
    ("dtype", "read"),
    [(np.float16, np.float32), (np.float32, np.float32), (np.float64, np.float64), (np.int8, np.float64)],
)
@pytest.mark.parametrize("kind", ["memory", "r", "c"])
def test_rows_come_as_the_numbers_they_are(dtype, read, kind, way, tmp_path):
    given = X.astype(dtype) if kind == "memory" else mapped(tmp_path, X.astype(dtype), kind)
    rows = row_source(given)
    assert isinstance(rows, MappedRowSource) == (kind != "memory")
    for some in (
        np.arange(900),
        np.arange(30, 60),
        np.array([0, 5, 6, 500, 899]),
        np.arange(0, 900, 2),
        np.arange(0),
    ):
        block = rows.take(some)
        assert block.dtype == read
        np.testing.assert_array_equal(block, X[some])
    assert rows.X is given


def test_blocks_are_all_rows_in_order():
    blocks = list(RowSource(X.astype(np.float32)).blocks(6 * 4 * 400))
    assert [start for start, _ in blocks] == [0, 400, 800]
    np.testing.assert_array_equal(np.concatenate([block for _, block in blocks]), X)
    assert len(list(RowSource(X).blocks(1))) == 900


def test_views_of_a_map_are_read_as_maps(way, tmp_path):
    rows = row_source(np.asarray(mapped(tmp_path, X.astype(np.float32)))[100:, ::-1])
    assert isinstance(rows, MappedRowSource)
    np.testing.assert_array_equal(rows.take(np.array([0, 7, 8])), X[[100, 107, 108], ::-1])


def test_some_rows_come_in_the_order_asked_for(way, tmp_path):
    numbers = np.random.default_rng(1).permutation(900)[:300]
    for rows in (RowSource(X), row_source(mapped(tmp_path, X))):
        some = rows.only(numbers)
        assert len(some) == 300
        np.testing.assert_array_equal(some.take(np.arange(20, 90)), X[numbers[20:90]])
        np.testing.assert_array_equal(some.only(np.array([5, 3])).part(slice(0, 2)), X[numbers[[5, 3]]])


def test_pages_of_columns_are_given_back(tmp_path):
    rows = row_source(mapped(tmp_path, np.asfortranarray(np.ones((BYTES_AT_ONCE // 64, 16)))))
    before = resident_file_pages()
    for start in range(0, rows.n_rows, rows.n_rows // 8):
        rows.part(slice(start, start + rows.n_rows // 8))
    assert resident_file_pages() - before < BYTES_AT_ONCE // 4


def test_nan_of_a_map_is_named_by_its_row(way, tmp_path):
    bad = X.astype(np.float16)
    bad[700, 3] = np.nan
    rows = row_source(mapped(tmp_path, bad))
    rows.take(np.arange(700))
    with pytest.raises(ValueError, match="Row 700 of the mapped file contains NaN"):
        rows.take(np.arange(1, 900, 3))


def test_no_pages_stay(way, tmp_path):
    """A file of several blocks, read whole: what stays of it in memory is none of its pages."""
    array = np.ones((4, BYTES_AT_ONCE // 8), dtype=np.float64)
    rows = row_source(mapped(tmp_path, array))
    before = resident_file_pages()
    for row in range(4):
        rows.take(np.array([row]))
    assert resident_file_pages() - before < BYTES_AT_ONCE // 4


def test_rows_from_all_over_a_file_come_from_few_large_pages_at_a_time(tmp_path, monkeypatch):
    """The system may map 2 MiB around each of them."""
    array = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float32, (2000, 2**14))
    numbers = np.unique(np.r_[np.arange(0, 2000, 20), 700:720, 1999])
    array[:, 0] = np.arange(2000)
    parts = []
    monkeypatch.setattr(maps, "_path_of", lambda _: None)
    monkeypatch.setattr("nearboost.base.maps.give_back_pages", parts.append)
    rows = row_source(np.load(tmp_path / "X.npy", mmap_mode="r"))
    np.testing.assert_array_equal(rows.take(numbers)[:, 0], numbers)
    assert parts
    assert sum(len(part) for part in parts) < 2000  # nothing twice, nothing between the parts
    for part in parts:
        own = numbers[(numbers >= part[0, 0]) & (numbers <= part[-1, 0])]
        touched = np.unique(np.r_[own * 2**16, (own + 1) * 2**16 - 1] // LARGE_PAGE)
        assert len(touched) * LARGE_PAGE <= BYTES_AT_ONCE


def resident_file_pages():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("RssFile"))


def test_half_precision_as_it_is_stored(way, tmp_path):
    halves = X[:50].astype(np.float16)
    np.save(tmp_path / "halves.npy", halves)
    for rows in (halves, np.load(tmp_path / "halves.npy", mmap_mode="r")):
        stored = row_source(rows).as_stored()
        for source in (stored, row_source(rows).only(np.arange(50)).as_stored()):
            assert source.part(slice(3, 9)).dtype == np.float16
            np.testing.assert_array_equal(source.part(slice(3, 9)), halves[3:9])
        assert row_source(rows).part(slice(3, 9)).dtype == np.float32
    assert row_source(X).as_stored().part(slice(3, 9)).dtype == np.float64
