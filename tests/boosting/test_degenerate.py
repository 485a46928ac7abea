"""Odd input: either an answer or one clear sentence."""

import warnings

import numpy as np
import pytest

from boosting.problems import random_rows
from nearboost import KNNClassifier, N3Classifier, UNNClassifier

X, Y = random_rows(41, m=60, n_classes=3)
BOTH = pytest.mark.parametrize("cls", [N3Classifier, UNNClassifier])


def fit(model, rows, classes, **given):
    """Fit without any numerical warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(rows, classes, **given)


def assert_sound(model, rows):
    p = model.predict_proba(rows)
    assert np.all(np.isfinite(model.decision_function(rows)))
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert np.all(np.isin(model.predict(rows), model.classes_))
    assert len(model.explain(rows[:2])) == min(2, len(rows))
    assert all(np.all(np.isfinite(risk)) for risk in model.history_)
    if getattr(model, "held_out_risk_", None) is not None:
        assert np.all(np.isfinite(model.held_out_risk_))


# ---- refused ----


@BOTH
def test_one_class(cls):
    with pytest.raises(ValueError, match="one class"):
        cls(3).fit(X, np.zeros(60))
    with pytest.raises(ValueError, match="one class"):
        cls(3).fit(X, Y, sample_weight=(Y == 1).astype(float))


@BOTH
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_none(cls, bad):
    rows = X.copy()
    rows[3, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        cls(3).fit(rows, Y)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        cls(3).fit(X, Y).predict(rows)
    with pytest.raises(ValueError, match="sample_weight"):
        cls(3).fit(X, Y, sample_weight=np.where(np.arange(60) == 5, bad, 1.0))


@BOTH
def test_empty_and_mismatched(cls):
    with pytest.raises(ValueError, match="0 sample"):
        cls(3).fit(np.empty((0, 2)), [])
    with pytest.raises(ValueError, match="0 feature"):
        cls(3).fit(np.empty((60, 0)), Y)
    with pytest.raises(ValueError, match=r"1 sample|minimum of 2"):
        cls(1).fit(X[:1], Y[:1])
    with pytest.raises(ValueError, match="inconsistent"):
        cls(3).fit(X, Y[:-1])
    with pytest.raises(ValueError, match="sample_weight"):
        cls(3).fit(X, Y, sample_weight=np.ones(59))
    model = cls(3).fit(X, Y)
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(np.empty((0, 2)))
    for method in (
        model.predict,
        model.predict_proba,
        model.decision_function,
        model.explain,
        model.class_posteriors,
    ):
        with pytest.raises(ValueError, match="3 features"):
            method(np.ones((2, 3)))


@BOTH
@pytest.mark.parametrize("k", [0, -1, 2.5, "many", None, True])
def test_neighbours_that_are_no_number(cls, k):
    with pytest.raises(ValueError, match="n_neighbors"):
        cls(k).fit(X, Y)


@BOTH
@pytest.mark.parametrize("k", [60, 61, 1000])
def test_more_neighbours_than_rows(cls, k):
    with pytest.raises(ValueError, match="59 or fewer"):
        cls(k).fit(X, Y)
    assert_sound(cls(59).fit(X, Y), X)


def test_plain_neighbours_need_as_many_rows():
    with pytest.raises(ValueError, match="n_samples=60; use 60 or fewer"):
        KNNClassifier(61).fit(X, Y)
    assert np.isin(KNNClassifier(60).fit(X, Y).predict(X), Y).all()


@pytest.mark.parametrize(
    ("cls", "known"),
    [(N3Classifier, ["log", "binlog", "mat", "hinge", "squared"]), (UNNClassifier, ["exp", "log", "mat"])],
)
def test_an_unknown_loss_lists_the_known_ones(cls, known):
    with pytest.raises(ValueError, match="loss='cubic'") as error:
        cls(3, loss="cubic").fit(X, Y)
    assert all(repr(name) in str(error.value) for name in known)


@BOTH
@pytest.mark.parametrize(
    "name",
    ["vote_weights", "start", "metric", "oracle", "search", "vote_from", "calibration", "class_weight"],
)
@pytest.mark.parametrize("value", ["nonsense", 3])
def test_unknown_choices(cls, name, value):
    with pytest.raises(ValueError, match=name):
        cls(3, **{name: value}).fit(X, Y)


@pytest.mark.parametrize(
    ("name", "value"),
    [("delta", "newton"), ("delta", None), ("balance", "half"), ("balance", None), ("soft_lambda", "soft"),
     ("soft_lambda", -1.0), ("soft_lambda", np.inf), ("loss", "hinge")],
)  # fmt: skip
def test_unknown_choices_of_unn(name, value):
    with pytest.raises(ValueError, match=name):
        UNNClassifier(3, **{name: value}).fit(X, Y)


@BOTH
@pytest.mark.parametrize(
    ("name", "value"),
    [("n_rounds", -1), ("n_rounds", 2.5), ("n_rounds", "ten"), ("learning_rate", 0), ("learning_rate", -1),
     ("learning_rate", np.nan), ("learning_rate", "fast"), ("min_reverse_neighbors", 0), ("early_stopping", 1),
     ("early_stopping", "yes"), ("n_prototypes", 0), ("n_prototypes", 1), ("n_prototypes", 1.5),
     ("n_prototypes", -0.5), ("n_prototypes", 0.0), ("n_prototypes", "few"), ("n_jobs", 0), ("n_jobs", "two"),
     ("n_jobs", 1.5)],
)  # fmt: skip
def test_numbers_without_a_meaning(cls, name, value):
    with pytest.raises(ValueError, match=name):
        cls(3, **{name: value}).fit(X, Y)


@BOTH
@pytest.mark.parametrize("weights", [{0: -1.0, 1: 1.0}, {0: np.nan, 1: 1.0}, {0: 0.0, 1: 0.0, 2: 0.0}])
def test_class_weights_without_a_meaning(cls, weights):
    with pytest.raises(ValueError, match="class_weight"):
        cls(3, class_weight=weights).fit(X, Y)
    with pytest.raises(ValueError, match=r"class_weight='even'.*'balanced'"):
        cls(3, class_weight="even").fit(X, Y)


@BOTH
def test_sample_weights_without_a_meaning(cls):
    for weights in (np.zeros(60), -np.ones(60), np.where(np.arange(60) == 3, -1e-9, 1), np.ones((60, 1))):
        with pytest.raises(ValueError, match="sample_weight"):
            cls(3).fit(X, Y, sample_weight=weights)


@BOTH
def test_continuous_targets_and_several_columns(cls):
    with pytest.raises(ValueError, match=r"[Uu]nknown label type"):
        cls(3).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"several columns|multiclass-multioutput"):
        cls(3).fit(X, np.stack([Y, Y], axis=1))


@BOTH
@pytest.mark.parametrize("values", [(-1, 1), (0, 2), (1, 2)])
def test_a_label_matrix_of_other_numbers_than_0_and_1(cls, values):
    matrix = np.where(np.random.default_rng(0).random((60, 3)) < 0.4, values[1], values[0])
    with pytest.raises(ValueError, match=r"0/1|0 and 1"):
        cls(3).fit(X, matrix)


@BOTH
def test_not_fitted(cls):
    from sklearn.exceptions import NotFittedError

    for method in ("predict", "predict_proba", "decision_function", "class_posteriors", "explain"):
        with pytest.raises(NotFittedError):
            getattr(cls(), method)(X)
    with pytest.raises(NotFittedError):
        cls().predict_top(X, 1)


# ---- answered ----


@pytest.mark.pairs
@BOTH
@pytest.mark.parametrize("n_prototypes", [None, 4])
@pytest.mark.parametrize("start", ["zero", "vote"])
@pytest.mark.parametrize("vote_weights", ["uniform", "gaussian"])
def test_all_rows_equal_with_conflicting_labels(cls, n_prototypes, start, vote_weights):
    rows = np.ones((12, 3))
    model = cls(3, n_prototypes=n_prototypes, start=start, vote_weights=vote_weights)
    assert_sound(fit(model, rows, np.arange(12) % 3), rows)


@BOTH
def test_pairs_of_duplicates_that_contradict_each_other(cls):
    rows, classes = np.repeat(X[:30], 2, axis=0), np.tile([0, 1], 30)
    assert_sound(fit(cls(4), rows, classes), rows)


@BOTH
def test_constant_features_change_nothing(cls):
    padded = np.column_stack([X, np.full(60, 7.0), np.zeros(60)])
    plain, with_constants = cls(5, n_rounds=10).fit(X, Y), cls(5, n_rounds=10).fit(padded, Y)
    np.testing.assert_array_equal(plain.decision_function(X), with_constants.decision_function(padded))


@pytest.mark.pairs
@BOTH
@pytest.mark.parametrize(
    "settings",
    [{}, {"start": "zero"}, {"loss": "log"}, {"loss": "mat"}, {"loss": "log", "early_stopping": True},
     {"n_prototypes": 2}, {"n_prototypes": 2, "vote_from": "all"}, {"vote_from": "prototypes"}],
)  # fmt: skip
@pytest.mark.parametrize("m", [2, 3])
def test_very_few_rows(cls, settings, m):
    rows = np.arange(m, dtype=float)[:, None]
    assert_sound(fit(cls(1, **settings), rows, np.arange(m) % 2), rows)
    assert_sound(fit(cls(**settings), rows, np.arange(m) % 2), rows)


@BOTH
@pytest.mark.parametrize("n_prototypes", [None, 10])
def test_every_row_a_class_of_its_own(cls, n_prototypes):
    assert_sound(fit(cls(3, n_prototypes=n_prototypes), X, np.arange(60)), X)


@BOTH
def test_classes_of_a_single_row(cls):
    classes = np.where(np.arange(60) < 3, np.arange(60) + 10, Y)
    assert_sound(fit(cls(5), X, classes), X)
    assert_sound(fit(cls(5, n_prototypes=0.2, class_weight="balanced"), X, classes), X)


@BOTH
def test_two_hundred_classes_of_three_rows(cls):
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(200, 10)) * 10
    rows, classes = np.repeat(centres, 3, axis=0) + rng.normal(size=(600, 10)), np.repeat(np.arange(200), 3)
    model = fit(cls(2), rows, classes)
    assert_sound(model, rows)
    assert model.score(rows + 0.01, classes) > 0.95


@BOTH
def test_more_classes_than_half_the_rows(cls):
    classes = np.random.default_rng(0).integers(0, 40, 60)
    assert_sound(fit(cls(5), X, classes), X)


@pytest.mark.pairs
@BOTH
@pytest.mark.parametrize("start", ["zero", "vote"])
@pytest.mark.parametrize("more", [{"n_rounds": 3, "calibration": None}, {}, {"early_stopping": True}])
def test_nobody_to_vote(cls, start, more):
    """No row is voted for by as many others: nothing is learned and no prototype is left to search."""
    model = fit(cls(3, start=start, vote_from="prototypes", min_reverse_neighbors=59, **more), X, Y)
    assert len(model.prototypes_) == 0
    np.testing.assert_array_equal(model.decision_function(X), 0)
    assert_sound(model, X)
    with pytest.warns(UserWarning, match="every row gets the same answer"):
        cls(3, start=start, vote_from="prototypes", min_reverse_neighbors=59, **more).fit(X, Y)


@BOTH
def test_voters_that_learning_did_not_see_are_warned_about(cls):
    with pytest.warns(UserWarning, match="give n_prototypes"):
        cls(3, vote_from="prototypes", start="vote").fit(X, Y)


@BOTH
def test_more_prototypes_than_rows(cls):
    model = fit(cls(3, n_prototypes=1000), X, Y)
    np.testing.assert_array_equal(model.prototypes_, np.arange(60))
    assert_sound(model, X)
    assert len(cls(3, n_prototypes=1.0).fit(X, Y).prototypes_) == 60
    assert len(cls(3, n_prototypes=0.001).fit(X, Y).prototypes_) == 2


@BOTH
def test_a_class_left_without_weight(cls):
    """Its name stays in classes_, its rows are gone, and nobody is taken for it by the plain vote."""
    model = fit(cls(5), X, Y, sample_weight=(Y != 1).astype(float))
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])
    assert_sound(model, X)
    assert not np.any(model.predict(X) == 1)


@BOTH
def test_weights_of_very_different_sizes(cls):
    weights = 10.0 ** np.random.default_rng(0).uniform(-8, 8, 60)
    assert_sound(fit(cls(5, n_rounds=20), X, Y, sample_weight=weights), X)


def test_huge_and_tiny_values():
    for scale in (1e-200, 1e200):
        scaled = N3Classifier(5, n_rounds=10).fit(X * scale, Y)
        np.testing.assert_array_equal(scaled.prototypes_, N3Classifier(5, n_rounds=10).fit(X, Y).prototypes_)
        assert_sound(scaled, X * scale)


def test_rows_of_zeros_have_no_direction():
    rows = X.copy()
    rows[4] = 0
    with pytest.raises(ValueError, match="Row 4 is all zeros"):
        N3Classifier(3, metric="cosine").fit(rows, Y)
    assert_sound(N3Classifier(3, metric="cosine").fit(X, Y), X)
    assert_sound(N3Classifier(3, metric="l1").fit(X, Y), X)


def test_a_random_state_may_be_a_generator_as_in_scikit_learn():
    model = N3Classifier(3, random_state=np.random.RandomState(3), oracle="random").fit(X, Y)
    assert_sound(model, X)


def test_a_class_may_be_left_out_by_its_weight():
    for cls in (N3Classifier, UNNClassifier):
        assert_sound(fit(cls(5, class_weight={1: 0.0}), X, Y), X)


@BOTH
def test_prototypes_that_are_nobodys_neighbours(cls):
    """Of many equal rows the first is everybody's neighbour, and prototypes are others: nobody votes at all."""
    draw = np.random.default_rng(0)
    rows, classes = draw.integers(0, 2, size=(20, 1)).astype(float), draw.integers(0, 3, 20)
    model = fit(cls(1, n_prototypes=2, vote_from="all", n_rounds=3), rows, classes)
    assert model.start_coefficient_ == 0
    assert_sound(model, rows)


@pytest.mark.parametrize("estimator", [N3Classifier, UNNClassifier])
def test_prototypes_of_next_to_no_weight(estimator):
    y = np.arange(60) % 3
    rng = np.random.default_rng(0)
    X = 2 * rng.normal(size=(3, 5))[y] + rng.normal(size=(60, 5))
    weight = np.where(np.arange(60) % 7 == 0, 1e50, 1e-50)
    pruned = estimator(n_jobs=1).fit(X, y, sample_weight=weight).prune(3)
    assert np.isfinite(pruned.start_coefficient_)
    np.testing.assert_allclose(pruned.predict_proba(X).sum(axis=1), 1)
