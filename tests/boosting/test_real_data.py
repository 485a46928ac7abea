"""What the defaults promise on real data: means over three splits, one for the fixed split of gtsrb."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from benchmarks.contenders import knn_predictions, random_share
from benchmarks.data import available, load

from nearboost import ITML, MAPBoostClassifier, MLNNClassifier, N3Classifier, UNNClassifier

SLOW = [pytest.mark.data, pytest.mark.slow]  # to describe all scenes takes half a minute
SCENES = pytest.param("scene8", marks=SLOW)
SIGNS = pytest.param("gtsrb", marks=SLOW)
SETS = ["digits", pytest.param("yaleb", marks=pytest.mark.data), SCENES, SIGNS]


@pytest.fixture(scope="module")
def splits():
    @cache
    def get(name):
        if not available(name):
            pytest.skip(f"the real data for {name!r} is not here; set NEARBOOST_DATA to its folder")
        return [load(name, seed) for seed in range(1 if name == "gtsrb" else 3)]

    return get


def fit_all(classifier, splits, **parameters):
    return [
        classifier(**parameters).fit(split.X_train, split.y_train, groups=split.groups_train) for split in splits
    ]


def accuracy(models, splits):
    return np.mean([model.score(split.X_test, split.y_test) for model, split in zip(models, splits, strict=True)])


def knn_accuracy(prototypes, split, k):
    return np.mean(knn_predictions(prototypes, split.X_test, (k,))[k] == split.y_test)


@pytest.mark.pairs
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("n_prototypes", [None, 0.5, 0.1])
@pytest.mark.parametrize("classifier", [N3Classifier, UNNClassifier])
def test_held_out_accuracy_tells_the_test_accuracy(classifier, n_prototypes, name, splits):
    """Within 3 points, which is what a user needs to trust it."""
    parts = splits(name)
    models = fit_all(classifier, parts, n_prototypes=n_prototypes)
    assert abs(np.mean([model.held_out_accuracy_ for model in models]) - accuracy(models, parts)) < 0.03


@pytest.mark.parametrize("name", SETS)
def test_a_tenth_of_the_rows_beats_a_random_tenth(name, splits):
    """By 5 points, except on gtsrb, where a random tenth of the frames is within 4 points of all of them."""
    parts = splits(name)
    ours = accuracy(fit_all(N3Classifier, parts, n_prototypes=0.1), parts)
    by_k = [np.mean([knn_accuracy(random_share(s, 0.1, 0), s, k) for s in parts]) for k in (1, 3, 5, 11)]
    assert ours > max(by_k) + (0.01 if name == "gtsrb" else 0.05)


@pytest.mark.parametrize("name", ["digits", pytest.param("yaleb", marks=SLOW), SCENES, SIGNS])
def test_all_rows_are_not_worse_than_plain_neighbours(name, splits):
    """N3 by default against the best plain k-NN of k in 1, 3, 5, 11, less half a point for the best having been
    chosen on the test rows."""
    parts = splits(name)
    ours = accuracy(fit_all(N3Classifier, parts), parts)
    plain = []
    for split in parts:
        everything = random_share(split, 1.0, 0)
        plain.append([knn_accuracy(everything, split, k) for k in (1, 3, 5, 11)])
    assert ours > np.mean(plain, axis=0).max() - 0.005


@pytest.mark.parametrize("name", ["digits", SCENES])
@pytest.mark.parametrize(
    "model",
    [MLNNClassifier(), MLNNClassifier(kernel="adaptive"), MAPBoostClassifier(estimator="adaptive")],
    ids=str,
)
def test_one_weight_for_all_classes_beats_a_random_fifth(model, name, splits):
    """By 2 points over k-NN with as many neighbours; held-out accuracy tells the truth within 5."""
    split = splits(name)[0]
    fitted = model.set_params(n_prototypes=0.2).fit(split.X_train, split.y_train)
    ours = fitted.score(split.X_test, split.y_test)
    random = np.mean([knn_accuracy(random_share(split, 0.2, draw), split, 11) for draw in range(3)])
    assert ours > random + 0.02
    assert abs(fitted.held_out_accuracy_ - ours) < 0.05


@pytest.mark.data
@pytest.mark.slow
def test_a_learned_metric_helps_on_scenes(splits):
    """ITML before k-NN gains 5 points with 11 neighbours."""
    split = splits("scene8")[0]
    metric = ITML(max_sweeps=100, tol=0.03).fit(split.X_train, split.y_train)
    learned = replace(split, X_train=metric.transform(split.X_train), X_test=metric.transform(split.X_test))
    plain, better = (knn_accuracy(random_share(part, 1.0, 0), part, 11) for part in (split, learned))
    assert better > plain + 0.05
