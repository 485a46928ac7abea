"""Projections that keep a graph: as dense matrices give them, among scikit-learn's tools, and on bad input."""

import pickle
import warnings

import numpy as np
import pytest
from benchmarks.data import available, load
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, normalize
from sklearn.utils.estimator_checks import parametrize_with_checks

from nearboost import KNNClassifier
from nearboost.inn.discriminants import ChosenDiscriminants
from nearboost.inn.projection import LPP, SRLP, INNProjection
from nearboost.inn.recipes import eigenfaces, regularized_lda
from reference import inn, projection


def rows_of(seed, m=60, d=6, n_classes=3, dtype=np.float64):
    """Rows around class means, in no order, with directions of unlike variance."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(m) % n_classes)
    X = rng.normal(size=(m, d)) * np.linspace(1, 3, d) + 2 * rng.normal(size=(n_classes, d))[y]
    return X.astype(dtype), y


X, Y = rows_of(0)
ALL = [INNProjection, LPP, SRLP]
EXPECTED_WEIGHTS = {
    INNProjection: lambda X, y: projection.inn_weights(X, y, 0.05, 62),
    LPP: lambda X, y: projection.neighbor_weights(X, y, 5),
    SRLP: lambda X, y: projection.sparse_weights(X, y, 0.05),
}


@parametrize_with_checks([INNProjection(), LPP(), SRLP(), ChosenDiscriminants()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([INNProjection(supervised=False, neighborhood=4), LPP(supervised=False)])
def test_scikit_learn_checks_of_other_settings(estimator, check):
    check(estimator)


def assert_same_projection(model, expected, n_components):
    """Equal values, and equal directions up to sign."""
    values, directions = expected
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=0, atol=1e-9)
    assert np.all(np.diff(model.eigenvalues_) < -1e-6)  # else directions would not be unique
    assert model.components_.shape == (n_components, directions.shape[1])
    signs = np.sign(np.einsum("ij,ij->i", model.components_, directions))
    np.testing.assert_allclose(model.components_, signs[:, None] * directions, rtol=0, atol=1e-9)


@pytest.mark.pairs
@pytest.mark.parametrize("supervised", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("settings", [{}, {"neighborhood": 5}, {"regularization": 0.3, "coverage": 0.8}])
@pytest.mark.parametrize("ridge", [1e-3, 0.5])
def test_inn_weights(supervised, dtype, settings, ridge):
    X, y = rows_of(1, dtype=dtype)
    model = INNProjection(4, supervised=supervised, ridge=ridge, **settings).fit(X, y)
    lam = settings.get("regularization", 0.05)
    K = inn.n_terms(lam, settings.get("coverage", 0.95))
    W = projection.inn_weights(X, y if supervised else np.zeros(len(X)), lam, K, settings.get("neighborhood"))
    assert_same_projection(model, projection.project(X, W, 4, ridge), 4)


@pytest.mark.parametrize("supervised", [True, False])
@pytest.mark.parametrize("settings", [{}, {"bandwidth": 2.0}, {"weights": "binary"}, {"n_neighbors": 50}])
def test_neighbor_weights(supervised, settings):
    model = LPP(4, supervised=supervised, **settings).fit(X, Y)
    W = projection.neighbor_weights(
        X,
        Y if supervised else np.zeros(len(X)),
        settings.get("n_neighbors", 5),
        settings.get("bandwidth"),
        binary="weights" in settings,
    )
    assert_same_projection(model, projection.project(X, W, 4, 1e-3), 4)


@pytest.mark.parametrize("supervised", [True, False])
@pytest.mark.parametrize("settings", [{}, {"neighborhood": 8}, {"regularization": 0.5}])
def test_sparse_weights(supervised, settings):
    unit = normalize(X)
    model = SRLP(4, supervised=supervised, **settings).fit(unit, Y)
    classes, lam = Y if supervised else np.zeros(len(X)), settings.get("regularization", 0.05)
    W = projection.sparse_weights(unit, classes, lam, settings.get("neighborhood"))
    assert_same_projection(model, projection.project(unit, W, 4, 1e-3), 4)


@pytest.mark.parametrize("estimator", ALL)
def test_no_ridge_is_the_published_problem(estimator):
    """The largest μ of W are the smallest eigenvalues of the Laplacian."""
    expected = projection.project_as_published(X, EXPECTED_WEIGHTS[estimator](X, Y), 4)
    assert_same_projection(estimator(4, ridge=0).fit(X, Y), expected, 4)


@pytest.mark.parametrize("estimator", ALL)
def test_more_features_than_rows(estimator):
    X, y = rows_of(2, m=24, d=300)
    model = estimator(5).fit(X, y)
    assert_same_projection(model, projection.project(X, EXPECTED_WEIGHTS[estimator](X, y), 5, 1e-3), 5)
    assert model.transform(X).shape == (24, 5)


@pytest.mark.parametrize("estimator", ALL)
def test_what_is_centred(estimator):
    model = estimator(3).fit(X + 7, Y)
    np.testing.assert_allclose(model.mean_, X.mean(axis=0) + 7, rtol=1e-12)
    np.testing.assert_allclose(model.transform(X + 7), (X - X.mean(axis=0)) @ model.components_.T, atol=1e-9)
    np.testing.assert_allclose(model.transform(X + 7).mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1.0)
    if estimator is not SRLP:  # whose codes depend on the origin
        np.testing.assert_allclose(model.components_, estimator(3).fit(X, Y).components_, rtol=0, atol=1e-9)


@pytest.mark.parametrize("estimator", [INNProjection, LPP])
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_do_not_matter(estimator, scale):
    plain, scaled = estimator(4).fit(X, Y), estimator(4).fit(scale * X, Y)
    np.testing.assert_allclose(scaled.eigenvalues_, plain.eigenvalues_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(scaled.components_, plain.components_, rtol=0, atol=1e-9)


@pytest.mark.parametrize("estimator", ALL)
def test_order_and_names_do_not_matter(estimator):
    order = np.random.default_rng(3).permutation(len(X))
    plain = estimator(4).fit(X, Y)
    other = estimator(4).fit(X[order], np.array(["red", "green", "blue"])[Y[order]])
    np.testing.assert_allclose(other.components_, plain.components_, rtol=0, atol=1e-9)


@pytest.mark.parametrize("estimator", ALL)
def test_eigenvalues(estimator):
    """μ is the share of ties kept: at most 1, and the largest is the best any direction does."""
    model = estimator(ridge=0).fit(X, Y)
    assert np.all(model.eigenvalues_ <= 1)
    one = estimator(2, ridge=0).fit(X, Y)
    np.testing.assert_allclose(one.components_, model.components_[:2], rtol=0, atol=1e-9)
    assert np.all(estimator(ridge=0.1).fit(X, Y).eigenvalues_ < model.eigenvalues_)


def test_ties_pull_rows_together():
    """Classes apart along a narrow direction, noise along a wide one: the narrow one keeps the graph."""
    rng = np.random.default_rng(4)
    y = np.arange(200) % 2
    X = np.column_stack([rng.normal(size=200) * 5, 2 * y + 0.1 * rng.normal(size=200), rng.normal(size=200) * 3])
    for estimator in ALL:
        [direction] = estimator(1).fit(X, y).components_
        assert abs(direction[1]) > 0.99


@pytest.mark.parametrize("estimator", ALL)
def test_duplicates(estimator):
    """Rows that occur twice are tied to each other; nothing is divided by their distance."""
    twice, y = np.vstack([X, X]), np.concatenate([Y, Y])
    model = estimator(4).fit(twice, y)
    assert np.all(np.isfinite(model.components_))
    same = estimator(1).fit(np.repeat([[0.0, 1.0], [3.0, 1.0]], 10, axis=0), np.repeat([0, 1], 10))
    np.testing.assert_allclose(same.components_, [[1.0, 0.0]], atol=1e-12)
    np.testing.assert_allclose(same.eigenvalues_, 1 / 1.001, rtol=1e-9)


@pytest.mark.parametrize("estimator", ALL)
def test_classes_of_one_row(estimator):
    """They have no ties: one warning, and the others' ties decide."""
    lonely = Y.copy()
    lonely[:2] = [7, 8]
    with pytest.warns(UserWarning, match="2 of 5 classes have one row") as caught:
        model = estimator(4).fit(X, lonely)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert_same_projection(model, projection.project(X, EXPECTED_WEIGHTS[estimator](X, lonely), 4, 1e-3), 4)
    with pytest.raises(ValueError, match=r"Each of the 60 classes has one row, .* or use supervised=False"):
        estimator(4).fit(X, np.arange(60))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator(4, supervised=False).fit(X, np.arange(60))
        estimator(4, supervised=False).fit(X)


@pytest.mark.parametrize("estimator", ALL)
def test_rows_with_ties_that_span_too_little(estimator):
    lonely = np.arange(60)
    lonely[:4] = 0
    with pytest.warns(UserWarning, match="have one row"), pytest.raises(ValueError, match="use a ridge above 0"):
        estimator(ridge=0).fit(X, lonely)
    with pytest.warns(UserWarning, match="have one row"):
        assert np.all(np.isfinite(estimator().fit(X, lonely).components_))


@pytest.mark.alone
@pytest.mark.parametrize("estimator", ALL)
def test_clone_pickle_threads_and_names(estimator):
    model = estimator(3, n_jobs=1).fit(X, Y)
    expected = model.transform(X)
    for other in (clone(model).fit(X, Y), pickle.loads(pickle.dumps(model)), estimator(3, n_jobs=2).fit(X, Y)):
        np.testing.assert_array_equal(other.transform(X), expected)
    name = estimator.__name__.lower()
    np.testing.assert_array_equal(model.get_feature_names_out(), [f"{name}0", f"{name}1", f"{name}2"])
    single = model.transform(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, atol=1e-5)


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize("supervised", [True, False])
def test_progress(estimator, supervised, capsys):
    """One bar over the classes, or those of the weights themselves."""
    estimator(supervised=supervised, verbose=1).fit(X, Y)
    shown = capsys.readouterr()
    bars = shown.err.strip().splitlines()
    assert len(bars) == 1 if supervised else len(bars) >= 1
    assert bars[0].startswith("Weights within classes") == supervised
    assert not shown.out


def score(model, X, y, test_rows, test_labels):
    """Of the nearest neighbour, among projected rows of unit length."""
    chain = make_pipeline(Normalizer(), model, Normalizer(), KNNClassifier(1))
    return chain.fit(X, y).score(test_rows, test_labels)


@pytest.mark.parametrize("model", [INNProjection(9), INNProjection(9, supervised=False), LPP(9), SRLP(9)])
def test_digits(model):
    digits, labels = load_digits(return_X_y=True)
    assert score(model, digits[::2], labels[::2], digits[1::2], labels[1::2]) > 0.95


def split_of(name):
    if not available(name):
        pytest.skip(f"the real data for {name!r} is not here; set NEARBOOST_DATA to its folder")
    split = load(name)
    return split.X_train, split.y_train, split.X_test, split.y_test


@pytest.mark.data
def test_faces():
    """Light differs more than people do: directions that heed the labels see the people."""
    rows = split_of("yaleb")
    plain = KNNClassifier(1).fit(*rows[:2]).score(*rows[2:])
    blind = score(eigenfaces(30, normalize=False), *rows)
    assert min(score(estimator(30), *rows) for estimator in ALL) > max(plain, blind) + 0.1


@pytest.mark.data
@pytest.mark.slow
def test_traffic_signs():
    """Table 2 of the paper, nearest neighbour: eigenfaces 66.05, INNLP 89.35, SRLP 89.54, LDA 91.84."""
    rows = split_of("gtsrb-24x24")
    eigen, inn_, sparse, lda = (
        score(model, *rows)
        for model in (
            eigenfaces(300, normalize=False),
            INNProjection(99),
            SRLP(99),
            regularized_lda(shrinkage=0.001, normalize=False),
        )
    )
    assert eigen + 0.15 < inn_ < lda
    assert min(inn_, sparse) > 0.88
    assert abs(inn_ - sparse) < 0.015


@pytest.mark.parametrize("recipe", [regularized_lda, eigenfaces])
def test_recipes(recipe):
    """Unit length before and after, or neither."""
    rows = normalize(recipe(2, normalize=False).fit(normalize(X), Y).transform(normalize(X)))
    np.testing.assert_allclose(recipe(2).fit(X, Y).transform(X), rows, rtol=0, atol=1e-12)
    assert len(recipe(2, normalize=False)) == 1
    assert recipe(1).fit(X, Y).transform(X).shape == (60, 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 0}, "n_components=0 must be a whole number of at least 1 or None"),
        ({"n_components": 7}, "n_components=7 is more than the 6 principal axes that hold 98% .*; use 6 or fewer"),
        ({"supervised": "yes"}, "supervised='yes' must be True or False"),
        ({"ridge": -1}, "ridge=-1 must be 0, which is the problem as published, or a number above 0"),
        ({"n_jobs": 0}, "n_jobs=0 has no meaning"),
    ],
)
@pytest.mark.parametrize("estimator", ALL)
def test_wrong_settings(estimator, settings, message):
    with pytest.raises(ValueError, match=message):
        estimator(**settings).fit(X, Y)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (INNProjection(regularization=0), "regularization=0 must be a number above 0"),
        (INNProjection(coverage=1), "coverage=1 must be below 1"),
        (INNProjection(neighborhood=0), "neighborhood=0 must be a whole number"),
        (LPP(n_neighbors=0), "n_neighbors=0 must be a whole number"),
        (LPP(weights="cosine"), "weights='cosine' is not known; use one of 'heat', 'binary'"),
        (LPP(bandwidth=0), "bandwidth=0 must be a number above 0"),
        (SRLP(regularization=0), "regularization=0 must be a number above 0"),
        (SRLP(neighborhood=0), "neighborhood=0 must be a whole number"),
        (SRLP(regularization=1e9), "All weights between rows are 0, .*; lower regularization, or scale rows to"),
        (LPP(bandwidth=1e-9), "All weights between rows are 0, .*; raise bandwidth or use None"),
    ],
)
def test_wrong_settings_of_weights(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)


@pytest.mark.parametrize("estimator", ALL)
def test_wrong_rows(estimator):
    with pytest.raises(ValueError, match="requires y to be passed"):
        estimator().fit(X)
    with pytest.raises(ValueError, match="X contains NaN in row"):
        estimator().fit(np.full((4, 2), np.nan), [0, 0, 1, 1])
    with pytest.raises(ValueError, match="Unknown label type"):
        estimator().fit(X, Y + 0.5)
    with pytest.raises(ValueError, match="The rows of X do not differ"):
        estimator().fit(np.ones((60, 3)), Y)
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 6 features"):
        estimator().fit(X, Y).transform(X[:, :2])


def test_the_shrinkage_is_the_one_that_held_out_rows_want():
    """In many dimensions with few rows the paper's 0.001 learns the rows by heart."""
    rng = np.random.default_rng(0)
    centers, y = 0.55 * rng.normal(size=(10, 80)), np.arange(600) % 10
    rows = centers[y] + rng.normal(size=(600, 80))
    few, truth = slice(0, 100), y[100:]
    chosen = regularized_lda().fit(rows[few], y[few])
    accuracies = {}
    for one in (0.6, 0.3, 0.1, 0.03, 0.01, 0.001):
        model = make_pipeline(regularized_lda(shrinkage=one), KNNClassifier(1)).fit(rows[few], y[few])
        accuracies[one] = model.score(rows[100:], truth)
    shrinkage = chosen.named_steps["chosendiscriminants"].shrinkage_
    assert accuracies[shrinkage] > accuracies[0.001] + 0.05
    assert accuracies[shrinkage] > max(accuracies.values()) - 0.03
    given = regularized_lda(shrinkage=shrinkage).fit(rows[few], y[few])
    np.testing.assert_allclose(chosen.transform(rows), given.transform(rows), rtol=0, atol=1e-9)


def test_nothing_to_choose_a_shrinkage_by():
    with pytest.raises(ValueError, match="No class has two different rows"):
        ChosenDiscriminants().fit(np.eye(4)[[0, 0, 1, 2, 3]], [0, 0, 1, 2, 3])
    assert ChosenDiscriminants().fit(np.eye(5), [0, 0, 1, 2, 3]).components_.shape == (3, 5)


def test_a_shrinkage_where_the_other_folds_have_equal_rows_alone():
    rows = np.array([-1.0, 1.0])[np.arange(30) % 2, np.newaxis]
    labels = np.arange(30) % 3
    assert np.isfinite(ChosenDiscriminants().fit(rows, labels).components_).all()
