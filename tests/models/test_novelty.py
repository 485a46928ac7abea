"""What is unlike the training items: flagged where it is strange, and seldom where it is of their kind."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits

from features.real_images import files_of
from models.fitted import rows
from nearboost import KNNClassifier
from nearboost.base.images import read_image
from nearboost.features import Gist
from nearboost.models import Model, ModelFileError, load, save
from nearboost.models.novelty import UNLIKE, learn_novelty


def strange_digits():
    """Black, white, grey, noise."""
    noise = np.random.default_rng(7).integers(0, 17, 64)
    return np.stack([np.zeros(64), np.full(64, 16.0), np.full(64, 8.0), noise])


@pytest.mark.parametrize("n_rows", [300, 900])
def test_digits(n_rows):
    X, _ = load_digits(return_X_y=True)
    alarms = []
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(X))
        novelty = learn_novelty(X[order[:n_rows]])
        assert (novelty.shares(strange_digits()) < UNLIKE).all()
        alarms.append((novelty.shares(X[order[n_rows:]]) < UNLIKE).mean())
    assert 0 < np.mean(alarms) < 0.02


def test_scenes():
    """Images without content are flagged, others about once in a hundred."""
    files, _ = files_of("scene15/train", 20, "*.jpg")
    empty = [np.full((128, 128), grey, np.uint8) for grey in (0, 90, 255)]
    described = Gist().fit_transform([*map(read_image, files), *empty])
    X, order = described[:-3], np.random.default_rng(0).permutation(len(files))
    novelty = learn_novelty(X[order[:200]])
    assert (novelty.shares(described[-3:]) < UNLIKE).all()
    assert (novelty.shares(X[order[200:]]) < UNLIKE).mean() <= 0.03


def test_units_and_copies_do_not_matter():
    X, _ = rows()
    novelty, rescaled = learn_novelty(X), learn_novelty(2.0**20 * X)
    np.testing.assert_array_equal(novelty.shares(X), rescaled.shares(2.0**20 * X))
    assert (novelty.shares(X) < UNLIKE).mean() <= 0.02
    alone = np.concatenate([novelty.shares(row[np.newaxis]) for row in X[:20]])
    np.testing.assert_array_equal(alone, novelty.shares(X[:20]))


def test_frames_of_a_track_do_not_judge_each_other():
    """Frames that are nearly equal would make every new track look strange."""
    rng = np.random.default_rng(0)
    tracks = np.repeat(rng.normal(size=(120, 20)), 10, axis=0)
    X, groups = tracks + 0.01 * rng.normal(size=tracks.shape), np.repeat(np.arange(120), 10)
    fresh = rng.normal(size=(500, 20))
    assert (learn_novelty(X, groups).shares(fresh) < UNLIKE).mean() < 0.03


@pytest.mark.parametrize("X", [np.zeros((100, 3)), np.arange(20.0)[:, np.newaxis], np.eye(2)[[0] * 90 + [1]]])
def test_nothing_is_said_where_nothing_is_known(X):
    assert learn_novelty(X) is None
    assert learn_novelty(np.arange(100.0)[:, np.newaxis], np.zeros(100)) is None


def test_models_keep_it(tmp_path):
    X, y = rows()
    model = Model(None, KNNClassifier(3).fit(X, y), tuple("abcd"), None, {}, novelty=learn_novelty(X))
    save(model, tmp_path / "model.nb")
    strange = model.predict(strange_digits() / 16)
    assert set(strange.notes) == {"unlike the training items"}
    loaded = load(tmp_path / "model.nb").predict(strange_digits() / 16)
    np.testing.assert_array_equal(loaded.typicality, strange.typicality)
    assert replace(model, novelty=None).predict(X).typicality is None
    with pytest.raises(ValueError, match="must be that of rows as its classifier sees them"):
        replace(model, novelty=learn_novelty(X[:, :30]))
    broken = replace(model.novelty, landmarks=np.full_like(model.novelty.landmarks, 200))
    with pytest.raises(ModelFileError, match="places are among its edges"):
        save(replace(model, novelty=broken), tmp_path / "model.nb")
