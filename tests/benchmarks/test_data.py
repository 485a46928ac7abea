"""The benchmarks' data: what is promised about every split."""

from functools import cache

import numpy as np
import pytest

from benchmarks import data

SHAPES = {
    "digits": ((898, 64), (899, 64), 10),
    "gtsrb": ((39209, 42), (12630, 42), 43),
    "gtsrb-24x24": ((39209, 576), (12630, 576), 43),
    "gtsrb-small": ((5228, 42), (2105, 42), 43),
    "yaleb": ((1205, 150), (1209, 150), 38),
    "scene8": ((2000, 128), (688, 128), 8),
    "scene15": ((2250, 128), (2235, 128), 15),
}
DRAWN = ("digits", "yaleb", "scene8", "scene15")
ALL_SIGNS = pytest.param("gtsrb", marks=pytest.mark.slow)  # projects 52,000 rows as gtsrb-small does 7,000
pytestmark = pytest.mark.data


def load(name: str, seed: int = 0) -> data.Split:
    if not data.available(name):
        pytest.skip(f"{name} is not in {data.data_folder()}; set NEARBOOST_DATA to the folder that holds it")
    if name.startswith("scene") and not any(data.CACHE.glob("Gist-*")):
        pytest.skip(f"the descriptors of {name} are not computed yet (half a minute): load({name!r}) does it")
    return load_once(name, seed)


load_once = cache(data.load)


def as_set(rows: np.ndarray) -> set[bytes]:
    return {row.tobytes() for row in rows}


@pytest.mark.parametrize("name", [ALL_SIGNS, *(name for name in data.NAMES if name != "gtsrb")])
def test_shapes_and_types(name):
    split = load(name)
    train, test, n_classes = SHAPES[name]
    assert split.name == name
    assert (split.X_train.shape, split.X_test.shape) == (train, test)
    assert (split.y_train.shape, split.y_test.shape) == (train[:1], test[:1])
    assert split.X_train.dtype == split.X_test.dtype == np.float32
    assert split.y_train.dtype == split.y_test.dtype == np.int64
    assert split.X_train.flags.c_contiguous
    assert split.X_test.flags.c_contiguous
    assert np.isfinite(split.X_train).all()
    assert np.isfinite(split.X_test).all()
    np.testing.assert_array_equal(np.unique(split.y_train), np.arange(n_classes))
    np.testing.assert_array_equal(np.unique(split.y_test), np.arange(n_classes))


@pytest.mark.parametrize("name", [*DRAWN, "gtsrb-small"])
def test_same_seed_same_split(name):
    one, two = load(name, 0), data.load(name, 0)
    for field in ("X_train", "y_train", "X_test", "y_test"):
        np.testing.assert_array_equal(getattr(one, field), getattr(two, field))


@pytest.mark.parametrize("name", DRAWN)
def test_other_seed_other_split(name):
    one, two = load(name, 0), load(name, 1)
    assert one.X_train.shape == two.X_train.shape
    assert not np.array_equal(one.X_train, two.X_train)


@pytest.mark.parametrize(("name", "shared"), [("digits", 0), ("yaleb", 0), ("scene8", 2), ("gtsrb-small", 8)])
def test_training_and_test_rows_are_apart(name, shared):
    """Up to the images that the files themselves hold twice."""
    split = load(name)
    assert len(as_set(split.X_train)) >= len(split.X_train) - shared
    assert len(as_set(split.X_train) & as_set(split.X_test)) <= shared


def test_half_of_each_person():
    split = load("yaleb")
    difference = np.bincount(split.y_test) - np.bincount(split.y_train)
    assert set(difference) <= {0, 1}


@pytest.mark.parametrize("name", [ALL_SIGNS, "gtsrb-small"])
def test_tracks(name):
    split = load(name)
    assert len(np.unique(split.groups_train)) == 1307
    labels_of_tracks = np.unique(np.stack([split.groups_train, split.y_train], axis=1), axis=0)
    assert len(labels_of_tracks) == 1307  # a track shows one sign


def test_missing_files_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("NEARBOOST_DATA", str(tmp_path))
    assert data.available("digits")
    assert not data.available("gtsrb")
    with pytest.raises(FileNotFoundError, match="NEARBOOST_DATA"):
        data.load("gtsrb")


def test_unknown_name():
    with pytest.raises(ValueError, match="use one of digits"):
        data.load("iris")
