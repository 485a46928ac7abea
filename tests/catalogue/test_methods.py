"""Methods by name, and contenders tuned inside the training rows."""

import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.svm import SVC, LinearSVC

from nearboost.base.errors import UsageError
from nearboost.catalogue.methods import DEFAULT, METHODS, default_method, find_method, find_methods
from nearboost.catalogue.tuning import Tuned, in_their_span, unit_of
from nearboost.cli.compare import USUAL_METHODS
from nearboost.models.names import name_of

IRIS = load_iris(return_X_y=True)


@pytest.mark.parametrize("name", METHODS)
def test_each_method_learns_iris(name):
    X, y = IRIS
    estimator = METHODS[name].make(seed=3, n_jobs=1)
    assert estimator.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.8
    assert METHODS[name].about.endswith(".")


@pytest.mark.parametrize("name", METHODS)
def test_those_that_take_several_labels_say_so(name):
    X, y = IRIS
    labels = np.column_stack([y == 0, y > 0, y == 2]).astype(int)
    estimator = METHODS[name].make(seed=0, n_jobs=1)
    if METHODS[name].multilabel:
        assert estimator.fit(X[::2], labels[::2]).predict(X[1::2]).shape == (75, 3)
    else:
        with pytest.raises(ValueError):  # noqa: PT011
            estimator.fit(X[::2], labels[::2]).predict(X[1::2])


@pytest.mark.parametrize("name", METHODS)
def test_those_that_can_be_saved_say_so(name):
    estimator = METHODS[name].make()
    inner = getattr(estimator, "estimator", None)  # of a grid search
    kind = type(inner if hasattr(inner, "fit") else estimator)
    assert METHODS[name].savable == (name_of(kind) is not None)


def test_seed_and_threads_reach_the_estimators():
    assert METHODS["n3"].make(5, 2).get_params()["random_state"] == 5
    assert METHODS["n3"].make(5, 2).get_params()["n_jobs"] == 2
    knn = METHODS["knn"].make(5, 2).get_params()
    assert (knn["random_state"], knn["n_jobs"], knn["estimator__n_jobs"]) == (5, 1, 2)
    svm = METHODS["rbf-svm"].make(5, 2).get_params()
    assert (svm["n_jobs"], svm["estimator__random_state"]) == (2, 5)


def test_names_with_settings():
    method = find_method("n3:n_prototypes=0.1:loss=mat")
    assert method.make().get_params()["n_prototypes"] == 0.1
    assert method.make().get_params()["loss"] == "mat"
    assert method.title == "N3, n_prototypes = 0.1, loss = mat"
    few = find_method("n3:n_prototypes=0.1:prototypes=centroids")
    assert few.make().get_params()["prototypes"] == "centroids"
    fixed = find_method("rbf-svm:C=7").make()
    assert fixed.grid == {"gamma": (0.25, 1, 4)}
    assert fixed.estimator.C == 7
    assert isinstance(find_method("linear-svm:C=0.5").make().estimator, LinearSVC)  # nothing left to choose


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nearbost", "There is no method 'nearbost' (perhaps 'nearboost'); choose from"),
        ("forest", "There is no method 'forest'; choose from nearboost, knn, weighted-knn"),
        ("n3:rounds=3", "n3 has no setting 'rounds'; it has "),
        ("n3:n_rounds", "settings are written NAME:SETTING=VALUE"),
        ("n3:loss=log,n_neighbors=5", "NAME:SETTING=VALUE:SETTING=VALUE: n3:loss=log:n_neighbors=5."),
        ("n3:loss=log; n_neighbors=5", "NAME:SETTING=VALUE:SETTING=VALUE: n3:loss=log:n_neighbors=5."),
        ("n3,loss=log", "NAME:SETTING=VALUE:SETTING=VALUE: n3:loss=log."),
        ("n_neighbors=5", "'n_neighbors=5' is a setting without a method"),
        ("n3:loss=foo", "'n3:loss=foo' cannot be fitted: loss='foo' is not known; use one of"),
        ("n3:n_neighbors=abc", "n_neighbors='abc' must be a whole number"),
        ("nearboost:n_prototypes=1.5", "n_prototypes=1.5 must be a number above 0 and at most 1"),
        ("unn:n_prototypes=1.5", "n_prototypes=1.5 must be a number above 0 and at most 1"),
        ("mlnn:kernel=round", "kernel='round' is not known"),
        ("mapboost:estimator=no", "estimator='no' is not known"),
        ("knn:vote_weights=no", "vote_weights='no' is not known"),
        ("weighted-knn:n_neighbors=0", "n_neighbors=0 must be a whole number"),
        ("innc:coverage=2", "coverage=2 must be below 1"),
        ("src:solver=no", "solver='no' is not known"),
        ("crc:regularization=-1", "regularization=-1 must be a number above 0"),
        ("slnd:rank=few", "rank='few' must be a whole number"),
        ("sgd:step=far", "step='far' must be a number above 0"),
        ("linear-svm:C=abc", "The 'C' parameter of LinearSVC must be a float"),
        ("lbfgs:max_iter=few", "The 'max_iter' parameter of LogisticRegression must be an int"),
        ("adaboost:n_estimators=0", "The 'n_estimators' parameter of AdaBoostClassifier must be an int"),
    ],
)
def test_unknown_names_are_told(name, said):
    with pytest.raises(UsageError, match=re.escape(said)):
        find_methods([name])


def test_the_best_answer_is_the_default_one():
    assert DEFAULT[0] == next(iter(METHODS)) == default_method(multilabel=False) == "nearboost"
    assert default_method(multilabel=True) == "n3"
    assert ",".join(DEFAULT) == USUAL_METHODS  # what the help of `compare` says


def test_lists_of_names():
    assert [method.name for method in find_methods(DEFAULT)] == list(DEFAULT)
    assert [method.name for method in find_methods(["knn", " n3", "knn"])] == ["knn", "n3"]
    assert [method.name for method in find_methods(["all"])] == list(METHODS)
    with pytest.raises(ValueError, match="No method was given"):
        find_methods([" "])


def test_the_grid_follows_the_scale_of_the_features():
    X, y = IRIS
    grid = {"C": (1, 10, 100), "gamma": (0.25, 1, 4)}
    small, large = (Tuned(SVC(), grid, units={"gamma": "variance"}).fit(some, y) for some in (X, 1000 * X))
    assert small.best_params_["C"] == large.best_params_["C"]
    assert np.isclose(small.best_params_["gamma"], 1e6 * large.best_params_["gamma"])
    np.testing.assert_array_equal(small.predict(X), large.predict(1000 * X))


def test_units_of_rows():
    X = np.random.default_rng(0).normal(3, 2, size=(50, 4))
    assert np.isclose(unit_of(X, "norm"), 1 / np.mean(np.sum(X**2, axis=1)))
    assert np.isclose(unit_of(X, "variance"), SVC(gamma="scale").fit(X, np.arange(50) % 2)._gamma)
    assert unit_of(np.zeros((3, 2)), "norm") == 1.0


class Spy(SVC):
    """Remembers which rows it was fitted on."""

    fits: list = []  # noqa: RUF012

    def fit(self, X, y):
        Spy.fits.append(set(X[:, -1].astype(int)))
        return super().fit(X, y)


def test_folds_do_not_divide_groups():
    X, y = IRIS
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat(np.arange(15), 10))
    X = np.column_stack([X, groups])
    Spy.fits.clear()
    Tuned(Spy(), {"C": (1, 10)}, n_jobs=1).fit(X, y, groups=groups)
    *folds, whole = Spy.fits
    assert len(folds) == 6
    assert whole == set(range(15))
    assert all(len(groups_of_fold) < 15 for groups_of_fold in folds)


def test_folds_do_not_divide_equal_rows():
    """Each row twice, with a number that both copies have."""
    X, y = (np.repeat(some, 2, axis=0) for some in IRIS)
    X = np.column_stack([X, np.repeat(np.arange(150), 2)])
    Spy.fits.clear()
    Tuned(Spy(), {"C": (1,)}, n_jobs=1).fit(X, y)
    *folds, whole = Spy.fits
    assert whole == set(range(150))
    assert [len(numbers) for numbers in folds] == [100, 100, 100]  # a third is on the other side, with its copies


def test_a_tuned_one_answers_like_its_best():
    X, y = IRIS
    tuned = METHODS["rbf-svm"].make(0, 1).fit(X, y)
    alone = clone(tuned.best_estimator_).fit(X, y)
    np.testing.assert_array_equal(tuned.decision_function(X), alone.decision_function(X))
    np.testing.assert_array_equal(tuned.predict_proba(X), alone.predict_proba(X))


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_probabilities(name):
    X, y = load_digits(n_class=3, return_X_y=True)
    model = METHODS[name].make(0, 1).fit(X[:120], y[:120])
    probabilities = model.predict_proba(X[120:200])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(X[120:200]))


def test_single_rows_of_classes_leave_nothing_to_choose():
    X, y = np.arange(6.0).reshape(3, 2), np.array([0, 1, 2])
    model = METHODS["linear-svm"].make(0, 1).fit(X, y)
    assert model.best_params_["C"] == unit_of(X, "norm")


def test_wide_rows_are_tuned_in_their_span():
    """Of 40 rows of 300 features only products count: the grid sees 40 features and chooses the same."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 4
    X = (rng.normal(size=(40, 300)) + 0.4 * rng.normal(size=(4, 300))[y]).astype(np.float32)
    X[7] = X[3]
    rows = in_their_span(X)
    assert rows.shape == (40, 39)
    np.testing.assert_allclose(rows @ rows.T, X @ X.T, atol=1e-3)
    assert in_their_span(X[:, :40]).shape == (40, 40)
    for name in ("linear-svm", "rbf-svm", "lbfgs"):
        quick = find_method(name).make()
        assert quick.by_products
        plain = clone(quick).set_params(by_products=False)
        assert quick.fit(X, y).best_params_ == plain.fit(X, y).best_params_
        assert quick.best_estimator_.n_features_in_ == 300
    assert not find_method("linear-svm:penalty=l1").by_products
