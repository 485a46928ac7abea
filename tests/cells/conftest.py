"""A small plate of made-up fields, and a project of it, made once."""

import shutil

import pytest

from nearboost.cells.creating import create_project
from nearboost.cells.demo import write_demo
from nearboost.cells.segmenting import segment_project
from nearboost.cells.settings import SegmentationSettings


@pytest.fixture(scope="session")
def plate(tmp_path_factory):
    """Sixteen wells of twelve cells."""
    folder = tmp_path_factory.mktemp("demo")
    write_demo(folder, repeats=2, size=128, n_cells=10)
    return folder


@pytest.fixture(scope="session")
def segmented_once(plate, tmp_path_factory):
    folder = tmp_path_factory.mktemp("projects") / "segmented"
    made = create_project(folder, [plate / "images"], layout=plate / "layout.csv")
    segment_project(made.project, SegmentationSettings())
    return folder


@pytest.fixture
def segmented(segmented_once, tmp_path):
    """A project of one's own, with masks."""
    return shutil.copytree(segmented_once, tmp_path / "project")
