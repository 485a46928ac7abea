"""Whatever a command does with a file, it hashes it once and decodes it once; a query is searched for once."""

import hashlib
import os
import shutil
from collections import Counter

import pytest

from cli.calling import call
from cli.made import image_folder
from nearboost.base import images as reader
from nearboost.cli.common import Exit
from nearboost.neighbors import NeighborSearch


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Images, one of them twice and one that is none."""
    folder = image_folder(tmp_path_factory.mktemp("once") / "pictures", 8)
    shutil.copy(folder / "train/waves/00.png", folder / "train/waves/copy.png")
    return folder


@pytest.fixture(scope="module")
def model(data):
    out = data.parent / "model.nb"
    assert (
        call("fit", data, "--features", "bag", "--method", "unn:n_neighbors=3", "--out", out).code == Exit.PARTLY
    )
    return out


@pytest.fixture
def decoded(monkeypatch):
    found, decode = Counter(), reader._decoded

    def counted(file, name, *args):
        found[os.path.basename(os.path.dirname(name)), os.path.basename(name)] += 1
        return decode(file, name, *args)

    monkeypatch.setattr(reader, "_decoded", counted)
    return found


@pytest.fixture
def hashed(monkeypatch):
    found, digest = Counter(), hashlib.file_digest

    def counted(file, kind):
        found[os.path.basename(os.path.dirname(file.name)), os.path.basename(file.name)] += 1
        return digest(file, kind)

    monkeypatch.setattr(hashlib, "file_digest", counted)
    return found


@pytest.fixture
def searched(monkeypatch):
    """How many rows each search was for."""
    found, search = [], NeighborSearch.search

    def counted(self, queries, *args, **kwargs):
        found.append(len(queries))
        return search(self, queries, *args, **kwargs)

    monkeypatch.setattr(NeighborSearch, "search", counted)
    return found


TRAIN, TEST = 3 * 8 + 2, 3 * 4  # with the copy and the broken one


@pytest.mark.parametrize("features", ["gist", "bag", "fisher"])
@pytest.mark.parametrize("stored", [False, True])
def test_fit(data, tmp_path, decoded, hashed, features, stored):
    store = ["--store", tmp_path / "store"] if stored else []
    words = ["fit", data, "--features", features, "--method", "knn", "--out", tmp_path / "model.nb", *store]
    assert call(*words).code == Exit.PARTLY
    if stored:
        del decoded["waves", "copy.png"]  # its content is described by another name, and its picture made
        assert len(decoded) == TRAIN - 1
    else:
        assert len(decoded) == TRAIN
    assert len(hashed) >= TRAIN - 1
    assert set(decoded.values()) == set(hashed.values()) == {1}


@pytest.mark.parametrize("features", ["gist", "bag"])
def test_features(data, tmp_path, decoded, hashed, features):
    assert call("features", data, "--features", features, "--out", tmp_path / "rows").code == Exit.PARTLY
    assert len(hashed) == TRAIN + TEST
    assert len(decoded) in (TRAIN + TEST - 1, TRAIN + TEST)  # one content has two names
    assert set(decoded.values()) == set(hashed.values()) == {1}


def test_features_of_a_model(data, model, tmp_path, decoded, hashed):
    assert call("features", data, "--model", model, "--out", tmp_path / "rows").code == Exit.PARTLY
    assert (len(decoded), len(hashed)) == (TRAIN + TEST - 1, TRAIN + TEST)
    assert set(decoded.values()) == set(hashed.values()) == {1}


def test_predict(data, model, decoded, hashed, searched):
    assert call("predict", model, data / "test", "--top", 2).code == Exit.DONE
    assert (len(decoded), len(hashed)) == (TEST, 0)
    assert set(decoded.values()) == {1}
    assert searched == [TEST]


def test_evaluate(data, model, decoded, hashed, searched):
    assert call("evaluate", model, data).code == Exit.DONE
    assert (len(decoded), len(hashed)) == (TEST, TEST + 2)  # and the two that might be the same, among the others
    assert set(decoded.values()) == set(hashed.values()) == {1}
    assert searched == [TEST]


def test_explain(data, model, tmp_path, decoded):
    words = ["explain", model, data / "test/dots/08.png", "--out", tmp_path / "voters.png"]
    assert call(*words).code == Exit.DONE
    assert decoded == {("dots", "08.png"): 1}


def test_suspects(data, model, tmp_path, decoded, hashed):
    words = ["suspects", model, "--data", data, "--out", tmp_path / "suspects.html"]
    assert call(*words).code == Exit.PARTLY
    assert len(decoded) == TRAIN
    assert set(decoded.values()) == {1}
    assert set(hashed.values()) <= {1}


def test_prune(data, model, tmp_path, decoded, hashed):
    words = ["prune", model, "--keep", 9, "--data", data, "--out", tmp_path / "few.nb"]
    assert call(*words).code == Exit.PARTLY
    assert (len(decoded), len(hashed)) == (TRAIN - 1, TRAIN)  # the broken one is none of the model
    assert set(decoded.values()) == set(hashed.values()) == {1}


@pytest.mark.parametrize("features", ["pixels,gist", "pixels,bag", "bag,fisher"])
def test_compare(data, tmp_path, decoded, hashed, features, runs_here):
    words = ["compare", data, "--features", features, "--methods", "unn:n_rounds=5:n_neighbors=3"]
    again = ["--out", tmp_path / "report", "--protocol", "half", "--repeats", 2, "--threads", 1]
    assert call(*words, *again).code == Exit.PARTLY
    assert len(hashed) == TRAIN + TEST
    assert len(decoded) in (TRAIN + TEST - 1, TRAIN + TEST)  # one content has two names
    assert set(decoded.values()) == set(hashed.values()) == {1}
    assert "data:image/jpeg" in (tmp_path / "report" / "report.html").read_text()
    decoded.clear()
    assert call(*words, *again).code == Exit.PARTLY  # all is found; only pictures in the report are made anew
    assert len(decoded) <= 24 + 60
    assert set(decoded.values()) <= {1}
