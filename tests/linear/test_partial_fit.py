"""Blocks one after the other: what the first one settles, and what later ones may bring."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from sklearn.base import clone
from sklearn.datasets import load_digits

from linear.problems import noisy_classes
from nearboost import load, save
from nearboost.linear.sgd import LinearSGDClassifier
from nearboost.linear.slnd import SLNDClassifier

X, Y = noisy_classes(600)
Q, TRUTH = X[400:], Y[400:]
X, Y = X[:400], Y[:400]
FIRST, SECOND = slice(0, 200), slice(200, 400)
QUICK = {"rank": 6, "damping": 0.01, "step": 0.02}
MODEL = SLNDClassifier(**QUICK)


def blocks(model, *weights):
    """Two blocks with such weights for all rows."""
    for part, weight in zip((FIRST, SECOND), weights, strict=True):
        model.partial_fit(X[part], Y[part], classes=range(4), sample_weight=np.full(200, weight))
    return model


def test_weights_are_relative_to_the_first_block():
    """A second block of twice the weight is one that moves twice as far, in one batch; scales have no meaning."""
    model = clone(MODEL).set_params(batch_size=400)
    once, twice = blocks(clone(model), 1.0, 1.0), blocks(clone(model), 1.0, 2.0)
    start = clone(model).partial_fit(X[FIRST], Y[FIRST], classes=range(4)).coef_
    np.testing.assert_allclose(twice.coef_ - start, 2 * (once.coef_ - start), rtol=0, atol=1e-12)
    np.testing.assert_allclose(blocks(clone(model), 5.0, 10.0).coef_, twice.coef_, rtol=0, atol=1e-12)


def test_weights_of_classes_that_are_absent():
    heavy = clone(MODEL).set_params(class_weight={0: 5.0, 3: 0.5})
    plain = clone(MODEL)
    for rows in (np.flatnonzero(Y > 0), np.flatnonzero(Y < 3)):
        heavy.partial_fit(X[rows], Y[rows], classes=range(4))
        by_hand = np.array([5.0, 1.0, 1.0, 0.5])[Y[rows]]
        plain.partial_fit(X[rows], Y[rows], classes=range(4), sample_weight=by_hand)
    np.testing.assert_allclose(heavy.coef_, plain.coef_, rtol=1e-12)
    with pytest.raises(ValueError, match='class_weight="balanced" cannot be known from a block'):
        clone(MODEL).set_params(class_weight="balanced").partial_fit(X, Y, classes=range(4))


def test_parameters_are_those_of_the_first_call():
    model = clone(MODEL).partial_fit(X, Y, classes=range(4))
    model.set_params(n_jobs=1, memory=1e8, class_weight={0: 2.0}).partial_fit(X, Y)
    for changed in ({"loss": "log"}, {"step": 0.001}, {"rank": 3}, {"batch_size": 16}, {"random_state": 1}):
        (name,) = changed
        with pytest.raises(ValueError, match=f"{name}=.* was .* when learning began"):
            clone_of(model).set_params(**changed).partial_fit(X, Y)
    with pytest.raises(ValueError, match="scaling='standard' was 'none' when learning began"):
        LinearSGDClassifier(step=0.01).fit(X, Y).set_params(scaling="standard").partial_fit(X, Y)


def clone_of(model):
    """With what it has learned."""
    copy = clone(model)
    vars(copy).update(vars(model))
    return copy


def test_classes():
    with pytest.raises(ValueError, match="The first call of partial_fit needs all classes"):
        clone(MODEL).partial_fit(X, Y)
    with pytest.raises(ValueError, match=r"classes=\[7\] is one class only"):
        clone(MODEL).partial_fit(X, np.full(400, 7), classes=[7])
    with pytest.raises(ValueError, match="classes cannot be sorted; give numbers or texts"):
        clone(MODEL).partial_fit(X, Y, classes=np.array([0, "a", None], dtype=object))
    model = clone(MODEL).partial_fit(X, Y, classes=[3, 2, 1, 0, 4]).partial_fit(X, Y, classes=range(5))
    with pytest.raises(ValueError, match=r"classes=\[0 1 2 3\] must be those of the first call, \[0 1 2 3 4\]"):
        model.partial_fit(X, Y, classes=range(4))
    labels = np.eye(4, dtype=int)[Y]
    assert clone(MODEL).partial_fit(X, labels).partial_fit(X, labels).coef_.shape == (4, 8)


def test_a_failure_changes_nothing():
    model = SLNDClassifier(**QUICK).fit(X, Y)
    before = {name: value for name, value in vars(model).items() if name.endswith("_") or name.startswith("_")}
    labels = model.predict(Q)
    failures = {
        "groups has shape": lambda: model.fit(X[:, :3], Y + 10, groups=[1, 2]),  # after new classes and features
        "are of one class": lambda: model.fit(X, np.zeros(400)),
        "X has 3 features": lambda: model.partial_fit(X[:, :3], Y),
        "The steps diverge": lambda: model.partial_fit(X * 1e300, Y),
    }
    for message, failure in failures.items():
        with pytest.raises(ValueError, match=message):
            failure()
        assert all(vars(model)[name] is value for name, value in before.items())
        np.testing.assert_array_equal(model.predict(Q), labels)
    new = SLNDClassifier(**QUICK)
    with pytest.raises(ValueError, match="X has 3 features"):
        new.partial_fit(X, Y, classes=range(4), hessian_sample=X[:, :3])
    assert [name for name in vars(new) if name.endswith("_")] == []


@pytest.mark.parametrize("model", [SLNDClassifier(), SLNDClassifier(**QUICK), SLNDClassifier(step=0.02)])
def test_histories_have_one_entry_for_each_pass(model):
    streamed = clone(model).partial_fit(X, Y, classes=range(4)).partial_fit(X, Y)
    both = clone(model).fit(X, Y).partial_fit(X, Y)
    for fitted in (streamed, both):
        assert len({len(values) for values in fitted.history_.values()} | {fitted.n_passes_}) == 1
    assert streamed.n_passes_ == 2
    assert np.isnan(both.history_["held_out_accuracy"][-1])
    assert np.isnan(both.history_["held_out_accuracy"][0]) == (model.rank is not None)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_first_blocks_that_are_too_small_settle_nothing(form):
    """One row at a time, of which the first spans a single direction."""
    digits, labels = load_digits(return_X_y=True)
    model = SLNDClassifier()
    for row in range(150):
        model.partial_fit(form(digits[row : row + 1]), labels[row : row + 1], classes=range(10))
    assert model.rank_ > 40
    assert model.score(digits[1000:], labels[1000:]) > 0.7
    assert model.n_passes_ == len(model.history_["risk"]) == 150
    settled = model.eigenvalues_
    assert model.partial_fit(form(digits[150:400]), labels[150:400]).eigenvalues_ is settled
    assert model._kept is None


@pytest.mark.parametrize("form", [np.array, csr_array])
def test_first_rows_that_are_kept_are_no_longer_the_users(form):
    models = [clone(MODEL), clone(MODEL)]
    for model in models:
        rows, labels, weights = form(X[:20]), Y[:20].copy(), np.ones(20)
        model.partial_fit(rows, labels, classes=range(4), sample_weight=weights)
        if model is models[1]:
            for given in (rows if isinstance(rows, np.ndarray) else rows.data, labels, weights):
                given[:] = 0
        model.partial_fit(X[20:60], Y[20:60])
    np.testing.assert_array_equal(models[1].coef_, models[0].coef_)


@pytest.mark.parametrize(("n_rows", "weight"), [(1, 1.0), (20, 1e-60)])
def test_few_first_rows_in_a_file(n_rows, weight, tmp_path):
    """One wide sparse row spans one direction; the least weights are 0 in the precision of the rows."""
    wide = random_array((40, 1_200), density=0.05, rng=np.random.default_rng(0), format="csr").astype(np.float32)
    model = SLNDClassifier(class_weight={0: weight, 1: 1.0}, step=0.02)
    model.partial_fit(wide[:n_rows], np.arange(n_rows) % 2, classes=[0, 1])
    save(model, tmp_path / "model.nb")
    again = load(tmp_path / "model.nb")
    for one in (model, again):
        one.partial_fit(wide[n_rows:], np.arange(n_rows, 40) % 2)
    np.testing.assert_array_equal(again.coef_, model.coef_)


def test_small_first_blocks_keep_their_unit_of_weights():
    scores = []
    for unit in (1.0, 8.0):
        model = SLNDClassifier()
        for first in range(0, 160, 40):
            part, weight = slice(first, first + 40), unit * (1 + first // 40)
            model.partial_fit(X[part], Y[part], classes=range(4), sample_weight=np.full(40, weight))
        scores.append(model.decision_function(Q))
    np.testing.assert_allclose(*scores, rtol=0, atol=1e-9)


def test_blocks_without_any_label_to_draw():
    labels = np.eye(4, dtype=int)[Y]
    model = SLNDClassifier("log", balanced=True, **QUICK).partial_fit(X, labels)
    before = model.coef_
    np.testing.assert_array_equal(model.partial_fit(X, np.zeros_like(labels)).coef_, before)
    with pytest.raises(ValueError, match="balanced=True has nothing to draw"):
        SLNDClassifier("log", balanced=True, **QUICK).fit(X, np.zeros_like(labels))
