"""Mapped files stay where they are, and one that was cut short is told."""

import os
import sys

import numpy as np
import pytest

from nearboost.base.validation import check_map, is_mapped


def mapped(path, mode="r", offset=0):
    np.arange(20_000.0).tofile(path)
    return np.memmap(path, np.float64, mode, offset=offset, shape=(1000, 10))


def test_views_are_known_as_mapped(tmp_path):
    rows = mapped(tmp_path / "rows")
    for view in (rows, rows[3:], np.asarray(rows), np.asarray(rows)[:, 2:].T):
        assert is_mapped(view)
        check_map(view)
    for other in (np.array(rows), rows[[1, 2]], rows.sum(axis=0), [1.0], None):
        assert not is_mapped(other)
        check_map(other)


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be cut short there")
@pytest.mark.parametrize("mode", ["r", "r+", "c"])
@pytest.mark.parametrize("offset", [0, 8, 40_000])
def test_the_part_that_is_mapped_must_be_there(tmp_path, mode, offset):
    rows = mapped(tmp_path / "rows", mode, offset)
    os.truncate(tmp_path / "rows", offset + rows.nbytes)  # all that is mapped
    check_map(rows)
    os.rename(tmp_path / "rows", tmp_path / "elsewhere")
    (tmp_path / "rows").touch()
    check_map(rows)  # the file that was opened, whatever its name
    os.truncate(tmp_path / "elsewhere", offset + rows.nbytes - 1)
    with pytest.raises(ValueError, match="was cut short"):
        check_map(rows)
