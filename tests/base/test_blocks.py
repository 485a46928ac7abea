"""Blocks of arrays on the disk: what is done stays, whoever is interrupted."""

import errno
import json

import numpy as np
import pytest

from nearboost.base import blocks
from nearboost.base.blocks import keep_blocks

KINDS = {"indices": (3, np.int32), "sums": (np.float64,)}


def values(part):
    numbers = np.arange(part.start, part.stop)
    return numbers[:, np.newaxis] + np.arange(3), numbers / 2


def fill(folder, n_blocks, run=None, n_rows=23, block=5):
    with keep_blocks(folder, run or {"k": 3}, n_rows, block, KINDS) as kept:
        parts = kept.missing
        for part in parts[:n_blocks]:
            kept.write(part, *values(part))
        return [part.start for part in parts], kept.read()


def test_goes_on_with_what_is_missing(tmp_path):
    folder = tmp_path / "new" / "run"
    assert fill(folder, 2)[0] == [0, 5, 10, 15, 20]
    assert fill(folder, 2, block=9)[0] == [10, 15, 20]  # blocks keep their size
    left, _ = fill(folder, 9)
    assert left == [20]
    left, arrays = fill(folder, 9)
    assert left == []
    for array, expected in zip(arrays, values(slice(0, 23)), strict=True):
        np.testing.assert_array_equal(array, expected)
        assert not array.flags.writeable


def test_another_run_is_refused(tmp_path):
    fill(tmp_path, 1)
    with pytest.raises(ValueError, match="holds another run, of k=3 where this one has 4; give another folder"):
        fill(tmp_path, 1, {"k": 4})
    with pytest.raises(ValueError, match="another run, of n_rows=23 where this one has 24"):
        fill(tmp_path, 1, n_rows=24)
    with pytest.raises(ValueError, match="another run, of metric=None where this one has 'l1'"):
        fill(tmp_path, 1, {"k": 3, "metric": "l1"})


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(ValueError, match=r"holds thesis.tex, which is of no run; give an empty folder"):
        fill(tmp_path, 1)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]
    for text in ("{", "[]", '{"block": 0, "n_rows": 23, "run": {"k": 3}}'):
        (tmp_path / "run.json").write_text(text)
        with pytest.raises(ValueError, match=r"run.json is damaged; remove the folder"):
            fill(tmp_path, 1)


def test_a_writer_that_was_killed_at_once_leaves_room_for_the_next(tmp_path):
    (tmp_path / "lock").touch()
    (tmp_path / ".run.json.0123abcd.new").write_text("{")
    assert fill(tmp_path, 1)[0] == [0, 5, 10, 15, 20]


@pytest.mark.parametrize("name", ["sums.npy", "done.npy"])
@pytest.mark.parametrize("harm", ["removed", "emptied", "cut short", "of another kind"])
def test_arrays_that_are_gone_are_made_anew(harm, name, tmp_path):
    fill(tmp_path, 9)
    file = tmp_path / name
    if harm == "removed":
        file.unlink()
    elif harm == "emptied":
        file.write_bytes(b"")
    elif harm == "cut short":
        file.write_bytes(file.read_bytes()[:-8])
    else:
        np.save(file, np.zeros(23, np.float32))
    left, arrays = fill(tmp_path, 9)
    assert left == [0, 5, 10, 15, 20]
    np.testing.assert_array_equal(arrays[1], np.arange(23) / 2)


def test_one_writer_at_a_time(tmp_path):
    with (
        keep_blocks(tmp_path, {}, 4, 2, KINDS),
        pytest.raises(BlockingIOError, match="Another process is writing"),
        keep_blocks(tmp_path, {}, 4, 2, KINDS),
    ):
        pass


def test_a_full_disk_is_told_before_the_work_begins(tmp_path, monkeypatch):
    def full(path):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(blocks, "reserve", full)
    with pytest.raises(OSError, match=r"has no room for 460 bytes; make room, or give another folder"):
        fill(tmp_path, 1)
    assert json.loads((tmp_path / "run.json").read_text())["block"] == 5
    assert not (tmp_path / "indices.npy").exists()
    monkeypatch.undo()
    assert fill(tmp_path, 1)[0] == [0, 5, 10, 15, 20]


def test_a_disk_without_room_for_a_line(tmp_path, monkeypatch):
    def full(path, content):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(blocks, "write_json", full)
    with pytest.raises(OSError, match=r"has no room for 460 bytes; make room, or give another folder"):
        fill(tmp_path, 1)


def test_half_files_of_a_killed_writer_go(tmp_path):
    expected = fill(tmp_path, 2)[0]
    for name in ("run.json", "indices.npy", "done.npy"):
        (tmp_path / f".{name}.0123abcd.new").write_bytes(b"half")
    (tmp_path / ".mine.new").write_bytes(b"of somebody else")
    assert fill(tmp_path, 9)[0] == expected[2:]
    assert [path.name for path in tmp_path.glob(".*")] == [".mine.new"]
