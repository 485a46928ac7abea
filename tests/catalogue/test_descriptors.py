"""Descriptors by name, rows of a split, and the time they will take."""

import numpy as np
import pytest

from compare.problems import write_stripes
from nearboost.base.image_set import ImageSet
from nearboost.base.words import roughly
from nearboost.catalogue.descriptors import DESCRIPTORS, Descriptor, describe, find_descriptor
from nearboost.compare.estimates import estimate_features, exponent
from nearboost.compare.protocols import make_splits
from nearboost.compare.rows import copy_rows, hash_rows, hash_texts, open_source, row_blocks
from nearboost.datasets import open_dataset
from nearboost.features.pixels import SmallGrey

NUMBERS = {"gist": 512, "pixels": 256, "bif": 1024}


@pytest.fixture(scope="module")
def stripes(tmp_path_factory):
    return write_stripes(tmp_path_factory.mktemp("images") / "stripes", per_class=5)


@pytest.fixture
def images(stripes):
    return [str(path) for path in open_dataset(stripes).items]


@pytest.mark.parametrize("name", NUMBERS)
def test_rows_are_those_of_the_descriptor(name, images, tmp_path):
    descriptor = find_descriptor(name)
    found = describe(images, descriptor, tmp_path, train=[0])
    np.testing.assert_array_equal(found.X, descriptor.make(0, 1).transform(images))
    assert found.X.shape == (10, NUMBERS[name])
    assert found.failed == {}


def test_a_broken_image_has_no_row_and_is_not_learned_from(images, tmp_path):
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no image")

    class Counts(SmallGrey):
        def fit(self, X=None, y=None):
            self.seen_ = self.seen_ if X is None else len(X)
            return self

    descriptor = Descriptor("counts", "counts", lambda seed, n_jobs: Counts(), "Counts.", learned=True)
    found = describe([*images, str(broken)], descriptor, tmp_path, train=[0, 1, 10])
    assert found.transformer.seen_ == 2
    assert found.numbers[10] == -1
    assert list(found.failed) == [10]
    assert "broken.png" in found.failed[10]
    assert len(found.X) == 10


def test_unknown_names_are_told(tmp_path):
    with pytest.raises(ValueError, match=r"Unknown features 'sift'; use gist, .* or embedding:FILE.onnx"):
        find_descriptor("sift")
    with pytest.raises(ValueError, match="names no file"):
        find_descriptor(f"embedding:{tmp_path}/net.onnx")
    (tmp_path / "net.onnx").write_bytes(b"")
    assert find_descriptor(f"embedding:{tmp_path}/net.onnx").title == "net"


def test_what_learns_is_slow():
    assert {name for name, descriptor in DESCRIPTORS.items() if descriptor.learned} == {"bag", "pyramid", "fisher"}
    assert all(descriptor.slow for descriptor in DESCRIPTORS.values() if descriptor.learned)


def test_rows_are_made_once(stripes, tmp_path, monkeypatch):
    data = open_dataset(stripes)
    [split] = make_splits(data, "half")
    pixels = find_descriptor("pixels")
    source = open_source(data, tmp_path, [pixels], 1, 0)
    assert not source.has_rows(split, pixels)
    made = source.rows(split, pixels)
    monkeypatch.setattr("nearboost.compare.rows.describe", None)  # is not asked again
    again = open_source(data, tmp_path, [pixels], 1, 0)
    assert again.has_rows(split, pixels)
    found = again.rows(split, pixels)
    assert found.file == made.file
    np.testing.assert_array_equal(found.test, made.test)
    rows = np.load(found.file)
    tested = [data.items[i] for i in split.test]
    np.testing.assert_array_equal(rows[found.test], SmallGrey().transform(tested))


def test_content_changes_with_any_file(tmp_path):
    data = open_dataset(write_stripes(tmp_path / "stripes", per_class=3))
    [split] = make_splits(data, "half")
    before = open_source(data, tmp_path / "out", [], 1, 0).content(split)
    assert open_source(data, tmp_path / "out", [], 1, 0).content(split) == before
    with open(data.items[split.test[0]], "ab") as file:
        file.write(b"more")
    assert open_source(data, tmp_path / "out", [], 1, 0).content(split) != before


@pytest.mark.parametrize(
    ("given", "kept"), [(np.uint8, np.float32), (np.float32, np.float32), (np.float64, np.float64)]
)
def test_vectors_are_copied_in_blocks(tmp_path, monkeypatch, given, kept):
    monkeypatch.setattr("nearboost.compare.rows.BLOCK_BYTES", 64)
    rows = np.random.default_rng(0).integers(0, 200, size=(23, 5)).astype(given)
    assert len(list(row_blocks(rows))) > 1
    copy_rows(rows, tmp_path / "rows.npy")
    copied = np.load(tmp_path / "rows.npy")
    assert copied.dtype == kept
    np.testing.assert_array_equal(copied, rows)
    whole = hash_rows(rows)
    monkeypatch.setattr("nearboost.compare.rows.BLOCK_BYTES", 10**6)
    assert hash_rows(rows) == whole


def test_hashes_of_texts_tell_where_one_ends():
    assert hash_texts(["ab", "c"]) != hash_texts(["a", "bc"])
    assert hash_texts(["\udcff"]) != hash_texts(["?"])


def test_an_estimate_grows_with_the_images(tmp_path):
    images = open_dataset(write_stripes(tmp_path, per_class=5, side=64)).items
    many, few = (  # in this order, lest kernels be compiled for the few
        estimate_features(find_descriptor("bag"), ImageSet(images * n), 5 * n, 1, threads=1) for n in (1000, 1)
    )
    assert 0 < few < many / 20
    assert (
        estimate_features(find_descriptor("bag"), ImageSet([str(tmp_path / "missing.png")]), 1, 1, threads=1)
        is None
    )


def test_exponents_are_bounded():
    assert exponent(1.0, 16.0, most=2.5) == 2.0  # four times as many rows
    assert exponent(1.0, 0.5, most=2.5) == 0.0
    assert exponent(1.0, 100.0, most=2.5) == 2.5
    assert exponent(0.0, 1.0, most=2.5) == 0.0
    assert roughly(61) == "about 1 minute"


def test_small_grey_copies():
    image = np.zeros((40, 60, 3), dtype=np.uint8)
    image[:, 30:] = 255
    rows = SmallGrey(4).transform([image, image[..., 0]])
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-6)
    left, right = rows[0].reshape(4, 4)[:, :2], rows[0].reshape(4, 4)[:, 2:]
    assert left.max() < 0.2
    assert right.min() > 0.8
    assert list(SmallGrey(2).get_feature_names_out()) == [f"smallgrey{i}" for i in range(4)]
    with pytest.raises(ValueError, match="side"):
        SmallGrey(0).transform(image)
