"""A small plate with masks, and an app of it."""

import shutil

import pytest

from app.talking import running
from app.visiting import Visitor
from nearboost.cells.creating import create_project
from nearboost.cells.demo import write_demo
from nearboost.cells.segmenting import segment_project
from nearboost.cells.settings import SegmentationSettings


@pytest.fixture(scope="session")
def plate(tmp_path_factory):
    """Eight wells of twelve cells."""
    folder = tmp_path_factory.mktemp("demo")
    write_demo(folder, repeats=1, size=192, n_cells=12)
    return folder


@pytest.fixture(scope="session")
def screen_once(plate, tmp_path_factory):
    folder = tmp_path_factory.mktemp("projects") / "screen"
    made = create_project(folder, [plate / "images"], layout=plate / "layout.csv")
    segment_project(made.project, SegmentationSettings())
    return folder


@pytest.fixture
def screen(screen_once, tmp_path):
    """A project of one's own, with masks."""
    return shutil.copytree(screen_once, tmp_path / "screen")


@pytest.fixture
def app(screen):
    """An app that nobody has entered yet."""
    with running(screen) as one:
        yield one


@pytest.fixture
def inside(app):
    """An app that Ada is in."""
    return app.enter().be("Ada")


@pytest.fixture
def visitor(browser):
    """After the test, no error was told and no request went elsewhere."""
    made = Visitor(browser)
    yield made
    made.context.close()
    assert [text for text in made.told if not any(known in text for known in made.expected)] == []
    assert [url for url in made.asked if not url.startswith((made.origin, "blob:"))] == []
