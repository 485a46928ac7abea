"""Files of earlier formats, one of every class, with the answers of that time: written once, never anew."""

from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from models.fitted import WORDS, answers, patches, pictures, queries
from nearboost.models import Model, load
from nearboost.models.archive import MOST_BYTES, open_archive
from nearboost.models.names import MODULES, name_of
from nearboost.models.old_records import Decoder, Record

OLD = Path(__file__).parent / "old"
FILES = sorted(path.relative_to(OLD).as_posix() for path in OLD.glob("*/*.nb"))
NO_PICTURE = ("Embedding",)  # a network is somebody else's work
NEWER = (
    "NearBoostClassifier",
    "LandmarkMap",
    "Novelty",
    "CalibratedScores",
    "ChosenDiscriminants",
)  # than these files
# Shares of weights and votes were called probabilities then; now they are calibrated, also for these samples.
CALIBRATED_SINCE = ("innc", "innc-local", "src", "nbinn", "nbsr", "regularised-lda", "knn", "eigenfaces")


@cache
def expected(folder):
    """What each model said when it was written, by its name and then by the method asked."""
    said = {}
    with np.load(OLD / folder / "answers.npz", allow_pickle=False) as kept:
        for entry in kept.files:
            name, _, method = entry.partition("/")
            said.setdefault(name, {})[method] = kept[entry]
    return said


def asked(model, name):
    if isinstance(model, Model):
        return {"probabilities": model.predict_rows(queries()[:8, 2::6]).probabilities}
    if name == "binarizer":
        return {"transform": model.transform(WORDS)}
    if name.startswith("nb"):
        return answers(model, patches()[:2])
    if hasattr(model, "n_features_in_"):
        return answers(model, queries()[:8, 2::6])
    return answers(model, pictures()[:2])


@pytest.mark.filterwarnings("ignore:.*holds objects of scikit-learn")
@pytest.mark.parametrize("file", FILES)
def test_says_what_it_said(file):
    if "hnsw" in file:
        pytest.importorskip("faiss")
    if "svc" in file and not version("scikit-learn").startswith("1.9."):
        pytest.skip("the private arrays of SVC are those of another scikit-learn")
    folder, name = Path(file).parent.name, Path(file).stem
    found, said = asked(load(OLD / file), name), expected(folder)[name]
    assert set(said) <= set(found)
    for method, before in said.items():
        if name in CALIBRATED_SINCE and "proba" in method:
            np.testing.assert_array_equal(found[method].argmax(axis=1), before.argmax(axis=1), err_msg=method)
            np.testing.assert_allclose(found[method].sum(axis=1), 1.0, rtol=1e-12, err_msg=method)
            assert found[method].min() > 0, "no class is impossible, as some were then"
        elif before.dtype.kind == "f":  # processors sum in other orders
            np.testing.assert_allclose(found[method], before, rtol=1e-6, atol=1e-6, err_msg=method)
        else:
            np.testing.assert_array_equal(found[method], before, err_msg=method)


def records_in(value):
    if isinstance(value, Record):
        yield value.name
        value = list(value.attributes.values())
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for one in value:
            yield from records_in(one)


def test_every_class_has_a_file():
    held = set()
    for path in OLD.glob("format-1/*.nb"):
        with open_archive(path, MOST_BYTES) as archive:
            held.update(records_in(Decoder(archive).decode(archive.header["root"])))
    assert held >= set(MODULES) - set(NO_PICTURE + NEWER)
    assert name_of(Model) in held
