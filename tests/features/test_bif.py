"""BioInspiredFeatures: against a plain reading; masks, types, settings, real cells."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from features.pictures import Lazy, as_bytes, picture
from features.real_images import files_of
from nearboost.base.images import read_image
from nearboost.features.bif import BioInspiredFeatures, blurred
from reference import bif as reference

IMAGE = picture(23, 31, seed=2)
LABELS = np.zeros((23, 31), dtype=int)
LABELS[3:20, 4:28] = 1
LABELS[8:15, 10:20] = 2


@pytest.mark.parametrize("scale", [1, 2, 3])
def test_contrast_against_a_plain_reading(scale):
    sigma = 0.5 * 2 ** (scale - 1)
    pixels = IMAGE.astype(np.float32)
    found = blurred(pixels, sigma) - blurred(pixels, 3 * sigma)
    for row, column in [(0, 0), (22, 30), (11, 15), (5, 29)]:
        assert found[row, column] == pytest.approx(reference.contrast(IMAGE, row, column, scale), abs=2e-6)


@pytest.mark.parametrize("scale", [1, 2, 5])
def test_histogram_against_a_plain_reading(scale):
    sigma = 0.5 * 2 ** (scale - 1)
    pixels = IMAGE.astype(np.float32)
    contrasts = blurred(pixels, sigma).astype(float) - blurred(pixels, 3 * sigma)
    rates = np.vectorize(reference.firing_rate)(contrasts)
    found = BioInspiredFeatures((scale,), 32, 2).transform(IMAGE, LABELS).reshape(2, 32)
    for region in (1, 2):
        expected = reference.histogram(rates[region == LABELS], 32)
        np.testing.assert_allclose(found[region - 1], expected, rtol=0, atol=1e-7)
    whole = BioInspiredFeatures((scale,), 32).transform(IMAGE)[0]
    np.testing.assert_allclose(whole, reference.histogram(rates.ravel(), 32), rtol=0, atol=1e-7)


def test_rates_stay_in_their_range():
    """Full contrast, where the printed formula would pass its pole at −0.1."""
    board = (np.indices((60, 60)) // 6).sum(axis=0) % 2 * 255
    rows = BioInspiredFeatures((1, 2, 3, 4), 10).transform(board.astype(np.uint8)).reshape(4, 10)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, rtol=1e-6)
    assert rows[:, :5].sum() > 1
    assert rows[:, 5:].sum() > 1
    assert reference.firing_rate(-1.0) == pytest.approx(-2000 / 11)
    assert abs(reference.firing_rate(-0.1)) < 200


def test_order_and_shape():
    both = BioInspiredFeatures((1, 3), 16, 2).transform([IMAGE, IMAGE.T], [LABELS, LABELS.T])
    assert both.shape == (2, 64)
    assert both.dtype == np.float32
    np.testing.assert_array_equal(both[0], both[1])
    for s, scale in enumerate((1, 3)):
        alone = BioInspiredFeatures((scale,), 16, 2).transform(IMAGE, LABELS)[0]
        np.testing.assert_array_equal(both[0, 32 * s : 32 * s + 32], alone)
    inner = BioInspiredFeatures((1,), 16).transform(IMAGE, LABELS == 2)[0]
    np.testing.assert_array_equal(both[0, 16:32], inner)
    names = BioInspiredFeatures((1, 3), 16, 2).get_feature_names_out()
    assert len(names) == 64


def test_flat_areas_have_no_contrast():
    """All in the bin that begins at 0, whatever the rounding of filters."""
    for value in (0, 1, 77, 255):
        row = BioInspiredFeatures((1, 3, 5), 32, scaling="dtype").transform(np.full((50, 40), value, np.uint8))
        expected = np.zeros((3, 32))
        expected[:, 16] = 1
        np.testing.assert_array_equal(row.reshape(3, 32), expected)


def test_empty_regions_and_tiny_images():
    rows = BioInspiredFeatures((5,), 8, 2).transform(IMAGE, np.ones(IMAGE.shape, dtype=np.uint8)).reshape(2, 8)
    assert rows[0].sum() == pytest.approx(1)
    assert np.all(rows[1] == 0)
    assert BioInspiredFeatures((5,), 8).transform(np.ones((1, 1))).sum() == pytest.approx(1)
    assert BioInspiredFeatures().transform([]).shape == (0, 1024)


def test_scaling():
    """By its own maximum, an image twice as dark is the same."""
    dark = as_bytes(IMAGE) // 2
    bright = 2 * dark
    own = BioInspiredFeatures((2,), 16)
    np.testing.assert_array_equal(own.transform(dark), own.transform(bright))
    np.testing.assert_array_equal(own.transform(dark), own.transform(dark.astype(np.uint16)))
    by_type = BioInspiredFeatures((2,), 16, scaling="dtype")
    assert np.abs(by_type.transform(dark) - by_type.transform(bright)).sum() > 0.1


@pytest.mark.alone
def test_same_for_any_threads_paths_and_lazy(tmp_path):
    pil = pytest.importorskip("PIL.Image", reason="Pillow is in the extra for images")
    images = [as_bytes(picture(30, 40, seed)) for seed in range(5)]
    masks = [(picture(30, 40, seed + 9) > 0.5).astype(np.uint8) * 255 for seed in range(5)]
    for i, (image, mask) in enumerate(zip(images, masks, strict=True)):
        pil.fromarray(image).save(tmp_path / f"{i}.png")
        pil.fromarray(mask).save(tmp_path / f"{i}-mask.png")
    model = BioInspiredFeatures((1, 2), 16, n_jobs=1)
    expected = model.transform(images, masks)
    for other in (clone(model).set_params(n_jobs=2), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.fit().transform(images, masks), expected)
    lazy = Lazy(5, lambda i: tmp_path / f"{i}.png")
    np.testing.assert_array_equal(model.transform(lazy, [tmp_path / f"{i}-mask.png" for i in range(5)]), expected)
    assert lazy.asked == [0, 1, 2, 3, 4]
    color = np.repeat(images[0][..., np.newaxis], 3, axis=2)
    np.testing.assert_allclose(model.transform(color), model.transform(images[0]), atol=0.02)


@pytest.mark.parametrize(
    ("settings", "masks", "message"),
    [
        ({"scales": ()}, None, r"scales=\(\) must be a tuple of whole numbers"),
        ({"scales": 4}, None, "scales=4 must be a tuple"),
        ({"scales": (0, 1)}, None, "scales=0 must be a whole number of at least 1"),
        ({"bins": 0}, None, "bins=0 must be a whole number"),
        ({"regions": 2}, None, "regions=2 needs masks that name them; give masks, or use regions=1"),
        ({"scaling": "max"}, None, "scaling='max' is not known"),
        ({"regions": 2}, LABELS + 1, "Mask 0 holds numbers from 1 to 3; with regions=2 they must lie between 0"),
        ({}, LABELS[:5], r"Mask 0 has shape \(5, 31\) and its image \(23, 31\); they must be equal"),
        ({}, LABELS / 2, "Mask 0 has dtype float64; give whole numbers"),
        ({}, [LABELS, LABELS], "There are 2 masks for 1 images; give one for each"),
    ],
)
def test_wrong_settings(settings, masks, message):
    with pytest.raises(ValueError, match=message):
        BioInspiredFeatures(**settings).transform(IMAGE, masks)


@pytest.mark.data
def test_cells():
    """Ten patterns of cells: histograms of contrasts tell far more than chance, on the cell alone."""
    paths, kinds = files_of("hela2d", 20, "*.tif")
    rows = BioInspiredFeatures(bins=64).transform(paths, Lazy(len(paths), lambda i: read_image(paths[i]) > 0))
    scores = cross_val_score(KNeighborsClassifier(3), np.sqrt(rows), kinds, cv=4)
    assert len(set(kinds)) == 10
    assert scores.mean() > 0.55


def test_roots_are_of_the_shares():
    image = np.random.default_rng(0).integers(0, 256, (40, 40), dtype=np.uint8)
    shares = BioInspiredFeatures().transform(image)
    assert np.array_equal(BioInspiredFeatures(root=True).transform(image), np.sqrt(shares))
