"""BagOfFeatures: counts of nearest words, pipelines, threads, bad input."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from features.pictures import as_bytes, picture
from nearboost import KNNClassifier
from nearboost.features.bags import BagOfFeatures
from nearboost.features.sift import DenseSIFT


@pytest.fixture(scope="module")
def described():
    return DenseSIFT(6).transform([as_bytes(picture(60, 60, seed=seed)) for seed in range(6)])


@pytest.mark.parametrize("norm", ["l1", "l2", None])
def test_histograms_count_nearest_words(described, norm):
    bags = BagOfFeatures(30, norm=norm).fit(described)
    rows = bags.transform(described)
    assert rows.dtype == np.float32
    for row, one in zip(rows, described, strict=True):
        gaps = np.linalg.norm(one.values[:, np.newaxis].astype(float) - bags.words_, axis=2)
        counts = np.bincount(gaps.argmin(axis=1), minlength=30)
        expected = counts / {"l1": counts.sum(), "l2": np.linalg.norm(counts), None: 1}[norm]
        np.testing.assert_allclose(row, expected, rtol=1e-6)


def test_words_are_better_than_random_ones(described):
    bags = BagOfFeatures(20).fit(described)
    values = np.concatenate([one.values for one in described])

    def error(words):
        return (np.linalg.norm(values[:, np.newaxis] - words, axis=2).min(axis=1) ** 2).mean()

    assert error(bags.words_) < 0.9 * error(values[np.random.default_rng(0).permutation(len(values))[:20]])


@pytest.mark.alone
def test_threads_clone_and_pickle(described, capsys):
    bags = BagOfFeatures(15, n_jobs=1).fit(described)
    rows = bags.transform(described)
    np.testing.assert_array_equal(BagOfFeatures(15, n_jobs=3).fit(described).transform(described), rows)
    np.testing.assert_array_equal(clone(bags).fit(described).transform(described), rows)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(bags)).transform(described), rows)
    assert not np.array_equal(BagOfFeatures(15, random_state=1).fit(described).words_, bags.words_)
    assert capsys.readouterr().err == ""
    BagOfFeatures(15, verbose=1).fit(described).transform(described)
    assert "BagOfFeatures" in capsys.readouterr().err
    assert bags.get_feature_names_out()[0] == "bagoffeatures0"


def test_pipeline_to_labels():
    def image(i):
        stripes = np.sin(np.arange(60) / (2 + 2 * (i % 2)))
        return as_bytes((picture(60, 60, seed=i) + 0.5 + 0.5 * stripes) / 2)

    images, labels = [image(i) for i in range(24)], np.arange(24) % 2
    model = make_pipeline(DenseSIFT(8), BagOfFeatures(20), KNNClassifier(3, metric="l1"))
    assert model.fit(images[:16], labels[:16]).score(images[16:], labels[16:]) > 0.8


def test_an_image_without_descriptors_is_zeros(described):
    assert not BagOfFeatures(5).fit(described).transform([np.empty((0, 128))]).any()


def test_bad_input(described):
    with pytest.raises(NotFittedError):
        BagOfFeatures().transform(described)
    with pytest.raises(ValueError, match="n_words=40 needs as many descriptors; 30 were drawn, use fewer words"):
        BagOfFeatures(40, max_descriptors=30).fit(described)
    with pytest.raises(ValueError, match="n_words=0 must be"):
        BagOfFeatures(0).fit(described)
    with pytest.raises(ValueError, match="max_rounds=0 must be"):
        BagOfFeatures(max_rounds=0).fit(described)
    with pytest.raises(ValueError, match="norm='l3' is not known"):
        BagOfFeatures(norm="l3").fit(described)
    bags = BagOfFeatures(5).fit(described)
    with pytest.raises(ValueError, match="norm='l3' is not known"):
        bags.set_params(norm="l3").transform(described)
    bad = described[0].values.copy()
    bad[2, 3] = np.nan
    with pytest.raises(ValueError, match="The descriptors hold NaN or infinite values"):
        bags.set_params(norm="l1").transform([bad])


@pytest.mark.parametrize("offset", [1e3, 1e4])
def test_words_far_from_zero(offset):
    """Distances must not drown in the products that they are made of."""
    rng = np.random.default_rng(0)
    sets = [rng.normal(size=(200, 20)).astype(np.float32) + np.float32(offset) for _ in range(3)]
    bags = BagOfFeatures(12, norm=None).fit(sets)
    for row, values in zip(bags.transform(sets), sets, strict=True):
        gaps = np.linalg.norm(values[:, np.newaxis].astype(float) - bags.words_, axis=2)
        np.testing.assert_array_equal(row, np.bincount(gaps.argmin(axis=1), minlength=12))


@pytest.mark.parametrize("n_words", [3, 20])
def test_settings_of_the_next_fit(described, n_words):
    """They change nothing before it."""
    bags = BagOfFeatures(8).fit(described)
    rows = bags.transform(described)
    np.testing.assert_array_equal(bags.set_params(n_words=n_words).transform(described), rows)
    assert len(bags.get_feature_names_out()) == 8
