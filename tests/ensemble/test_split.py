"""SplitClassifier against a plain reading, its memory, and what it says to bad input."""

import pickle
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from nearboost import KNNClassifier, MAPBoostClassifier, N3Classifier, UNNClassifier
from nearboost.ensemble.split import SplitClassifier
from reference.split import mean_posteriors, normalised_part

X, Y = make_classification(120, 11, n_informative=8, n_classes=3, random_state=0)
Q = X[80:]
MEANS = ["arithmetic", "geometric", "harmonic"]

GRAPH_METHOD = "a repeated sample changes the neighbour graph, a weighted one does not"
EXPECTED = {"check_sample_weight_equivalence_on_dense_data": GRAPH_METHOD}


@parametrize_with_checks(
    [SplitClassifier(N3Classifier(3, n_rounds=10), 2, normalization="l2")],
    expected_failed_checks=lambda estimator: EXPECTED if estimator.normalization else {},
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        SplitClassifier(GaussianNB(), 1, posterior="predict_proba", normalization=None),
        SplitClassifier(LogisticRegression(), 2, posterior="predict_proba", normalization=None, mean="harmonic"),
    ],
    expected_failed_checks=lambda estimator: EXPECTED if estimator.normalization else {},
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_scikit_learn_checks_of_other_settings(estimator, check):
    check(estimator)


@pytest.mark.pairs
@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("normalization", ["l1", "l2", None])
@pytest.mark.parametrize(
    ("estimator", "posterior", "method"),
    [
        (N3Classifier(5, n_rounds=20, loss="hinge"), "transfer", "class_posteriors"),
        (KNeighborsClassifier(3), "predict_proba", "predict_proba"),
    ],
)
def test_against_plain_reading(estimator, posterior, method, normalization, mean):
    model = SplitClassifier(
        estimator, 4, normalization=normalization, mean=mean, posterior=posterior, floor=0.02
    ).fit(X[:80], Y[:80])
    assert [(part.start, part.stop) for part in model.parts_] == [(0, 2), (2, 5), (5, 8), (8, 11)]
    said = []
    for start, stop in [(0, 2), (2, 5), (5, 8), (8, 11)]:
        train, query = (
            np.array([normalised_part(row, start, stop, normalization) for row in rows]) for rows in (X[:80], Q)
        )
        said.append(getattr(clone(estimator).fit(train, Y[:80]), method)(query))
    expected = np.array(mean_posteriors(said, mean, 0.02))
    np.testing.assert_allclose(model.predict_proba(Q), expected, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(model.predict(Q), model.classes_[model.predict_proba(Q).argmax(axis=1)])


@pytest.mark.parametrize("estimator", [UNNClassifier(5, n_rounds=20), MAPBoostClassifier(5)])
def test_other_calibrated_losses(estimator):
    model = SplitClassifier(estimator, 2).fit(X[:80], Y[:80])
    first = clone(estimator).fit(model._cut(X[:80], slice(0, 5)), Y[:80])
    parts = list(model.part_posteriors(Q))
    np.testing.assert_allclose(parts[0], np.maximum(first.class_posteriors(model._cut(Q, slice(0, 5))), 1e-3))
    assert len(parts) == 2


def test_mean_changes_after_fit():
    model = SplitClassifier(KNeighborsClassifier(3), 5, posterior="predict_proba").fit(X[:80], Y[:80])
    found = {mean: model.set_params(mean=mean).predict_proba(Q) for mean in MEANS}
    for mean in MEANS:
        anew = SplitClassifier(KNeighborsClassifier(3), 5, posterior="predict_proba", mean=mean)
        np.testing.assert_array_equal(anew.fit(X[:80], Y[:80]).predict_proba(Q), found[mean])
        np.testing.assert_allclose(found[mean].sum(axis=1), 1.0)
    assert np.abs(found["arithmetic"] - found["harmonic"]).max() > 0.01
    with pytest.raises(ValueError, match="mean='median' is not known; use one of 'arithmetic', 'geometric'"):
        model.set_params(mean="median").predict(Q)


@pytest.mark.parametrize("mean", MEANS)
def test_zeros_do_not_kill_a_mean(mean):
    """Every class has a zero somewhere; the floor leaves the most agreed one ahead."""

    class Says(DummyClassifier):
        def predict_proba(self, X):
            return np.array([[[0.7, 0.3, 0.0], [0.0, 1.0, 0.0], [0.9, 0.0, 0.1]][int(X[0, 0])]])

    model = SplitClassifier(Says(), 3, normalization=None, posterior="predict_proba", mean=mean)
    shares = model.fit([[0, 1, 2]] * 3, [0, 1, 2]).predict_proba([[0, 1, 2]])[0]
    assert np.all(shares > 0)
    assert shares[2] == shares.min()
    assert shares.sum() == pytest.approx(1.0)


def test_one_part_without_normalization_is_the_classifier():
    alone = N3Classifier(5, n_rounds=20).fit(X[:80], Y[:80])
    model = SplitClassifier(N3Classifier(5, n_rounds=20), 1, normalization=None, floor=1e-12).fit(X[:80], Y[:80])
    posteriors = alone.class_posteriors(Q)
    np.testing.assert_allclose(model.predict_proba(Q), posteriors / posteriors.sum(axis=1, keepdims=True))


def test_names_weights_pickle_and_floats():
    names = np.array(["cat", "dog", "eel"])[Y]
    weights = np.where(np.arange(80) % 3 == 0, 0.0, 1.0)
    model = SplitClassifier(N3Classifier(3, n_rounds=10), 3).fit(X[:80], names[:80], sample_weight=weights)
    without = SplitClassifier(N3Classifier(3, n_rounds=10), 3).fit(X[:80][weights > 0], names[:80][weights > 0])
    np.testing.assert_array_equal(model.predict_proba(Q), without.predict_proba(Q))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(Q), model.predict(Q))
    assert set(model.predict(Q)) <= {"cat", "dog", "eel"}
    assert model._cut(X.astype(np.float32), slice(0, 3)).dtype == np.float32
    assert model._cut(X.astype(np.float64), slice(0, 3)).dtype == np.float64


@pytest.mark.parametrize("scale", [1e-200, 1e200])
@pytest.mark.parametrize("normalization", ["l1", "l2"])
def test_rows_of_any_size(scale, normalization):
    voters = KNNClassifier(3, calibration=None)  # folds go by the bits of rows
    model = SplitClassifier(voters, 3, normalization=normalization, posterior="predict_proba")
    expected = model.fit(X[:80], Y[:80]).predict_proba(Q)
    rows = X.copy()
    rows[5, 3:7] = 0.0
    np.testing.assert_allclose(model.fit(scale * X[:80], Y[:80]).predict_proba(scale * Q), expected)
    assert np.all(model.fit(scale * rows[:80], Y[:80])._cut(scale * rows, slice(3, 7))[5] == 0)


@pytest.mark.alone
@pytest.mark.parametrize("estimator", [KNNClassifier(3, calibration=None), GaussianNB()])
@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_of_one_part(tmp_path, estimator, order):
    """Of a memory-mapped matrix no more than a few parts, and a block of queries, are ever in memory, though k-NN
    keeps all rows."""
    n_rows, n_features, n_splits = 1500, 2048, 32
    path = tmp_path / "X.npy"
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, n_rows)
    stored = np.lib.format.open_memmap(path, "w+", np.float32, (n_rows, n_features), fortran_order=order == "F")
    stored[:] = rng.random((n_rows, n_features)) + 0.1 * labels[:, np.newaxis]
    del stored
    mapped, whole = np.load(path, mmap_mode="r"), np.load(path)
    one_part = whole.nbytes / n_splits
    model = SplitClassifier(estimator, n_splits, posterior="predict_proba", normalization="l2")
    expected = model.fit(whole, labels).predict_proba(whole[:200])
    tracemalloc.start()
    try:
        model.fit(mapped, labels)
        held, peak = tracemalloc.get_traced_memory()
        assert held < 4 * one_part
        assert peak < 8 * one_part
        tracemalloc.reset_peak()
        found = model.predict_proba(mapped[:200])
        held, peak = tracemalloc.get_traced_memory()
        assert held < 4 * one_part
        assert peak < 12 * one_part + mapped[:200].nbytes  # mapped queries are read a block at a time
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(mapped[:200]), expected)


def test_parts_help_where_one_drowns_the_others():
    """A part of large noise spoils all distances, and is outvoted when it stands alone."""
    digits, labels = load_digits(return_X_y=True)
    noise = 60 * np.random.default_rng(0).random((len(digits), 32))
    rows = np.hstack([digits, noise])
    whole = KNNClassifier(5).fit(rows[:900], labels[:900]).score(rows[900:], labels[900:])
    split = SplitClassifier(KNNClassifier(5), 3, posterior="predict_proba", mean="geometric")
    assert split.fit(rows[:900], labels[:900]).score(rows[900:], labels[900:]) > whole + 0.1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_splits": 0}, "n_splits=0 must be a whole number of at least 1"),
        ({"n_splits": 12}, "n_splits=12 is more than n_features=11; use 11 or fewer"),
        ({"normalization": "max"}, "normalization='max' is not known; use one of 'l1', 'l2', None"),
        ({"mean": "median"}, "mean='median' is not known"),
        ({"posterior": "score"}, "posterior='score' is not known; use one of 'transfer', 'predict_proba'"),
        ({"floor": 0}, "floor=0 must be a number above 0 and at most 1"),
        ({"estimator": GaussianNB()}, 'GaussianNB has no class_posteriors.*use posterior="predict_proba"'),
        ({"estimator": LinearSVC(), "posterior": "predict_proba"}, "LinearSVC has no predict_proba.*give one"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        SplitClassifier(**{"estimator": N3Classifier(3), "n_splits": 2} | settings).fit(X, Y)


def test_wrong_rows():
    model = SplitClassifier(KNNClassifier(3), 2, posterior="predict_proba").fit(X, Y)
    bad = X.copy()
    bad[3, 10] = np.nan
    with pytest.raises(ValueError, match="X contains NaN in row"):
        model.fit(bad, Y)
    with pytest.raises(ValueError, match="X has 3 features, but SplitClassifier is expecting 11 features"):
        model.predict(X[:, :3])
    with pytest.raises(ValueError, match="Unknown label type"):
        model.fit(X, Y + 0.5)


def test_settings_of_the_next_fit():
    """Queries are cut and scaled as the fitted rows were, whatever is set since."""
    model = SplitClassifier(KNNClassifier(3), 3, posterior="predict_proba").fit(X[:80], Y[:80])
    expected = model.predict_proba(Q)
    np.testing.assert_array_equal(model.set_params(normalization="l2", n_splits=5).predict_proba(Q), expected)
    with pytest.raises(ValueError, match=r'KNNClassifier has no class_posteriors.*use posterior="predict_proba"'):
        model.set_params(posterior="transfer").predict(Q)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
def test_a_full_disk_is_an_error(tmp_path, monkeypatch):
    np.save(tmp_path / "X.npy", X)
    monkeypatch.setattr("tempfile.TemporaryFile", lambda: Path("/dev/full").open("r+b", buffering=0))  # noqa: SIM115
    model = SplitClassifier(KNNClassifier(3), 3, posterior="predict_proba")
    with pytest.raises(OSError, match=r"could not be kept in .*No space left on device.*; set TMPDIR to a folder"):
        model.fit(np.load(tmp_path / "X.npy", mmap_mode="r"), Y)
