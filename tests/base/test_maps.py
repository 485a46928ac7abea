"""Rows of a map that are read from its file: the same numbers, from the very file that is mapped."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nearboost.base import maps
from nearboost.base.maps import MappedFile, in_memory
from nearboost.base.rows import row_source
from nearboost.base.validation import is_mapped

pytestmark = pytest.mark.skipif(not Path("/proc/self/map_files").is_dir(), reason="the system does not tell")

SOME = [
    np.arange(900),
    np.arange(30, 60),
    np.array([0, 5, 6, 500, 899]),
    np.arange(0, 900, 2),
    np.array([7]),
    np.random.default_rng(1).permutation(900)[:300],
    np.array([3, 3, 5, 9, 9, 4], dtype=np.int32),
    np.array([4, 3, 5, 6], dtype=np.uint16),
]
VIEWS = {
    "rows": lambda X: X,
    "a part": lambda X: np.asarray(X)[100:],
    "every other": lambda X: X[::2],
    "backwards": lambda X: X[::-1],
    "columns": lambda X: X[:, 2:5],
    "columns backwards": lambda X: X[:, ::-1],
    "one column": lambda X: X[:, 3:4],
    "every other column": lambda X: X[:, 1::2],
    "one row": lambda X: np.broadcast_to(X[4], (50, 6)),
}


def mapped(folder, array, mode="r"):
    np.save(folder / "rows.npy", array)
    return np.load(folder / "rows.npy", mmap_mode=mode)


def through_file(view, rows, dtype):
    block = np.full((len(rows), view.shape[1]), -1, dtype=dtype)
    with MappedFile.behind(view) as file:
        assert file is not None
        file.read(rows, block)
    return block


@pytest.mark.parametrize("sizes", [(2**24, 2**16), (100, 0), (64, 200)])
@pytest.mark.parametrize("dtype", ["<f2", "<f4", ">f4", "<f8", "i1"])
@pytest.mark.parametrize("name", VIEWS)
def test_views_are_read_as_they_are(name, dtype, sizes, tmp_path, monkeypatch):
    """However much is read at a time, and whatever lies between."""
    for limit, size in zip(("BYTES_AT_ONCE", "GAP"), sizes, strict=True):
        monkeypatch.setattr(maps, limit, size)
    array = np.random.default_rng(0).integers(-50, 50, (1000, 6)).astype(dtype)
    view = VIEWS[name](mapped(tmp_path, array))
    for some in SOME:
        some = some[some < len(view)]
        for read in (np.float64, dtype):
            np.testing.assert_array_equal(through_file(view, some, read), VIEWS[name](array)[some])


def test_rows_that_are_not_in_the_view_are_refused(tmp_path):
    """They are in the file."""
    view = mapped(tmp_path, np.ones((900, 6)))[:100]
    for rows in (np.arange(90, 110), np.array([100, 101]), np.array([-1]), np.array([5, -2])):
        with pytest.raises(IndexError, match="among 100"):
            row_source(view).take(rows)


def test_files_are_closed(tmp_path):
    rows = row_source(mapped(tmp_path, np.ones((900, 6))))
    before = len(os.listdir("/proc/self/fd"))
    for row in range(100):
        rows.take(np.array([row]))
    assert len(os.listdir("/proc/self/fd")) <= before


def test_what_lies_before_the_map_in_the_file(tmp_path):
    np.arange(60_000.0).tofile(tmp_path / "rows")
    for offset in (0, 8, 40_000):
        rows = np.memmap(tmp_path / "rows", np.float64, "r", offset=offset, shape=(1000, 10))
        np.testing.assert_array_equal(through_file(rows, np.array([3, 999]), np.float64), rows[[3, 999]])


def test_what_was_written_through_the_map_is_read(tmp_path):
    rows = mapped(tmp_path, np.zeros((900, 6)), "r+")
    rows[5] = 3.0
    assert (through_file(rows, np.array([5]), np.float64) == 3.0).all()


def test_a_renamed_file_is_read_and_one_in_its_place_is_not(tmp_path):
    rows = mapped(tmp_path, np.ones((900, 6)))
    os.rename(tmp_path / "rows.npy", tmp_path / "elsewhere.npy")
    np.save(tmp_path / "rows.npy", np.zeros((900, 6)))
    assert (through_file(rows, np.arange(900), np.float64) == 1.0).all()
    os.replace(tmp_path / "rows.npy", tmp_path / "elsewhere.npy")  # the file of the map has no name any more
    with MappedFile.behind(rows) as file:
        assert file is None
    assert (row_source(rows).take(np.arange(900)) == 1.0).all()


def test_a_file_that_another_takes_the_place_of_while_it_is_opened_is_not_read(tmp_path, monkeypatch):
    rows, path = mapped(tmp_path, np.ones((900, 6))), tmp_path / "rows.npy"
    np.save(tmp_path / "other.npy", np.zeros((900, 6)))
    opened = os.open

    def replace_and_open(name, flags):
        os.replace(tmp_path / "other.npy", path)
        return opened(name, flags)

    monkeypatch.setattr(os, "open", replace_and_open)
    with MappedFile.behind(rows) as file:
        assert file is None


@pytest.mark.parametrize("name", VIEWS)
def test_files_in_column_order(name, tmp_path):
    array = np.asfortranarray(np.random.default_rng(0).integers(-50, 50, (1000, 6)).astype(np.float16))
    view = VIEWS[name](mapped(tmp_path, array))
    for some in SOME:
        some = some[some < len(view)]
        np.testing.assert_array_equal(through_file(view, some, np.float32), VIEWS[name](array)[some])
        np.testing.assert_array_equal(through_file(view, some, np.float16), VIEWS[name](array)[some])


@pytest.mark.parametrize("shape", [(7,), (7, 3), (7, 3, 2)])
@pytest.mark.parametrize("dtype", ["<f8", ">i4", "<U5"])
def test_maps_read_into_memory(dtype, shape, tmp_path):
    array = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    read = in_memory(mapped(tmp_path, array))
    assert type(read) is np.ndarray
    np.testing.assert_array_equal(read, array)
    assert not is_mapped(read)


@pytest.mark.parametrize("kind", ["changes of its own", "no permission"])
def test_pages_are_touched_where_there_is_no_file_to_read(kind, tmp_path, monkeypatch):
    if kind == "changes of its own":
        rows = mapped(tmp_path, np.ones((900, 6)), "c")
        rows[5] = 3.0
    else:
        rows = mapped(tmp_path, np.ones((900, 6)))
    if kind == "no permission":
        monkeypatch.setattr(os, "open", lambda *_: (_ for _ in ()).throw(PermissionError("not yours")))
    with MappedFile.behind(rows) as file:
        assert file is None
    np.testing.assert_array_equal(row_source(rows).take(np.arange(900)), np.array(rows))


CUT = """
import os, sys
import numpy as np
from nearboost.base import maps, rows
np.save(sys.argv[1], np.ones((100_000, 20)))
source = rows.row_source(np.load(sys.argv[1], mmap_mode="r"))
check = maps.check_map
def check_and_cut(X):
    check(X)
    os.truncate(sys.argv[1], 8_000_000)
maps.check_map = check_and_cut
try:
    source.take(np.arange(100_000))
except ValueError as error:
    print(error)
"""


def test_a_file_cut_short_between_the_check_and_the_end_of_a_block(tmp_path):
    """In a process of its own, which a signal would end."""
    path = str(tmp_path / "rows.npy")
    done = subprocess.run([sys.executable, "-c", CUT, path], capture_output=True, text=True, timeout=300)
    said = "was cut short after it was opened, to 8,000,000 of 16,000,128 bytes; restore it and open it again."
    assert done.stdout == f"{path} {said}\n", done.stderr
