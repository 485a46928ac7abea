"""The public estimators: prototypes, the published algorithm, reproducibility, graphs, groups, pruning."""

import pickle

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from boosting.problems import brute_force, random_rows
from nearboost import KNNClassifier, N3Classifier, UNNClassifier
from reference import n3 as reference_n3
from reference import unn as reference_unn

METHODS = [
    N3Classifier(5, n_rounds=20),
    N3Classifier(5, n_prototypes=25, vote_weights="gaussian", loss="mat"),
    N3Classifier("auto", n_rounds=20, oracle="random", random_state=3),
    N3Classifier(5, early_stopping=True, loss="hinge", start="zero"),
    UNNClassifier(5, n_rounds=20, vote_from="prototypes"),
    UNNClassifier(5, loss="log", delta="exact", balance="adaptive", n_prototypes=0.3),
    UNNClassifier(5, n_rounds=20, loss="mat", vote_weights="rank", start="zero", oracle="random"),
]
PUBLISHED = {
    "vote_weights": "uniform", "start": "zero", "oracle": "delta", "n_prototypes": None, "learning_rate": 1.0,
    "n_rounds": 40, "calibration": None,
}  # fmt: skip
X, Y = random_rows(21, m=120, n_classes=4)


def everything_learned(model):
    """All numbers of a fit, to compare bit for bit."""
    learned = [model.prototypes_, model.coefficients_.toarray(), np.array(model.start_coefficient_)]
    learned += [np.array(model.temperature_), model.intercept_, np.array(model.n_rounds_), *model.history_]
    return [*learned, model.decision_function(X + 0.1), model.predict_proba(X + 0.1)]


def assert_same_bits(first, second):
    for a, b in zip(everything_learned(first), everything_learned(second), strict=True):
        np.testing.assert_array_equal(a, b)


def dense(model, m=120):
    alpha = np.zeros((m, model.coefficients_.shape[1]))
    alpha[model.prototypes_] = model.coefficients_.toarray()
    return alpha


# ---- prototypes ----


@pytest.mark.parametrize("model", METHODS)
@pytest.mark.parametrize("y", [Y, (Y > 1).astype(int)], ids=["four", "two"])
def test_prototypes_are_sorted_rows_with_sparse_coefficients(model, y):
    model = clone(model).fit(X, y)
    assert np.all(np.diff(model.prototypes_) > 0)
    assert model.prototypes_.min() >= 0
    assert model.prototypes_.max() < len(X)
    assert issparse(model.coefficients_)
    columns = 1 if y.max() == 1 else y.max() + 1
    assert model.coefficients_.shape == (len(model.prototypes_), columns)
    assert len(model.history_) == columns


@pytest.mark.parametrize("cls", [N3Classifier, UNNClassifier])
def test_without_a_limit_prototypes_are_the_rows_with_a_coefficient(cls):
    model = cls(5, start="zero", vote_from="prototypes", n_rounds=8).fit(X, Y)
    assert np.all(np.abs(model.coefficients_.toarray()).sum(axis=1) > 0)
    assert 2 <= len(model.prototypes_) < len(X)


@pytest.mark.parametrize("model", METHODS)
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_rows_of_no_weight_might_as_well_not_be_there(model, class_weight):
    weights = np.random.default_rng(0).choice([0.0, 0.0, 1.0, 2.0], len(X))
    weights[:8] = 1  # every class keeps a row
    there = np.flatnonzero(weights > 0)
    model = clone(model).set_params(class_weight=class_weight)
    with_zeros = clone(model).fit(X, Y, sample_weight=weights)
    without = clone(model).fit(X[there], Y[there], sample_weight=weights[there])
    np.testing.assert_array_equal(with_zeros.prototypes_, there[without.prototypes_])
    for a, b in zip(everything_learned(with_zeros)[1:], everything_learned(without)[1:], strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_given_graph_loses_the_rows_of_no_weight_too():
    weights = np.ones(len(X))
    weights[10::4] = 0
    there = np.flatnonzero(weights > 0)
    graph = brute_force(X, 40)
    with_zeros = N3Classifier(5, n_rounds=9)
    with_zeros.fit(X, Y, sample_weight=weights, graph=(graph.indices, graph.distances))
    without = N3Classifier(5, n_rounds=9).fit(X[there], Y[there])
    np.testing.assert_array_equal(with_zeros.prototypes_, there[without.prototypes_])
    np.testing.assert_array_equal(with_zeros.decision_function(X), without.decision_function(X))


# ---- the published algorithms ----


@pytest.mark.pairs
@pytest.mark.parametrize("kind", ["random", "ties"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("loss", ["log", "binlog", "mat", "hinge", "squared"])
def test_published_n3(kind, n_classes, loss):
    rows, classes = random_rows(31, m=80, n_classes=n_classes, kind=kind)
    model = N3Classifier(6, loss=loss, **PUBLISHED).fit(rows, classes)
    codes = np.where(classes[:, None] == np.arange(n_classes), 1, -1)
    expected = np.stack(
        [
            reference_n3.n3(
                brute_force(rows, 6).indices, codes[:, c], reference_n3.start_weights(codes)[:, c],
                loss=loss, n_rounds=40,
            ).alpha
            for c in (range(n_classes) if n_classes > 2 else [1])
        ],
        axis=1,
    )  # fmt: skip
    np.testing.assert_array_equal(model.prototypes_, np.flatnonzero(expected.any(axis=1)))
    np.testing.assert_allclose(dense(model, 80), expected, rtol=0, atol=1e-9)


@pytest.mark.pairs
@pytest.mark.parametrize("kind", ["random", "ties"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("loss", ["exp", "log", "mat"])
def test_published_unn(kind, n_classes, loss):
    rows, classes = random_rows(33, m=80, n_classes=n_classes, kind=kind)
    model = UNNClassifier(6, loss=loss, delta="closed_form", balance="uniform", **PUBLISHED)
    model.fit(rows, classes)
    expected = []
    for c in range(n_classes) if n_classes > 2 else [1]:
        y = np.where(classes == c, 1, -1)
        run = reference_unn.unn(
            brute_force(rows, 6).indices, y, reference_unn.start_weights(y), loss=loss, n_rounds=40
        )
        expected.append(run.alpha)
    expected = np.stack(expected, axis=1)
    np.testing.assert_array_equal(model.prototypes_, np.flatnonzero(expected.any(axis=1)))
    np.testing.assert_allclose(dense(model, 80), expected, rtol=0, atol=1e-9)


# ---- the same again ----


@pytest.mark.alone
@pytest.mark.parametrize("model", METHODS)
def test_threads_and_repetition_change_no_bit(model):
    fits = [clone(model).set_params(n_jobs=n).fit(X, Y) for n in (1, 2, 2)]
    assert_same_bits(fits[0], fits[1])
    assert_same_bits(fits[1], fits[2])
    assert_same_bits(fits[0], fits[0].fit(X, Y))


@pytest.mark.alone
def test_many_rows_and_threads_change_no_bit():
    """Enough rows for the search itself to use threads."""
    rng = np.random.default_rng(5)
    rows, classes = rng.normal(size=(3000, 8)), rng.integers(0, 3, 3000)
    fits = [N3Classifier(7, n_rounds=50, n_jobs=n).fit(rows, classes) for n in (1, 2)]
    np.testing.assert_array_equal(fits[0].coefficients_.toarray(), fits[1].coefficients_.toarray())
    np.testing.assert_array_equal(fits[0].decision_function(rows), fits[1].decision_function(rows))


@pytest.mark.parametrize("cls", [N3Classifier, UNNClassifier])
def test_random_oracle_follows_random_state(cls):
    def fit(seed):
        return cls(5, oracle="random", n_rounds=10, start="zero", random_state=seed).fit(X, Y)

    assert_same_bits(fit(1), fit(1))
    assert fit(1).prototypes_.tolist() != fit(2).prototypes_.tolist()


@pytest.mark.parametrize("model", METHODS)
def test_single_and_double_precision_of_whole_numbers_are_one_model(model):
    whole = np.round(10 * X)
    single, double = clone(model).fit(whole.astype(np.float32), Y), clone(model).fit(whole, Y)
    queries = np.round(10 * X) + 1
    np.testing.assert_array_equal(single.prototypes_, double.prototypes_)
    np.testing.assert_array_equal(single.coefficients_.toarray(), double.coefficients_.toarray())
    np.testing.assert_array_equal(
        single.decision_function(queries.astype(np.float32)), double.decision_function(queries)
    )
    integers = clone(model).fit(whole.astype(int), Y)
    np.testing.assert_array_equal(integers.predict_proba(whole.astype(int)), double.predict_proba(whole))


# ---- graphs and groups ----


@pytest.mark.parametrize("model", METHODS)
def test_a_given_graph_gives_the_same_model(model):
    found = brute_force(X, 5 if model.n_neighbors == 5 and model.n_prototypes is None else 31)  # 31: of "auto"
    given = clone(model).fit(X, Y, graph=(found.indices, found.distances))
    assert_same_bits(clone(model).fit(X, Y), given)
    wide = brute_force(X, 40)
    assert_same_bits(given, clone(model).fit(X, Y, graph=(wide.indices.tolist(), wide.distances.tolist())))


def spoiled(**changes):
    graph = brute_force(X, 6)
    indices, distances = graph.indices.copy(), graph.distances.copy()
    for (row, rank), value in changes.get("indices", {}).items():
        indices[row, rank] = value
    for (row, rank), value in changes.get("distances", {}).items():
        distances[row, rank] = value
    return indices, distances


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (5, "pair"),
        (brute_force(X, 6).indices, "pair"),
        ((1, 2, 3), "pair"),
        ((brute_force(X, 6).indices, brute_force(X, 5).distances), "one shape"),
        ((np.arange(5), np.arange(5.0)), "one shape"),
        ((brute_force(X, 6).indices[1:], brute_force(X, 6).distances[1:]), "119 rows for 120"),
        ((brute_force(X, 4).indices, brute_force(X, 4).distances), "at least 5 columns"),
        ((brute_force(X, 6).distances, brute_force(X, 6).distances), "integers"),
        (spoiled(indices={(3, 0): 120}), "Row 3"),
        (spoiled(indices={(3, 0): -1}), "Row 3"),
        (spoiled(indices={(4, 1): 4}), "lists itself"),
        (spoiled(indices={(7, 1): brute_force(X, 6).indices[7, 0]}), "twice"),
        (spoiled(distances={(8, 0): -1.0}), "not a finite number"),
        (spoiled(distances={(8, 1): np.nan}), "not a finite number"),
        (spoiled(distances={(9, 0): 50.0}), "sorted"),
    ],
)
def test_a_wrong_graph_is_refused_in_one_sentence(graph, message):
    with pytest.raises(ValueError, match=message):
        N3Classifier(5).fit(X, Y, graph=graph)


def test_rows_of_one_group_never_vote_on_each_other():
    groups = np.random.default_rng(2).integers(0, 15, len(X))
    names = np.array([f"track {g:02}" for g in groups])
    model = N3Classifier(5).fit(X, Y, groups=names)
    assert np.all(groups[model.neighbors_.indices] != groups[:, None])
    assert_same_bits(model, N3Classifier(5).fit(X, Y, groups=groups))
    by_hand = ((X[:, None] - X) ** 2).sum(axis=2) + np.where(groups[:, None] == groups, np.inf, 0)
    np.testing.assert_array_equal(model.neighbors_.indices, np.argsort(by_hand, axis=1, kind="stable")[:, :5])
    graph = brute_force(X, 5)
    with pytest.raises(ValueError, match="one group"):
        N3Classifier(5).fit(X, Y, groups=groups, graph=(graph.indices, graph.distances))


@pytest.mark.parametrize("groups", [np.arange(119), np.zeros((120, 1)), 3])
def test_groups_of_the_wrong_length(groups):
    with pytest.raises(ValueError, match="groups has shape"):
        N3Classifier(5).fit(X, Y, groups=groups)


def test_one_group_of_all_rows_leaves_no_neighbours():
    with pytest.raises(ValueError, match="smaller groups"):
        N3Classifier(5).fit(X, Y, groups=np.zeros(len(X)))


def test_few_prototypes_of_one_group_do_not_stop_a_fit():
    """Two picks in the same group: held-out rows of that group then have nobody to ask."""
    groups = np.repeat(np.arange(4), 30)
    order = np.argsort(X[:, 0])  # groups are stripes, so a class's picks share one
    for n_rounds in (1, 2, 3, 4):
        model = N3Classifier(3, start="zero", vote_from="prototypes", n_rounds=n_rounds, oracle="decrease")
        model.fit(X[order], (Y[order] > 1).astype(int), groups=groups)
        assert model.predict(X).shape == (len(X),)


# ---- pruning ----


@pytest.mark.parametrize("model", [METHODS[0], METHODS[2], METHODS[5]])
@pytest.mark.parametrize(("kept", "n"), [(12, 12), (0.25, 30), (500, 120)])
def test_pruning_is_fitting_with_fewer(model, kept, n):
    model = clone(model).set_params(n_prototypes=None, vote_from="auto").fit(X, Y)
    before = [a.copy() for a in everything_learned(model)]
    pruned = model.prune(kept)
    assert pruned is not model
    assert pruned.n_prototypes == kept
    assert len(pruned.prototypes_) == n
    for a, b in zip(before, everything_learned(model), strict=True):
        np.testing.assert_array_equal(a, b)
    assert model.n_prototypes is None
    assert_same_bits(pruned, clone(model).set_params(n_prototypes=kept).fit(X, Y))


@pytest.mark.parametrize("make", [N3Classifier, UNNClassifier])
def test_pruning_chooses_the_number_of_neighbors_anew(make):
    """As many as suit all rows would let all of a few prototypes vote on every query alike."""
    rows, y = make_blobs(300, centers=3, cluster_std=0.5, random_state=0)
    queries, truth = make_blobs(300, centers=3, cluster_std=0.5, random_state=0, shuffle=False)
    pruned, fitted = make("auto").fit(rows, y).prune(6), make("auto", n_prototypes=6).fit(rows, y)
    assert pruned.n_neighbors_ == fitted.n_neighbors_
    np.testing.assert_array_equal(pruned.predict_proba(queries), fitted.predict_proba(queries))
    assert pruned.score(queries, truth) > 0.95


@pytest.mark.parametrize("n_neighbors", [2, 4, 15])
def test_without_rounds_ties_are_those_of_the_plain_vote(n_neighbors):
    """Sums of a start coefficient with all its digits would differ by rounding where votes tie."""
    rng = np.random.default_rng(0)
    rows, y, queries = rng.normal(size=(300, 2)), rng.integers(0, 7, 300), rng.normal(size=(1000, 2))
    plain = KNNClassifier(n_neighbors).fit(rows, y)
    shares = np.sort(plain.predict_proba(queries), axis=1)
    assert (shares[:, -1] == shares[:, -2]).sum() > 100
    model = UNNClassifier(n_neighbors, n_rounds=0).fit(rows, y)
    np.testing.assert_array_equal(model.predict(queries), plain.predict(queries))


def test_pruning_needs_a_fit_and_a_meaningful_number():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        N3Classifier().prune(5)
    for wrong in (0, 1, -3, 1.5, 0.0, "ten", True):
        with pytest.raises(ValueError, match="n_prototypes"):
            N3Classifier(3).fit(X, Y).prune(wrong)


# ---- answers ----


def test_reject_option():
    model = N3Classifier(7).fit(X, Y)
    level = float(np.median(model.predict_proba(X).max(axis=1)))
    sure = model.predict_proba(X).max(axis=1) >= level
    assert 0 < sure.sum() < len(X)
    rejected = model.predict(X, reject_below=level, reject_label=-1)
    assert rejected.dtype.kind == "i"
    np.testing.assert_array_equal(rejected, np.where(sure, model.predict(X), -1))
    nothing = model.predict(X, reject_below=level)
    assert nothing.dtype == object
    assert [label is None for label in nothing] == (~sure).tolist()
    assert nothing[sure].tolist() == model.predict(X)[sure].tolist()
    names = np.array(["a", "bb", "cc", "d"])[Y]
    named = N3Classifier(7).fit(X, names).predict(X, reject_below=level, reject_label="unknown")
    np.testing.assert_array_equal(named, np.where(sure, N3Classifier(7).fit(X, names).predict(X), "unknown"))
    mixed = model.predict(X, reject_below=level, reject_label="unknown")
    assert mixed[~sure].tolist() == ["unknown"] * int((~sure).sum())
    assert set(mixed[sure].tolist()) <= {0, 1, 2, 3}
    for wrong in (0, -0.5, 1.5, "half", np.nan, True):
        with pytest.raises(ValueError, match="reject_below"):
            model.predict(X, reject_below=wrong)


def test_predict_top():
    model = N3Classifier(7).fit(X, Y + 10)
    scores = model.decision_function(X)
    expected = model.classes_[np.argsort(-scores, axis=1, kind="stable")[:, :3]]
    np.testing.assert_array_equal(model.predict_top(X, 3), expected)
    two = N3Classifier(7).fit(X, Y > 1)
    np.testing.assert_array_equal(two.predict_top(X, 2)[:, 0], two.predict(X))
    np.testing.assert_array_equal(two.predict_top(X, 2)[:, 1], ~two.predict(X))
    for wrong in (0, 5, 1.0, "all"):
        with pytest.raises(ValueError, match="n="):
            model.predict_top(X, wrong)


@pytest.mark.parametrize("cls", [N3Classifier, UNNClassifier])
def test_weights_move_the_decision(cls):
    """Both classes everywhere: whichever weighs more wins."""
    rng = np.random.default_rng(8)
    rows, classes = rng.normal(size=(200, 2)), rng.integers(0, 2, 200)
    heavy = [cls(15, n_rounds=5).fit(rows, classes, sample_weight=np.where(classes == c, 20, 1)) for c in (0, 1)]
    assert (heavy[0].predict(rows) == 0).mean() > 0.8
    assert (heavy[1].predict(rows) == 1).mean() > 0.8
    by_class = cls(15, n_rounds=5, class_weight={0: 1, 1: 20}).fit(rows, classes)
    assert (by_class.predict(rows) == 1).mean() > 0.8


def test_balanced_class_weights_are_the_sample_weights_they_stand_for():
    rare = (Y == 3).astype(int)
    share = np.bincount(rare) / len(rare)
    for cls in (N3Classifier, UNNClassifier):
        balanced = cls(5, class_weight="balanced").fit(X, rare)
        spelled = cls(5, class_weight={0: 0.5 / share[0], 1: 0.5 / share[1]}).fit(X, rare)
        assert_same_bits(balanced, spelled)
        assert balanced.predict(X).sum() > cls(5, class_weight={0: 20, 1: 1}).fit(X, rare).predict(X).sum()
    as_samples = N3Classifier(5).fit(X, rare, sample_weight=np.where(rare, 0.5 / share[1], 0.5 / share[0]))
    np.testing.assert_array_equal(
        N3Classifier(5, class_weight="balanced").fit(X, rare).predict(X), as_samples.predict(X)
    )


@pytest.mark.parametrize("cls", [N3Classifier, UNNClassifier])
@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1e6, 1e200])
def test_only_the_ratios_of_weights_count(cls, scale):
    weights = np.random.default_rng(1).integers(1, 4, len(X))
    plain = cls(5, n_rounds=20).fit(X, Y, sample_weight=weights)
    scaled = cls(5, n_rounds=20).fit(X, Y, sample_weight=weights * scale)
    np.testing.assert_array_equal(plain.prototypes_, scaled.prototypes_)
    np.testing.assert_allclose(dense(plain), dense(scaled), rtol=1e-9, atol=1e-12)


def test_whole_sample_weights_are_the_same_as_floats():
    weights = np.random.default_rng(1).integers(1, 4, len(X))
    assert_same_bits(
        N3Classifier(5).fit(X, Y, sample_weight=weights),
        N3Classifier(5).fit(X, Y, sample_weight=weights.astype(float).tolist()),
    )


@pytest.mark.parametrize(
    "names",
    [
        np.array([0, 1, 2, 3]),
        np.array(["d", "c", "bb", "a"]),
        np.array([-7, -1, 0, 5]),
        np.array([2.0, 4.0, 6.0, 9.0]),
    ],
)
def test_class_names_are_carried_through(names):
    model = N3Classifier(5).fit(X, names[Y])
    np.testing.assert_array_equal(model.classes_, np.unique(names))
    expected = N3Classifier(5).fit(X, np.searchsorted(np.unique(names), names[Y])).predict(X)
    np.testing.assert_array_equal(model.predict(X), model.classes_[expected])


def test_truth_values_as_classes():
    model = N3Classifier(5).fit(X, Y > 1)
    assert model.predict(X).dtype == bool
    np.testing.assert_array_equal(model.predict(X), N3Classifier(5).fit(X, (Y > 1).astype(int)).predict(X) == 1)


# ---- rounds, calibration, scikit-learn ----


@pytest.mark.pairs
@pytest.mark.parametrize("model", [N3Classifier(5), UNNClassifier(5), N3Classifier(5, n_prototypes=40)])
@pytest.mark.parametrize("n_rounds", [None, 3, 200])
@pytest.mark.parametrize("calibration", ["temperature", None])
def test_early_stopping_stops_at_the_least_held_out_risk(model, n_rounds, calibration):
    model = clone(model).set_params(early_stopping=True, n_rounds=n_rounds, calibration=calibration)
    noisy = np.where(np.random.default_rng(0).random(len(X)) < 0.3, (Y + 1) % 4, Y)
    model.fit(X, noisy)
    assert model.n_rounds_ == int(np.argmin(model.held_out_risk_))
    assert model.n_rounds_ <= (n_rounds or np.inf)
    assert all(len(risk) <= model.n_rounds_ + 1 for risk in model.history_)
    assert np.all(np.isfinite(model.held_out_risk_))


def test_held_out_attributes():
    model = N3Classifier(5).fit(X, Y)
    rows = model.held_out_rows_
    assert sorted(rows.tolist()) == list(range(len(X)))
    assert model.held_out_scores_.shape == (len(X), 4)
    right = model.held_out_scores_.toarray().argmax(axis=1) == Y[rows]
    assert model.held_out_accuracy_ == pytest.approx(right.mean(), rel=1e-12)


def test_without_calibration_nothing_is_held_out():
    model = N3Classifier(5, calibration=None, n_rounds=5).fit(X, Y)
    assert model.temperature_ == 1
    assert not model.intercept_.any()
    for name in ("held_out_rows_", "held_out_scores_", "held_out_accuracy_"):
        assert not hasattr(model, name)
    assert getattr(model, "held_out_risk_", None) is None


def test_a_second_fit_forgets_the_first():
    model = N3Classifier(5).fit(X, Y)
    model.set_params(calibration=None, n_rounds=5).fit(X, Y)
    assert not [name for name in vars(model) if name.startswith("held_out") and getattr(model, name) is not None]


@pytest.mark.parametrize("model", METHODS)
def test_pickle_and_clone(model):
    model = clone(model).fit(X, Y)
    copy = pickle.loads(pickle.dumps(model))
    assert_same_bits(model, copy)
    np.testing.assert_array_equal(model.prune(20).prototypes_, copy.prune(20).prototypes_)
    assert_same_bits(model, clone(model).fit(X, Y))
    assert model.set_params(n_neighbors=9).fit(X, Y).n_neighbors_ == 9


def test_grid_search_and_pipeline():
    skewed = X * [1, 1000]
    pipeline = make_pipeline(StandardScaler(), N3Classifier(5))
    search = GridSearchCV(
        pipeline, {"n3classifier__n_neighbors": [1, 9], "n3classifier__loss": ["log", "mat"]}, cv=3
    )
    search.fit(skewed, Y)
    assert search.best_score_ > (np.bincount(Y).argmax() == Y).mean()
    by_hand = N3Classifier(**search.best_estimator_[-1].get_params()).fit(
        StandardScaler().fit_transform(skewed), Y
    )
    np.testing.assert_array_equal(
        search.predict_proba(skewed), by_hand.predict_proba(StandardScaler().fit_transform(skewed))
    )


# ---- UNN's adaptive balance ----


def overlapping(rng, n):
    """70/30 Gaussians that overlap."""
    classes = (rng.random(n) < 0.3).astype(int)
    return rng.normal(size=(n, 2)) + 1.5 * classes[:, None] * [1, 0], classes


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_adaptive_balance_keeps_fewer_of_the_majority_and_the_minority_gains(seed):
    rng = np.random.default_rng(seed)
    (rows, classes), (queries, truth) = overlapping(rng, 400), overlapping(rng, 2000)
    kept, recall = {}, {}
    for balance in ("uniform", "adaptive"):
        model = UNNClassifier(11, start="zero", vote_from="prototypes", balance=balance).fit(rows, classes)
        kept[balance] = np.bincount(classes[model.prototypes_], minlength=2)
        recall[balance] = (model.predict(queries)[truth == 1] == 1).mean()
    assert kept["adaptive"][0] < 0.95 * kept["uniform"][0]
    assert 0.9 * kept["uniform"][1] <= kept["adaptive"][1] <= 1.25 * kept["uniform"][1]
    assert recall["adaptive"] >= recall["uniform"]


@pytest.mark.parametrize("oracle", ["delta", "decrease"])
def test_adaptive_balance_with_a_class_that_is_held_out_as_a_whole(oracle):
    """One far row is a class: while it is held out, its class has no rows, and nobody is near it."""
    rows, classes = np.vstack([X, [[100.0, 100.0]]]), np.append(Y, 4)
    model = UNNClassifier(3, balance="adaptive", oracle=oracle).fit(rows, classes)
    assert np.all(np.isfinite(model.decision_function(rows)))


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("vote_weights", ["uniform", "gaussian"])
def test_plain_votes_are_as_sure_as_they_are_right(k, vote_weights):
    """Shares of the votes would be 1 for every row with k = 1; frames of one film vote on each other alone."""
    rng = np.random.default_rng(0)
    centers, y, films = rng.normal(size=(6, 8)), rng.integers(0, 6, 400), np.arange(400) // 4
    y[:200] = y[:200:4].repeat(4)
    X = centers[y] + 0.9 * rng.normal(size=(400, 8))
    X[:200] = X[:200:4].repeat(4, axis=0) + 1e-3 * rng.normal(size=(200, 8))
    truth = rng.integers(0, 6, 2000)
    new = centers[truth] + 0.9 * rng.normal(size=(2000, 8))
    model = KNNClassifier(k, vote_weights=vote_weights).fit(X, y, groups=films)
    p = model.predict_proba(new)
    right = p.argmax(axis=1) == truth
    assert p.max(axis=1).mean() == pytest.approx(right.mean(), abs=0.05)
    assert model.held_out_accuracy_ == pytest.approx(right.mean(), abs=0.05)
    assert log_loss(truth, p) < 1.2  # of shares alone: 10 with k = 1
    np.testing.assert_array_equal(model.predict(new), p.argmax(axis=1))
    shares = clone(model).set_params(calibration=None).fit(X, y).predict_proba(new)
    assert set(np.unique(shares)) == {0.0, 1.0} if k == 1 else shares.max() <= 1
