"""SIFTColorFisher: 4,096 numbers, in colour and in grey."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone

from features.pictures import as_bytes, picture
from nearboost.features.recipe import SIFTColorFisher, has_color

COLOR = [as_bytes(picture(50, 56, seed=seed, channels=3)) for seed in range(6)]
GREY = [as_bytes(picture(50, 56, seed=seed)) for seed in range(6)]


def test_colour():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        recipe = SIFTColorFisher().fit(COLOR)
    rows = recipe.transform(COLOR)
    assert recipe.uses_color_
    assert rows.shape == (6, 4096)
    assert rows.dtype == np.float32
    assert len(recipe.get_feature_names_out()) == 4096
    np.testing.assert_allclose(np.linalg.norm(rows.reshape(6, 2, 2048), axis=2), 1, atol=1e-5)
    np.testing.assert_array_equal(rows[:, :2048], recipe.channels_[0].transform(COLOR))
    np.testing.assert_array_equal(rows[:, 2048:], recipe.channels_[1].transform(COLOR))
    np.testing.assert_array_equal(recipe.transform(COLOR[2]), rows[2:3])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(recipe)).transform(COLOR[2]), rows[2:3])


@pytest.mark.parametrize("images", [GREY, [np.dstack([one] * 3) for one in GREY]])
def test_grey(images):
    with pytest.warns(UserWarning, match=r"are grey .*: SIFT alone is used, with 32 Gaussians in place of 16"):
        recipe = SIFTColorFisher().fit(images)
    assert not recipe.uses_color_
    assert len(recipe.channels_) == 1
    assert recipe.channels_[0][-1].n_components == 32
    assert recipe.transform(images).shape == (6, 4096)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        silent = SIFTColorFisher(color=False).fit(images)
    np.testing.assert_array_equal(silent.transform(images), recipe.transform(images))


def test_one_image_in_colour_is_enough():
    assert has_color([*GREY, COLOR[0]])
    assert not has_color(GREY)
    assert has_color(GREY * 40 + COLOR[:1])


def test_settings_reach_the_steps():
    recipe = SIFTColorFisher(
        3, color=True, step=9, bin_sizes=(5,), n_dimensions=7, per_gaussian=True, norm="l1", max_descriptors=400
    ).fit(COLOR)
    rows = clone(recipe).fit(COLOR).transform(COLOR)
    assert rows.shape == (6, 2 * 2 * 3 * 7)
    np.testing.assert_array_equal(rows, recipe.transform(COLOR))
    sift, pca, fisher = (step for _, step in recipe.channels_[0].steps)
    assert (sift.step, sift.bin_sizes, pca.n_components, pca.max_descriptors) == (9, (5,), 7, 400)
    assert (fisher.n_components, fisher.norm, fisher.per_gaussian) == (3, "l1", True)


@pytest.mark.alone
def test_threads_do_not_matter():
    one, other = (SIFTColorFisher(2, n_dimensions=5, n_jobs=jobs).fit(COLOR) for jobs in (1, 3))
    np.testing.assert_array_equal(one.transform(COLOR), other.transform(COLOR))


def test_wrong_settings():
    with pytest.raises(ValueError, match="color='no' is not known; use one of 'auto', True, False"):
        SIFTColorFisher(color="no").fit(COLOR)
    with pytest.raises(ValueError, match="n_dimensions=0 must be"):
        SIFTColorFisher(n_dimensions=0).fit(COLOR)
    with pytest.raises(ValueError, match="several as a list"):
        SIFTColorFisher().fit(np.zeros((4, 40, 40)))
