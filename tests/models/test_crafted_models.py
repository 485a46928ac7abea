"""Files of whole models whose names, items and figures do not go together, and what commands say of them."""

import io
import warnings
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nearboost
from cli.calling import answer, call
from cli.calling import refused as said_by
from models.fitted import patches, pictures, rows
from models.test_attacks import changed, fitted, refused, with_array
from models.test_crafted_files import NAMES, array_at, state_of
from nearboost.cli.common import Exit
from nearboost.features import DenseSIFT
from nearboost.models import Model, origins_of, save
from nearboost.models.drawing import LARGEST_THUMBNAIL, opened
from nearboost.models.info import as_lines, read_summary


def whole(classifier, **more):
    origins = origins_of(None, [f"row {i}" for i in range(60)], rows()[1][:60])
    return Model(None, fitted(classifier), NAMES, origins, {"items": 60, "skipped": 0}, **more)


def test_a_model_whose_last_step_does_nothing(tmp_path):
    def change(header):
        header["root"]["state"]["classifier"]["parameters"]["steps"][1][1] = "passthrough"

    model = whole(make_pipeline(StandardScaler(), nearboost.KNNClassifier()))
    refused(changed(model, tmp_path / "m.nb", change), "The classifier of a model must predict")


@pytest.mark.parametrize("dtype", [float, bool])
def test_a_model_whose_answers_are_no_numbers_of_classes(tmp_path, dtype):
    """Answers of that kind ended in an IndexError, where names were looked up."""
    path = tmp_path / "m.nb"
    X, y = rows()
    origins = origins_of(None, [f"row {i}" for i in range(60)], y[:60] % 2)
    model = Model(None, nearboost.KNNClassifier(3).fit(X[:60], y[:60] % 2), ("a", "b"), origins, {"items": 60})
    save(model, path)
    with_array(path, state_of(path)["classifier"]["state"]["classes_"]["array"], np.arange(2).astype(dtype))
    refused(path, "class numbers that all have a name")


def test_a_model_of_sets_of_descriptors(tmp_path):
    """It asked for one row of each image, in vain."""
    sets, sift = patches(), DenseSIFT(step=8).fit(pictures())
    with pytest.raises(ValueError, match="features of a model must make rows of images"):
        Model(sift, nearboost.NaiveBayesNN("nn").fit(sets, np.arange(10) % 2), ("a", "b"), None, {"items": 10})


@pytest.mark.parametrize("names", [["a", "b", "c"], ["a", "b", "c", "d", "e"], ["a", "b", "c", "c"]])
def test_a_model_with_other_names(tmp_path, names):
    """More names than columns of probabilities ended in an IndexError, two of a kind in no file at all."""

    def change(header):
        header["root"]["state"]["classes"] = names

    path = changed(whole(nearboost.KNNClassifier()), tmp_path / "m.nb", change)
    refused(path, "class numbers that all have a name|different names")


def test_names_that_end_in_nul(tmp_path):
    """NumPy drops it, and no class was called so any more."""

    def change(header):
        header["root"]["state"]["classes"][0] = "a\0"

    refused(changed(whole(nearboost.KNNClassifier()), tmp_path / "m.nb", change), "must hold no NUL")


@pytest.mark.parametrize("labels", [np.full(60, 4), np.ones((60, 3), int)])
def test_items_of_no_class(tmp_path, labels):
    path = tmp_path / "m.nb"
    save(whole(nearboost.KNNClassifier()), path)
    with_array(path, state_of(path)["origins"]["state"]["labels"]["array"], labels)
    refused(path, "items of a model must be of its classes")


@pytest.mark.parametrize("fact", ["items", "skipped"])
def test_facts_that_are_no_counts(tmp_path, fact):
    def change(header):
        pairs = header["root"]["state"]["facts"]["dict"]
        header["root"]["state"]["facts"]["dict"] = [[n, "x" if n == fact else v] for n, v in pairs]

    refused(changed(whole(nearboost.KNNClassifier()), tmp_path / "m.nb", change), "of how many items")


@pytest.mark.parametrize(
    "sources", ["x", ["x"], [["x"]], [["x", "y"]], [[1, 60]], [["x", 60], ["y", 0]], [["x", 59]], [["x", 1.5]]]
)
def test_sources_that_do_not_count_the_items(tmp_path, sources):
    def change(header):
        header["root"]["state"]["facts"]["dict"].append(["sources", sources])

    refused(
        changed(whole(nearboost.KNNClassifier()), tmp_path / "m.nb", change), "how many of its items came from"
    )


@pytest.mark.parametrize("columns", ["a,b", [1, 2], {"dict": [["a", 1]]}, 3])
def test_columns_that_are_no_names(tmp_path, columns):
    def change(header):
        header["root"]["state"]["facts"]["dict"].append(["columns", columns])

    path = changed(whole(nearboost.KNNClassifier()), tmp_path / "m.nb", change)
    refused(path, "by name which columns")
    assert as_lines(read_summary(path))


def test_held_out_rows_that_are_none(tmp_path):
    path = tmp_path / "m.nb"
    save(whole(nearboost.NearBoostClassifier()), path)
    coded = state_of(path)["classifier"]["state"]["held_out_rows_"]
    with_array(path, coded["array"], array_at(path, coded) + 1000)
    assert "not in the model's file; give them with --data" in said_by("suspects", path)


def test_names_that_are_no_text(tmp_path):
    """Names of files may hold any bytes, and those of a file anything: they are shown as far as they are text."""
    model = whole(nearboost.UNNClassifier(3, n_rounds=2))
    save(replace(model, classes=("\ud800", "caf\udce9", "c", "d")), tmp_path / "m.nb")
    assert "\\ud800, caf\\udce9, c, d" in call("info", tmp_path / "m.nb").out
    assert call("suspects", tmp_path / "m.nb", "--out", tmp_path / "s.html").code == Exit.DONE
    assert answer("info", tmp_path / "m.nb")["classes"][0] == "\ud800"


def test_info_of_steps_that_do_nothing(tmp_path):
    save(fitted(make_pipeline("passthrough", nearboost.KNNClassifier())), tmp_path / "m.nb")
    assert "  passthrough     passthrough\n" in call("info", tmp_path / "m.nb").out


@pytest.mark.parametrize("other", ["marks", "rows"])
def test_marks_and_names_of_other_items(tmp_path, other):
    path, model = tmp_path / "m.nb", whole(nearboost.KNNClassifier())
    given = {
        "marks": {"marks": np.arange(5, dtype=np.uint64)},
        "rows": {"origins": replace(model.origins, rows=model.origins.rows + 10**6)},
    }
    save(replace(model, **given[other]), path)
    said = said_by("forget", path, "row 30", "--out", tmp_path / "n.nb")
    assert "does not know the names of its items" in said


def test_thumbnails_that_are_none():
    """A picture of a few kilobytes may ask for gigabytes, or be a program for another reader."""
    assert opened(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n") is None
    for side, shown in ((64, True), (LARGEST_THUMBNAIL + 1, False)):
        file = io.BytesIO()
        Image.new("L", (side, 8)).save(file, "JPEG")
        assert (opened(file.getvalue()) is not None) == shown
    large = file.getvalue().replace((8).to_bytes(2) + (side).to_bytes(2), b"\xff\xff\xff\xff")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert opened(large) is None
