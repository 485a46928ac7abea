"""DescriptorPCA: against scikit-learn's PCA; rank, laziness, threads, bad input."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

from features.pictures import Lazy, picture
from nearboost.base.local_sets import LocalSet, LocalSets
from nearboost.features.color import LocalColor
from nearboost.features.pca import DescriptorPCA
from nearboost.features.sift import DenseSIFT

rng = np.random.default_rng(0)
SETS = [rng.normal(size=(n, 12)) @ rng.normal(size=(12, 12)) + 5 for n in (30, 41, 52)]


def test_directions_are_those_of_scikit_learn():
    model = DescriptorPCA(5).fit(SETS)
    plain = PCA(5, svd_solver="full").fit(np.concatenate(SETS))
    np.testing.assert_allclose(model.explained_variance_, plain.explained_variance_, rtol=1e-5)
    np.testing.assert_allclose(np.abs((model.components_ * plain.components_).sum(axis=1)), 1, atol=1e-5)
    signs = np.sign((model.components_ * plain.components_).sum(axis=1))
    for one, values in zip(model.transform(SETS), SETS, strict=True):
        assert one.values.dtype == np.float32
        np.testing.assert_allclose(one.values, plain.transform(values) * signs, atol=1e-4)


def test_never_more_components_than_the_rank():
    images = [picture(50, 50, seed=seed) for seed in range(3)]
    with pytest.warns(UserWarning, match="keeps 32 components, not n_components=64: the descriptors vary"):
        model = DescriptorPCA(64).fit(LocalColor().transform(images))
    assert model.n_components_ == len(model.components_) == 32
    assert model.transform(LocalColor().transform(images))[0].values.shape[1] == 32
    with pytest.warns(UserWarning, match="keeps 1 components"):
        assert DescriptorPCA(3).fit([np.ones((9, 4))]).n_components_ == 1


def test_a_sample_bounds_the_fit():
    model = DescriptorPCA(2, max_descriptors=30, random_state=3).fit(SETS)
    sample = LocalSets.of(SETS).sample(30, 3)
    np.testing.assert_allclose(model.mean_, sample.mean(axis=0), atol=1e-5)
    other = DescriptorPCA(2, max_descriptors=30, random_state=np.random.RandomState(1)).fit(SETS)
    assert not np.allclose(other.mean_, model.mean_)


def test_sets_stay_lazy_and_keep_their_places():
    images = Lazy(4, lambda i: picture(40, 40, seed=i))
    sift = DenseSIFT(8).transform(images)
    model = DescriptorPCA(4).fit(sift)
    images.asked.clear()
    reduced = model.transform(sift)
    assert images.asked == []
    np.testing.assert_array_equal(reduced[1].positions, sift[1].positions)
    assert reduced[1].image_size == (40, 40)


@pytest.mark.alone
@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_threads_do_not_matter(n_jobs):
    sets = DenseSIFT(8).transform([picture(60, 50, seed=i) for i in range(5)])
    one, other = DescriptorPCA(9, n_jobs=1).fit(sets), DescriptorPCA(9, n_jobs=n_jobs).fit(sets)
    np.testing.assert_array_equal(one.components_, other.components_)


def test_clone_pickle_and_progress(capsys):
    model = DescriptorPCA(3, verbose=1).fit(SETS)
    assert "Drawing descriptors" in capsys.readouterr().err
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(SETS)[2].values, model.transform(SETS)[2].values)
    assert clone(model).get_params() == model.get_params()


def test_bad_input():
    with pytest.raises(ValueError, match="n_components=0 must be a whole number of at least 1"):
        DescriptorPCA(0).fit(SETS)
    with pytest.raises(ValueError, match="max_descriptors=0 must be"):
        DescriptorPCA(max_descriptors=0).fit(SETS)
    with pytest.raises(ValueError, match="There are no images"):
        DescriptorPCA().fit([])
    with pytest.raises(ValueError, match=r"gave descriptors of shape \(0, 12\); DescriptorPCA needs some"):
        DescriptorPCA().fit([np.empty((0, 12))])
    with pytest.raises(ValueError, match="descriptors hold NaN"):
        DescriptorPCA(2).fit([np.full((5, 3), np.nan)])
    with pytest.raises(NotFittedError):
        DescriptorPCA().transform(SETS)
    with pytest.raises(ValueError, match=r"shape \(4, 3\); DescriptorPCA was fitted on descriptors of 12 numbers"):
        DescriptorPCA(2).fit(SETS).transform([np.ones((4, 3))])[0]
    assert DescriptorPCA(2).fit(SETS).transform([LocalSet(np.empty((0, 12)))])[0].values.shape == (0, 2)


def test_another_fit_does_not_change_what_was_transformed():
    model = DescriptorPCA(3).fit(SETS)
    sets = model.transform(SETS)
    before = sets[0].values
    model.fit([values * np.arange(12) for values in SETS])
    np.testing.assert_array_equal(sets[0].values, before)
