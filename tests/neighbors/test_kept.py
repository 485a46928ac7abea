"""A graph that is kept in a folder goes on where it was stopped, by whatever."""

import errno
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from nearboost.base.errors import UsageError
from nearboost.base.progress import progress_told_to
from nearboost.neighbors import NeighborSearch, kept, rows
from neighbors.brute_force import assert_same

X = (np.random.default_rng(0).integers(1, 4, (3_000, 6)) / 10).astype(np.float32)
GROUPS = np.arange(3_000) // 4

SEARCH = """
import signal, sys, time
import numpy as np
from nearboost.neighbors import NeighborSearch, exact, rows
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let what runs in the background ignore it
rows.LEAST_ROOM = 1.0
offer = exact.offer_blocks
def slowly(*given):
    time.sleep(0.002)
    offer(*given)
exact.offer_blocks = slowly
NeighborSearch(np.load(sys.argv[1], mmap_mode="r"), memory=40_000.0).graph(5, into=sys.argv[2])
"""


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(rows, "LEAST_ROOM", 1.0)
    monkeypatch.setattr(kept, "LEAST_BLOCK", 700)
    monkeypatch.setattr(kept, "ENOUGH", 1)


def as_pair(found):
    return found.indices, found.distances


@pytest.mark.parametrize("metric", ["l2", "cosine", "l1"])
@pytest.mark.parametrize("memory", [None, 60_000.0])
def test_it_is_the_same_graph(metric, memory, tmp_path):
    search = NeighborSearch(X, metric, memory=memory)
    expected = NeighborSearch(X, metric).graph(7, GROUPS)
    assert_same(search.graph(7, GROUPS, into=tmp_path / "run"), as_pair(expected))
    np.testing.assert_array_equal(np.load(tmp_path / "run" / "indices.npy"), expected.indices)


def interrupted(search, folder, after):
    """Ctrl-C as soon as so many rows are done."""

    def stop(title, taken, total):
        if taken >= after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), progress_told_to(stop):
        search.graph(5, into=folder)


def test_only_what_is_missing_is_searched(tmp_path):
    search = NeighborSearch(X)
    interrupted(search, tmp_path, 1_500)
    told = []
    with progress_told_to(lambda *one: told.append(one)):
        found = search.graph(5, into=tmp_path)
    assert told[0] == ("Searching neighbours", 0, 3_000 - 1_400)
    assert told[-1] == ("Searching neighbours", 1_600, 1_600)
    assert_same(found, as_pair(search.graph(5)))
    told.clear()
    with progress_told_to(lambda *one: told.append(one)):
        again = NeighborSearch(X.astype(np.float32), memory=50_000.0, n_jobs=1).graph(5, into=tmp_path)
    assert told == [("Searching neighbours", 0, 0)]
    assert_same(again, as_pair(found))


@pytest.mark.alone
@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_process(sign, tmp_path):
    np.save(tmp_path / "X.npy", X)
    folder = tmp_path / "run"
    command = [sys.executable, "-c", SEARCH, str(tmp_path / "X.npy"), str(folder)]
    for wanted in (2, 4):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        done, until = 0, time.monotonic() + 120
        while done < wanted and time.monotonic() < until and process.poll() is None:
            time.sleep(0.01)
            done = int(np.load(folder / "done.npy").sum()) if (folder / "done.npy").exists() else 0
        process.send_signal(sign)
        assert process.wait() != 0
        assert wanted <= np.load(folder / "done.npy").sum() < len(np.load(folder / "done.npy"))
    assert_same(NeighborSearch(X).graph(5, into=folder), as_pair(NeighborSearch(X).graph(5)))


def test_another_graph_is_refused(tmp_path):
    NeighborSearch(X).graph(5, GROUPS, into=tmp_path)
    other = X.copy()
    other[2_999, 5] += 0.5
    for data, metric, k, groups, name in (
        (other, "l2", 5, GROUPS, "rows="),
        (X, "l1", 5, GROUPS, "metric='l2' where this one has 'l1'"),
        (X, "l2", 6, GROUPS, "k=5 where this one has 6"),
        (X, "l2", 5, None, "groups="),
        (X[:2_000], "l2", 5, GROUPS[:2_000], "n_rows=3000 where this one has 2000"),
    ):
        with pytest.raises(ValueError, match=f"holds another run, of {name}.*; give another folder"):
            NeighborSearch(data, metric).graph(k, groups, into=tmp_path)


def test_numbers_of_neighbours_of_any_integer_type(tmp_path):
    expected = NeighborSearch(X[:50]).graph(2)
    for k in (np.int64(2), 2):
        assert_same(NeighborSearch(X[:50]).graph(k, into=tmp_path), as_pair(expected))


def test_a_device_is_sent_all_rows_for_few_blocks_of_a_graph(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr(kept, "LEAST_BLOCK", 100)
    NeighborSearch(X, method="torch:cpu").graph(2, into=tmp_path)
    assert len(np.load(tmp_path / "done.npy")) == kept.MOST_BLOCKS


def test_groups_that_are_too_large_leave_no_folder(tmp_path):
    with pytest.raises(ValueError, match=r"but row 2 has only 2; use 2 or fewer, or smaller groups"):
        NeighborSearch(X[:5]).graph(3, [0, 1, 2, 2, 2], into=tmp_path / "run")
    with pytest.raises(ValueError, match="must be a whole number"):
        NeighborSearch(X).graph(0, into=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_what_is_no_folder_is_told_before_rows_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "digest", None)
    (tmp_path / "file").touch()
    for place, sentence in (
        (5, "5 is no folder"),
        ("", "'' is no folder"),
        (tmp_path / "file", "is a file, where"),
    ):
        with pytest.raises(UsageError, match=sentence):
            NeighborSearch(X).graph(5, into=place)


def test_a_full_disk_is_told(tmp_path, monkeypatch):
    def full(path):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("nearboost.base.blocks.reserve", full)
    with pytest.raises(OSError, match=r"has no room for 180,000 bytes; make room, or give another folder"):
        NeighborSearch(X).graph(5, into=tmp_path / "run")


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be cut short there")
def test_a_file_that_shrinks_keeps_what_is_done(tmp_path):
    np.save(tmp_path / "X.npy", X)
    search = NeighborSearch(np.load(tmp_path / "X.npy", mmap_mode="r"), memory=40_000.0)

    def cut(title, taken, total):
        if taken >= 700:
            os.truncate(tmp_path / "X.npy", 4_096)

    with pytest.raises(ValueError, match="was cut short"), progress_told_to(cut):
        search.graph(5, into=tmp_path / "run")
    assert np.load(tmp_path / "run" / "done.npy").any()
    assert json.loads((tmp_path / "run" / "run.json").read_text())["run"]["k"] == 5
    assert_same(NeighborSearch(X).graph(5, into=tmp_path / "run"), as_pair(NeighborSearch(X).graph(5)))
