"""``nearboost fit``: every method into a file, what is kept of the data, and mistakes."""

import hashlib
import io
import os
import signal
import time

import numpy as np
import pytest
from PIL import Image

from cli.calling import answer, call, interruptible, refused
from cli.made import KINDS, image_folder, row_folder, texture
from nearboost import KNNClassifier
from nearboost.cli.common import Exit
from nearboost.models import load_model, save


def test_fit_images(images):
    assert images.ended.code == Exit.PARTLY
    assert "36 items, 3 classes, held-out accuracy" in images.ended.out
    assert "Skipped train/dots/broken.png" in images.ended.err
    model = load_model(images.model)
    assert model.classes == tuple(sorted(KINDS))
    assert model.origins is not None
    assert len(model.origins.rows) == 36
    names = model.origins.names.tolist()
    assert names[0] == "train/dots/00.png"
    with Image.open(io.BytesIO(model.origins.picture(0)), formats=["JPEG"]) as picture:
        small = np.asarray(picture.convert("L")).astype(float)
    assert small.shape == (48, 48)
    assert np.abs(small - texture("dots", 0)).mean() < 10
    file = images.data / names[0]
    assert model.origins.hashes[0] == hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_table_is_data_for_all_commands(tmp_path):
    X, y = np.random.default_rng(0).normal(size=(90, 3)), np.repeat(["oak", "elm", "ash"], 30)
    X[:, 0] += np.repeat([0, 3, 6], 30)
    np.savez(tmp_path / "trees.npz", X=X, y=y)
    lines = [",".join(map(str, (*row, label))) for row, label in zip(X.tolist(), y, strict=True)]
    (tmp_path / "trees.csv").write_text("\n".join(["height,width,age,species", *lines]))
    for kind in ("npz", "csv"):
        ended = call("fit", tmp_path / f"trees.{kind}", "--method", "n3", "--out", tmp_path / f"{kind}.nb")
        assert ended.code == Exit.DONE
    model, table = tmp_path / "csv.nb", tmp_path / "trees.csv"
    bare = load_model(tmp_path / "npz.nb")
    assert load_model(model).facts == bare.facts | {"columns": ["height", "width", "age"]}
    assert answer("predict", model, table) == answer("predict", model, tmp_path / "trees.npz")
    named = load_model(model)
    del named.facts["columns"]
    save(named, tmp_path / "bare.nb")
    assert (tmp_path / "bare.nb").read_bytes() == (tmp_path / "npz.nb").read_bytes()
    assert answer("evaluate", model, table)["trained_on"] == 90
    assert answer("explain", model, table, "--row", 3)["voters"]
    assert answer("forget", model, "row 3", "--data", table, "--out", tmp_path / "less.nb")["after"]["items"] == 89
    assert answer("suspects", model, "--data", table, "--out", tmp_path / "s.html")["judged"] == 90


def test_fit_vectors(vectors):
    assert vectors.ended.code == Exit.DONE
    assert vectors.ended.err == ""
    model = load_model(vectors.model)
    assert model.last_step.n_rounds_ > 0
    assert model.features is None
    assert model.origins.names[7] == "row 7"
    assert model.origins.pictures is None


def test_vectors_have_no_features(vectors, tmp_path):
    said = refused("fit", vectors.data, "--features", "bif", "--out", tmp_path / "model.nb")
    assert said.endswith("has vectors, which need no features; leave out --features.")
    assert not (tmp_path / "model.nb").exists()


def test_no_thumbnails(images, tmp_path):
    out = tmp_path / "model.nb"
    assert (
        call("fit", images.data, "--features", "gist", "--method", "n3", "--no-thumbnails", "--out", out).code
        == Exit.PARTLY
    )
    assert load_model(out).origins.pictures is None
    assert load_model(out).origins.hashes[0]
    assert out.stat().st_size < images.model.stat().st_size
    assert answer("info", out)["thumbnails"] is False
    assert call("explain", out, images.data / "test/dots/12.png", "--out", tmp_path / "v.png").code == Exit.DONE


def test_store_is_used_again(images, tmp_path):
    options = ["--features", "gist", "--method", "n3", "--store", tmp_path / "store"]
    words = ["fit", images.data, *options, "--out", tmp_path / "model.nb"]
    assert call(*words).code == Exit.PARTLY
    [rows] = (tmp_path / "store").glob("*/rows.npy")
    before = rows.stat().st_mtime_ns
    assert call(*words).code == Exit.PARTLY
    assert rows.stat().st_mtime_ns == before
    assert (tmp_path / "model.nb").read_bytes() == images.model.read_bytes()


@pytest.mark.parametrize(
    "method",
    [
        *("nearboost:n_prototypes=9", "knn", "unn:n_prototypes=9", "mlnn", "mapboost", "innc", "src", "crc"),
        *("slnd", "sgd", "lbfgs"),
    ],
)
def test_fit_and_evaluate_every_method(vectors, tmp_path, method):
    out = tmp_path / "model.nb"
    assert call("fit", vectors.data, "--method", method, "--out", out).code == Exit.DONE
    found = answer("evaluate", out, vectors.data)
    assert found["items"] == 150
    assert found["measures"]["accuracy"] > 0.7
    assert call("predict", out, vectors.data).code == Exit.DONE


@pytest.mark.parametrize("method", ["linear-svm", "rbf-svm"])
def test_support_vector_machines(vectors, tmp_path, method):
    out = tmp_path / "model.nb"
    assert call("fit", vectors.data, "--method", method, "--out", out).code == Exit.DONE
    assert answer("evaluate", out, vectors.data)["measures"]["mean_auc"] > 0.9
    assert answer("predict", out, vectors.data)["predictions"][0]["probability"] > 0.4
    assert call("predict", out, vectors.data, "--top", 2).code == Exit.DONE
    assert "has no voters to show" in refused("explain", out, vectors.data)
    assert "has no prototypes to prune" in refused("prune", out)


def test_scaled(vectors, tmp_path):
    """Rows that differ by a factor for each feature give one model."""
    X, y = np.load(vectors.data / "X.npy"), np.load(vectors.data / "y.npy")
    np.savez(tmp_path / "stretched.npz", X=X * np.exp2(np.arange(X.shape[1]) % 9), y=y)
    found = []
    for data in (vectors.data, tmp_path / "stretched.npz"):
        out = tmp_path / "model.nb"
        assert call("fit", data, "--scale", "--method", "unn:n_neighbors=5", "--out", out).code == Exit.DONE
        found.append(answer("evaluate", out, data)["confusion"])
        assert answer("prune", out, "--keep", 20, "--out", tmp_path / "few.nb")["after"]["prototypes"] == 20
        assert answer("explain", out, data, "--row", 2)["voters"]
        assert "sklearn.StandardScaler" in call("info", out).out
    assert found[0] == found[1]


def test_a_plain_vote_is_told(tmp_path):
    X = np.repeat([0.0, 20.0], 40)[:, np.newaxis] + np.random.default_rng(0).normal(size=(80, 3))
    np.savez(tmp_path / "far.npz", X=X, y=np.repeat(["a", "b"], 40))
    note = "so no weights were learned"
    plain = call("fit", tmp_path / "far.npz", "--method", "n3", "--out", tmp_path / "model.nb")
    assert note in plain.err
    learned = call("fit", tmp_path / "far.npz", "--method", "n3:n_rounds=5", "--out", tmp_path / "model.nb")
    assert learned.code == Exit.DONE
    assert note not in learned.err


def test_what_cannot_be_saved_is_refused_before_data_is_read(tmp_path):
    for method, message in (
        ("adaboost", "No model file can hold 'adaboost'; choose from nearboost, knn, "),
        ("rbf-svm:cache_size=20000", "method rbf-svm:cache_size=20000.cache_size cannot be saved"),
    ):
        said = refused("fit", "nowhere", "--method", method, "--out", tmp_path / "model.nb", code=Exit.USAGE)
        assert message in said
    assert not list(tmp_path.iterdir())


def test_files_beside_the_images_are_no_items(tmp_path):
    data = image_folder(tmp_path / "pictures", 3, broken=False)
    (data / "train/dots/notes.txt").write_text("none of them")
    ended = call("fit", data, "--features", "pixels", "--method", "knn:n_neighbors=1", "--out", tmp_path / "m.nb")
    assert ended.code == Exit.DONE
    assert "Note: Skipped files that are not images: 1 .txt." in ended.err


def test_methods_that_cannot_be_saved_are_not_offered():
    assert "adaboost" not in refused("fit", "nowhere", "--method", "magic", code=Exit.USAGE)


def test_data_that_is_none(tmp_path):
    assert "does not exist" in refused("fit", tmp_path / "nowhere")
    rows = row_folder(tmp_path / "rows")
    assert "There is no method 'magic'" in refused("fit", rows, "--method", "magic", code=Exit.USAGE)
    data = image_folder(tmp_path / "pictures", 3)
    out = tmp_path / "nowhere/model.nb"
    assert "is not a folder; make it first" in refused("fit", data, "--out", out, code=Exit.USAGE)
    assert "is a folder; give the name of a file" in refused("fit", data, "--out", tmp_path, code=Exit.USAGE)
    assert "Unknown features 'magic'" in refused("fit", data, "--features", "magic", code=Exit.USAGE)


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("n3:loss=foo", "'n3:loss=foo' cannot be fitted: loss='foo' is not known"),
        ("n3:n_neighbors=abc", "n_neighbors='abc' must be a whole number"),
        ("rbf-svm:C=abc", "The 'C' parameter of SVC must be a float"),
        ("n3:loss=log,n_neighbors=5", "n3:loss=log:n_neighbors=5."),
    ],
)
def test_wrong_settings_are_told_before_the_data_is_read(tmp_path, method, said):
    assert said in refused("fit", tmp_path / "nowhere", "--method", method, code=Exit.USAGE)


def test_wrong_features_are_told_before_the_data_is_read(tmp_path):
    said = refused("fit", tmp_path / "nowhere", "--features", "magic", code=Exit.USAGE)
    assert "Unknown features 'magic'" in said


@pytest.mark.alone
@pytest.mark.skipif(os.name == "nt", reason="signals differ")
def test_interrupted(tmp_path):
    """The old model stays."""
    data = image_folder(tmp_path / "pictures", 40, divided=False, broken=False)
    save(KNNClassifier(1).fit([[0], [1]], [0, 1]), tmp_path / "model.nb")
    old = (tmp_path / "model.nb").read_bytes()
    store = tmp_path / "store"
    running = interruptible(
        "fit", data, "--features", "bag", "--store", store, "--out", tmp_path / "model.nb", "--force"
    )
    while running.poll() is None and not list(store.rglob("lock")):  # until images are described
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == Exit.INTERRUPTED
    assert said == "Interrupted; what was finished is kept, and nothing half done was written.\n"
    assert (tmp_path / "model.nb").read_bytes() == old
