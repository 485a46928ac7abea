"""Full disks are errors and not the end of the process."""

import errno
import os

import numpy as np
import pytest

from nearboost.base import disk


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
    with pytest.raises(OSError, match="No space left"):
        disk.reserve(path)


def test_nothing_needs_no_room(tmp_path):
    path = tmp_path / "empty"
    path.touch()
    disk.reserve(path)
    assert path.read_bytes() == b""
