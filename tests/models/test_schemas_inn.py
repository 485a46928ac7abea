"""Classifiers by codes, projections and metrics come back from a file as they were fitted."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import nearboost as nb
from models.fitted import CLASSIFIERS, OF_PATCHES, TRANSFORMERS, WORDS, answers, patches, queries, rows
from models.mutations import HEADER, members, npy, with_header, written
from nearboost.models import ModelFileError, load, save

pytestmark = pytest.mark.filterwarnings("ignore")  # of methods that would like more data

BY_CODES = [name for name in CLASSIFIERS if name.startswith(("innc", "crc", "src"))]
MAPS = ["itml", "soft discriminant", "landmarks", "lpp", "srlp", "inn projection", "inn codes"]
LABELS = {
    "words": lambda y: WORDS[y],
    "objects": lambda y: WORDS[y].astype(object),
    "two": lambda y: y % 2,
    "flags": lambda y: y % 2 == 0,
}
OTHER = {
    nb.INNClassifier: {"regularization": 0.5, "coverage": 0.5, "max_terms": 2, "metric": "l1", "neighborhood": 3},
    nb.INNCoder: {"regularization": 0.5, "tolerance": 0.3, "metric": "l1", "neighborhood": 3},
    nb.SRCClassifier: {"regularization": 0.5, "decision": "residual", "neighborhood": 3, "normalize": False},
    nb.CRCClassifier: {"regularization": 1.0, "decision": "weights", "normalize": False},
    nb.NaiveBayesNN: {"representation": "l1", "neighborhood": 3, "regularization": 0.5, "coverage": 0.5},
    nb.INNProjection: {"n_components": 2, "regularization": 0.5},
    nb.LPP: {"n_components": 2, "n_neighbors": 3},
    nb.SRLP: {"n_components": 2, "regularization": 0.5},
    nb.ITML: {"gamma": 2.0, "prior": "covariance", "bounds": (1.0, 2.0)},
    nb.SoftDiscriminant: {"shrinkage": 0.1, "rest": 0.1},
    nb.LandmarkMap: {"n_landmarks": 5, "gamma": 2.0},
}


def public(model):
    """Fitted attributes by name, without times, which are not kept."""
    found = {
        name: getattr(model, name)
        for name in dir(model)
        if name.endswith("_") and not name.startswith("_") and name != "gram_seconds_" and hasattr(model, name)
    }
    if "estimators_" in found:
        found["estimators_"] = repr(found["estimators_"])
    if "report_" in found:
        found["report_"] = {name: one for name, one in found["report_"].items() if name != "seconds"}
    return found


def assert_same(model, loaded, X):
    before, after = answers(model, X), answers(loaded, X)
    assert before
    assert before.keys() == after.keys()
    for name in before:
        np.testing.assert_array_equal(after[name], before[name], err_msg=name)
        assert np.asarray(after[name]).dtype == np.asarray(before[name]).dtype
    attributes, returned = public(model), public(loaded)
    assert attributes.keys() == returned.keys()
    for name in attributes:
        np.testing.assert_equal(returned[name], attributes[name], err_msg=name)
    if hasattr(model, "explain"):
        for one, other in zip(model.explain(X), loaded.explain(X), strict=True):
            for name in ("samples", "weights", "labels", "scores", "classes"):
                np.testing.assert_array_equal(getattr(other, name), getattr(one, name), err_msg=name)


def returned(model, tmp_path):
    save(model, tmp_path / "model.nb")
    return load(tmp_path / "model.nb")


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("name", BY_CODES)
def test_labels_of_any_kind(name, labels, tmp_path):
    X, y = rows()
    model = CLASSIFIERS[name]().fit(X[:90], LABELS[labels](y[:90]), np.arange(90) % 5)
    assert_same(model, returned(model, tmp_path), queries()[:20])


@pytest.mark.parametrize("name", [*BY_CODES, *MAPS])
def test_float32(name, tmp_path):
    X, y = rows()
    model = {**CLASSIFIERS, **TRANSFORMERS}[name]().fit(X[:90].astype(np.float32), y[:90])
    assert_same(model, returned(model, tmp_path), queries()[:20].astype(np.float32))


@pytest.mark.parametrize("name", [*BY_CODES, *MAPS, *OF_PATCHES])
def test_what_was_fitted_counts_whatever_is_set_later(name, tmp_path):
    X, y = rows()
    data, asked = (
        ((patches(), ["a", "b"] * 5), patches()) if name in OF_PATCHES else ((X[:90], y[:90]), queries()[:20])
    )
    model = {**CLASSIFIERS, **TRANSFORMERS, **OF_PATCHES}[name]().fit(*data)
    expected = answers(model, asked)
    model.set_params(**OTHER[type(model)])
    loaded = returned(model, tmp_path)
    assert repr(loaded) == repr(model)
    assert_same(model, loaded, asked)
    for method, answer in expected.items():
        np.testing.assert_array_equal(answers(loaded, asked)[method], answer)
    assert_same(clone(model).fit(*data), loaded.fit(*data), asked)  # and what is set counts from the next fit on


def test_distances_between_samples_are_not_computed_by_loading(tmp_path):
    loaded = returned(nb.INNCoder().fit(rows()[0]), tmp_path)
    assert loaded._dictionary._picker.gram is None
    assert loaded.gram_seconds_ == 0


def changed(path, entry, change):
    """A file with one array of its root's state changed."""
    contents = members(path)
    header = json.loads(contents[HEADER])
    name = f"arrays/{header['root']['state'][entry]['array']}.npy"
    array = change(np.lib.format.read_array(io.BytesIO(contents[name])))
    written(path, with_header(contents | {name: npy(array)}, header))


@pytest.mark.parametrize(
    ("entry", "change", "why"),
    [
        ("row_classes", lambda a: np.minimum(a, 2), "must hold each number below n_classes"),
        ("row_classes", lambda a: a + 1, "out of range"),
        ("row_classes", lambda a: a[:-1], "must have a length of 90"),
        ("rows", lambda a: np.asfortranarray(a), "must be stored row by row"),
        ("rows", lambda a: np.where(a == a.max(), np.nan, a), "must hold finite numbers only"),
        ("rows", lambda a: a[:, :-1], "must have a length of 64"),
        ("kept", lambda a: a[::-1].copy(), "must rise"),
        ("weights", lambda a: a - 1, "out of range"),
    ],
)
def test_samples_that_do_not_fit_are_refused(entry, change, why, tmp_path):
    X, y = rows()
    path = tmp_path / "model.nb"
    save(nb.INNClassifier().fit(X[:90], y[:90]), path)
    changed(path, entry, change)
    with pytest.raises(ModelFileError, match=why):
        load(path)


def test_a_neighborhood_larger_than_the_samples_is_refused(tmp_path):
    X, y = rows()
    path = tmp_path / "model.nb"
    save(nb.INNClassifier(neighborhood=5).fit(X[:90], y[:90]), path)
    contents = members(path)
    header = json.loads(contents[HEADER])
    header["root"]["state"]["as_fitted"]["parameters"]["neighborhood"] = 91
    written(path, with_header(contents, header))
    with pytest.raises(ModelFileError, match=r"model\.nb holds what does not fit together"):
        load(path)


@pytest.mark.parametrize("solver", ["lars", "fista"])
def test_solvers_of_old_files_that_are_gone(solver, tmp_path):
    """What is left finds the same codes."""
    old = Path(__file__).parent / "old" / "format-1" / "src.nb"
    contents = members(old)
    header = json.loads(contents[HEADER])
    header["root"]["parameters"]["solver"] = solver
    written(tmp_path / "old.nb", with_header(contents, header))
    loaded, expected = load(tmp_path / "old.nb"), load(old)
    assert loaded.solver == "lasso"
    assert_same(expected, loaded, np.resize(queries()[:8], (8, expected.n_features_in_)))


def test_old_codes_without_a_dictionary_are_refused(tmp_path):
    contents = members(Path(__file__).parent / "old" / "format-1" / "src.nb")
    header = json.loads(contents[HEADER])
    header["root"]["state"]["_decision"]["state"]["_coder"]["state"]["dictionary"] = 3
    written(tmp_path / "old.nb", with_header(contents, header))
    with pytest.raises(ModelFileError, match="holds codes without a dictionary"):
        load(tmp_path / "old.nb")


@pytest.mark.parametrize("model", [nb.INNClassifier(gram_memory=1e6), nb.INNCoder(gram_memory=1e6)], ids=str)
def test_memory_for_distances_is_that_of_the_machine(tmp_path, model):
    """A file must not say how much; 100,000 rows of one number would take 40 GB."""
    X, y = rows()
    save(model.fit(X, y), tmp_path / "model.nb")
    loaded = load(tmp_path / "model.nb")
    assert loaded.gram_memory is None
    for name, found in answers(model, queries()).items():
        np.testing.assert_array_equal(answers(loaded, queries())[name], found)
