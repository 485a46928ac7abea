"""Models fitted with a device open without it, and answer the same."""

import pickle
import sys
import warnings

import numpy as np
import pytest

import nearboost as nb
from devices import needs_torch
from models.fitted import queries, rows
from nearboost.models import load, save

pytestmark = needs_torch
FITTED = [nb.KNNClassifier(5), nb.N3Classifier(5, n_rounds=5), nb.UNNClassifier(metric="l1", n_rounds=5)]


@pytest.mark.parametrize("model", FITTED, ids=lambda model: type(model).__name__)
def test_without_the_device_one_warning_and_the_same_answers(model, tmp_path, monkeypatch):
    X, y = rows()
    exact = model.fit(X, y).predict_proba(queries())
    model = model.set_params(search="torch:cpu").fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(queries()), exact)
    save(model, tmp_path / "model.nb")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(load(tmp_path / "model.nb").predict_proba(queries()), exact)
    monkeypatch.setitem(sys.modules, "torch", None)
    for reopen in (lambda: load(tmp_path / "model.nb"), lambda: pickle.loads(pickle.dumps(model))):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            opened = reopen()
            np.testing.assert_array_equal(opened.predict_proba(queries()), exact)
        (told,) = [str(one.message) for one in warned]
        assert told.startswith("Fitted with 'torch:cpu', this searches by 'exact' here, with the same answers: ")
        assert told.endswith('GPUs need PyTorch: pip install "nearboost[gpu]"')
        with pytest.raises(ImportError, match="GPUs need PyTorch"):
            opened.fit(X, y)


def test_files_know_a_second_gpu(tmp_path, monkeypatch):
    X, y = rows()
    model = nb.KNNClassifier(search="torch:cpu").fit(X, y)
    model.search = model._search.method = "gpu:1"
    save(model, tmp_path / "model.nb")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.warns(UserWarning, match="Fitted with 'gpu:1'"):
        opened = load(tmp_path / "model.nb")
    assert opened.search == "gpu:1"
