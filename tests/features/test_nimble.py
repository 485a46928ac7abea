"""Nimble and its filters: against plain readings; fixations, channels, seeds, settings, real scenes."""

import pickle

import numpy as np
import pytest
from scipy.stats import gennorm
from sklearn.base import clone

from features.pictures import Lazy, as_bytes, picture
from features.real_images import files_of
from nearboost.base.local_sets import LocalSets
from nearboost.features.ica import GeneralizedGaussians, independent_directions
from nearboost.features.nimble import Nimble
from nearboost.features.windows import averaged
from nearboost.inn.naive_bayes import NaiveBayesNN
from reference import nimble as reference

SMALL = {"n_filters": 8, "filter_size": 4, "short_side": 48, "window": 24, "stride": 2, "n_patches": 2000}
IMAGES = [picture(60, 75, seed) for seed in range(6)]


@pytest.fixture(scope="module")
def fitted():
    return Nimble(20, 10, **SMALL).fit(IMAGES)


def test_independent_sources_are_found():
    """Mixed sources far from normal come back, each along one direction."""
    rng = np.random.default_rng(0)
    sources = np.stack([rng.laplace(size=4000), rng.uniform(-1, 1, 4000), rng.choice([-1, 1], 4000)], axis=1)
    rows = (sources @ rng.normal(size=(3, 5)) + 7).astype(np.float32)
    found = rows @ independent_directions(rows, 3, max_rounds=500, tolerance=1e-6).T
    np.testing.assert_allclose(found.var(axis=0), 1, rtol=1e-2)
    alike = np.abs(np.corrcoef(found.T, sources.T)[:3, 3:])
    np.testing.assert_allclose(np.sort(alike.max(axis=0)), 1, atol=0.01)
    assert sorted(alike.argmax(axis=0)) == [0, 1, 2]
    with pytest.raises(ValueError, match="4 filters need patches that vary in as many directions, not 3"):
        independent_directions(rows, 4)


@pytest.mark.parametrize("shape", [0.5, 1.0, 2.0])
def test_generalised_gaussians(shape):
    samples = gennorm.rvs(shape, scale=0.7, size=(20000, 1), random_state=0)
    fitted = GeneralizedGaussians.fitted(samples)
    assert fitted.shapes[0] == pytest.approx(shape, rel=0.05)
    assert fitted.scales[0] == pytest.approx(0.7, rel=0.1)
    sizes = np.array([0.0, 0.1, 1.0, 4.0])
    expected = [reference.rank(size, fitted.shapes[0], fitted.scales[0]) for size in sizes]
    np.testing.assert_allclose(fitted.ranks(sizes)[:, 0], expected, atol=1e-6)
    log_p = gennorm.logpdf(sizes, fitted.shapes[0], scale=fitted.scales[0])
    np.testing.assert_allclose(fitted.surprises(sizes)[:, 0], log_p[0] - log_p, atol=1e-9)


def test_means_over_cells():
    ranks = np.random.default_rng(0).random((20, 23, 3)).astype(np.float32)
    found = averaged(ranks, np.array([0, 8, 3]), np.array([11, 0, 5]), 3)
    expected = [reference.window_means(ranks.astype(float), *place, 3) for place in ((0, 11), (8, 0), (3, 5))]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_windows_against_a_plain_reading(fitted):
    """From the pixels of an image that needs no resizing to the averages of its first windows."""
    image = picture(48, 48, 9)
    [one] = LocalSets(1, fitted._describe([image]))
    logs = np.vectorize(reference.log_image)(image)[..., np.newaxis]
    shapes, scales = fitted.distributions_
    n_places = (48 - 4) // 2 + 1
    ranks = np.empty((n_places, n_places, 8))
    for row, column, number in np.ndindex(ranks.shape):
        r = reference.response(logs, fitted.filters_[number], 2 * row, 2 * column)
        ranks[row, column, number] = gennorm.cdf(abs(r), shapes[number], scale=scales[number]) * 2 - 1
    size = 3  # 24 pixels are 12 places, in 4 cells
    for values, (x, y) in zip(one.values[:5], one.positions[:5], strict=True):
        column, row = (round((place * 48 - 2 - 11) / 2) for place in (x, y))
        np.testing.assert_allclose(values, reference.window_means(ranks, row, column, size), rtol=0, atol=2e-3)
    assert reference.rank(0.7, shapes[0], scales[0]) == pytest.approx(
        gennorm.cdf(0.7, shapes[0], scale=scales[0]) * 2 - 1, abs=1e-6
    )


def test_descriptors(fitted):
    sets = fitted.transform(IMAGES)
    assert isinstance(sets, LocalSets)
    one = sets[0]
    assert one.values.shape == (20, 12)
    assert one.values.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(one.values[:, :10], axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(one.values[:, 10:], 0.5 * one.positions)
    assert len(np.unique(one.positions, axis=0)) == 20
    assert one.image_size == (60, 75)
    np.testing.assert_allclose(one.scales, 24 * 60 / 48)
    half = np.array([12, 12]) / (60, 48)
    assert np.all(one.positions >= half - 0.02)
    assert np.all(one.positions <= 1 - half + 0.02)
    bare = Nimble(20, 10, location_weight=0, **SMALL).fit_transform(IMAGES)[0]
    np.testing.assert_array_equal(bare.values, one.values[:, :10])


def test_whitened():
    """Over the windows that it was fitted on, components have unit variance and no correlation."""
    model = Nimble(60, 10, **SMALL).fit(IMAGES)
    windows = LocalSets(len(IMAGES), model._describe(IMAGES))
    values = (np.concatenate([one.values for one in windows]) - model.mean_) @ model.components_.T
    np.testing.assert_allclose(np.cov(values.T), np.eye(10), atol=0.01)


def test_saliency_draws_where_something_is():
    """A textured corner of a flat image is fixated more often than by chance."""
    image = np.full((96, 96), 0.5)
    image[:40, :40] += 0.4 * np.random.default_rng(0).uniform(-1, 1, (40, 40))
    near = {}
    for fixations in ("saliency", "uniform"):
        model = Nimble(40, 10, fixations=fixations, **SMALL | {"short_side": 96}).fit([*IMAGES, image])
        positions = model.transform(image)[0].positions
        near[fixations] = np.mean(np.all(positions < 0.5, axis=1))
    assert near["saliency"] > near["uniform"] + 0.2


def test_flat_and_small_images(fitted):
    [flat] = fitted.transform(np.zeros((5, 7), dtype=np.uint8))
    assert flat.values.shape == (20, 12)
    assert np.all(np.isfinite(flat.values))
    few = Nimble(10_000, 10, **SMALL).fit(IMAGES).transform(IMAGES[0])[0]
    assert len(few) == 12 * 18  # all places of a window


def test_fixations_depend_on_pixels_and_seed_alone(fitted):
    expected = fitted.transform(IMAGES)
    for i in (0, 4):
        np.testing.assert_array_equal(fitted.transform(IMAGES[i])[0].values, expected[i].values)
    for other in (clone(fitted).set_params(n_jobs=2).fit(IMAGES), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(other.transform(IMAGES)[3].values, expected[3].values)
    other = clone(fitted).set_params(random_state=1).fit(IMAGES).transform(IMAGES)
    assert np.any(other[3].positions != expected[3].positions)


def test_channels(fitted):
    """One for grey images, however they are stored; three where there is colour."""
    stacked = [np.repeat(image[..., np.newaxis], 3, axis=2) for image in IMAGES]
    model = Nimble(20, 10, **SMALL).fit(stacked)
    assert model.filters_.shape == fitted.filters_.shape == (8, 4, 4, 1)
    colored = [as_bytes(picture(60, 75, seed, channels=3)) for seed in range(6)]
    model = Nimble(20, 10, **SMALL).fit(colored)
    assert model.filters_.shape == (8, 4, 4, 3)
    assert model.transform([IMAGES[0], colored[0]])[0].values.shape == (20, 12)
    np.testing.assert_allclose(model.filters_.sum(axis=(1, 2, 3)), 0, atol=1e-3)


def test_images_are_read_when_asked(fitted):
    lazy = Lazy(6, lambda i: IMAGES[i])
    sets = fitted.transform(lazy)
    assert lazy.asked == []
    assert len(sets[2]) == 20
    assert lazy.asked == [2]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_fixations": 0}, "n_fixations=0 must be a whole number"),
        ({"n_components": 0}, "n_components=0 must be a whole number"),
        ({"n_components": 120}, "n_components=120 is more than the .* directions in which 120 windows vary"),
        ({"n_filters": 16}, "16 filters need patches that vary in as many directions, not 15"),
        ({"filter_size": 1}, "filter_size=1 must be a whole number of at least 2"),
        ({"window": 60}, "short_side=48 has no room for a window of .* pixels; use a smaller window or a larger"),
        ({"fixations": "eyes"}, "fixations='eyes' is not known; use one of 'saliency', 'uniform'"),
        ({"location_weight": -1}, "location_weight=-1 must be a number of at least 0"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        Nimble(**{"n_fixations": 20, "n_components": 10} | SMALL | settings).fit(IMAGES)


def test_wrong_images():
    with pytest.raises(ValueError, match="Image 1 holds NaN or infinite pixels"):
        Nimble(20, 10, n_jobs=1, **SMALL).fit([IMAGES[0], np.full((50, 50), np.nan)])
    with pytest.raises(ValueError, match="There are no images to draw descriptors from"):
        Nimble(20, 10, **SMALL).fit([])


@pytest.mark.data
def test_scenes():
    """Four kinds of scenes by naive Bayes, at a size that takes seconds: far better than chance."""
    paths, kinds = files_of("scene15/train", 16, "*.jpg", kinds=4)
    train, test = slice(0, None, 2), slice(1, None, 2)
    model = Nimble(
        40,
        40,
        n_filters=30,
        filter_size=8,
        short_side=96,
        window=40,
        stride=3,
        n_patches=8000,
        max_descriptors=1500,
    ).fit(paths[train])
    sets = model.transform(paths)
    voted = NaiveBayesNN().fit(sets[train], kinds[train])
    assert np.mean(voted.predict(sets[test]) == np.array(kinds[test])) > 0.65


def test_another_fit_does_not_change_what_was_transformed():
    model = Nimble(20, 10, **SMALL).fit(IMAGES)
    sets = model.transform(IMAGES)
    before = sets[0].values
    model.set_params(random_state=5, location_weight=0.0).fit(IMAGES[::-1])
    np.testing.assert_array_equal(sets[0].values, before)


def test_strips(fitted, monkeypatch):
    """A strip grows with its short side: it is filtered in pieces, and refused beyond all bounds."""
    strip = np.random.default_rng(0).random((3, 60))
    whole = fitted.transform(strip)[0].values
    monkeypatch.setattr("nearboost.features.nimble.PLACES_AT_ONCE", 7)
    np.testing.assert_allclose(fitted.transform(strip)[0].values, whole, atol=1e-5)
    message = "Image 0 is 2000000 x 1 pixels and would have to grow to 96,000,000 x 48; cut it, or leave it out"
    with pytest.raises(ValueError, match=message):
        _ = fitted.transform(np.zeros((1, 2_000_000), dtype=np.uint8))[0]
