"""Images of one command: hashed once, decoded once within a budget, with thumbnails that can be seen."""

import base64
import hashlib
import io
import os
import weakref
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from nearboost.base import image_set, images
from nearboost.base.image_set import ImageSet, data_address, hash_file, make_thumbnail
from nearboost.base.images import ImageError, read_image


@pytest.fixture
def paths(tmp_path):
    """Three images and a file that is none."""
    rng = np.random.default_rng(0)
    for i in range(3):
        Image.fromarray(rng.integers(0, 255, (20, 30 + i), dtype=np.uint8)).save(tmp_path / f"{i}.png")
    (tmp_path / "broken.png").write_bytes(b"no image")
    return [str(tmp_path / name) for name in ("0.png", "1.png", "broken.png", "2.png")]


@pytest.fixture
def decoded(monkeypatch):
    """Names of the files that were decoded."""
    found, decode = [], images._decoded

    def counted(file, name, *args):
        found.append(os.path.basename(name))
        return decode(file, name, *args)

    monkeypatch.setattr(images, "_decoded", counted)
    return found


def opened(picture):
    return Image.open(io.BytesIO(picture))


def test_pixels_are_those_of_the_files(paths):
    some = ImageSet(paths)
    np.testing.assert_array_equal(some[0], read_image(paths[0]))
    assert [some.take([3, 1]).item(i) for i in range(2)] == [paths[3], paths[1]]
    np.testing.assert_array_equal(some.take([3, 1])[0], read_image(paths[3]))
    with pytest.raises(ImageError, match="not an image"):
        some[2]
    assert some.readable() == [0, 1, 3]
    assert ImageSet(paths, decode=False)[2] == paths[2]
    array = np.zeros((4, 5), dtype=np.uint8)
    assert ImageSet([array])[0] is array


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_kept_pixels_are_decoded_once(paths, decoded, n_jobs):
    some = ImageSet(paths, keep_pixels=True, thumbnails=True)
    assert some.readable(n_jobs) == [0, 1, 3]
    sound = some.take([0, 1, 3])
    for i in range(3):
        assert sound[i].shape == (20, 30 + i)
        assert sound.thumbnail(i) == make_thumbnail(read_image(sound.item(i)))
    assert some.thumbnail(2) is None
    assert sorted(set(decoded[:4])) == sorted(decoded[:4])
    assert decoded[4:] == ["0.png", "1.png", "2.png"]  # by `read_image` here


def test_thumbnails_outlive_their_pixels(paths, decoded):
    some = ImageSet(paths, thumbnails=True)
    for i in (0, 1, 3):
        some[i]
    assert [opened(some.thumbnail(i)).size for i in (0, 1, 3)] == [(30, 20), (31, 20), (32, 20)]
    assert len(decoded) == 3


def test_beyond_the_budget_images_are_decoded_again(paths, decoded, monkeypatch):
    monkeypatch.setattr(image_set, "PIXEL_MEMORY", 20 * 30 + 10)
    some = ImageSet(paths, keep_pixels=True)
    for _ in range(2):
        for i in (0, 1, 3):
            some[i]
    assert decoded == ["0.png", "1.png", "2.png", "1.png", "2.png"]
    some.release_pixels()
    some[0]
    assert decoded[5:] == ["0.png"]


def test_contents_are_hashed_once(paths, monkeypatch):
    calls, digest = [], hashlib.file_digest
    monkeypatch.setattr(hashlib, "file_digest", lambda *args: calls.append(1) or digest(*args))
    known = {paths[0]: hash_file(paths[0])}
    some = ImageSet([*paths, paths[1], "nowhere.png"], contents=known)
    found = some.contents(n_jobs=2)
    assert [content.digest for content in found[:2]] == [
        hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in paths[:2]
    ]
    assert found[4] == found[1]
    assert found[5].digest == ""
    assert found[5].problem == "nowhere.png cannot be opened: No such file or directory."
    assert some.take([1, 2]).contents() == found[1:3]
    assert len(calls) == 4


def test_changed_files_are_noticed(paths):
    some = ImageSet(paths)
    some.contents()
    assert not some.has_changed(0)
    with open(paths[0], "ab") as file:
        file.write(b"more")
    assert some.has_changed(0)
    os.remove(paths[1])
    assert some.has_changed(1)


def test_a_kept_error_keeps_no_pixels(paths, monkeypatch):
    """The frames of a decoder that failed half way hold all that it had made."""
    half = []

    def fail(file, name, *args):
        pixels = np.zeros((20, 30))
        half.append(weakref.ref(pixels))
        raise ValueError("no more bytes")

    monkeypatch.setattr(images, "_decoded", fail)
    some = ImageSet(paths)
    assert some.readable() == []
    assert [one() for one in half] == [None] * len(paths)


def test_only_files_have_contents(paths):
    with pytest.raises(TypeError, match=r"^A store needs paths of files, not ndarray; save images"):
        ImageSet([paths[0], np.zeros((4, 5))]).contents()


def test_sides_are_bounded_and_in_proportion():
    small = opened(make_thumbnail(np.zeros((50, 200, 3), dtype=np.uint8)))
    assert small.size == (64, 16)
    assert small.format == "JPEG"


def test_deep_images_are_stretched():
    assert np.asarray(opened(make_thumbnail(np.full((20, 20), 900, dtype=np.uint16)))).min() > 250


def test_what_is_no_picture_has_no_thumbnail():
    assert make_thumbnail(np.full((4, 4), -1.0)) == b""
    assert ImageSet([np.full((4, 4), np.nan)]).thumbnail(0) is None


def test_an_address_holds_the_picture():
    address = data_address(b"\xff\xd8")
    assert address.startswith("data:image/jpeg;base64,")
    assert base64.b64decode(address.partition(",")[2]) == b"\xff\xd8"
