"""The promise to older files: what objects keep may change only with a way to load what was written before."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from models.fitted import queries, rows
from nearboost.models import load
from nearboost.models.info import read_summary
from nearboost.models.names import MODULES, SKLEARN, schema_of

HERE = Path(__file__).parent
LAYOUT = HERE / "layout.json"
CHANGED = (
    "Schemas list other entries than files of this format hold. Make them optional, or raise FORMAT in "
    "models/files.py with a way to read files of this one, and write layout.json anew."
)


def layout():
    """What files hold of each class of ours."""
    ours = sorted(name for name in MODULES if not name.startswith(SKLEARN))
    return {name: sorted(schema_of(name).state) for name in ours}


def test_files_hold_what_they_held():
    """A parameter may come, with its default where a file does not know it, and so may an optional entry."""
    before, now = json.loads(LAYOUT.read_text()), layout()
    assert sorted(now) == sorted(before), CHANGED
    for name, entries in now.items():
        came = set(entries) - set(before[name])
        assert not set(before[name]) - set(entries), CHANGED
        assert came <= set(schema_of(name).optional), CHANGED


@pytest.mark.filterwarnings("ignore:.*holds objects of scikit-learn")
@pytest.mark.parametrize("name", ["src", "hnsw"])
def test_searches_and_l1_codes_of_format_1(name):
    """A search by HNSW, and SRC by a solver that is gone: they predict as when they were written.

    SRC and k-NN took shares of weights and votes for probabilities then; they are still their scores.
    """
    if name == "hnsw":
        pytest.importorskip("faiss")
    model = load(HERE / f"format-1-{name}.nb")
    expected = np.load(HERE / f"format-1-{name}.npy", allow_pickle=False)
    asked = model.decision_function if name == "src" else model.set_params(calibration=None).predict_proba
    found = asked(queries()[:20])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    X, y = rows()
    clone(model).fit(X, y)


@pytest.mark.filterwarnings("ignore:.*holds objects of scikit-learn")
def test_file_of_format_1():
    """Written once, with its answers; it is never written anew."""
    model = load(HERE / "format-1.nb")
    expected = np.load(HERE / "format-1.npy", allow_pickle=False)
    np.testing.assert_allclose(model.predict_proba(queries()), expected, rtol=1e-9, atol=1e-12)
    assert read_summary(HERE / "format-1.nb")["format"] == 1  # its own, not the one it is read as
