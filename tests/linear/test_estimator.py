"""Choices, histories, probabilities, blocks, and what is said to bad input."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression

from linear.problems import noisy_classes
from nearboost.linear.descent import Schedule
from nearboost.linear.sgd import SCALINGS, LinearSGDClassifier
from nearboost.linear.slnd import SLNDClassifier
from nearboost.losses import get_loss
from nearboost.problem.held_out import deal_parts
from nearboost.problem.targets import labels_from_classes

X, Y = noisy_classes(600)
Q, TRUTH = X[400:], Y[400:]
X, Y = X[:400], Y[:400]
QUICK = {"rank": 6, "damping": 0.01, "step": 0.02, "max_passes": 5}


def test_defaults_choose_everything():
    model = SLNDClassifier().fit(X, Y)
    converged = LogisticRegression(C=100, max_iter=1000).fit(X, Y)
    assert model.score(Q, TRUTH) > converged.score(Q, TRUTH) - 0.02
    report = model.report_
    assert report["loss"] == "multinomial"
    assert (report["rank"], report["damping"], report["step"]) == (model.rank_, model.damping_, model.step_)
    assert report["n_held_out"] == 400
    assert {trial["scaling"] for trial in report["trials"]} == {"none", "standard"}
    assert report["scaling"] == model.scaling_
    assert abs(model.held_out_accuracy_ - model.score(Q, TRUTH)) < 0.06
    assert {trial["damping"] for trial in report["trials"]} > {0.01}
    assert any(
        (trial["rank"], trial["damping"], trial["step"]) == (model.rank_, model.damping_, model.step_)
        for trial in report["trials"]
    )
    assert len(model.history_["risk"]) == len(model.history_["held_out_accuracy"]) == model.n_passes_
    assert model.history_["risk"][-1] < model.history_["risk"][0]
    assert np.all(np.diff(model.eigenvalues_) <= 0)
    assert model.coef_.shape == (4, 8)


def test_only_what_is_not_given_is_chosen():
    model = SLNDClassifier(rank=5, damping=0.02).fit(X, Y)
    assert {(trial["rank"], trial["damping"]) for trial in model.report_["trials"]} == {(5, 0.02)}
    assert len({trial["step"] for trial in model.report_["trials"]}) > 2
    given = SLNDClassifier(**QUICK).fit(X, Y)
    assert given.report_["trials"] == []
    assert given.report_["scaling"] == "none"
    assert np.isnan(given.history_["held_out_accuracy"]).all()


def test_groups_are_held_out_together():
    """Rows of a group nearly repeat one row: scored by such copies, a model that only remembers looks perfect."""
    rng = np.random.default_rng(0)
    few, names = rng.standard_normal((60, 40)), rng.integers(3, size=60)
    rows, labels, groups = (np.repeat(values, 8, axis=0) for values in (few, names, np.arange(60)))
    rows += 1e-6 * rng.standard_normal(rows.shape)  # equal ones are held out together anyway
    together = SLNDClassifier().fit(rows, labels, groups=groups)
    alone = SLNDClassifier().fit(rows, labels)
    best = [max(trial["accuracy"] for trial in model.report_["trials"]) for model in (together, alone)]
    assert best[0] < 0.7 < 0.95 < best[1]


def test_early_stopping():
    model = SLNDClassifier(early_stopping=True, tol=0.0, max_passes=200, step=0.02, rank=8, damping=0).fit(X, Y)
    accuracy = model.history_["held_out_accuracy"]
    assert len(accuracy) == model.n_passes_ < 200
    assert max(accuracy[:-3]) >= max(accuracy[-3:])
    endless = SLNDClassifier(early_stopping=True, tol=None, max_passes=20, step=0.02, rank=8, damping=0).fit(X, Y)
    assert endless.n_passes_ == 20


def test_early_stopping_lets_steps_come_down_and_keeps_the_best_pass():
    digits, labels = load_digits(return_X_y=True)
    digits = digits + np.random.default_rng(0).normal(0, 6, digits.shape)  # so that the best pass is not the last
    model = SLNDClassifier(early_stopping=True, max_passes=40).fit(digits[::2], labels[::2])
    accuracy = model.history_["held_out_accuracy"]
    assert len(accuracy) == model.n_passes_ == 40
    assert max(accuracy) > accuracy[-1]
    assert model._state.n_passes == max(n for n in range(1, 41) if accuracy[n - 1] == max(accuracy))
    parts = deal_parts(labels_from_classes(labels[::2], 10), np.arange(899), 0)
    held_out = np.concatenate(parts[::5])  # two tenths
    assert model.score(digits[::2][held_out], labels[::2][held_out]) == pytest.approx(max(accuracy))
    weights, _ = model._state.coordinates.to_features(model._state.V)
    np.testing.assert_array_equal(weights.T, model.coef_)  # where partial_fit goes on


def test_the_risk_stops_a_constant_step():
    model = SLNDClassifier("log", step=0.02, rank=8, damping=0, max_passes=500, tol=1e-3).fit(X, Y)
    assert model.n_passes_ < 100


@pytest.mark.parametrize("scaling", SCALINGS)
def test_contenders(scaling):
    model = LinearSGDClassifier(scaling=scaling).fit(X, Y)
    assert model.score(Q, TRUTH) > 0.8  # a guess has 0.38
    assert model.report_["trials"]


def test_standardized_features():
    """SGD-P is plain SGD on scaled features, told in the features as given."""
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    settings = {"step": 0.01, "max_passes": 3}
    model = LinearSGDClassifier(scaling="standard", **settings).fit(X, Y)
    plain = LinearSGDClassifier(**settings).fit(scaled, Y)
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(scaled), rtol=0, atol=1e-9)


def test_diagonal_is_plain_on_scaled_features():
    scale = np.sqrt(0.5 * (X**2).mean(axis=0))
    settings = {"step": 0.01, "max_passes": 3, "fit_intercept": False}
    model = LinearSGDClassifier(scaling="diagonal", **settings).fit(X, Y)
    plain = LinearSGDClassifier(**settings).fit(X / scale, Y)
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X / scale), rtol=0, atol=1e-9)


def test_slnd_is_plain_on_whitened_rows():
    d, P = np.linalg.eigh(0.25 * X.T @ X / len(X))
    white = X @ P[:, -5:] / np.sqrt(d[-5:])
    settings = {"step": 0.01, "max_passes": 3, "fit_intercept": False}
    model = SLNDClassifier("log", rank=5, damping=0, **settings).fit(X, Y)
    plain = LinearSGDClassifier("log", **settings).fit(white, Y)
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(white), rtol=0, atol=1e-9)


@pytest.mark.parametrize("loss", ["log", "hinge", "mat", "binlog", "squared", "multinomial"])
def test_probabilities_of_the_loss(loss):
    model = SLNDClassifier(loss, **QUICK, calibration=None).fit(X, Y)
    shares, scores = model.predict_proba(Q), model.decision_function(Q)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    if loss == "multinomial":
        expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    else:
        posteriors = get_loss(loss).transfer(scores)
        nobody = posteriors.sum(axis=1) == 0
        posteriors[nobody] = 1
        expected = posteriors / posteriors.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares, expected, atol=1e-12)
    two = SLNDClassifier(loss, **QUICK, calibration=None).fit(X, Y > 1)
    posterior = get_loss("log" if loss == "multinomial" else loss).transfer(two.decision_function(Q))
    np.testing.assert_allclose(two.predict_proba(Q), np.stack([1 - posterior, posterior], axis=1))


def test_rows_without_any_posterior():
    model = SLNDClassifier("squared", **QUICK, calibration=None).fit(X, Y)
    model.coef_, model.intercept_ = np.zeros_like(model.coef_), np.full(4, -5.0)
    np.testing.assert_array_equal(model.predict_proba(Q[:2]), 0.25)


def test_top():
    model = SLNDClassifier(**QUICK).fit(X, np.array(["a", "b", "c", "d"])[Y])
    top = model.predict_top(Q, 3)
    np.testing.assert_array_equal(top[:, 0], model.predict(Q))
    order = np.argsort(-model.decision_function(Q), axis=1)
    np.testing.assert_array_equal(top, model.classes_[order[:, :3]])
    assert model.predict_top(Q, 9).shape == (200, 4)
    two = SLNDClassifier(**QUICK).fit(X, Y > 1)
    np.testing.assert_array_equal(two.predict_top(Q, 2)[:, 1], ~two.predict(Q))


def test_multilabel():
    labels = np.stack([Y == 0, Y <= 1, Y == 3], axis=1).astype(int)
    truth = np.stack([TRUTH == 0, TRUTH <= 1, TRUTH == 3], axis=1).astype(int)
    model = SLNDClassifier().fit(X, labels)
    assert model.report_["loss"] == "log"
    assert (model.predict(Q) == truth).mean() > 0.82
    posteriors = model.predict_proba(Q)
    np.testing.assert_allclose(posteriors, get_loss("log").transfer(model.decision_function(Q)))
    alone = SLNDClassifier("log", **QUICK).fit(X, labels[:, 1])
    together = SLNDClassifier("log", **QUICK).fit(X, labels)
    np.testing.assert_allclose(together.coef_[1], alone.coef_[0], rtol=0, atol=1e-12)
    sparse = SLNDClassifier("log", **QUICK).fit(X, csr_matrix(labels))
    np.testing.assert_array_equal(sparse.coef_, together.coef_)


def test_sample_weights():
    weights = np.where(np.arange(400) % 3 == 0, 0.0, 1.0)
    model = SLNDClassifier(**QUICK, batch_size=400).fit(X, Y, sample_weight=weights)
    without = SLNDClassifier(**QUICK, batch_size=400).fit(X[weights > 0], Y[weights > 0])
    np.testing.assert_allclose(model.coef_, without.coef_, rtol=0, atol=1e-12)
    scaled = SLNDClassifier(**QUICK).fit(X, Y, sample_weight=np.full(400, 7.0))
    np.testing.assert_allclose(scaled.coef_, SLNDClassifier(**QUICK).fit(X, Y).coef_, rtol=1e-12)


def test_class_weights():
    plain = SLNDClassifier(**QUICK).fit(X, Y)
    heavy = SLNDClassifier(**QUICK, class_weight={0: 20.0}).fit(X, Y)
    assert (heavy.predict(Q) == 0).sum() > (plain.predict(Q) == 0).sum()
    by_hand = SLNDClassifier(**QUICK).fit(X, Y, sample_weight=np.where(Y == 0, 20.0, 1.0))
    np.testing.assert_allclose(heavy.coef_, by_hand.coef_, rtol=1e-12)
    weights = 1.0 + np.arange(400) % 3
    both = SLNDClassifier(**QUICK, class_weight={0: 20.0}).fit(X, Y, sample_weight=weights)
    by_hand = SLNDClassifier(**QUICK).fit(X, Y, sample_weight=weights * np.where(Y == 0, 20.0, 1.0))
    np.testing.assert_allclose(both.coef_, by_hand.coef_, rtol=1e-12)
    SLNDClassifier(**QUICK, class_weight="balanced").fit(X, Y)


def test_balanced_with_a_large_class():
    model = SLNDClassifier("log", balanced=True, **QUICK).fit(X, Y > 0)
    assert model.score(Q, TRUTH > 0) > 0.75


@pytest.mark.alone
@pytest.mark.parametrize("model", [SLNDClassifier(), LinearSGDClassifier(scaling="standard")])
def test_threads_clone_and_pickle(model):
    digits, labels = load_digits(return_X_y=True)
    one, two = (clone(model).set_params(n_jobs=n_jobs).fit(digits, labels) for n_jobs in (1, 2))
    np.testing.assert_allclose(two.coef_, one.coef_, rtol=0, atol=1e-6 * np.abs(one.coef_).max())
    kept = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(kept.decision_function(digits), one.decision_function(digits))
    assert len(pickle.dumps(one)) < digits.nbytes / 2  # the rows are not kept


@pytest.mark.parametrize("form", [csr_array, csr_matrix])
@pytest.mark.parametrize("model", [SLNDClassifier(**QUICK), LinearSGDClassifier(scaling="standard", step=0.01)])
def test_sparse_rows(form, model):
    sparse_X = np.where(np.abs(X) < 0.3, 0.0, X)
    dense, sparse = clone(model).fit(sparse_X, Y), clone(model).fit(form(sparse_X), Y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(sparse.decision_function(form(Q)), dense.decision_function(Q), rtol=0, atol=1e-9)


def test_single_precision_is_kept():
    model = SLNDClassifier(**QUICK).fit(X.astype(np.float32), Y)
    assert model.coef_.dtype == model.intercept_.dtype == np.float32
    assert model.decision_function(Q.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(model.coef_, SLNDClassifier(**QUICK).fit(X, Y).coef_, rtol=0, atol=1e-4)


def test_partial_fit_is_fit_pass_by_pass():
    model = SLNDClassifier(**QUICK)
    for _ in range(5):
        model.partial_fit(X, Y, classes=[0, 1, 2, 3])
    np.testing.assert_allclose(model.coef_, SLNDClassifier(**QUICK, tol=None).fit(X, Y).coef_, rtol=1e-12)
    assert model.n_passes_ == len(model.history_["risk"]) == 5


def test_steps_of_blocks_fall_as_a_root():
    np.testing.assert_allclose(Schedule(2.0, horizon=3).steps(0, 10)[[0, 9]], [2.0, 1.0], rtol=1e-15)


def test_partial_fit_in_blocks():
    model = SLNDClassifier()
    for start in range(0, 400, 100):
        block = slice(start, start + 100)
        model.partial_fit(X[block], Y[block], classes=np.arange(5))
    assert model.classes_.tolist() == [0, 1, 2, 3, 4]
    assert model.coef_.shape == (5, 8)
    assert model.score(Q, TRUTH) > 0.8
    with pytest.raises(ValueError, match="y holds 9, which is not among the classes given"):
        model.partial_fit(X, np.where(Y == 0, 9, Y))


def test_partial_fit_after_fit_goes_on():
    model = SLNDClassifier().fit(X[:100], Y[:100])
    before = model.coef_.copy()
    model.partial_fit(X, Y)
    assert not np.array_equal(model.coef_, before)
    assert model.score(Q, TRUTH) > 0.8


def test_second_moments_of_a_given_sample():
    block = slice(0, 100)
    model = SLNDClassifier(**QUICK).partial_fit(X[block], Y[block], classes=range(4), hessian_sample=X)
    appended = np.hstack([X, np.ones((400, 1))])
    expected = np.linalg.eigvalsh(appended.T @ appended / 400)[::-1][:6]
    np.testing.assert_allclose(model.eigenvalues_, expected, rtol=1e-9)


def test_more_rank_than_there_is():
    flat = np.hstack([X[:, :3], X[:, :3] @ np.ones((3, 4)), np.full((400, 1), 2.0)])
    with pytest.warns(UserWarning, match="rank=7 is more than the 4 directions in which the rows differ"):
        model = SLNDClassifier(rank=7, damping=0, step=0.01).fit(flat, Y)
    assert model.rank_ == 4
    assert np.isfinite(model.coef_).all()
    assert SLNDClassifier().fit(flat, Y).rank_ == 4  # nobody asked for more


def test_constant_features_and_zero_rows():
    odd = X.copy()
    odd[:, 2], odd[::7] = 0.0, 0.0
    for model in (SLNDClassifier(), *(LinearSGDClassifier(scaling=scaling) for scaling in SCALINGS)):
        model.fit(odd, Y)
        assert np.isfinite(model.coef_).all()
        np.testing.assert_allclose(model.coef_[:, 2], 0, atol=1e-9)
    with pytest.raises(ValueError, match="X is zero everywhere, so there is no direction to learn in"):
        SLNDClassifier(fit_intercept=False).fit(np.zeros((400, 3)), Y)


def test_steps_that_diverge():
    with pytest.warns(ConvergenceWarning, match="The steps diverged and were halved .* times, to") as caught:
        model = SLNDClassifier("log", rank=8, damping=0, step=1e4, max_passes=5).fit(X, Y)
    assert len(caught) == 1
    assert model.step_ < 1e4
    assert model.score(Q, TRUTH) > 0.5
    with pytest.warns(ConvergenceWarning, match="The steps diverged"):
        SLNDClassifier("log", rank=8, damping=0, step=1e4).partial_fit(X, Y, classes=range(4)).partial_fit(X, Y)
    with pytest.raises(ValueError, match="The steps diverge even when halved 50 times"):
        SLNDClassifier("log", rank=8, damping=0, step=1e300, max_passes=5).fit(X, Y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "exp"}, "loss='exp' is refused because its curvature is unbounded"),
        ({"loss": "svm"}, "loss='svm' is not known; use one of 'auto', 'log'"),
        ({"rank": 0}, "rank=0 must be a whole number of at least 1"),
        ({"damping": -1}, "damping=-1 must be a number of at least 0"),
        ({"hessian_samples": 1}, "hessian_samples=1 must be a whole number of at least 2"),
        ({"step": "fast"}, 'step=\'fast\' must be a number above 0 or "auto" or "theory"'),
        ({"step": 0}, "step=0 must be a number above 0"),
        ({"epsilon": 1.0}, "epsilon=1.0 must lie between 0 and 1"),
        ({"max_passes": 0}, "max_passes=0 must be a whole number"),
        ({"batch_size": 0.5}, "batch_size=0.5 must be a whole number"),
        ({"balanced": 1}, "balanced=1 must be True or False"),
        ({"balanced": True}, 'balanced=True draws rows for each class on its own; use loss="log"'),
        ({"tol": -1}, "tol=-1 must be a number of at least 0, or None"),
        ({"memory": 0}, "memory=0 must be a number above 0"),
        ({"n_jobs": 0}, "n_jobs=0 has no meaning"),
        ({"class_weight": "even"}, "class_weight='even' is not known"),
        ({"class_weight": [1.0, 2.0]}, "class_weight=.* must be a dict of numbers"),
        ({"random_state": -1}, "Seed must be between 0"),
        ({"class_weight": {0: -1.0}}, "class_weight must hold finite numbers of at least 0"),
        ({"step": "theory"}, 'step="theory" is for one class against the rest; use loss="log"'),
        ({"step": "theory", "loss": "log", "average": True}, 'step="theory" sums over all rows at each step'),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        SLNDClassifier(**settings).fit(X, Y)


def test_wrong_input():
    with pytest.raises(ValueError, match="scaling='l2' is not known; use one of 'none', 'standard'"):
        LinearSGDClassifier(scaling="l2").fit(X, Y)
    with pytest.raises(ValueError, match="X contains NaN in row"):
        SLNDClassifier().fit(np.where(X[3, 3] == X, np.nan, X), Y)
    with pytest.raises(ValueError, match="All samples that count are of one class"):
        SLNDClassifier().fit(X, np.zeros(400))
    with pytest.raises(ValueError, match="All samples that count are of one class"):
        SLNDClassifier().fit(X, Y, sample_weight=Y == 1)
    with pytest.raises(ValueError, match=r"groups has shape .* but there are 400 samples"):
        SLNDClassifier().fit(X, Y, groups=[1, 2])
    with pytest.raises(ValueError, match="groups has None for row 0; give every sample a group"):
        SLNDClassifier().fit(X, Y, groups=[None] * 400)
    with pytest.raises(ValueError, match="groups cannot be sorted; give numbers or texts, all of one kind"):
        SLNDClassifier().fit(X, Y, groups=np.array(["a", 1, 2, 3] * 100, dtype=object))
    with pytest.raises(ValueError, match='With a matrix of labels class_weight must be "balanced" or None'):
        SLNDClassifier(class_weight={0: 2.0}).fit(X, np.eye(4, dtype=int)[Y])
    with pytest.raises(ValueError, match='loss="multinomial" needs one label per sample'):
        SLNDClassifier("multinomial").fit(X, np.eye(4, dtype=int)[Y])
    with pytest.raises(ValueError, match="y has several columns that are not 0/1"):
        SLNDClassifier().fit(X, np.stack([Y, Y], axis=1))
    with pytest.raises(NotFittedError):
        SLNDClassifier().predict_top(Q)
    with pytest.raises(ValueError, match="k=0 must be a whole number"):
        SLNDClassifier(**QUICK).fit(X, Y).predict_top(Q, 0)
    with pytest.raises(ValueError, match=r"step=\"theory\" sums over all 10001 rows at each step"):
        SLNDClassifier("log", step="theory").fit(np.zeros((10_001, 1)), np.arange(10_001) % 2)


@pytest.mark.parametrize(("before", "after"), [(np.float32, np.float64), (np.float64, np.float32)])
def test_blocks_of_another_precision(before, after):
    model = SLNDClassifier(step=0.01, rank=4, damping=0).partial_fit(X.astype(before), Y, classes=np.unique(Y))
    model.partial_fit(X.astype(after), Y)
    assert model.coef_.dtype == before
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("n_groups", [2, 3, 4])
def test_few_groups_are_held_out_in_turn(n_groups):
    groups = np.arange(len(X)) % n_groups
    model = SLNDClassifier().fit(X, Y, groups=groups)
    assert model.report_["n_held_out"] == 400
    assert model.report_["trials"]


@pytest.mark.parametrize("in_order", [False, True])
def test_many_small_blocks(in_order):
    digits, labels = load_digits(return_X_y=True)
    train, test = slice(0, 880), slice(880, None)
    order = np.argsort(labels[train], kind="stable") if in_order else np.arange(880)
    model = SLNDClassifier()
    for block in np.split(order, 44):
        model.partial_fit(digits[block], labels[block], classes=range(10))
    assert np.isfinite(model.coef_).all()
    if not in_order:  # else the last class has the last word
        assert model.score(digits[test], labels[test]) > 0.7
