"""Descriptors in model files: to the last bit what they were, and nothing of a file reaches a kernel unchecked."""

import copy
import io
import json
import pickle

import numpy as np
import pytest
from sklearn.pipeline import Pipeline, make_pipeline

from features.pictures import picture
from models.fitted import OF_IMAGES, patches, pictures, queries, rows
from models.mutations import HEADER, members, npy, with_header, written
from nearboost import features as nf
from nearboost.features.fingerprint import fingerprint
from nearboost.models import ModelFileError, load, save
from nearboost.models.old_features import inverted

pytestmark = pytest.mark.filterwarnings("ignore")  # of fits that would like more data

SMALL = {"n_fixations": 20, "n_components": 10, "n_filters": 8, "filter_size": 4, "n_patches": 500}
SMALL |= {"short_side": 48, "window": 24, "stride": 2, "random_state": 0}
SETTINGS = {
    "gist of 320": lambda: nf.Gist(320, side=48, scaling="image", n_jobs=1),
    "bif, roots": lambda: nf.BioInspiredFeatures((1, 3), 16, root=True, scaling="dtype"),
    "bif, scales as an array": lambda: nf.BioInspiredFeatures(np.array([2, 4]), 8),
    "grey": lambda: nf.SmallGrey(9, scaling="image"),
    "sift, so many points": lambda: nf.DenseSIFT(n_points=30, bin_sizes=[3, 5], root=False, smoothing=0),
    "color": lambda: nf.LocalColor(9, bin_sizes=(5,), scaling="image"),
    "nimble": lambda: nf.Nimble(**SMALL),
    "nimble without places": lambda: nf.Nimble(**SMALL, fixations="uniform", location_weight=0),
    "projected": lambda: make_pipeline(nf.DenseSIFT(8), nf.DescriptorPCA(5, random_state=3)),
    "counts": lambda: make_pipeline(nf.LocalColor(8), nf.BagOfFeatures(5, norm=None, max_rounds=2)),
    "fisher by gaussian": lambda: make_pipeline(
        nf.DenseSIFT(8), nf.FisherVector(3, power=1, norm=None, per_gaussian=True, max_iter=5)
    ),
    "recipe of grey": lambda: nf.SIFTColorFisher(
        2, color=False, step=9, bin_sizes=(4,), n_dimensions=6, norm="l1"
    ),
    "recipe, generator": lambda: nf.SIFTColorFisher(
        1, step=9, bin_sizes=(4,), n_dimensions=6, random_state=np.random.RandomState(2)
    ),
    "hard": lambda: make_pipeline(nf.DenseSIFT(8), nf.SpatialPyramid("hard", (1, 3), "mean", n_words=6)),
    "llc": lambda: make_pipeline(
        nf.DenseSIFT(8),
        nf.SpatialPyramid(
            "llc", [2], n_words=9, n_neighbors=3, regularization=0.01, root=False, normalization="l1"
        ),
    ),
    "inn": lambda: make_pipeline(
        nf.DenseSIFT(8), nf.SpatialPyramid(n_words=9, regularization=0.3, normalization=None)
    ),
    "sparse": lambda: make_pipeline(nf.DenseSIFT(8), nf.SpatialPyramid("sparse", n_words=9, regularization=0.2)),
}


def again(model, folder):
    save(model, folder / "model.nb")
    return load(folder / "model.nb")


def transformed(model, X):
    found = model.transform(X)
    return found if isinstance(found, np.ndarray) else np.concatenate([one.values for one in found])


def parts_of(model):
    if isinstance(model, Pipeline):
        return [one for _, step in model.steps for one in parts_of(step)]
    inside = [getattr(model, "gmm_", None), *getattr(model, "channels_", [])]
    return [model, *(one for part in inside if part is not None for one in parts_of(part))]


def assert_same(one, other, X):
    np.testing.assert_array_equal(transformed(other, X), transformed(one, X))
    assert transformed(other, X).dtype == transformed(one, X).dtype
    assert fingerprint(other) == fingerprint(one)  # the rows of a store are found again
    for mine, theirs in zip(parts_of(one), parts_of(other), strict=True):
        names = {name for name in vars(mine) if name.endswith("_")}
        assert names == {name for name in vars(theirs) if name.endswith("_")}
        for name in names - {"gmm_", "channels_"}:
            np.testing.assert_array_equal(getattr(theirs, name), getattr(mine, name), err_msg=name)


@pytest.mark.parametrize("name", SETTINGS)
def test_all_settings(tmp_path, name):
    model = SETTINGS[name]().fit(pictures())
    loaded = again(model, tmp_path)
    assert_same(model, loaded, pictures()[:4])
    assert_same(model, again(copy.deepcopy(loaded), tmp_path), pictures()[:4])
    assert_same(model, pickle.loads(pickle.dumps(loaded)), pictures()[:4])


def test_grey_nimble(tmp_path):
    grey = [picture(60, 64, seed) for seed in range(6)]
    model = nf.Nimble(**SMALL).fit(grey)
    assert model.filters_.shape[-1] == 1
    assert_same(model, again(model, tmp_path), grey)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_with_names(tmp_path, dtype):
    X, Q = rows()[0].astype(dtype), queries().astype(dtype)
    white = nf.WhitenedPCA(7, damping=0, n_passes=1).fit(X)
    white.feature_names_in_ = np.array([f"pixel {i}" for i in range(64)], dtype=object)  # as of a data frame
    loaded = again(white, tmp_path)
    assert_same(white, loaded, Q)
    start = (np.full(2, 0.5), rows()[0][:2], np.full((2, 64), 0.1))
    for mixture in (nf.DiagonalGMM(3).fit(X), nf.DiagonalGMM(2, start=start, max_iter=3).fit(X)):
        loaded = again(mixture, tmp_path)
        for name in ("weights_", "means_", "variances_", "log_likelihood_", "n_iter_", "converged_"):
            np.testing.assert_array_equal(getattr(loaded, name), getattr(mixture, name))
        for name in ("predict", "predict_proba", "score_samples", "score"):
            np.testing.assert_array_equal(getattr(loaded, name)(Q), getattr(mixture, name)(Q))


def test_features_of_no_variance(tmp_path):
    X = np.column_stack([np.full(30, 1e6), np.arange(30.0), np.full(30, -3.0)])
    for model in (nf.WhitenedPCA(2).fit(X), nf.DiagonalGMM(2).fit(X)):
        again(model, tmp_path)
    sets = [np.full((20, 4), float(i % 2)) for i in range(3)]
    model = make_pipeline(nf.DescriptorPCA(2), nf.FisherVector(1)).fit(sets)
    assert_same(model, again(model, tmp_path), sets)


CHANGES = {
    "nimble": {"n_fixations": 7, "filter_size": 3, "n_filters": 2, "location_weight": 2.0, "n_components": 500},
    "counts": {"bagoffeatures__n_words": 1000, "bagoffeatures__norm": "l2"},
    "projected": {"descriptorpca__n_components": 100},
    "fisher by gaussian": {"fishervector__n_components": 99, "fishervector__power": 0.25},
    "recipe of grey": {"color": True, "n_components": 5, "step": 3, "n_dimensions": 2, "power": 0.1},
    "llc": {
        "spatialpyramid__coding": "inn",
        "spatialpyramid__levels": (1,),
        "spatialpyramid__regularization": 0.7,
    },
    "inn": {"spatialpyramid__coding": "llc", "spatialpyramid__n_neighbors": 2, "spatialpyramid__n_words": 500},
    "sparse": {"spatialpyramid__coding": "hard", "spatialpyramid__root": False},
    "hard": {"spatialpyramid__coding": "sparse", "spatialpyramid__pooling": "max"},
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_the_fit_used_is_kept(tmp_path, name):
    """Parameters that were set after the fit change the next fit, or what comes out as they did before."""
    model = SETTINGS[name]().fit(pictures()).set_params(**CHANGES[name])
    loaded = again(model, tmp_path)
    assert_same(model, loaded, pictures()[:4])
    assert all(loaded.get_params()[name] == value for name, value in CHANGES[name].items())


def test_a_pyramid_codes_as_it_was_fitted(tmp_path):
    pyramid = nf.SpatialPyramid("sparse", n_words=9).fit(patches())
    before = pyramid.transform(patches())
    for coding in ("inn", "llc", "hard"):
        np.testing.assert_array_equal(pyramid.set_params(coding=coding).transform(patches()), before)


LEARNERS = (nf.Nimble, nf.BagOfFeatures, nf.SpatialPyramid, nf.FisherVector, nf.DescriptorPCA, nf.SIFTColorFisher)


@pytest.mark.parametrize("kind", [*LEARNERS, nf.DiagonalGMM, nf.WhitenedPCA])
def test_not_fitted(tmp_path, kind):
    with pytest.raises(ModelFileError, match="cannot be saved: it is not fitted"):
        save(kind(), tmp_path / "model.nb")


def changed(model, folder, place, change):
    """A file of the model in which an entry, or its array, is another one; all checksums fit."""
    save(model, folder / "sound.nb")
    contents = members(folder / "sound.nb")
    header = json.loads(contents[HEADER])
    spot, *keys, last = header["root"], *(int(key) if key.isdigit() else key for key in place.split("."))
    for key in keys:
        spot = spot[key]
    found = spot[last]
    if isinstance(found, dict) and list(found) == ["array"]:
        name = f"arrays/{found['array']}.npy"
        array = np.lib.format.read_array(io.BytesIO(contents[name]))
        contents |= {name: npy(change(array) if callable(change) else np.asarray(change))}
    else:
        spot[last] = change(found) if callable(change) else change
    written(folder / "changed.nb", with_header(contents, header))
    return folder / "changed.nb"


def with_one(number):
    def change(array):
        array = array.copy()
        array.reshape(-1)[-1] = number
        return array

    return change


def without_last(array):
    return array[:-1]


BY_SETS = {
    "bag": lambda: nf.BagOfFeatures(5).fit(patches()),
    "pca": lambda: nf.DescriptorPCA(5).fit(patches()),
    "fisher": lambda: nf.FisherVector(2).fit(patches()),
    "pyramid": lambda: nf.SpatialPyramid(n_words=9).fit(patches()),
    "llc": lambda: nf.SpatialPyramid("llc", n_words=9).fit(patches()),
    "nimble": lambda: nf.Nimble(**SMALL).fit(pictures()),
    "gmm": lambda: nf.DiagonalGMM(2).fit(rows()[0]),
    "white": lambda: nf.WhitenedPCA(5).fit(rows()[0]),
    "recipe": lambda: nf.SIFTColorFisher(1, step=9, bin_sizes=(4,), n_dimensions=6).fit(pictures()),
}
WRONG = [
    ("bag", "state.words_", with_one(np.nan)),
    ("bag", "state.words_", with_one(3e38)),
    ("bag", "state.words_", lambda words: words[:0]),
    ("bag", "state.words_", lambda words: words.astype(np.float64)),
    ("bag", "state.words_", np.asfortranarray),
    ("bag", "state.n_features_in_", 127),
    ("bag", "state.n_features_in_", 128.0),
    ("bag", "parameters.norm", "l3"),
    ("pca", "state.mean_", without_last),
    ("pca", "state.components_", without_last),
    ("pca", "state.components_", with_one(10)),
    ("pca", "state.n_components_", 4),
    ("pca", "parameters.n_components", 0),
    ("fisher", "state.n_features_in_", 64),
    ("fisher", "state.gmm_.class", "WhitenedPCA"),
    ("fisher", "state.gmm_", {"class": "Gist", "parameters": {}, "state": {}}),
    ("fisher", "state.gmm_.state.deviation", with_one(1e-320)),
    ("fisher", "parameters.power", 0),
    ("pyramid", "state.words_", lambda words: words.T.copy()),
    ("pyramid", "state.coding", "soft"),
    ("pyramid", "state.regularization", 1e-9),
    ("pyramid", "state.regularization", 1e300),
    ("pyramid", "parameters.levels", {"tuple": [256] * 16}),
    ("pyramid", "parameters.levels", {"tuple": [1] * 17}),
    ("pyramid", "parameters.levels", {"dict": [[1, 2]]}),
    ("pyramid", "parameters.regularization", 1e-9),
    ("llc", "state.n_near", 10),
    ("llc", "state.n_near", 0),
    ("nimble", "state.filters_", with_one(1e30)),
    ("nimble", "state.filters_", without_last),
    ("nimble", "state.filters_", lambda filters: filters[..., :2]),
    ("nimble", "state.filters_", lambda filters: filters[:, :3]),
    ("nimble", "state.shapes", with_one(0)),
    ("nimble", "state.scales", with_one(0)),
    ("nimble", "state.mean_", with_one(7)),
    ("nimble", "state.components_", lambda directions: directions[:, :-1]),
    ("nimble", "state.components_", lambda directions: directions[:0]),
    ("nimble", "state.seed_", -1),
    ("nimble", "parameters.window", 49),
    ("nimble", "parameters.short_side", 10**6),
    ("nimble", "parameters.stride", 2**63),
    ("nimble", "parameters.n_fixations", 10**9),
    ("gmm", "state.weights_", with_one(0)),
    ("gmm", "state.weights_", with_one(-0.5)),
    ("gmm", "state.weights_", without_last),
    ("gmm", "state.variances", with_one(0)),
    ("gmm", "state.variances", with_one(np.inf)),
    ("gmm", "state.means", with_one(1e300)),
    ("gmm", "state.center", without_last),
    ("gmm", "state.deviation", with_one(0)),
    ("gmm", "state.n_iter_", 0),
    ("white", "state.explained_variance_", with_one(-1)),
    ("white", "state.components_", lambda directions: directions[:, :-1]),
    ("white", "state.mean_", with_one(1e300)),
    ("white", "parameters.damping", 1e308),
    ("recipe", "state.channels_", lambda channels: channels[:1]),
    ("recipe", "state.channels_", lambda channels: []),
    ("recipe", "state.uses_color_", False),
    ("recipe", "state.channels_.0.parameters.steps", lambda steps: steps[1:]),
    ("recipe", "state.channels_.0.parameters.steps.0.1.class", "LocalColor"),
    ("recipe", "state.channels_.0.parameters.steps.0.1", "passthrough"),
    ("recipe", "state.channels_.1.parameters.steps.2.1.state.n_features_in_", 5),
    ("recipe", "parameters.color", "always"),
]


@pytest.fixture(scope="module")
def models():
    return {name: make() for name, make in BY_SETS.items()}


@pytest.mark.parametrize(("name", "place", "change"), WRONG, ids=range(len(WRONG)))
def test_entries_that_are_wrong(models, tmp_path, name, place, change):
    path = changed(models[name], tmp_path, place, change)
    with pytest.raises(ModelFileError) as caught:
        load(path)
    said = str(caught.value)
    assert said.startswith(str(path))
    assert said.endswith(".")
    assert "\n" not in said


def test_changing_an_entry_for_itself_harms_nothing(models, tmp_path):
    """The tools of these tests make sound files when nothing is wrong."""
    for name, place, _ in WRONG:
        assert load(changed(models[name], tmp_path, place, lambda found: found)) is not None


TOO_LARGE = [
    (nf.Gist(side=513), "side=513 must be a whole number of at least 32 and at most 512"),
    (nf.Gist(512.0), r"layout=512\.0 is not known"),
    (nf.SmallGrey(10**6), "side=1000000 must be a whole number of at least 1 and at most 1,024"),
    (nf.BioInspiredFeatures((1, 11)), "scales=11 must be a whole number of at least 1 and at most 10"),
    (nf.BioInspiredFeatures((1,) * 17), "must be a tuple of whole numbers"),
    (nf.BioInspiredFeatures(bins=10**9), "A row would have 4,000,000,000 numbers, more than 4,194,304; use fewer"),
    (nf.BioInspiredFeatures(regions=10**9), "A row would have 1,024,000,000,000 numbers"),
    (
        nf.DenseSIFT(10**30),
        "step=1000000000000000000000000000000 must be a whole number of at least 1 and at most",
    ),
    (nf.DenseSIFT(bin_sizes=(4, 33)), "bin_sizes=33 must be a whole number of at least 1 and at most 32"),
    (nf.LocalColor(bin_sizes=range(4)), "must be a tuple of whole numbers"),
    (nf.LocalColor(bin_sizes=(1,) * 9), "must be a tuple of whole numbers, such as .* and of 8 at most"),
    (nf.DenseSIFT(smoothing=101), "smoothing=101 must be a number of at least 0 and at most 100"),
    (nf.Nimble(n_filters=1001), "n_filters=1001 must be a whole number of at least 1 and at most 1,000"),
    (nf.Nimble(filter_size=33), "filter_size=33 must be a whole number of at least 2 and at most 32"),
    (
        nf.Nimble(short_side=4096),
        "stride=4 gives too many places for filters of 16 pixels on short_side=4096; use",
    ),
    (nf.Nimble(n_fixations=10**5), "n_fixations=100000 is too many for 100 filters; use 20,971 or fewer"),
    (
        nf.Nimble(location_weight=1e7),
        r"location_weight=10000000\.0 must be a number of at least 0 and at most 1e\+06",
    ),
    (
        nf.SpatialPyramid(levels=(1, 64)),
        "A row would have 4,195,328 numbers, more than 4,194,304; use fewer words",
    ),
    (nf.SpatialPyramid(levels=(1, 257)), "levels=257 must be a whole number of at least 1 and at most 256"),
    (
        nf.SpatialPyramid(regularization=1e-4),
        r"regularization=0\.0001 is too small for coding='inn'; use 0\.001 or",
    ),
    (
        nf.SpatialPyramid("llc", n_neighbors=51),
        "n_neighbors=51 must be a whole number of at least 1 and at most 50",
    ),
    (nf.WhitenedPCA(damping=1e7), r"damping=10000000\.0 must be a number of at least 0 and at most 1e\+06"),
]


@pytest.mark.parametrize(("model", "message"), TOO_LARGE, ids=range(len(TOO_LARGE)))
def test_settings_by_which_an_image_would_fill_the_memory(model, message):
    with pytest.raises(ValueError, match=message):
        model.check_parameters()
    with pytest.raises(ValueError, match=message):
        model.fit(pictures())


def test_levels_of_small_numbers_do_not_wrap():
    """16² is 0 in eight bits: pooled weights would be written beyond the row."""
    small = nf.SpatialPyramid("hard", np.array([1, 16], dtype=np.uint8), n_words=5).fit(patches())
    same = nf.SpatialPyramid("hard", (1, 16), n_words=5).fit(patches())
    np.testing.assert_array_equal(small.transform(patches()), same.transform(patches()))


def test_as_many_points_as_there_are():
    [all_points] = nf.DenseSIFT(1, bin_sizes=(4,)).transform(pictures()[:1])
    [asked] = nf.DenseSIFT(n_points=10**30, bin_sizes=(4,)).transform(pictures()[:1])
    np.testing.assert_array_equal(asked.values, all_points.values)


def test_responses_that_are_no_numbers_stay_within_the_tables():
    from nearboost.kernels.images import rank_and_surprise

    tables = np.linspace(0, 1, 8, dtype=np.float32)[:, np.newaxis]
    responses = np.array([[0.5], [np.inf], [np.nan], [1e30], [-1e30], [7.0]], dtype=np.float32)
    surprise = np.empty(6, dtype=np.float32)
    rank_and_surprise(responses, np.float32(1), tables, tables, surprise)
    np.testing.assert_allclose(responses[[0, 1, 3, 4, 5], 0], [0.5 / 7, 1, 1, 1, 1], rtol=1e-6)
    assert np.isnan(responses[2]) or 0 <= responses[2] <= 1


MISFITS = [
    (
        lambda: make_pipeline(nf.Gist(), nf.BagOfFeatures(5).fit(patches())),
        "BagOfFeatures takes sets of descriptors",
    ),
    (
        lambda: make_pipeline(nf.LocalColor(), nf.BagOfFeatures(5).fit(patches())),
        "gives it sets of descriptors of 96",
    ),
    (
        lambda: make_pipeline(nf.DenseSIFT(), nf.WhitenedPCA(2).fit(rows()[0])),
        "WhitenedPCA takes rows of 64 numbers",
    ),
    (lambda: make_pipeline(nf.Gist(), nf.WhitenedPCA(2).fit(rows()[0])), "and Gist gives it rows of 512 numbers"),
    (lambda: make_pipeline(nf.DiagonalGMM(2).fit(rows()[0]), nf.Gist()), "DiagonalGMM is a step of Pipeline, and"),
    (lambda: Pipeline([("a", nf.Gist()), ("a", nf.Gist())]), "needs steps under different names"),
]


@pytest.mark.parametrize(("make", "message"), MISFITS, ids=range(len(MISFITS)))
def test_steps_that_do_not_fit(tmp_path, make, message):
    with pytest.raises(ValueError, match=message):
        save(make(), tmp_path / "model.nb")


def test_steps_that_do_not_fit_in_a_file(tmp_path):
    model = OF_IMAGES["nimble"]().fit(pictures())
    path = changed(model, tmp_path, "parameters.steps.0.1.parameters.location_weight", 0)
    with pytest.raises(ModelFileError, match="does not fit together"):
        load(path)


def test_numbers_with_given_inverses():
    deviations = np.random.default_rng(0).lognormal(0, 9, 10_000)
    inverses = 1 / deviations
    np.testing.assert_array_equal(1 / inverted(inverses), inverses)
    np.testing.assert_allclose(inverted(inverses), deviations, rtol=1e-15)
