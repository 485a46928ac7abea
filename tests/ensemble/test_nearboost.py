"""NearBoostClassifier: answers, figures, evidence and refusals."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics import log_loss
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from nearboost import N3Classifier, NearBoostClassifier
from nearboost.ensemble import learning, scaling
from nearboost.models import load, save

FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": "a code may take a repeated row twice, a weighted one once",
}


@parametrize_with_checks([NearBoostClassifier()], expected_failed_checks=lambda model: FAILURES)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def halves(load, seed=0):
    X, y = load(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(X))
    X, y = X[order], y[order]
    return X[::2], y[::2], X[1::2], y[1::2]


def blobs(n_rows=90, n_classes=3, n_features=5, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    return rng.normal(size=(n_rows, n_features)) + 2 * np.eye(n_classes, n_features)[y], y


def close_together(kind, n_features, n_rows, seed):
    """Rows of few features, so many that neighbours are told apart by small differences alone, or not at all."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    if kind == "grid":
        X = np.round(X * n_rows ** (1 / n_features) / 4)
    if kind == "duplicates":
        X = X[rng.integers(0, n_rows // 5, n_rows)]
    scores = np.sin(3 * X[:, 0] / X[:, 0].std()) + rng.normal(scale=0.5, size=n_rows)
    return X, np.digitize(scores, [-0.5, 0.5])


@pytest.mark.parametrize("kind", ["dense", "grid", "duplicates"])
@pytest.mark.parametrize("n_features", [1, 2])
def test_scores_are_the_same_in_any_company(kind, n_features):
    model = NearBoostClassifier().fit(*close_together(kind, n_features, 1_600, 0))
    Q, _ = close_together(kind, n_features, 120, 1)
    together = model.decision_function(Q)
    for size in (1, 50):
        parts = np.concatenate([model.decision_function(Q[i : i + size]) for i in range(0, len(Q), size)])
        assert np.abs(parts - together).max() < 1e-9 * np.ptp(together)


@pytest.fixture(scope="module")
def digits():
    A, a, B, b = halves(load_digits)
    return NearBoostClassifier().fit(A, a), A, a, B, b


def test_no_error_among_a_few_rows_is_not_certainty():
    X, y = blobs(n_rows=20, n_classes=2)
    model = NearBoostClassifier().fit(X + 20 * y[:, np.newaxis], y)
    assert model.held_out_accuracy_ == 1
    assert 0.03 < model.held_out_error_ < 0.06


def test_better_than_a_support_vector_machine_and_calibrated(digits):
    model, A, a, B, b = digits
    assert model.score(B, b) > SVC(C=10, gamma="scale").fit(A, a).score(B, b) - 0.005
    assert log_loss(b, model.predict_proba(B)) < 0.06
    assert abs(model.held_out_accuracy_ - model.score(B, b)) < 0.02
    assert model.held_out_log_loss_ == pytest.approx(log_loss(b, model.predict_proba(B)), abs=0.02)
    assert 0 < model.held_out_error_ < 0.01
    np.testing.assert_array_equal(model.held_out_rows_, np.arange(len(A)))
    assert np.mean(model.held_out_proba_.argmax(axis=1) == a) == model.held_out_accuracy_


def test_a_tenth_of_the_rows(digits):
    model, A, a, B, b = digits
    few = NearBoostClassifier(n_prototypes=0.1).fit(A, a)
    assert len(few._answers.coded.rows) == 90
    assert set(few.voters_) < set(range(len(A)))
    assert few.score(B, b) > model.score(B, b) - 0.02
    assert few.held_out_accuracy_ == pytest.approx(few.score(B, b), abs=0.03)


def test_report_tells_what_was_tried_and_chosen(digits):
    report = digits[0].report_
    best = {}
    for step, candidate, loss in report.tried:
        best[step] = min(best.get(step, (np.inf, "")), (loss, candidate))
    assert report.chosen["metric"] == best["metric"][1]
    assert not report.chosen["metric"].endswith("on a sphere")  # brightness tells digits apart
    assert report.chosen["linear"] == best["linear"][1]
    assert best["heads together"][0] < best["head alone"][0]
    assert set(report.seconds) == {"scaling", "coordinates", "metric", "linear", "weights", "refit"}
    assert "599 or more of 899" in str(report)
    assert report.chosen["scaling"] in str(report)


@pytest.mark.parametrize("load", [load_wine, load_iris])
def test_lengths_of_few_features_count(load):
    report = NearBoostClassifier().fit(*load(return_X_y=True)).report_
    assert not any(name.endswith("on a sphere") for _, name, _ in report.tried)


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer, load_iris])
def test_units_of_features_do_not_matter(load):
    """Raw measurements in any units: scales are the estimator's own business."""
    A, a, B, b = halves(load)
    units = 10.0 ** np.random.default_rng(0).uniform(-3, 3, A.shape[1])
    raw, scaled = (NearBoostClassifier().fit(A * u, a).score(B * u, b) for u in (1, units))
    assert raw > 0.9
    assert scaled > raw - 0.03


def test_heavy_tails_are_ranked():
    A, a, B, b = halves(load_digits)
    bend = lambda X: np.sinh(X - 8)  # noqa: E731
    model = NearBoostClassifier().fit(bend(A), a)
    assert model.report_.chosen["scaling"] == "normal ranks"
    assert model.score(bend(B), b) > 0.95


def test_copies_are_held_out_together():
    """Three copies of each row: a fold that held one out would find the others."""
    A, a, _, _ = halves(load_digits)
    A, a = A[:300], a[:300]
    alone = NearBoostClassifier().fit(A, a)
    thrice = NearBoostClassifier().fit(np.repeat(A, 3, axis=0), np.repeat(a, 3))
    assert thrice.held_out_accuracy_ == pytest.approx(alone.held_out_accuracy_, abs=0.03)
    assert thrice.held_out_error_ == pytest.approx(alone.held_out_error_, rel=0.5)


def test_groups_are_held_out_together():
    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.normal(size=(60, 5)), 6, axis=0), np.repeat(rng.integers(3, size=60), 6)
    X += 1e-3 * rng.normal(size=X.shape)
    groups = np.repeat(np.arange(60), 6).astype(str)
    assert NearBoostClassifier().fit(X, y).held_out_accuracy_ > 0.95
    assert NearBoostClassifier().fit(X, y, groups=groups).held_out_accuracy_ < 0.6


def test_few_groups():
    """Two groups, and one that holds nearly all rows."""
    X, y = blobs(700)
    Q, q = blobs(90, seed=1)
    for groups in (np.arange(700) % 2, np.arange(700) > 20):
        model = NearBoostClassifier().fit(X, y, groups=groups)
        assert model.score(Q, q) > 0.8
        assert np.isfinite(model.held_out_scores_).all()


def test_weights_count():
    """Of two labels for each row, the one with the weight is learned; class weights do the same."""
    X, y = blobs()
    twice, labels = np.vstack([X, X]), np.concatenate([y, (y + 1) % 3])
    weight = np.repeat([1.0, 0.01], len(X))
    Q, q = blobs(seed=1)
    assert NearBoostClassifier().fit(twice, labels, sample_weight=weight).score(Q, q) > 0.8
    balanced = np.bincount(NearBoostClassifier(class_weight={0: 20.0}).fit(X, y).predict(Q))
    assert balanced[0] > np.bincount(NearBoostClassifier().fit(X, y).predict(Q))[0]


def test_only_ratios_of_weights_count():
    """Those of classes and of samples alike; a weight that sums would lose does no harm."""
    X, y = blobs(60)
    scores = NearBoostClassifier().fit(X, y, sample_weight=np.where(y == 0, 3, 1)).decision_function(X)
    for weights in ({0: 3, 1: 1, 2: 1}, {0: 3e6, 1: 1e6, 2: 1e6}):
        np.testing.assert_allclose(
            NearBoostClassifier(class_weight=weights).fit(X, y).decision_function(X), scores
        )
    for uneven in (np.where(y == 0, 1e-300, 1), np.where(np.arange(60) == 0, 1e30, 1)):
        assert np.isfinite(NearBoostClassifier().fit(X, y, sample_weight=uneven).predict_proba(X)).all()


@pytest.mark.parametrize("at_once", [1, 7, 100])
@pytest.mark.parametrize("n_prototypes", [None, 0.1])
@pytest.mark.parametrize("rows", ["digits", "long"])
def test_other_blocks_of_queries(at_once, n_prototypes, rows):
    """In float32 a row of the matrix library's products is rounded by its place: near rows changed theirs."""
    X, y = load_digits(return_X_y=True)
    if rows == "long":
        X = np.hstack([X, np.random.default_rng(0).normal(size=(len(X), 600))])
    order = np.random.default_rng(1).permutation(len(y))
    learned, asked = order[: 300 if rows == "long" else 898], order[898:]
    model = NearBoostClassifier(n_prototypes).fit(X[learned], y[learned])
    together = model.decision_function(X[asked])
    apart = [model.decision_function(X[asked[i : i + at_once]]) for i in range(0, len(asked), at_once)]
    np.testing.assert_allclose(np.concatenate(apart), together, atol=1e-12 * np.ptp(together), rtol=0)


@pytest.mark.parametrize("settings", [{}, {"n_prototypes": 0.2}])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_explanations_add_up(settings, n_classes):
    X, y = blobs(200, n_classes)
    y = np.array(["ant", "bee", "cat", "dog"])[y]
    Q, _ = blobs(20, n_classes, seed=1)
    model = NearBoostClassifier(**settings).fit(X, y)
    scores = model.decision_function(Q)
    span = np.ptp(scores)
    for one, score in zip(model.explain(Q, landmarks=True), scores, strict=True):
        total = one.contributions.sum(axis=0) + one.intercept
        np.testing.assert_allclose(one.total(), total, atol=1e-9)
        answer = total[1] - total[0] if n_classes == 2 else total
        np.testing.assert_allclose(answer, score, atol=1e-5 * span)
        np.testing.assert_allclose(one.landmark_contributions.sum(axis=0), one.linear, atol=1e-9 * span)
        assert set(one.prototypes) <= set(model.voters_)
        np.testing.assert_array_equal(one.labels, y[one.prototypes])
        assert (np.diff(one.distances) >= 0).all()
    assert model.explain(Q[:1])[0].landmarks is None


def test_explanations_add_up_where_residuals_are_roundings():
    """Rows of one feature lie so close that float32 distances from products know little of residuals."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1))
    y = (X[:, 0] + 0.5 * rng.normal(size=400) > 0).astype(int) + (rng.random(400) < 0.1)
    model = NearBoostClassifier().fit(X, y)
    scores = model.decision_function(X[:40])
    totals = [one.total() for one in model.explain(X[:40])]
    np.testing.assert_allclose(totals, scores, atol=1e-5 * np.ptp(scores))


def of_any_brightness(n_rows, seed):
    """Patterns of twenty classes, some rows faint and some bright."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 20
    patterns = np.random.default_rng(9).normal(size=(20, 40))[y] + 1.5 * rng.normal(size=(n_rows, 40))
    return rng.uniform(0.1, 1.9, size=(n_rows, 1)) * patterns, y


@pytest.mark.parametrize("settings", [{}, {"n_prototypes": 0.2}])
def test_angles_are_compared_where_lengths_tell_nothing(settings, tmp_path):
    X, y = of_any_brightness(500, 0)
    Q, _ = of_any_brightness(40, 1)
    model = NearBoostClassifier(**settings).fit(X, y)
    assert model.report_.chosen["metric"].endswith("on a sphere")
    rows = model._answers.coded.rows
    if not settings:
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-6)
    scores = model.decision_function(Q)
    totals = [one.total() for one in model.explain(Q)]
    np.testing.assert_allclose(totals, scores, atol=1e-5 * np.ptp(scores))
    save(model, tmp_path / "model.nb")
    np.testing.assert_array_equal(load(tmp_path / "model.nb").decision_function(Q), scores)
    np.testing.assert_array_equal(NearBoostClassifier(**settings, n_jobs=1).fit(X, y).decision_function(Q), scores)


def test_angles_of_long_rows_are_tried_too(monkeypatch):
    """In all of the components, where the first of them do not tell enough."""
    monkeypatch.setattr(learning, "WIDE", 30)
    monkeypatch.setattr(learning, "ENOUGH_COMPONENTS", 25)
    monkeypatch.setattr(scaling, "ENOUGH_COMPONENTS", 25)
    model = NearBoostClassifier().fit(*of_any_brightness(400, 0))
    tried = {candidate for step, candidate, _ in model.report_.tried if step == "metric, one fold"}
    on_sphere = {candidate.split(",")[0] for candidate in tried if candidate.endswith("on a sphere")}
    assert on_sphere == {"linear", "wide"}
    assert model.report_.chosen["metric"].startswith("wide")
    assert model.report_.chosen["metric"].endswith("on a sphere")


def test_a_file_from_before_compares_lengths(tmp_path):
    """Files of models that knew no sphere do not say whether they use one."""
    X, y = blobs()
    model = NearBoostClassifier().fit(X, y)
    state = {name: value for name, value in model.model_state().items() if name != "on_sphere"}
    before = NearBoostClassifier()
    before.restore_model_state(state)
    np.testing.assert_array_equal(before.decision_function(X), model.decision_function(X))


def long_rows(n_rows, seed):
    """Fifteen hundred features that each tell little."""
    rng = np.random.default_rng(seed)
    y, means = np.arange(n_rows) % 6, np.random.default_rng(5).normal(scale=0.1, size=(6, 1500))
    return (means[y] + rng.normal(size=(n_rows, 1500))) * np.arange(1, 1501) ** -0.3, y


def test_as_sure_as_right_on_long_rows():
    """Rows that helped to find the components keep more of their length in them than rows to come."""
    Q, truth = long_rows(1200, 1)
    model = NearBoostClassifier().fit(*long_rows(400, 0))
    assert model.predict_proba(Q).max(axis=1).mean() == pytest.approx(model.score(Q, truth), abs=0.03)


def test_ranked_and_rejected(digits):
    model, _, _, B, _ = digits
    np.testing.assert_array_equal(model.predict_top(B, 2)[:, 0], model.predict(B))
    sure = model.predict_proba(B).max(axis=1) >= 0.9
    np.testing.assert_array_equal(model.predict(B, reject_below=0.9, reject_label=-1) >= 0, sure)


def test_a_single_row_of_each_class():
    X, y = blobs(3)
    with pytest.warns(UserWarning, match="nothing can be held out"):
        model = NearBoostClassifier().fit(X, y)
    assert np.isnan(model.held_out_accuracy_)
    np.testing.assert_array_equal(model.predict(X), y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert "linear, shrinkage 1, rest 1" in str(model.report_)  # what was not chosen is said too
    assert "log-loss" not in str(model.report_)
    assert list(model.report_.seconds) == ["fit"]


@pytest.mark.parametrize(
    ("n_rows", "n_classes", "n_features"), [(3, 2, 3), (4, 2, 1), (7, 3, 2), (40, 20, 3), (30, 2, 100), (60, 3, 1)]
)
def test_tiny_sets(n_rows, n_classes, n_features):
    X, y = blobs(n_rows, n_classes, n_features)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = NearBoostClassifier().fit(X, y)
    chances = model.predict_proba(X)
    assert np.isfinite(chances).all()
    np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-12)


def test_odd_rows_do_no_harm():
    """Constant features, copies, a class of one row, rows of weight 0, huge and tiny numbers, queries far away."""
    X, y = blobs()
    X = np.column_stack([X, np.full(len(X), 3.0), 1e200 * X[:, 0], 1e-200 * X[:, 1]])
    X, y = np.vstack([X, X[:5], X[:1] + 0.1]), np.concatenate([y, y[:5], [7]])
    weight = np.ones(len(X))
    weight[3] = 0
    model = NearBoostClassifier().fit(X, y, sample_weight=weight)
    assert 3 not in model.voters_
    for Q in (X, 1e100 * X, -X, np.zeros_like(X)):
        assert np.isfinite(model.predict_proba(Q)).all()
    assert model.score(X, y) > 0.8


def test_many_rows_take_codes_among_the_nearest(monkeypatch):
    """Beyond a bound distances within classes are not kept; answers stay about as good."""
    A, a, B, b = halves(load_digits)
    monkeypatch.setattr("nearboost.ensemble.code_heads.MOST_FOR_ALL", 10)
    kept = NearBoostClassifier().fit(A, a)
    monkeypatch.setattr("nearboost.ensemble.code_heads.MOST_GAPS", 100)
    near = NearBoostClassifier().fit(A, a)
    assert min(kept.score(B, b), near.score(B, b)) > 0.975
    assert kept.report_.notes[1:] == ["The vote is among the 100 rows nearest to a query."]
    assert near.report_.notes[2:] == ["Residuals are of codes among the 100 nearest rows of each class."]


X, Y = blobs()


@pytest.mark.parametrize(
    ("rows", "labels", "more", "said"),
    [
        (np.where(X > 3, np.nan, X), Y, {}, "NaN"),
        (np.where(X > 3, np.inf, X), Y, {}, "infinity"),
        (X, np.zeros(len(X)), {}, "at least two classes"),
        (X[:1], Y[:1], {}, "minimum of 2 .*; give more rows"),
        (np.ones_like(X), Y, {}, "give features that vary"),
        (X, Y, {"groups": [1, 2]}, "give one per sample"),
        (X, Y, {"sample_weight": -np.ones(len(X))}, "at least 0"),
        (X, Y, {"sample_weight": np.zeros(len(X))}, "zero for every sample"),
        (X, Y, {"sample_weight": ["much"] * len(X)}, "give one number per sample"),
        (X, Y, {"sample_weight": [{}] * len(X)}, "give one number per sample"),
        (X, np.where(Y == 0, np.nan, Y), {}, "row 0 has no label"),
        (X, Y.astype(object), {}, r"give y\.astype\(int\)"),
        (X, np.column_stack([Y, Y]), {}, "one classifier per column"),
        (X, np.eye(3, dtype=int)[Y], {}, r"argmax\(axis=1\)"),
        (X, 1 - np.eye(3, dtype=int)[Y], {}, "N3Classifier takes several"),
    ],
)
def test_bad_input(rows, labels, more, said):
    with pytest.raises(ValueError, match=said):
        NearBoostClassifier().fit(rows, labels, **more)


@pytest.mark.parametrize("given", [0.0, 1.5, 1, "few", 2])
def test_bad_number_of_prototypes(given):
    with pytest.raises(ValueError, match="n_prototypes"):
        NearBoostClassifier(given).fit(X, Y)


def test_takes_the_place_of_n3(digits):
    """What commands use of N3 is there."""
    model, _, _, B, _ = digits
    for name in ("held_out_accuracy_", "held_out_proba_", "held_out_rows_", "voters_"):
        assert hasattr(model, name)
        assert hasattr(N3Classifier, name) or "held_out" in name
    labels, chances = model.predict_with_proba(B)
    np.testing.assert_array_equal(labels, model.predict(B))
    np.testing.assert_array_equal(chances, model.predict_proba(B))


def test_a_fit_that_fails_leaves_the_one_before(monkeypatch):
    """Interrupted half way, or refused: answers and their labels still belong together."""
    model = NearBoostClassifier().fit(X, Y)
    before = model.predict(X)

    def interrupted(*arguments):
        raise KeyboardInterrupt

    with pytest.raises(ValueError, match="give features that vary"):
        model.fit(np.ones_like(X), Y + 5)
    monkeypatch.setattr("nearboost.ensemble.learning.choose_scaling", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y + 5)
    np.testing.assert_array_equal(model.predict(X), before)


def test_few_noisy_rows_are_regressed_strongly():
    """Sixty overlapping rows in ten dimensions: a weak ridge learns their noise."""
    rng = np.random.default_rng(0)
    y = np.arange(1_060) % 3
    X = 0.5 * rng.normal(size=(3, 10))[y] + rng.normal(size=(len(y), 10))
    model = NearBoostClassifier().fit(X[:60], y[:60])
    assert model.report_.chosen["linear"] == "ridge 10"
    losses = {what: loss for step, what, loss in model.report_.tried if step == "linear"}
    assert losses["ridge 10"] < losses["ridge 1"] < losses["ridge 0.1"]
