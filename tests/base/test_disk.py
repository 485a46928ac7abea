"""Full disks are errors and not the end of the process; files are there as a whole or not at all."""

import errno
import os
import sys

import numpy as np
import pytest

from nearboost.base import disk
from nearboost.base.errors import UsageError


def test_reserved_room_is_taken(tmp_path):
    path = tmp_path / "rows.npy"
    np.lib.format.open_memmap(path, "w+", np.float64, (1000, 100)).flush()
    disk.reserve(path)
    assert path.stat().st_blocks * 512 >= 800_000
    assert np.load(path).shape == (1000, 100)


def test_no_room_is_an_error(tmp_path, monkeypatch):
    def full(file, start, size):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "rows.npy"
    path.write_bytes(b"some")
    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(OSError, match="has no room for 4 bytes; make room there, or write elsewhere"):
        disk.reserve(path)


@pytest.mark.alone
@pytest.mark.skipif(sys.platform == "win32", reason="no such limit")
def test_a_file_that_may_not_grow_so_large_is_as_a_full_disk(tmp_path):
    import resource

    path = tmp_path / "rows.npy"
    with open(path, "wb") as file:
        file.truncate(5_000)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large") as caught:
            (tmp_path / "text").write_text("x" * 2_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert disk.is_full(caught.value)


def test_nothing_needs_no_room(tmp_path):
    path = tmp_path / "empty"
    path.touch()
    disk.reserve(path)
    assert path.read_bytes() == b""


def test_a_file_is_replaced_when_it_is_complete(tmp_path):
    path = tmp_path / "results.json"
    path.write_text("old")
    with disk.whole_file(path) as made:
        made.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_failed_leaves_the_old_one(tmp_path):
    path = tmp_path / "results.json"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError), disk.whole_file(path) as made:
        made.write_text("half of it, then \udce9", encoding="utf-8")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_as_private_as_the_one_that_it_replaces(tmp_path):
    path = tmp_path / "m.nb"
    path.write_text("old")
    path.chmod(0o600)
    disk.write_text(path, "new")
    assert path.stat().st_mode & 0o777 == 0o600


def test_nothing_stays_behind_a_link(tmp_path):
    """The link was replaced, and what it led to still held everything."""
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/old.nb").write_text("old")
    (tmp_path / "m.nb").symlink_to(tmp_path / "kept/old.nb")
    disk.write_text(tmp_path / "m.nb", "new")
    assert (tmp_path / "m.nb").is_symlink()
    assert (tmp_path / "kept/old.nb").read_text() == "new"
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["old.nb"]
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    disk.write_text(tmp_path / "loop", "new")
    assert (tmp_path / "loop").read_text() == "new"


def test_nobody_can_lay_a_link_under_the_file_that_is_made(tmp_path):
    with disk.whole_file(tmp_path / "m.nb") as first, disk.whole_file(tmp_path / "m.nb") as second:
        assert first != second
        first.touch()
        second.touch()


def test_text_that_no_encoding_holds(tmp_path):
    disk.write_text(tmp_path / "page.html", "caf\udce9 ü")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == "caf? ü"


def test_targets(tmp_path):
    disk.check_target(tmp_path / "new.nb")
    (tmp_path / "old.nb").touch()
    disk.check_target(tmp_path / "old.nb")
    (tmp_path / "old.nb").chmod(0o444)
    for path, said in [
        (tmp_path / "old.nb", r"old\.nb is read-only; make it writable"),
        (tmp_path, "is a folder; give the name of a file"),
        (tmp_path / "none/new.nb", r"none is not a folder; make it first, or write new\.nb elsewhere"),
    ]:
        with pytest.raises(UsageError, match=said):
            disk.check_target(path)
    assert [path.name for path in tmp_path.iterdir()] == ["old.nb"]


def test_folders(tmp_path, monkeypatch):
    disk.check_folder(tmp_path / "new/below")
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="file is a file, where a folder is needed"):
        disk.check_folder(tmp_path / "file/below")

    for nothing in (5, "", None):
        with pytest.raises(UsageError, match="is no folder; give the path of one"):
            disk.check_folder(nothing)

    def refuse(dir):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), dir)

    monkeypatch.setattr(disk.tempfile, "TemporaryFile", refuse)
    with pytest.raises(UsageError, match=r"cannot be written to \(Permission denied\); change its permissions"):
        disk.check_target(tmp_path / "new.nb")
