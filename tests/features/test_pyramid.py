"""SpatialPyramid and its codings: against plain readings; words, empty cells, threads, settings, real scenes."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from features.pictures import picture
from features.real_images import files_of
from nearboost.base.local_sets import LocalSet, LocalSets
from nearboost.codes.l1 import L1Dictionary
from nearboost.features.codings import NearWords, learn_atoms
from nearboost.features.pyramid import SpatialPyramid
from nearboost.features.sift import DenseSIFT
from reference import inn
from reference import pyramid as reference

RNG = np.random.default_rng(0)
CODINGS = ["inn", "sparse", "llc", "hard"]


def random_sets(n_images=6, n_descriptors=30, width=7):
    rng = np.random.default_rng(3)
    return LocalSets.of(
        [
            LocalSet(
                rng.normal(size=(n_descriptors, width)).astype(np.float32),
                rng.uniform(0, 1, size=(n_descriptors, 2)).astype(np.float32),
            )
            for _ in range(n_images)
        ]
    )


SETS = random_sets()


def plain_code(coding, words, x):
    if coding == "inn":
        return inn.code(words, x, 0.1, inn.n_terms(0.1, 0.95))
    if coding == "sparse":
        return np.abs(L1Dictionary(words, 0.15).codes(x[np.newaxis]).toarray()[0])
    return reference.llc(words.astype(float), x.astype(float), 5 if coding == "llc" else 1, 1e-4)


@pytest.mark.pairs
@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("pooling", ["max", "mean"])
@pytest.mark.parametrize(("root", "normalization"), [(True, "l2"), (False, "l1"), (False, None)])
def test_against_a_plain_reading(coding, pooling, root, normalization):
    levels = (1, 3)
    model = SpatialPyramid(coding, levels, pooling, n_words=12, root=root, normalization=normalization).fit(SETS)
    found = model.transform(SETS[:2])
    assert found.shape == (2, 120)
    assert found.dtype == np.float32
    for one, row in zip(SETS[:2], found, strict=True):
        codes = np.array([plain_code(coding, model.words_, x) for x in one.values])
        pooled = reference.pyramid(codes, one.positions, levels, pooling)
        np.testing.assert_allclose(row, reference.finished(pooled, root, normalization), rtol=0, atol=1e-6)


def test_sparse_codes_are_lassos():
    """A plain optimality check: slopes are at most λ, and λ where a weight stands."""
    words = SpatialPyramid("sparse", n_words=12).fit(SETS).words_.astype(float)
    np.testing.assert_allclose(np.linalg.norm(words, axis=1), 1, rtol=1e-6)
    x = SETS[0].values.astype(float)
    codes = L1Dictionary(words, 0.15).codes(x).toarray()
    slopes = (x - codes @ words) @ words.T
    assert np.all(np.abs(slopes) <= 0.15 + 1e-8)
    np.testing.assert_allclose(slopes[codes != 0], 0.15 * np.sign(codes[codes != 0]), atol=1e-8)


def test_local_linear_codes():
    words = RNG.normal(size=(9, 4)).astype(np.float32)
    x = RNG.normal(size=(20, 4)).astype(np.float32)
    found = NearWords(words, 1e-4, 5).codes(x).toarray()
    expected = [reference.llc(words.astype(float), row.astype(float), 5, 1e-4) for row in x]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    on_words = NearWords(words, 1e-4, 3).codes(words).toarray()
    np.testing.assert_allclose(np.diagonal(on_words), 1.0, atol=1e-2)
    same = np.repeat(words[:1], 4, axis=0)
    np.testing.assert_allclose(NearWords(same, 1e-4, 4).codes(words[:1]).toarray(), 0.25)


def test_learned_atoms_code_better():
    """Rows made of three hidden atoms each are coded better by learned words than by rows."""
    rng = np.random.default_rng(1)
    hidden = rng.normal(size=(15, 20))
    hidden /= np.linalg.norm(hidden, axis=1, keepdims=True)
    weights = np.zeros((1000, 15))
    for row in weights:
        row[rng.permutation(15)[:3]] = rng.choice([-1, 1], 3) * rng.uniform(0.5, 1, 3)
    rows = (weights @ hidden).astype(np.float32)
    atoms = learn_atoms(rows, 20, 0.1, n_passes=20)
    np.testing.assert_array_equal(atoms, learn_atoms(rows, 20, 0.1, n_passes=20, n_jobs=1))
    assert np.any(atoms != learn_atoms(rows, 20, 0.1, seed=1, n_passes=20))

    def cost(words):
        codes = L1Dictionary(words, 0.1).codes(rows)
        return (0.5 * np.square(rows - codes @ words).sum(axis=1) + 0.1 * abs(codes).sum(axis=1)).mean()

    plain = rows[:20] / np.linalg.norm(rows[:20], axis=1, keepdims=True)
    assert cost(atoms) < 0.8 * cost(plain)
    assert cost(atoms) < 1.1 * cost(hidden.astype(np.float32))


def test_unused_atoms_are_renewed():
    """Two far groups, all first atoms from one of them: the other group gets atoms of its own."""
    rows = np.zeros((400, 6), dtype=np.float32)
    rows[:, :3] = np.random.default_rng(0).normal(size=(400, 3)) + 4
    rows[0] = [0, 0, 0, 5, 5, 5]
    atoms = learn_atoms(rows, 40, 3.0, n_passes=3)
    assert np.all(np.isfinite(atoms))
    np.testing.assert_allclose(np.linalg.norm(atoms, axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("coding", CODINGS)
def test_empty_cells_and_empty_images(coding):
    corner = LocalSet(SETS[0].values, np.full((30, 2), 0.99, dtype=np.float32))
    nothing = LocalSet(np.empty((0, 7), dtype=np.float32), np.empty((0, 2), dtype=np.float32))
    model = SpatialPyramid(coding, (1, 2), n_words=5).fit(SETS)
    rows = model.transform([corner, nothing]).reshape(2, 5, 5)
    assert np.all(rows[0, 1:4] == 0)
    np.testing.assert_array_equal(rows[0, 0], rows[0, 4])
    assert rows[0, 0].max() > 0
    assert np.all(rows[1] == 0)


def test_borders_belong_to_the_last_cells():
    ends = LocalSet(SETS[0].values[:2], np.array([[0.0, 0.0], [1.0, 1.0]], dtype=np.float32))
    rows = SpatialPyramid("hard", (2,), n_words=5).fit(SETS).transform([ends]).reshape(4, 5)
    assert rows[0].sum() > 0
    assert rows[3].sum() > 0
    assert np.all(rows[1:3] == 0)


@pytest.mark.alone
@pytest.mark.parametrize("coding", CODINGS)
def test_same_for_any_threads_and_after_pickling(coding):
    model = SpatialPyramid(coding, n_words=10, n_jobs=1).fit(SETS)
    expected = model.transform(SETS)
    again = clone(model).set_params(n_jobs=2).fit(SETS)
    np.testing.assert_array_equal(again.transform(SETS), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(SETS), expected)
    np.testing.assert_array_equal(model.transform(SETS.take([4, 1])), expected[[4, 1]])
    assert len(model.get_feature_names_out()) == 210


def test_few_descriptors_are_held_at_a_time():
    """Sets are made one by one, once each; a fit draws a bounded number."""
    made = []

    def make(i):
        made.append(i)
        return SETS[i]

    model = SpatialPyramid(n_words=4, max_descriptors=12, n_jobs=1).fit(LocalSets(6, make))
    assert sorted(made) == list(range(6))
    made.clear()
    model.transform(LocalSets(6, make))
    assert made == list(range(6))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"coding": "soft"}, "coding='soft' is not known; use one of 'inn', 'sparse', 'llc', 'hard'"),
        ({"pooling": "sum"}, "pooling='sum' is not known; use one of 'max', 'mean'"),
        ({"levels": ()}, r"levels=\(\) must be a tuple of whole numbers"),
        ({"levels": (1, 0)}, "levels=0 must be a whole number"),
        ({"n_words": 0}, "n_words=0 must be a whole number"),
        ({"n_words": 181}, "n_words=181 is more than the 180 descriptors drawn; use fewer words"),
        ({"regularization": -1}, "regularization=-1 must be a number above 0"),
        ({"coding": "llc", "n_words": 4}, "n_neighbors=5 is more than n_words=4"),
        ({"root": 2}, "root=2 must be True or False"),
        ({"normalization": "max"}, "normalization='max' is not known"),
        ({"max_descriptors": 0}, "max_descriptors=0 must be a whole number"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        SpatialPyramid(**{"n_words": 10} | settings).fit(SETS)


def test_wrong_sets():
    model = SpatialPyramid("hard", n_words=5).fit(SETS)
    with pytest.raises(ValueError, match="Image 0 has descriptors without positions; give LocalSets"):
        model.transform([SETS[0].values])
    flat = SpatialPyramid("hard", (1,), n_words=5).fit(SETS)
    np.testing.assert_array_equal(flat.transform([SETS[0].values]), flat.transform(SETS[:1]))
    with pytest.raises(ValueError, match=r"Got descriptors of shape \(30, 3\); SpatialPyramid was fitted on"):
        model.transform([LocalSet(SETS[0].values[:, :3], SETS[0].positions)])
    with pytest.raises(ValueError, match="16 words need as many descriptors that are not zero, and there are 0"):
        SpatialPyramid("sparse", n_words=16).fit([np.zeros((20, 4))])


def test_pictures_through_a_pipeline():
    images = [picture(50, 60, seed, channels=3) for seed in range(4)]
    made = make_pipeline(DenseSIFT(step=8, bin_sizes=(4,)), SpatialPyramid("llc", (1, 2), n_words=16))
    rows = made.fit_transform(images)
    np.testing.assert_array_equal(made.transform(images[2]), rows[2:3])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, rtol=1e-5)


@pytest.mark.data
def test_scenes():
    """Four kinds of scenes by 100 words: far better than chance."""
    paths, kinds = files_of("scene15/train", 24, "*.jpg", kinds=4)
    sets = DenseSIFT(step=12, bin_sizes=(4,)).transform(paths)
    train, test = range(0, len(paths), 2), range(1, len(paths), 2)
    pyramid = SpatialPyramid(n_words=100, max_descriptors=10_000).fit(sets.take(train))
    model = LinearSVC(C=10).fit(pyramid.transform(sets.take(train)), [kinds[i] for i in train])
    assert model.score(pyramid.transform(sets.take(test)), [kinds[i] for i in test]) > 0.7


def test_settings_after_fit_are_checked():
    model = SpatialPyramid("hard", n_words=5).fit(SETS)
    for setting in ({"pooling": "median"}, {"normalization": "l9"}):
        with pytest.raises(ValueError, match="is not known; use one of"):
            clone(model).fit(SETS).set_params(**setting).transform(SETS)
    with pytest.raises(ValueError, match=r"Image 0 has positions of shape \(3, 2\) for 30 descriptors"):
        model.transform([LocalSet(SETS[0].values, SETS[0].positions[:3])])
