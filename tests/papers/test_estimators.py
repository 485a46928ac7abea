"""What the papers compare with, or need around our estimators."""

import numpy as np
from papers.estimators import CappedPCA, GentleStumps, IntersectionMap, RandomShare, TunedInTurn, best_stump
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import AdaBoostClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.tree import DecisionTreeClassifier

from nearboost.boosting.knn import KNNClassifier

DIGITS = load_digits()
X, Y = DIGITS.data.astype(np.float32) / 16, DIGITS.target


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
    X, y = load_digits(n_class=5, return_X_y=True)
    train, test = slice(0, 400), slice(400, None)
    theirs = OneVsRestClassifier(AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=20))
    ours = GentleStumps(20).fit(X[train], y[train]).score(X[test], y[test])
    assert ours >= theirs.fit(X[train], y[train]).score(X[test], y[test]) - 0.02


def test_components_are_at_most_what_rows_have():
    few = CappedPCA(128).fit(X[:10]).transform(X[:10])
    assert few.shape == (10, 10)
    np.testing.assert_allclose(
        np.abs(CappedPCA(5).fit_transform(X[:50])), np.abs(PCA(5).fit_transform(X[:50])), atol=1e-4
    )


def test_first_directions_are_those_of_a_smaller_projection():
    from papers.tables_inn import _first

    from nearboost.inn.projection import INNProjection
    from nearboost.inn.recipes import regularized_lda

    fewer = regularized_lda(4).fit(X[:400], Y[:400]).transform(X[400:700])
    first = _first(4, regularized_lda(normalize=False)).fit(X[:400], Y[:400]).transform(X[400:700])
    np.testing.assert_allclose(first, fewer, atol=1e-6)
    assert _first(99, INNProjection(n_jobs=1)).fit(X[:60], Y[:60]).transform(X[:5]).shape[1] < 60


def test_random_shares_keep_each_class():
    model = RandomShare(KNNClassifier(1), 0.01, random_state=3).fit(X[:300], Y[:300])
    assert model.classes_.tolist() == list(range(10))
    assert model.estimator_._n_samples == 10
    again = RandomShare(KNNClassifier(1), 0.01, random_state=3).fit(X[:300], Y[:300])
    np.testing.assert_array_equal(model.predict(X[300:400]), again.predict(X[300:400]))


def test_intersections_at_grid_points_are_exact():
    rows = np.array([[0.0, -4.0], [2.0, 1.0], [6.0, 6.0]])
    mapped = IntersectionMap(6).fit(rows).transform(rows)
    parts = np.concatenate([np.maximum(rows, 0), np.maximum(-rows, 0)], axis=1)
    exact = np.minimum(parts[:, None], parts[None]).sum(axis=2)
    np.testing.assert_allclose(mapped @ mapped.T, exact, atol=1e-5)


def test_settings_in_turn_take_the_best_of_each_grid():
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(CappedPCA(8), KNNClassifier(1))
    first, second = {"cappedpca__n_components": (2, 30)}, {"knnclassifier__n_neighbors": (1, 25)}
    found = TunedInTurn(model, (first, second)).fit(X[:120], Y[:120])
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    dimensions = GridSearchCV(model, first, cv=folds).fit(X[:120], Y[:120]).best_params_
    both = GridSearchCV(model.set_params(**dimensions), second, cv=folds).fit(X[:120], Y[:120])
    assert found.best_params_ == {**dimensions, **both.best_params_}
    np.testing.assert_array_equal(found.predict(X[120:160]), both.predict(X[120:160]))
