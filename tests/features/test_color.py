"""LocalColor: against NumPy's means and deviations, on the grid of DenseSIFT."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from features.pictures import as_bytes, picture
from nearboost.features.color import LocalColor
from nearboost.features.sift import DenseSIFT


def plain(image, row, column, size):
    numbers = []
    for b in range(4):
        for a in range(4):
            cell = image[
                row + b * size : row + (b + 1) * size + 1, column + a * size : column + (a + 1) * size + 1
            ]
            numbers += [*cell.mean(axis=(0, 1)), *cell.std(axis=(0, 1))]
    return np.array(numbers)


@pytest.mark.parametrize("bin_size", [3, 4, 8])
def test_means_and_deviations(bin_size):
    image = picture(45, 60, channels=3)
    [described] = LocalColor(step=5, bin_sizes=(bin_size,)).transform(image)
    assert described.values.dtype == np.float32
    centers = np.rint(described.positions.astype(float) * [60, 45] - 0.5).astype(int)
    for values, (x, y) in zip(described.values, centers, strict=True):
        expected = plain(image, y - 2 * bin_size, x - 2 * bin_size, bin_size)
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("shape", [(80, 90), (37, 37), (20, 9)])
@pytest.mark.parametrize("settings", [{}, {"n_points": 200}, {"step": 9, "bin_sizes": (3, 5)}])
def test_the_grid_is_that_of_sift(shape, settings):
    image = picture(*shape, channels=3)
    [color], [sift] = LocalColor(**settings).transform(image), DenseSIFT(**settings).transform(image)
    np.testing.assert_array_equal(color.positions, sift.positions)
    np.testing.assert_array_equal(color.scales, sift.scales)
    assert color.image_size == shape


def test_types_of_pixels():
    image = picture(channels=3)
    expected = LocalColor().transform(image)[0].values
    for given in (as_bytes(image), (65535 * image).astype(np.uint16), image.astype(np.float32)):
        np.testing.assert_allclose(LocalColor().transform(given)[0].values, expected, atol=0.004)
    [grey] = LocalColor().transform(image[..., 0])
    cells = grey.values.reshape(len(grey), 16, 2, 3)
    np.testing.assert_array_equal(cells, cells[..., :1].repeat(3, axis=-1))


def test_clone_and_pickle():
    color = LocalColor(5, bin_sizes=(6,), scaling="image")
    assert clone(color).get_params() == color.get_params()
    image = picture(channels=3)
    again = pickle.loads(pickle.dumps(color)).transform(image)[0].values
    np.testing.assert_array_equal(again, color.transform(image)[0].values)
    with pytest.raises(ValueError, match="step=-1 must be a whole number of at least 1"):
        LocalColor(-1).fit()
