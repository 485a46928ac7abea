"""Codes over samples in files, and in half precision: what they are in memory, to the last bit."""

import pickle

import numpy as np
import pytest

import nearboost as nb
from nearboost.base import loading
from nearboost.codes import dictionary
from nearboost.datasets import open_rows
from nearboost.neighbors import rows as searched
from nearboost.problem import classifier

rng = np.random.default_rng(0)
Y = rng.integers(0, 3, 200)
X = (np.round(4 * rng.normal(size=(200, 6)) + 3 * Y[:, np.newaxis]) / 4).astype(np.float16)
X[180:] = X[:20]  # some twice
Q = (np.round(8 * rng.normal(size=(40, 6)) + 3) / 8).astype(np.float16)
LITTLE = 6_000.0  # bytes


@pytest.fixture(autouse=True)
def little_room(monkeypatch):
    """A few rows at a time."""
    monkeypatch.setattr(searched, "LEAST_ROOM", 1.0)
    monkeypatch.setattr(classifier, "BYTES_AT_ONCE", 600)
    monkeypatch.setattr(dictionary, "BYTES_AT_ONCE", 600)
    monkeypatch.setattr(loading, "BYTES_AT_ONCE", 600)


def mapped(folder, array, name="rows"):
    np.save(folder / f"{name}.npy", array)
    return np.load(folder / f"{name}.npy", mmap_mode="r")


def ask(model, queries):
    return [getattr(model, name)(queries) for name in ("decision_function", "predict_proba", "predict")]


def assert_alike(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(
    "settings",
    [
        {"neighborhood": 7},
        {"neighborhood": 7, "metric": "l1"},
        {"neighborhood": 200, "tolerance": 0.3},
        {},
        {"normalize": True, "neighborhood": 7},
        {"decision": "residual", "neighborhood": 7},
        {"decision": "residual"},
        {"metric": "l1", "regularization": 0.3},
    ],
)
def test_classifiers_of_files_are_those_of_arrays(settings, dtype, tmp_path):
    precision = np.promote_types(dtype, np.float32)
    expected = ask(nb.INNClassifier(**settings).fit(X.astype(precision), Y), Q.astype(precision))
    on_disk, queries = mapped(tmp_path, X.astype(dtype)), mapped(tmp_path, Q.astype(dtype), "queries")
    model = nb.INNClassifier(**settings, gram_memory=LITTLE, n_jobs=2).fit(on_disk, Y)
    stays = settings.keys() <= {"neighborhood", "metric", "tolerance"} and "neighborhood" in settings
    assert np.shares_memory(model._decision.samples, on_disk) == stays
    assert_alike(ask(model, queries), expected)
    assert_alike(ask(model, open_rows(tmp_path / "queries.npy")), expected)
    assert_alike(ask(pickle.loads(pickle.dumps(model)), queries), expected)
    assert_alike(ask(nb.INNClassifier(**settings).fit(X.astype(dtype), Y), Q.astype(dtype)), expected)
    nb.save(model, tmp_path / "model.nb")
    assert_alike(ask(nb.load(tmp_path / "model.nb"), queries), expected)
    for one, other in zip(
        model.explain(Q.astype(dtype)), nb.load(tmp_path / "model.nb").explain(queries), strict=True
    ):
        np.testing.assert_array_equal(one.samples, other.samples)
        np.testing.assert_array_equal(one.weights, other.weights)


@pytest.mark.parametrize("make", [nb.SRCClassifier, nb.CRCClassifier])
def test_other_codes_load_their_samples(make, tmp_path):
    expected = ask(make().fit(X.astype(np.float32), Y), Q.astype(np.float32))
    assert_alike(ask(make().fit(mapped(tmp_path, X), Y), mapped(tmp_path, Q, "queries")), expected)


@pytest.mark.parametrize("neighborhood", [None, 7])
def test_coders_of_files_are_those_of_arrays(neighborhood, tmp_path):
    plain = nb.INNCoder(neighborhood=neighborhood).fit(X.astype(np.float32))
    coder = nb.INNCoder(neighborhood=neighborhood, gram_memory=LITTLE).fit(mapped(tmp_path, X))
    codes = coder.transform(mapped(tmp_path, Q, "queries"))
    np.testing.assert_array_equal(codes.toarray(), plain.transform(Q.astype(np.float32)).toarray())
    np.testing.assert_array_equal(coder.leave_one_out().toarray(), plain.leave_one_out().toarray())
    np.testing.assert_allclose(coder.reconstruct(codes), plain.reconstruct(codes), rtol=1e-14)
    np.testing.assert_allclose(
        coder.reconstruct(codes.toarray()), plain.reconstruct(codes), rtol=1e-12
    )  # a product that another library adds up


def test_more_and_fewer_samples(tmp_path):
    settings = {"neighborhood": 7}
    plain = nb.INNClassifier(**settings).fit(X[:150].astype(np.float32), Y[:150])
    model = nb.INNClassifier(**settings).fit(mapped(tmp_path, X[:150]), Y[:150])
    queries = Q.astype(np.float32)
    assert_alike(ask(model.add(X[150:], Y[150:]), queries), ask(plain.add(X[150:], Y[150:]), queries))
    assert_alike(ask(model.forget([3, 77]), queries), ask(plain.forget([3, 77]), queries))
    weight = np.arange(150) % 3 / 2
    plain = nb.INNClassifier(**settings).fit(X[:150].astype(np.float32), Y[:150], weight)
    model = nb.INNClassifier(**settings).fit(mapped(tmp_path, X[:150]), Y[:150], weight)
    assert_alike(ask(model, queries), ask(plain, queries))


def test_samples_that_do_not_fit_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(loading, "free_memory", lambda: 9_000.0)
    on_disk = mapped(tmp_path, np.tile(X, (100, 1)))
    labels = np.tile(Y, 100)
    cure = "give fewer samples, or read them from the file: neighborhood=, normalize=False"
    for settings in ({}, {"normalize": True, "neighborhood": 9}, {"decision": "residual", "neighborhood": 9}):
        with pytest.raises(ValueError, match="20,000 rows of 6 numbers need 0.0 GB of memory, and .*; " + cure):
            nb.INNClassifier(**settings).fit(on_disk, labels)
    with pytest.raises(ValueError, match="or neighborhood=, which reads them from a file"):
        nb.INNCoder().fit(on_disk)
    for make in (nb.SRCClassifier, nb.CRCClassifier):
        with pytest.raises(ValueError, match="are free; give fewer samples"):
            make().fit(on_disk, labels)
    nb.INNClassifier(neighborhood=9, gram_memory=LITTLE).fit(on_disk, labels)


def test_bad_rows_of_a_file_are_named(tmp_path):
    bad = X.copy()
    bad[123, 4] = np.nan
    for settings in ({}, {"neighborhood": 7}):
        with pytest.raises(ValueError, match="Row 123 of the mapped file contains NaN"):
            nb.INNClassifier(**settings, gram_memory=LITTLE).fit(mapped(tmp_path, bad), Y)
    with open(tmp_path / "rows.npy", "r+b") as file:
        on_disk = mapped(tmp_path, X)
        model = nb.INNClassifier(neighborhood=7).fit(on_disk, Y)
    with open(tmp_path / "rows.npy", "r+b") as file:
        file.truncate(1000)
    with pytest.raises(ValueError, match="was cut short after it was opened"):
        model.predict(Q)
