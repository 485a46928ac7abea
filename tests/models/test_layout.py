"""The promise to older files: what objects keep may change only with a way to load what was written before."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from models.fitted import CLASSIFIERS, OF_IMAGES, OF_PATCHES, TRANSFORMERS, patches, pictures, queries, rows
from nearboost.base.model_files import objects_in
from nearboost.base.model_values import Encoder
from nearboost.models import load
from nearboost.models.info import read_summary

HERE = Path(__file__).parent
LAYOUT = HERE / "layout.json"
CHANGED = (
    "Objects keep other attributes than files of this format hold. Raise FORMAT in base/model_files.py, give "
    "UPGRADES a function that makes the new header of an old one, and write layout.json anew."
)


def every_fitted():
    X, y = rows()
    yield from (make().fit(X, y) for make in CLASSIFIERS.values())
    yield from (make().fit(X, y) for make in TRANSFORMERS.values())
    yield from (make().fit(pictures()) for make in OF_IMAGES.values())
    yield from (make().fit(patches(), ["a", "b"] * 5) for make in OF_PATCHES.values())


def layout():
    """The parameters and other attributes of each class of ours, over all examples."""
    kept: dict[str, dict[str, set[str]]] = {}
    for model in every_fitted():
        for one in objects_in(Encoder().encode(model, "model")):
            if not one["object"].startswith("sklearn."):
                attributes = kept.setdefault(one["object"], {"parameters": set(), "state": set()})
                for part, names in attributes.items():
                    names.update(one[part])
    return {name: {part: sorted(names) for part, names in kept[name].items()} for name in sorted(kept)}


@pytest.mark.filterwarnings("ignore")
def test_objects_keep_what_they_kept():
    """A parameter may come: it gets its default where a file does not know it."""
    before, now = json.loads(LAYOUT.read_text()), layout()
    assert {name: one["state"] for name, one in now.items()} == {
        name: one["state"] for name, one in before.items()
    }, CHANGED
    for name, one in before.items():
        assert set(one["parameters"]) <= set(now[name]["parameters"]), CHANGED


@pytest.mark.filterwarnings("ignore:.*holds objects of scikit-learn")
@pytest.mark.parametrize("name", ["src", "hnsw"])
def test_searches_and_l1_codes_of_format_1(name):
    """A search by HNSW, and SRC by a solver that is gone: they predict as when they were written."""
    if name == "hnsw":
        pytest.importorskip("faiss")
    model = load(HERE / f"format-1-{name}.nb")
    expected = np.load(HERE / f"format-1-{name}.npy", allow_pickle=False)
    np.testing.assert_allclose(model.predict_proba(queries()[:20]), expected, rtol=1e-9, atol=1e-12)
    X, y = rows()
    clone(model).fit(X, y)


@pytest.mark.filterwarnings("ignore:.*holds objects of scikit-learn")
def test_file_of_format_1():
    """Written once, with its answers; it is never written anew."""
    model = load(HERE / "format-1.nb")
    expected = np.load(HERE / "format-1.npy", allow_pickle=False)
    np.testing.assert_allclose(model.predict_proba(queries()), expected, rtol=1e-9, atol=1e-12)
    assert read_summary(HERE / "format-1.nb")["format"] == 1  # its own, not the one it is read as
