"""``nearboost evaluate``: measures, and images that the model has seen."""

from dataclasses import replace

import numpy as np
import pytest

from cli.calling import answer, call, refused
from nearboost.cli.common import Exit
from nearboost.models import load_model, save


def test_evaluate(images):
    found = answer("evaluate", images.model, images.data)
    assert found["items"] == 12
    assert found["trained_on"] == 0
    assert np.sum(found["confusion"]) == 12
    assert found["measures"]["accuracy"] == np.trace(found["confusion"]) / 12
    ended = call("evaluate", images.model, images.data, "--part", "train")
    assert ended.code == Exit.PARTLY
    assert "Note: 36 of the 36 items were trained on, which flatters the model" in ended.err
    assert "accuracy" in ended.out
    assert "part='some'" in refused("evaluate", images.model, images.data, "--part", "some", code=Exit.USAGE)


def test_evaluate_other_data(images, vectors, tmp_path):
    assert "This model takes images, and digits holds rows" in refused("evaluate", images.model, vectors.data)
    assert "This model takes rows of 64 numbers, and pictures" in refused("evaluate", vectors.model, images.data)
    X, y = np.load(vectors.data / "X.npy"), np.load(vectors.data / "y.npy")
    np.savez(tmp_path / "more.npz", X=X, y=np.where(y == "one", "eleven", y))
    said = refused("evaluate", vectors.model, tmp_path / "more.npz")
    assert "has the class 'eleven', which the model does not know; it knows " in said


@pytest.mark.parametrize("method", ["slnd", "linear-svm", "rbf-svm", "knn", "unn:n_prototypes=9"])
def test_rows_that_were_trained_on(vectors, tmp_path, method):
    """Every method knows them again, whatever it keeps of them."""
    X, y = np.load(vectors.data / "X.npy"), np.load(vectors.data / "y.npy")
    np.savez(tmp_path / "some.npz", X=X[:100], y=y[:100])
    np.savez(tmp_path / "others.npz", X=X[70:], y=y[70:])
    assert call("fit", tmp_path / "some.npz", "--method", method, "--out", tmp_path / "model.nb").code == Exit.DONE
    ended = call("evaluate", tmp_path / "model.nb", tmp_path / "others.npz")
    assert "Note: 30 of the 80 items were trained on" in ended.err
    assert answer("evaluate", tmp_path / "model.nb", tmp_path / "some.npz")["trained_on"] == 100


def test_images_that_a_pruned_model_was_trained_on(images, tmp_path):
    """Also those that are no prototypes."""
    assert call("prune", images.model, "--keep", 10, "--out", tmp_path / "few.nb").code == Exit.DONE
    words = ["prune", images.model, "--keep", 10, "--data", images.data, "--out", tmp_path / "anew.nb"]
    assert call(*words).code == Exit.PARTLY
    for name in ("few.nb", "anew.nb"):
        assert answer("evaluate", tmp_path / name, images.data, "--part", "train")["trained_on"] == 36
        assert answer("evaluate", tmp_path / name, images.data, "--part", "test")["trained_on"] == 0


def test_models_without_marks_know_their_voters(images, tmp_path):
    """Files written before marks were kept."""
    model = load_model(images.model)
    save(replace(model, marks=None, origins=model.origins.take(np.arange(7))), tmp_path / "old.nb")
    assert answer("evaluate", tmp_path / "old.nb", images.data, "--part", "train")["trained_on"] == 7
