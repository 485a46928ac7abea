"""Files of users are not written over."""

import numpy as np

from cli.calling import refused
from nearboost.cli.common import Exit


def test_a_page_of_suspects_is_no_model(images):
    before = images.model.read_bytes()
    said = refused("suspects", images.model, "--out", images.model, code=Exit.USAGE)
    assert "give one that ends in .html" in said
    assert images.model.read_bytes() == before


def test_the_picture_that_is_explained(images, tmp_path):
    [first, *_] = sorted(images.data.rglob("*.png"))
    picture = tmp_path / "mine.png"
    picture.write_bytes(first.read_bytes())
    assert "is the image to be explained" in refused("explain", images.model, picture, "--out", picture)
    assert picture.read_bytes() == first.read_bytes()


def test_rows_from_elsewhere(images, tmp_path):
    np.save(tmp_path / "X.npy", np.eye(3))
    assert "did not come from here" in refused("features", images.data, "--out", tmp_path)
    assert np.array_equal(np.load(tmp_path / "X.npy"), np.eye(3))
