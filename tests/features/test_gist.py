"""Gist: against a plain reading; resizing, orientations, types, threads, bad input."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from features.pictures import as_bytes, picture
from nearboost.features.gist import Gist, resized
from reference import gist as reference


@pytest.mark.parametrize(("layout", "orientations"), [(512, (8, 8, 8, 8)), (320, (8, 8, 4))])
@pytest.mark.parametrize("side", [64, 128, 256])
def test_against_a_plain_reading(layout, orientations, side):
    image = picture(side, side, seed=2)
    row = Gist(layout, side=side).transform(image)[0]
    expected = reference.gist(255 * image, orientations)
    assert row.dtype == np.float32
    np.testing.assert_allclose(row, expected, rtol=2e-4, atol=2e-5 * expected.max())


@pytest.mark.parametrize("shape", [(37, 90), (300, 200), (128, 61), (400, 128), (5, 3)])
def test_images_are_resized_as_pillow_does(shape):
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is in the extra for images")
    image = picture(*shape).astype(np.float32)
    theirs = np.asarray(pillow.fromarray(image).resize((128, 128), pillow.Resampling.BICUBIC))
    np.testing.assert_allclose(resized(image, 128), np.clip(theirs, 0, 1), atol=2e-3)


def test_orientations_are_told_apart():
    waves = np.sin(np.arange(128) / 2) / 2 + 0.5
    across, down = (Gist().transform(one)[0].reshape(4, 8, 16).sum(axis=(0, 2)) for one in
                    (np.tile(waves, (128, 1)), np.tile(waves, (128, 1)).T))  # fmt: skip
    assert across.argmax() == 0
    assert down.argmax() == 4
    assert across[4] < 0.2 * across[0]


def test_cells_are_told_apart():
    image = np.full((128, 128), 0.5)
    image[:32, 96:] = picture(32, 32)
    cells = Gist().transform(image)[0].reshape(32, 4, 4).sum(axis=0)
    assert np.unravel_index(cells.argmax(), (4, 4)) == (0, 3)
    assert cells[3, 0] < 0.3 * cells[0, 3]


@pytest.mark.parametrize("shape", [(37, 37), (1, 1), (20, 300), (37, 37, 3), (37, 37, 4), (37, 37, 1)])
def test_any_size_and_channels(shape):
    image = picture(*shape[:2], channels=shape[2] if len(shape) == 3 else None)
    rows = Gist().transform([image, as_bytes(image), (65535 * image).astype(np.uint16)])
    assert np.isfinite(rows).all()
    np.testing.assert_allclose(rows[2], rows[0], atol=1e-3)
    np.testing.assert_allclose(rows[1], rows[0], atol=0.05)


def test_flat_images_have_no_energy():
    np.testing.assert_allclose(Gist().transform(np.full((50, 50), 99, np.uint8)), 0, atol=1e-4)


def test_a_side_that_is_no_multiple_of_four():
    assert Gist(side=101).transform(picture()).shape == (1, 512)


@pytest.mark.alone
def test_threads_clone_pickle_and_pipelines(capsys):
    images = [as_bytes(picture(60, 50, seed=seed)) for seed in range(6)]
    gist = Gist(320, n_jobs=1)
    rows = gist.transform(images)
    for other in (Gist(320, n_jobs=3), clone(gist), pickle.loads(pickle.dumps(gist))):
        np.testing.assert_array_equal(other.fit(images).transform(images), rows)
    np.testing.assert_array_equal(gist.transform(images[3])[0], rows[3])
    model = make_pipeline(Gist(side=64), LogisticRegression()).fit(images, np.arange(6) % 2)
    assert model.predict(images).shape == (6,)
    assert gist.get_feature_names_out()[-1] == "gist319"
    assert capsys.readouterr().err == ""
    Gist(verbose=1).transform(images)
    assert "Gist" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"layout": 100}, "layout=100 is not known; use one of 512, 320"),
        ({"side": 16}, "side=16 must be a whole number of at least 32"),
        ({"scaling": "max"}, "scaling='max' is not known"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        Gist(**settings).transform(picture())


def test_wrong_images():
    with pytest.raises(ValueError, match="several as a list"):
        Gist().transform(np.zeros((7, 40, 40)))
    with pytest.raises(ValueError, match="Image 1 holds NaN"):
        Gist().transform([picture(), np.full((40, 40), np.nan)])
