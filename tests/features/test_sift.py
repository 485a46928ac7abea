"""DenseSIFT: against a plain reading and OpenCV; grids, sizes, types, settings."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from features.pictures import Lazy, as_bytes, picture
from nearboost.base.local_sets import LocalSets
from nearboost.features.resampling import shrunk
from nearboost.features.sift import DenseSIFT
from reference import sift as reference


def corners(described, index, which):
    """First row and column of the patches of one size, from their positions."""
    height, width = described.image_size
    chosen = described.scales == 4 * which
    centers = described.positions[chosen].astype(float) * [width, height]
    first = np.rint(centers - 0.5 - 2 * which).astype(int)
    return first[index][::-1], described.values[chosen][index]


@pytest.mark.pairs
@pytest.mark.parametrize("root", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.8, 1.5])
@pytest.mark.parametrize("contrast_threshold", [0.0, 0.08])
def test_against_a_plain_reading(root, smoothing, contrast_threshold):
    image = picture(41, 47, seed=3)
    settings = {"root": root, "smoothing": smoothing, "contrast_threshold": contrast_threshold}
    [described] = DenseSIFT(step=9, bin_sizes=(3, 4, 7), **settings).transform(image)
    smooth = reference.smoothed(image, smoothing)
    lengths = []
    for size in (3, 4, 7):
        for index in (0, 1, -1):
            (row, column), values = corners(described, index, size)
            counts = reference.histogram(smooth, row, column, size)
            expected = reference.descriptor(counts, root, contrast_threshold)
            np.testing.assert_allclose(values, expected, rtol=0, atol=2e-5)
            lengths.append(np.linalg.norm(values))
    assert min(lengths) > 0.99 or contrast_threshold


@pytest.mark.parametrize("bin_size", [4, 6, 8])
def test_agreement_with_opencv(bin_size):
    cv2 = pytest.importorskip("cv2", reason="OpenCV is in the extra for images")
    if not hasattr(cv2, "SIFT_create"):
        pytest.skip("this OpenCV has no SIFT")
    cosines = []
    for seed in range(3):
        image = as_bytes(picture(120, 140, seed))
        [own] = DenseSIFT(
            step=6, bin_sizes=(bin_size,), smoothing=1.5, root=False, contrast_threshold=0
        ).transform(image)
        centers = own.positions * [140, 120] - 0.5  # OpenCV counts from the middle of the first pixel
        points = [cv2.KeyPoint(float(x), float(y), bin_size / 1.5, 0.0, 0.0, 0) for x, y in centers]
        found, theirs = cv2.SIFT_create().compute(image, points)
        assert len(found) == len(points)
        cosines.append((own.values * theirs).sum(axis=1) / np.linalg.norm(theirs, axis=1))
    assert np.concatenate(cosines).mean() > 0.98


def test_turned_images_have_turned_descriptors():
    image = picture(65, 65)
    sift = DenseSIFT(step=8, bin_sizes=(4, 5))
    [plain], [mirrored], [turned] = (
        sift.transform(pixels) for pixels in (image, image[:, ::-1], image[::-1, ::-1])
    )
    for size in (16, 20):
        n = int(np.sqrt((plain.scales == size).sum()))
        grids = [one.values[one.scales == size].reshape(n, n, 4, 4, 8) for one in (plain, mirrored, turned)]
        flip = grids[1][:, ::-1, :, ::-1][..., (4 - np.arange(8)) % 8]
        np.testing.assert_allclose(flip, grids[0], atol=1e-5)
        half = grids[2][::-1, ::-1, ::-1, ::-1][..., (4 + np.arange(8)) % 8]
        np.testing.assert_allclose(half, grids[0], atol=1e-5)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
def test_types_of_pixels(dtype):
    image = picture()
    whole = 1 if np.issubdtype(dtype, np.floating) else np.iinfo(dtype).max
    given = (image * whole).astype(dtype)
    [expected], [described] = DenseSIFT().transform(image), DenseSIFT().transform(given)
    assert described.values.dtype == np.float32
    assert np.abs(described.values - expected.values).mean() < (0.01 if dtype == np.uint8 else 1e-3)
    for shape in (
        given[..., np.newaxis],
        np.dstack([given] * 3),
        np.dstack([given] * 3 + [np.full_like(given, whole)]),
    ):
        np.testing.assert_allclose(DenseSIFT().transform(shape)[0].values, described.values, atol=2e-3)


def test_scaling_by_the_image_undoes_exposure():
    image = picture()
    bright, dark = (DenseSIFT(scaling="image").transform(scale * image)[0].values for scale in (1.0, 0.1))
    np.testing.assert_allclose(dark, bright, atol=1e-4)
    assert np.linalg.norm(DenseSIFT().transform(0.1 * image)[0].values, axis=1).min() < 0.99


@pytest.mark.parametrize("shape", [(37, 37), (16, 16), (33, 12), (5, 60), (1, 1), (2, 3)])
@pytest.mark.parametrize("n_points", [None, 30])
def test_small_images(shape, n_points):
    [described] = DenseSIFT(n_points=n_points).transform(picture(*shape))
    assert described.image_size == shape
    assert set(described.scales) == {16, 24, 32}
    assert described.positions.min() >= 0
    assert described.positions.max() <= 1
    assert np.isfinite(described.values).all()


def test_flat_images_give_zeros():
    for value in (0, 128):
        assert not DenseSIFT().transform(np.full((40, 40), value, np.uint8))[0].values.any()


def test_the_grid_is_even_and_central():
    [described] = DenseSIFT(step=7, bin_sizes=(4,)).transform(picture(50, 61))
    centers = described.positions * [61, 50]
    xs, ys = np.unique(centers[:, 0].round(3)), np.unique(centers[:, 1].round(3))
    np.testing.assert_allclose(np.diff(xs), 7, atol=1e-2)
    np.testing.assert_allclose(np.diff(ys), 7, atol=1e-2)
    assert abs(xs[0] - (61 - xs[-1])) <= 1
    assert abs(ys[0] - (50 - ys[-1])) <= 1
    np.testing.assert_allclose(centers[:2, 1], ys[0], atol=1e-3)  # row by row


@pytest.mark.parametrize("shape", [(128, 128), (90, 200), (300, 40), (37, 37)])
@pytest.mark.parametrize("n_points", [3, 100, 2500])
def test_a_number_of_points(shape, n_points):
    [described] = DenseSIFT(n_points=n_points).transform(picture(*shape))
    assert len(described) <= n_points
    room = sum(max(1, (shape[0] - 4 * b)) * max(1, (shape[1] - 4 * b)) for b in (4, 6, 8))
    assert len(described) >= 0.7 * min(n_points, room)
    assert len(np.unique(np.column_stack([described.positions, described.scales]), axis=0)) == len(described)


def test_images_are_described_when_asked_for():
    images = Lazy(5, lambda i: picture(40, 40, seed=i))
    sets = DenseSIFT().fit_transform(images)
    assert isinstance(sets, LocalSets)
    assert (len(sets), images.asked) == (5, [])
    assert sets[3].values.shape[1] == 128
    assert images.asked == [3]


def test_files(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="Pillow is in the extra for images")
    pixels = as_bytes(picture(channels=3))
    image.fromarray(pixels).save(tmp_path / "a.png")
    expected = DenseSIFT().transform(pixels)[0].values
    for given in (tmp_path / "a.png", str(tmp_path / "a.png"), [tmp_path / "a.png"]):
        np.testing.assert_array_equal(DenseSIFT().transform(given)[0].values, expected)


def test_clone_pickle_and_settings():
    sift = DenseSIFT(
        6, n_points=40, bin_sizes=(5,), smoothing=1.0, root=False, contrast_threshold=0.1, scaling="image"
    )
    assert clone(sift).get_params() == sift.get_params()
    assert sift.get_params()["bin_sizes"] == (5,)
    again = pickle.loads(pickle.dumps(sift))
    np.testing.assert_array_equal(again.transform(picture())[0].values, sift.transform(picture())[0].values)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"step": 0}, "step=0 must be a whole number of at least 1"),
        ({"n_points": 2}, "n_points=2 must be a whole number of at least 3 or None"),
        ({"bin_sizes": ()}, r"bin_sizes=\(\) must be a tuple of whole numbers"),
        ({"bin_sizes": 4}, "bin_sizes=4 must be a tuple of whole numbers"),
        ({"bin_sizes": (4, 0.5)}, "bin_sizes=0.5 must be a whole number"),
        ({"smoothing": -1}, "smoothing=-1 must be a number of at least 0"),
        ({"root": "yes"}, "root='yes' must be True or False"),
        ({"contrast_threshold": None}, "contrast_threshold=None must be a number of at least 0"),
        ({"scaling": "max"}, "scaling='max' is not known"),
    ],
)
def test_wrong_settings(settings, message):
    for method in ("fit", "transform"):
        with pytest.raises(ValueError, match=message):
            getattr(DenseSIFT(**settings), method)([picture()])


def test_wrong_images():
    with pytest.raises(ValueError, match=r"Got an array of shape \(4, 40, 41\)"):
        DenseSIFT().transform(np.zeros((4, 40, 41)))
    with pytest.raises(ValueError, match=r"Image 1 has shape \(40,\)"):
        list(DenseSIFT().transform([picture(), np.zeros(40)]))
    with pytest.raises(ValueError, match="Image 1 holds NaN"):
        list(DenseSIFT().transform([picture(), np.full((40, 40), np.nan)]))


def test_other_settings_do_not_change_what_was_transformed():
    sift = DenseSIFT(step=8)
    sets = sift.transform([picture()])
    before = sets[0].values
    sift.set_params(step=20, root=False)
    np.testing.assert_array_equal(sets[0].values, before)


def test_longest_side():
    """Larger images are shrunk to it, to the same as if they had been before; smaller ones are left."""
    image = picture(90, 60, 0, channels=3).astype(np.float32)
    sift = DenseSIFT(longest_side=45)
    [small] = sift.transform([image])
    assert small.image_size == (45, 30)
    [same] = DenseSIFT().transform([shrunk(image, 45)])
    np.testing.assert_array_equal(small.values, same.values)
    [left] = DenseSIFT(longest_side=200).transform([image])
    np.testing.assert_array_equal(left.values, DenseSIFT().transform([image])[0].values)
    with pytest.raises(ValueError, match="longest_side"):
        DenseSIFT(longest_side=8).transform([image])


def test_shrinking_keeps_what_is_smooth():
    ramp = np.add.outer(np.linspace(0, 0.5, 64), np.linspace(0, 0.5, 96)).astype(np.float32)
    small = shrunk(ramp, 48)
    assert small.shape == (32, 48)
    np.testing.assert_allclose(
        small[2:-2, 2:-2], ramp.reshape(32, 2, 48, 2).mean(axis=(1, 3))[2:-2, 2:-2], atol=1e-3
    )
    assert shrunk(np.repeat(ramp[..., np.newaxis], 3, axis=2), 48).shape == (32, 48, 3)
