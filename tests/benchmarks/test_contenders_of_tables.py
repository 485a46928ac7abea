"""What the tables of scenes and bags compare with: three votes from one search, and boosted stumps."""

import numpy as np
import pytest
from benchmarks.nearby import Nearby
from benchmarks.stumps import GentleStumps, best_stump
from sklearn.ensemble import AdaBoostClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.tree import DecisionTreeClassifier

from nearboost.inn.naive_bayes import NaiveBayesNN


@pytest.mark.parametrize("representation", ["nn", "inn", "l1"])
def test_one_search_gives_the_scores_of_three(representation):
    rng = np.random.default_rng(0)

    def images(n_images):
        return [0.3 * rng.normal(size=(rng.integers(5, 9), 6)).astype(np.float32) for _ in range(n_images)]

    train, test, labels = images(60), images(20), np.arange(60) % 4
    nearby = Nearby(train, labels, 30, 1)
    model = NaiveBayesNN(representation, neighborhood=30, n_jobs=1).fit(train, labels)
    scores = nearby.scores(representation, nearby.search(test))
    np.testing.assert_allclose(scores, model.decision_function(test), atol=1e-12)


def test_a_stump_is_the_best_least_squares_fit():
    """Against all thresholds and both sides' weighted means, tried one by one."""
    rng = np.random.default_rng(1)
    bins, is_positive, weights = rng.integers(0, 5, (40, 3)), rng.random(40) < 0.4, rng.random(40)
    total, positive = np.zeros((3, 5, 1)), np.zeros((3, 5, 1))
    for feature in range(3):
        total[feature, :, 0] = np.bincount(bins[:, feature], weights, 5)
        positive[feature, :, 0] = np.bincount(bins[:, feature], weights * is_positive, 5)
    signs, errors = np.where(is_positive, 1.0, -1.0), {}
    for feature in range(3):
        for cut in range(4):
            above = bins[:, feature] > cut
            fitted = np.where(above, *(np.average(signs[side], weights=weights[side]) for side in (above, ~above)))
            errors[feature, cut] = (weights * (signs - fitted) ** 2).sum()
    feature, cut = min(errors, key=lambda pair: errors[pair])
    features, cuts, sides = best_stump(total, positive)
    above = bins[:, feature] > cut
    assert (features[0], cuts[0]) == (feature, cut)
    expected = [np.average(signs[side], weights=weights[side]) for side in (~above, above)]
    np.testing.assert_allclose(sides[:, 0], expected)


def test_stumps_are_as_good_as_those_of_scikit_learn():
    from sklearn.datasets import load_digits

    X, y = load_digits(n_class=5, return_X_y=True)
    train, test = slice(0, 400), slice(400, None)
    theirs = OneVsRestClassifier(AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=20))
    ours = GentleStumps(20).fit(X[train], y[train]).score(X[test], y[test])
    assert ours >= theirs.fit(X[train], y[train]).score(X[test], y[test]) - 0.02
