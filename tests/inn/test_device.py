"""Neighbourhoods found on a device are those of the CPU, and so are codes."""

import sys

import numpy as np
import pytest

from devices import needs_torch, on_devices
from models.fitted import queries, rows
from nearboost import INNClassifier, INNCoder
from nearboost.models import load, save

pytestmark = needs_torch


@on_devices
@pytest.mark.parametrize(
    "settings",
    [
        {"neighborhood": 20},
        {"neighborhood": 20, "decision": "residual"},
        {"metric": "l1", "max_terms": 4},
        {"metric": "l1", "max_terms": 4, "neighborhood": 30},
    ],
    ids=str,
)
def test_same_answers(settings, device):
    X, y = rows()
    one, other = (INNClassifier(search=search, **settings).fit(X, y) for search in ("exact", device))
    np.testing.assert_array_equal(other.decision_function(queries()), one.decision_function(queries()))
    assert other.held_out_accuracy_ == one.held_out_accuracy_


@on_devices
def test_same_codes(device):
    one, other = (INNCoder(neighborhood=15, search=search).fit(rows()[0]) for search in ("exact", device))
    for codes in ("leave_one_out", "transform"):
        given = [] if codes == "leave_one_out" else [queries()]
        found, expected = (getattr(model, codes)(*given) for model in (other, one))
        assert (found != expected).nnz == 0


def test_a_model_opens_without_the_device(tmp_path, monkeypatch):
    X, y = rows()
    model = INNClassifier(neighborhood=10, search="torch:cpu").fit(X, y)
    expected = model.decision_function(queries())
    save(model, tmp_path / "model.nb")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.warns(UserWarning, match="Fitted with 'torch:cpu', this searches by 'exact' here"):
        opened = load(tmp_path / "model.nb")
    np.testing.assert_array_equal(opened.decision_function(queries()), expected)
    with pytest.raises(ImportError, match="GPUs need PyTorch"):
        opened.fit(X, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"search": "hnsw", "neighborhood": 5}, "search='hnsw' may miss samples, which codes cannot do without"),
        (
            {"search": "torch:cpu"},
            "'torch:cpu' finds the samples of a neighborhood; give neighborhood=100, say",
        ),
        ({"search": "tree"}, "search='tree' is not known"),
    ],
)
def test_refusals(settings, message):
    with pytest.raises(ValueError, match=message):
        INNClassifier(**settings).fit(*rows())
