"""``nearboost features``: rows on disk that are data themselves."""

import csv

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from cli.calling import answer, call, refused
from nearboost.cli.common import Exit
from nearboost.features import gmm
from nearboost.models import load_model


def test_features(images, tmp_path):
    out = tmp_path / "rows"
    ended = call("features", images.data, "--out", out)
    assert ended.code == Exit.PARTLY
    assert np.load(out / "X.npy").shape == (48, 512)
    assert call("fit", out, "--method", "n3", "--out", tmp_path / "model.nb").code == Exit.DONE  # the train part
    rows = answer("evaluate", tmp_path / "model.nb", out)
    pictures = answer("evaluate", images.model, images.data)
    assert rows["measures"] == pictures["measures"]
    assert "rows of numbers already" in refused("features", out, "--out", tmp_path / "no")


def test_features_of_a_model(images, tmp_path):
    fitted = tmp_path / "bag.nb"
    assert call("fit", images.data, "--features", "bag", "--method", "slnd", "--out", fitted).code == Exit.PARTLY
    found = answer("features", images.data, "--model", fitted, "--out", tmp_path / "rows")
    assert found["items"] == 48
    model = load_model(fitted)
    rows = model.describe([str(images.data / "test/dots/12.png")]).rows
    names = [line["file_name"] for line in csv.DictReader((tmp_path / "rows/labels.csv").open())]
    np.testing.assert_array_equal(np.load(tmp_path / "rows/X.npy")[names.index("test/dots/12.png")], rows[0])


@pytest.mark.parametrize("words", [("features",), ("fit", "--method", "knn"), ("compare", "--methods", "crc")])
def test_no_advice_names_what_a_command_does_not_have(images, tmp_path, monkeypatch, runs_here, words):
    """A mixture that is nearly there describes as well, and grey images are no mistake."""
    improve = gmm.DiagonalGMM._improve

    def in_vain(self, *given):
        gmm.warn_caller("DiagonalGMM has not converged; raise max_iter or tol.", ConvergenceWarning)
        return improve(self, *given)

    monkeypatch.setattr(gmm.DiagonalGMM, "_improve", in_vain)
    out = tmp_path / ("m.nb" if words[0] == "fit" else "out")
    ended = call(words[0], images.data, *words[1:], "--features", "fisher", "--out", out)
    assert "SIFT alone is used" in ended.err
    assert "max_iter" not in ended.err
    assert "color=" not in ended.err
