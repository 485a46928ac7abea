"""A disk that is full: said so, with nothing lost and no field or file blamed."""

import errno
import sqlite3

import pytest

from cli.calling import refused
from nearboost.cells import annotation_file, describing, segmenting
from nearboost.cells.annotations import AnnotationStore
from nearboost.datasets import DataError


@pytest.mark.parametrize(
    ("module", "words"), [(segmenting, ("segment", "--border", "drop")), (describing, ("features",))]
)
def test_it_is_no_fault_of_a_field(segmented, monkeypatch, module, words):
    def full(*given):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module, "lit_pictures", full)
    step, *more = words
    assert "The disk is full; make room on it" in refused("cells", step, segmented, *more)


def test_it_is_no_damage_of_labels(tmp_path, monkeypatch):
    """Whoever puts a copy in the place of a sound file loses labels."""

    def full(connection, path):
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(annotation_file, "_make_or_check", full)
    with pytest.raises(DataError, match=r"could not be opened \(disk I/O error\); see whether the disk is full"):
        AnnotationStore(tmp_path / "annotations.db")
