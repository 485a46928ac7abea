"""Small data and models of it, made once."""

from types import SimpleNamespace

import pytest

from cli.calling import call
from cli.made import image_folder, row_folder


@pytest.fixture(scope="session")
def images(tmp_path_factory):
    """A folder of images with one that is none, and a model of it."""
    folder = tmp_path_factory.mktemp("images")
    data = image_folder(folder / "pictures")
    ended = call("fit", data, "--out", folder / "model.nb", "--features", "gist", "--method", "n3")
    return SimpleNamespace(data=data, model=folder / "model.nb", ended=ended)


@pytest.fixture(scope="session")
def vectors(tmp_path_factory):
    """A folder of rows, and a model of it."""
    folder = tmp_path_factory.mktemp("vectors")
    data = row_folder(folder / "digits")
    ended = call("fit", data, "--out", folder / "model.nb", "--method", "n3")
    return SimpleNamespace(data=data, model=folder / "model.nb", ended=ended)
