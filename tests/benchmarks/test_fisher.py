"""The vectors and the panel behind the tables of Fisher vectors."""

import numpy as np
import pytest
from benchmarks.fisher_data import N_DIMENSIONS, FisherSplit, by_channel, by_gaussian, drawn
from benchmarks.fisher_splits import CONTENDERS, accuracies, in_parts
from sklearn.datasets import load_digits

from nearboost import SplitClassifier
from nearboost.ensemble.split import MEANS
from nearboost.features.recipe import SIFTColorFisher


def test_images_drawn_to_learn_from():
    y = np.repeat([0, 1, 2], [7, 5, 30])
    train = drawn(y, 4, seed=1)
    assert np.bincount(y[train]).tolist() == [4, 4, 4]
    np.testing.assert_array_equal(drawn(y, 4, seed=1), train)
    assert not np.array_equal(drawn(y, 4, seed=2), train)


@pytest.mark.parametrize("per_gaussian", [False, True])
def test_normalisation_after_the_description_is_that_of_the_recipe(per_gaussian):
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 256, (40, 40, 3), dtype=np.uint8) for _ in range(5)]
    settings = {"n_components": 2, "step": 8, "max_descriptors": 500, "color": True}
    plain = SIFTColorFisher(norm=None, **settings).fit_transform(images)
    gradients = plain.reshape(len(images), 2, 2, -1, N_DIMENSIONS)
    expected = SIFTColorFisher(per_gaussian=per_gaussian, **settings).fit_transform(images)
    found = (by_gaussian if per_gaussian else by_channel)(gradients)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_the_panel_says_what_each_contender_says_alone():
    X, y = load_digits(return_X_y=True)
    X = X.astype(np.float32)
    split = FisherSplit(X[:300], y[:300], X[300:700], y[300:700], 0.0)
    scores = in_parts(split, 4, "l1")
    for name, contender in CONTENDERS.items():
        posterior = "predict_proba" if name == "k-NN" else "transfer"
        alone = SplitClassifier(contender, 4, posterior=posterior).fit(split.X_train, split.y_train)
        for mean in MEANS:
            predicted = alone.set_params(mean=mean).predict(split.X_test)
            assert scores[name][mean] == accuracies(split.y_test, predicted), (name, mean)
