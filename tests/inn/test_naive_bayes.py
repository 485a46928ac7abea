"""Naive Bayes by local descriptors: as plain loops give it, with scikit-learn's tools, and on bad input."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from nearboost.base.local_sets import LocalSet, LocalSets
from nearboost.inn.naive_bayes import NaiveBayesNN
from reference import naive_bayes

NAMES = np.array(["house", "tree", "cloud"])


def images_of(seed, n=24, n_classes=3, d=4, dtype=np.float64):
    """Images of 1 to 9 descriptors, some around a place of their class's own; and their labels."""
    rng = np.random.default_rng(seed)
    places = 2 * np.random.default_rng(0).normal(size=(n_classes, d))
    y = rng.permutation(np.arange(n) % n_classes)
    images = [rng.normal(size=(rng.integers(1, 10), d)) + places[c] * (rng.random() < 0.8) for c in y]
    return [image.astype(dtype) for image in images], y


IMAGES, Y = images_of(1)
QUERIES, _ = images_of(2, n=10)
REPRESENTATIONS = ["inn", "nn", "l1"]


def stacked(images, y):
    return np.vstack(images), np.repeat(y, [len(image) for image in images])


def expected_scores(representation, near, images, y, queries):
    X, classes = stacked(images, y)
    n_classes = y.max() + 1
    if representation == "inn":
        return [naive_bayes.nbinn(X, classes, q, n_classes, 0.1, 32, near) for q in queries]
    if representation == "l1":
        return [naive_bayes.nbsr(X, classes, q, n_classes, 0.3, near) for q in queries]
    if near is None:
        return [naive_bayes.nbnn(X, classes, q, n_classes) for q in queries]
    return [naive_bayes.local_nbnn(X, classes, q, n_classes, near) for q in queries]


@pytest.mark.pairs
@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("near", [None, 1, 7, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores(representation, near, dtype):
    images, y = images_of(3, dtype=dtype)
    queries, _ = images_of(4, n=8, dtype=dtype)
    model = NaiveBayesNN(representation, neighborhood=near).fit(images, NAMES[y])
    np.testing.assert_array_equal(model.classes_, np.sort(NAMES))
    assert model.n_features_in_ == 4
    expected = np.array(expected_scores(representation, near, images, y, queries))[:, np.argsort(NAMES)]
    scores = model.decision_function(queries)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(model.predict(queries), model.classes_[scores.argmax(axis=1)])


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_a_neighborhood_of_all_is_exact(representation):
    exact = NaiveBayesNN(representation, neighborhood=None).fit(IMAGES, Y)
    for near in (sum(map(len, IMAGES)), 10_000):
        model = NaiveBayesNN(representation, neighborhood=near).fit(IMAGES, Y)
        np.testing.assert_allclose(
            model.decision_function(QUERIES), exact.decision_function(QUERIES), rtol=0, atol=1e-12
        )


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("near", [None, 12])
def test_other_ways_to_give_images(representation, near):
    """A list, LocalSets, sets made when asked for, one packed matrix."""
    model = NaiveBayesNN(representation, neighborhood=near).fit(IMAGES, Y)
    expected = model.decision_function(QUERIES)
    ends = np.cumsum([0, *map(len, QUERIES)])
    for queries in (
        LocalSets.of(QUERIES),
        [LocalSet(image) for image in QUERIES],
        LocalSets(len(QUERIES), lambda i: LocalSet(QUERIES[i])),
        LocalSets.packed(np.vstack(QUERIES), ends),
        [image.tolist() for image in QUERIES],
        [np.asfortranarray(image) for image in QUERIES],
        np.array([*QUERIES, None], dtype=object)[:-1],
    ):
        np.testing.assert_array_equal(model.decision_function(queries), expected)
    other = NaiveBayesNN(representation, neighborhood=near).fit(LocalSets.of(IMAGES), list(Y))
    np.testing.assert_array_equal(other.decision_function(QUERIES), expected)


@pytest.mark.alone
@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_threads_and_blocks(representation, monkeypatch):
    """Same scores for any number of threads, any block, and one image at a time."""
    expected = NaiveBayesNN(representation, n_jobs=1).fit(IMAGES, Y).decision_function(QUERIES)
    model = NaiveBayesNN(representation, n_jobs=2).fit(IMAGES, Y)
    np.testing.assert_array_equal(model.decision_function(QUERIES), expected)
    np.testing.assert_array_equal(np.vstack([model.decision_function([image]) for image in QUERIES]), expected)
    for size in (1, 7, 20):
        monkeypatch.setattr("nearboost.inn.image_sets.DESCRIPTORS_AT_ONCE", size)
        np.testing.assert_array_equal(model.decision_function(QUERIES), expected)


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_order_does_not_matter(representation):
    """Neither that of images nor that of descriptors."""
    rng = np.random.default_rng(5)
    order = rng.permutation(len(IMAGES))
    model = NaiveBayesNN(representation).fit(IMAGES, Y)
    other = NaiveBayesNN(representation).fit([rng.permutation(IMAGES[i]) for i in order], Y[order])
    shuffled = [rng.permutation(image) for image in QUERIES]
    np.testing.assert_allclose(
        other.decision_function(shuffled), model.decision_function(QUERIES), rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_scores_add_up(representation):
    """Two images in one have the sum of their scores."""
    model = NaiveBayesNN(representation).fit(IMAGES, Y)
    first, second, both = model.decision_function([*QUERIES[:2], np.vstack(QUERIES[:2])])
    np.testing.assert_allclose(both, first + second, rtol=0, atol=1e-9)


def test_duplicates():
    """A descriptor that two classes share is as near to both; a code takes the first of them."""
    images, y = [*IMAGES, IMAGES[0]], np.append(Y, (Y[0] + 1) % 3)
    nearest = NaiveBayesNN("nn", neighborhood=None).fit(images, y).decision_function([IMAGES[0]])
    assert np.count_nonzero(nearest == 0) == 2
    for representation in ("inn", "nn"):
        model = NaiveBayesNN(representation, neighborhood=9).fit(images, y)
        expected = expected_scores(representation, 9, images, y, QUERIES)
        np.testing.assert_allclose(model.decision_function(QUERIES), expected, rtol=0, atol=1e-9)
    # Sparse codes may share a weight among equals as they like; the other class does not notice.
    third = np.flatnonzero((np.arange(3) != y[0]) & (np.arange(3) != y[-1]))
    model, without = (NaiveBayesNN("l1", neighborhood=None).fit(images[:n], y[:n]) for n in (len(y), len(Y)))
    np.testing.assert_allclose(
        model.decision_function(QUERIES)[:, third], without.decision_function(QUERIES)[:, third], atol=1e-9
    )


@pytest.mark.parametrize(("representation", "of_one"), [("inn", 1 - 1.1**-32.0), ("l1", 1.0)])
def test_probabilities(representation, of_one):
    """Each descriptor gives out as much as any other."""
    model = NaiveBayesNN(representation).fit(IMAGES, Y)
    probabilities, scores = model.predict_proba(QUERIES), model.decision_function(QUERIES)
    expected = 25 / 26 * softmax(scores / model.temperature_, axis=1) + 1 / 26 / 3
    np.testing.assert_allclose(probabilities, expected, rtol=1e-9)
    lengths = np.array([len(image) for image in QUERIES])
    np.testing.assert_allclose(scores.sum(axis=1), lengths * of_one, rtol=1e-12)


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_two_classes(representation):
    model = NaiveBayesNN(representation).fit(IMAGES, Y > 0)
    scores = model.decision_function(QUERIES)
    assert scores.shape == (len(QUERIES),)
    np.testing.assert_array_equal(model.predict(QUERIES), scores > 0)


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("empty", [np.empty((0, 4)), np.empty((0, 7)), []])
def test_images_without_descriptors(representation, empty):
    """They add nothing to the fit; elsewhere no class is likelier than another, and there is a warning."""
    model = NaiveBayesNN(representation).fit(IMAGES, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = model.decision_function(QUERIES)
        other = NaiveBayesNN(representation).fit([empty, *IMAGES, empty], np.concatenate([[2], Y, [0]]))
        np.testing.assert_array_equal(other.decision_function(QUERIES), expected)
        np.testing.assert_array_equal(other.voters_, np.arange(1, len(IMAGES) + 1))
    mixed = [*QUERIES[:3], empty, *QUERIES[3:], empty]
    with pytest.warns(UserWarning, match="2 of 12 images have no descriptors, first image 3") as caught:
        scores = model.decision_function(mixed)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="2 of 12 images have no descriptors") as caught:
        model.predict(mixed)
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(scores[[3, -1]], 0.0)
    np.testing.assert_array_equal(np.delete(scores, [3, len(mixed) - 1], axis=0), expected)
    with pytest.warns(UserWarning, match=r"1 of . images have no descriptors, first image 0"):
        assert model.predict([empty]) == [0]
    if representation != "nn":
        with pytest.warns(UserWarning, match=r"1 of . images have no descriptors, first image 0"):
            np.testing.assert_allclose(model.predict_proba([empty, QUERIES[0]])[0], 1 / 3)


@pytest.mark.parametrize(("representation", "least"), [("inn", 0.75), ("nn", 0.8), ("l1", 0.7)])
def test_patches_of_digits(representation, least):
    """36 patches of 3x3 pixels each, and where they are."""
    digits, labels = load_digits(return_X_y=True)
    places = np.stack(np.mgrid[:6, :6], axis=-1).reshape(36, 2) / 3
    patches = np.lib.stride_tricks.sliding_window_view(digits.reshape(-1, 8, 8) / 16, (3, 3), axis=(1, 2))
    images = [np.hstack([one.reshape(36, 9), places]) for one in patches[:400]]
    model = NaiveBayesNN(representation).fit(images[:200], labels[:200])
    assert model.score(images[200:], labels[200:400]) > least


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_with_tools_of_scikit_learn(representation):
    images, y = images_of(6, n=60)
    model = NaiveBayesNN(representation, neighborhood=30, n_jobs=1)
    assert is_classifier(model)
    assert model.get_params()["neighborhood"] == 30
    assert clone(model).set_params(coverage=0.9).coverage == 0.9
    scores = cross_val_score(model, images, NAMES[y], cv=3)
    assert scores.mean() > 0.6
    np.testing.assert_array_equal(cross_val_score(model, LocalSets.of(images), NAMES[y], cv=3), scores)
    search = GridSearchCV(model, {"neighborhood": [1, 30]}, cv=3).fit(images, y)
    np.testing.assert_array_equal(search.predict(QUERIES), search.best_estimator_.predict(QUERIES))
    model.fit(images, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.decision_function(QUERIES), model.decision_function(QUERIES))
    assert model.score(images, y) > 0.7


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("near", [None, 5])
def test_progress(representation, near, capsys):
    model = NaiveBayesNN(representation, neighborhood=near, verbose=1).fit(IMAGES, Y)
    capsys.readouterr()
    model.predict(QUERIES)
    shown = capsys.readouterr()
    assert len(shown.err.strip().splitlines()) == 1
    assert shown.err.startswith("Scoring images")
    assert not shown.out


def test_regularization():
    """0.1 for INN codes and 0.3 for sparse ones unless said otherwise."""
    for representation, usual in (("inn", 0.1), ("l1", 0.3)):
        model = NaiveBayesNN(representation).fit(IMAGES, Y)
        expected = model.decision_function(QUERIES)
        same = model.set_params(regularization=usual).fit(IMAGES, Y).decision_function(QUERIES)
        other = model.set_params(regularization=1.0).fit(IMAGES, Y).decision_function(QUERIES)
        np.testing.assert_array_equal(same, expected)
        assert np.abs(other - expected).max() > 0.1


def test_codes_without_weights_say_nothing():
    """λ too large for any weight: scores of 0 and equal probabilities."""
    model = NaiveBayesNN("l1", regularization=1e6).fit(IMAGES, Y)
    np.testing.assert_array_equal(model.decision_function(QUERIES), 0.0)
    np.testing.assert_allclose(model.predict_proba(QUERIES), 1 / 3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"representation": "knn"}, "representation='knn' is not known; use one of 'inn', 'nn', 'l1'"),
        ({"neighborhood": 0}, "neighborhood=0 must be a whole number of at least 1 or None"),
        ({"regularization": 0}, r"regularization=0 must be a number above 0 \(or None\)"),
        ({"regularization": 1e-9}, "regularization=1e-09 and coverage=0.95 ask for .* terms"),
        ({"coverage": 1}, "coverage=1 must be below 1"),
        ({"representation": "nn", "coverage": 2}, "coverage=2 must be below 1"),
        ({"n_jobs": 0}, "n_jobs=0 has no meaning"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        NaiveBayesNN(**settings).fit(IMAGES, Y)


def with_image(number, image):
    return [*IMAGES[:number], image, *IMAGES[number + 1 :]]


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (np.ones(4), r"Image 5 has descriptors of shape \(4,\); give a matrix with one in each row"),
        (np.ones((2, 2, 4)), r"Image 5 has descriptors of shape \(2, 2, 4\)"),
        (np.array([["a", "b", "c", "d"]]), "Image 5 has descriptors of type <U1; give real numbers"),
        (np.ones((2, 4), dtype=complex), "Image 5 has descriptors of type complex128; give real numbers"),
        (np.array([[0, 0, 0, 0], [0, 0, np.nan, 0]]), "Descriptor 1 of image 5 holds NaN or infinity; drop it"),
        (np.full((1, 4), -np.inf), "Descriptor 0 of image 5 holds NaN or infinity"),
        (np.ones((3, 2)), "The descriptors of image 5 have 2 numbers and those of .* have 4; describe all"),
        ([[0, 0, 0, 0], [0]], "Image 5 could not be read as a matrix of descriptors: .*inhomogeneous"),
    ],
)
def test_wrong_images(image, message):
    images = with_image(5, image)
    with pytest.raises(ValueError, match=message):
        NaiveBayesNN().fit(images, Y)
    model = NaiveBayesNN().fit(IMAGES, Y)
    with pytest.raises(ValueError, match=message):
        model.predict(images)


def test_wrong_sets_and_labels():
    with pytest.raises(ValueError, match="There are 24 images and 23 labels; give one label per image"):
        NaiveBayesNN().fit(IMAGES, Y[:-1])
    with pytest.raises(ValueError, match="There are no images; give images of two classes or more"):
        NaiveBayesNN().fit([], [])
    with pytest.raises(ValueError, match="The labels hold only one class; give images"):
        NaiveBayesNN().fit(IMAGES, np.zeros(24))
    with pytest.raises(ValueError, match="Unknown label type"):
        NaiveBayesNN().fit(IMAGES, Y + 0.5)
    with pytest.raises(ValueError, match="No image has any descriptors; give images that have some"):
        NaiveBayesNN().fit([[], []], [0, 1])
    with pytest.raises(ValueError, match="No image of class sea has any descriptors; give one that has"):
        NaiveBayesNN().fit([*IMAGES, []], [*NAMES[Y], "sea"])
    with pytest.raises(ValueError, match=r"Got an array of shape \(5, 4\); give a list with one matrix"):
        NaiveBayesNN().fit(np.ones((5, 4)), np.arange(5))
    with pytest.raises(NotFittedError):
        NaiveBayesNN().predict(QUERIES)
    assert NaiveBayesNN().fit(IMAGES, Y).predict([]).shape == (0,)


def test_codes_without_weights_are_told():
    images = [np.random.default_rng(i).normal(size=(4, 3)) for i in range(6)]
    model = NaiveBayesNN("l1", regularization=1e6).fit(images, [0, 1] * 3)
    with pytest.warns(UserWarning, match="No descriptor of 2 of 2 images has any weights, first image 0"):
        np.testing.assert_array_equal(model.predict_proba(images[:2]), 0.5)
    with pytest.raises(ValueError, match="'nn' has no regularization"):
        NaiveBayesNN("nn", regularization=0.1).fit(images, [0, 1] * 3)
