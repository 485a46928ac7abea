"""Thumbnails: small, upright in shape, visible."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from nearboost.base.images import ImageError
from nearboost.base.thumbnails import as_address, thumbnail


def opened(picture):
    return Image.open(io.BytesIO(picture))


def test_sides_are_bounded_and_in_proportion(tmp_path):
    Image.fromarray(np.zeros((50, 200, 3), dtype=np.uint8)).save(tmp_path / "wide.png")
    small = opened(thumbnail(tmp_path / "wide.png"))
    assert small.size == (64, 16)
    assert small.format == "JPEG"


def test_deep_images_are_stretched(tmp_path):
    Image.fromarray(np.full((20, 20), 900, dtype=np.uint16)).save(tmp_path / "dark.png")
    assert np.asarray(opened(thumbnail(tmp_path / "dark.png"))).min() > 250


def test_an_address_holds_the_picture():
    address = as_address(b"\xff\xd8")
    assert address.startswith("data:image/jpeg;base64,")
    assert base64.b64decode(address.partition(",")[2]) == b"\xff\xd8"


def test_no_image(tmp_path):
    with pytest.raises(ImageError, match="does not exist"):
        thumbnail(tmp_path / "missing.png")
