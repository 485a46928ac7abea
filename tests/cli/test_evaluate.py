"""``nearboost evaluate``: measures, and images that the model has seen."""

import numpy as np

from cli.calling import answer, call, refused
from nearboost.cli.common import Exit


def test_evaluate(images):
    found = answer("evaluate", images.model, images.data)
    assert found["items"] == 12
    assert found["trained_on"] == 0
    assert np.sum(found["confusion"]) == 12
    assert found["measures"]["accuracy"] == np.trace(found["confusion"]) / 12
    ended = call("evaluate", images.model, images.data, "--part", "train")
    assert ended.code == Exit.PARTLY
    assert "36 of 36 images vote in this model" in ended.err
    assert "accuracy" in ended.out
    assert "part='some'" in refused("evaluate", images.model, images.data, "--part", "some", code=Exit.USAGE)


def test_evaluate_other_data(images, vectors, tmp_path):
    assert "The model takes images" in refused("evaluate", images.model, vectors.data)
    assert "The model takes vectors" in refused("evaluate", vectors.model, images.data)
    X, y = np.load(vectors.data / "X.npy"), np.load(vectors.data / "y.npy")
    np.savez(tmp_path / "more.npz", X=X, y=np.where(y == "one", "eleven", y))
    assert "has the class 'eleven'" in refused("evaluate", vectors.model, tmp_path / "more.npz")
