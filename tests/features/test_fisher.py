"""FisherVector: against a plain reading; order, normalisation, pipelines, threads, bad input."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from features.pictures import as_bytes, picture
from nearboost.base.local_sets import LocalSets
from nearboost.features.fisher import FisherVector
from nearboost.features.pca import DescriptorPCA
from nearboost.features.sift import DenseSIFT
from reference import mixture as reference

IMAGES = [as_bytes(picture(70, 60, seed=seed)) for seed in range(6)]


@pytest.fixture(scope="module")
def described():
    return DescriptorPCA(20).fit_transform(DenseSIFT(6).transform(IMAGES))


def plain(model, values, **normalisation):
    gmm = model.gmm_
    raw = reference.fisher_vector(values.astype(float), gmm.weights_, gmm.means_, gmm.variances_)
    return reference.normalised(raw, model.n_components, **normalisation)


@pytest.mark.parametrize(
    "normalisation",
    [
        {},
        {"norm": "l1"},
        {"norm": None, "power": 1.0},
        {"power": 0.3},
        {"per_gaussian": True},
        {"per_gaussian": True, "norm": "l1"},
        {"per_gaussian": True, "norm": None},
    ],
)
def test_against_a_plain_reading(described, normalisation):
    model = FisherVector(5, **normalisation).fit(described)
    rows = model.transform(described)
    assert rows.dtype == np.float32
    assert rows.shape == (6, 2 * 5 * 20)
    for row, one in zip(rows[:3], described[:3], strict=True):
        np.testing.assert_allclose(row, plain(model, one.values, **normalisation), rtol=0, atol=1e-5)


def test_equal_parts_are_single_gradients():
    """The part of a Gaussian's mean changes with the descriptors' mean, and no part with what is far away."""
    rng = np.random.default_rng(0)
    sets = [np.concatenate([rng.normal(0, 1, (300, 3)), rng.normal(50, 1, (300, 3))]) for _ in range(4)]
    model = FisherVector(2, power=1.0, norm=None).fit(sets)
    near = int(model.gmm_.means_[:, 0].argmin())
    moved = sets[0].copy()
    moved[:300] += 0.5
    before, after = model.transform([sets[0], moved]).reshape(2, 2, 2, 3)
    assert np.abs(after[0, near] - before[0, near]).min() > 0.1
    np.testing.assert_allclose(after[:, 1 - near], before[:, 1 - near], atol=1e-4)


def test_the_mixtures_own_sample_has_no_gradient(described):
    values = np.concatenate([one.values for one in described])
    model = FisherVector(3, power=1.0, norm=None, tol=1e-7, max_iter=500).fit([values])
    assert np.abs(model.transform([values])).max() < 5e-3
    assert np.abs(model.transform(described)).max() > 0.05


def test_lengths(described):
    np.testing.assert_allclose(np.linalg.norm(FisherVector(4).fit_transform(described), axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(
        np.abs(FisherVector(4, norm="l1").fit_transform(described)).sum(axis=1), 1, atol=1e-5
    )
    rows = FisherVector(4, per_gaussian=True, norm=None).fit_transform(described).reshape(6, 2, 4, 20)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=(1, 3)), 1, atol=1e-5)


def test_an_image_without_descriptors_is_zeros(described):
    model = FisherVector(3).fit(described)
    rows = model.transform([np.empty((0, 20)), described[0].values])
    assert not rows[0].any()
    assert rows[1].any()


@pytest.mark.alone
@pytest.mark.parametrize("n_jobs", [2, 4])
def test_threads_do_not_matter(described, n_jobs):
    one, other = (FisherVector(4, n_jobs=jobs).fit(described) for jobs in (1, n_jobs))
    np.testing.assert_array_equal(one.transform(described), other.transform(described))
    np.testing.assert_array_equal(one.transform(described[2:3])[0], one.transform(described)[2])


def test_one_pipeline_from_pixels_to_labels():
    def image(i):
        stripes = np.sin(np.arange(60) / (2 + 2 * (i % 2)))
        return as_bytes((picture(60, 60, seed=i) + 0.5 + 0.5 * stripes) / 2)

    images, labels = [image(i) for i in range(24)], np.arange(24) % 2
    model = make_pipeline(
        DenseSIFT(8), DescriptorPCA(12, max_descriptors=500), FisherVector(3), LogisticRegression(C=100)
    )
    model.fit(images[:16], labels[:16])
    assert model.score(images[16:], labels[16:]) == 1
    assert cross_val_score(model, images, labels, cv=2).mean() > 0.9
    copy = clone(model).fit(images[:16], labels[:16])
    np.testing.assert_array_equal(copy.decision_function(images), model.decision_function(images))
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.decision_function(images), model.decision_function(images))
    model.set_params(fishervector__n_components=2, densesift__step=12)
    assert model.fit(images, labels)[:-1].transform(images[0]).shape == (1, 2 * 2 * 12)


def test_names_and_progress(described, capsys):
    model = FisherVector(2, verbose=1).fit(described)
    assert "Drawing descriptors" in capsys.readouterr().err
    model.transform(described)
    assert "FisherVector" in capsys.readouterr().err
    assert model.get_feature_names_out()[-1] == "fishervector79"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 0}, "n_components=0 must be"),
        ({"power": 0}, "power=0 must be a number above 0 and at most 1"),
        ({"power": 2}, "power=2 must be a number above 0 and at most 1"),
        ({"norm": "l3"}, "norm='l3' is not known; use one of 'l2', 'l1', None"),
        ({"per_gaussian": 1}, "per_gaussian=1 must be True or False"),
        ({"max_descriptors": 0}, "max_descriptors=0 must be"),
        ({"max_descriptors": 6, "n_components": 7}, "minimum of 7 is required"),
    ],
)
def test_wrong_settings(described, settings, message):
    with pytest.raises(ValueError, match=message):
        FisherVector(**settings).fit(described)


def test_bad_input(described):
    with pytest.raises(NotFittedError):
        FisherVector().transform(described)
    with pytest.raises(ValueError, match=r"shape \(3, 4\); FisherVector was fitted on descriptors of 20 numbers"):
        FisherVector(2).fit(described).transform([np.ones((3, 4))])
    with pytest.raises(ValueError, match="give a list with one matrix"):
        FisherVector(2).fit(np.ones((5, 3)))
    assert FisherVector(2).fit(described).transform(LocalSets(0, described.__getitem__)).shape == (0, 80)


def test_settings_of_the_next_fit(described):
    """They change nothing before it; settings of the normalisation do, and are checked."""
    model = FisherVector(3).fit(described)
    rows = model.transform(described)
    np.testing.assert_array_equal(model.set_params(n_components=5).transform(described), rows)
    assert len(model.get_feature_names_out()) == rows.shape[1]
    with pytest.raises(ValueError, match="norm='l7' is not known"):
        model.set_params(norm="l7").transform(described)
    with pytest.raises(ValueError, match="power=-1 must be"):
        model.set_params(norm="l2", power=-1).transform(described)


def test_descriptors_that_are_no_numbers(described):
    bad = described[0].values.copy()
    bad[0, 0] = np.inf
    with pytest.raises(ValueError, match="The descriptors hold NaN or infinite values"):
        FisherVector(3).fit(described).transform([described[1].values, bad])
