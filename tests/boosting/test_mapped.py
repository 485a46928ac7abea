"""Boosted neighbours on mapped files and half values: what they are in memory, to the last bit."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import nearboost as nb
from nearboost.neighbors import rows as searched

rng = np.random.default_rng(0)
y = rng.integers(0, 3, 240)
X = (np.round(4 * rng.normal(size=(240, 6)) + 3 * y[:, np.newaxis]) / 4).astype(np.float16)
X[200:] = X[:40]  # some twice
Q = (np.round(8 * rng.normal(size=(50, 6)) + 3) / 8).astype(np.float16)
groups = np.arange(240) % 120
LITTLE = 6_000.0  # bytes

MODELS = {
    "n3": nb.N3Classifier(5),
    "n3, few": nb.N3Classifier(4, n_prototypes=30),
    "n3, zero": nb.N3Classifier(5, start="zero", vote_from="prototypes", metric="l1"),
    "n3, inn": nb.N3Classifier(6, vote_weights="inn"),
    "n3, centroids": nb.N3Classifier(3, n_prototypes=12, prototypes="centroids", metric="cosine"),
    "unn": nb.UNNClassifier("auto", metric="cosine"),
    "mlnn": nb.MLNNClassifier(5),
    "mapboost": nb.MAPBoostClassifier(5, metric="l1"),
    "knn": nb.KNNClassifier(5, vote_weights="gaussian"),
}


@pytest.fixture(autouse=True)
def little_room(monkeypatch):
    monkeypatch.setattr(searched, "LEAST_ROOM", 1.0)


def mapped(folder, array, name="rows"):
    np.save(folder / f"{name}.npy", array)
    return np.load(folder / f"{name}.npy", mmap_mode="r")


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_maps_are_what_arrays_are(name, dtype, tmp_path):
    precision = np.promote_types(dtype, np.float32)
    plain = clone(MODELS[name]).fit(X.astype(precision), y, groups=groups)
    there = clone(MODELS[name]).set_params(memory=LITTLE, n_jobs=2)
    there.fit(mapped(tmp_path, X.astype(dtype)), y, groups=groups)
    assert_alike(there, plain, Q.astype(precision), Q, mapped(tmp_path, Q.astype(dtype), "queries"))
    if dtype == np.float16:
        assert_alike(clone(MODELS[name]).fit(X, y, groups=groups), plain, Q.astype(precision), Q)


def assert_alike(model, other, plain, *same):
    for queries in same:
        for ask in ("predict", "predict_proba", "decision_function"):
            np.testing.assert_array_equal(getattr(model, ask)(queries), getattr(other, ask)(plain))
    np.testing.assert_array_equal(model.voters_, other.voters_)
    np.testing.assert_equal(model.held_out_accuracy_, other.held_out_accuracy_)


@pytest.mark.parametrize("name", ["n3", "n3, few", "unn", "mlnn", "mapboost"])
def test_a_map_with_a_graph_of_the_users(name, tmp_path):
    graph = nb.NeighborSearch(X, MODELS[name].metric).graph(40)
    plain = clone(MODELS[name]).fit(X.astype(np.float32), y, graph=graph)
    there = clone(MODELS[name]).set_params(memory=LITTLE).fit(mapped(tmp_path, X), y, graph=graph)
    assert_alike(there, plain, Q.astype(np.float32), Q)


def test_rows_that_count_nothing_are_left_out(tmp_path):
    weight = np.arange(240) % 5 / 2
    plain = nb.N3Classifier(5).fit(X.astype(np.float32), y, weight)
    there = nb.N3Classifier(5, memory=LITTLE).fit(mapped(tmp_path, X), y, weight)
    assert_alike(there, plain, Q.astype(np.float32), Q)


@pytest.mark.parametrize("make", [lambda: nb.N3Classifier(5), lambda: nb.KNNClassifier(5)])
def test_changed_and_kept_models(make, tmp_path):
    """Half values and maps are written as the float32 numbers they are; new rows are taken in that precision."""
    plain = make().fit(X[:200].astype(np.float32), y[:200])
    for rows in (X[:200], mapped(tmp_path, X[:200])):
        model = make().fit(rows, y[:200])
        assert_alike(
            model.add(X[200:] + 1e-3, y[200:]), plain.add(X[200:] + 1e-3, y[200:]), Q.astype(np.float32), Q
        )
        assert_alike(model.forget([3, 77]), plain.forget([3, 77]), Q.astype(np.float32), Q)
        nb.save(model, tmp_path / "model.nb")
        assert_alike(nb.load(tmp_path / "model.nb"), plain, Q.astype(np.float32), Q)
        assert_alike(pickle.loads(pickle.dumps(model)), plain, Q.astype(np.float32), Q)


@pytest.mark.parametrize("make", [nb.N3Classifier, nb.KNNClassifier, nb.MLNNClassifier])
def test_bad_rows_of_a_map_are_named(make, tmp_path):
    bad = X.copy()
    bad[123, 4] = np.nan
    with pytest.raises(ValueError, match="Row 123 of the mapped file contains NaN"):
        make(memory=LITTLE).fit(mapped(tmp_path, bad), y)
    model = make(memory=LITTLE).fit(X, y)
    with pytest.raises(ValueError, match="Row 123 of the mapped file contains NaN"):
        model.predict(mapped(tmp_path, bad, "queries"))
    with pytest.raises(ValueError, match="memory=0 must be a number above 0"):
        make(memory=0).fit(X, y)
    bad[123, 4] = np.inf
    with pytest.raises(ValueError, match="half values overflow beyond 65,504"):
        make().fit(mapped(tmp_path, bad, "infinite"), y)
