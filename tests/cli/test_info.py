"""``nearboost info``, and what all commands around model files share."""

import pytest

from cli.calling import answer, call, refused
from cli.made import KINDS
from nearboost.cli.common import Exit
from nearboost.cli.main import COMMANDS
from nearboost.models import save

OURS = ("fit", "predict", "evaluate", "explain", "prune", "add", "forget", "features", "info", "suspects")


@pytest.mark.parametrize("name", OURS)
def test_help_has_an_example(name):
    assert name in COMMANDS
    ended = call(name, "--help")
    assert ended.code == Exit.DONE
    assert f"nearboost {name}" in " ".join(ended.out.split())


@pytest.mark.parametrize("name", OURS)
def test_usage(name):
    assert call(name).code == Exit.USAGE
    assert call(name, "--nonsense").code == Exit.USAGE


def test_info(images, vectors):
    found = answer("info", images.model)
    assert found["classifier"]["class"] == "N3Classifier"
    assert found["features"] == {
        "class": "Gist",
        "parameters": {"layout": 512, "side": 128, "scaling": "dtype", "n_jobs": None, "verbose": 0},
    }
    assert found["classes"] == sorted(KINDS)
    assert (found["voters"], found["thumbnails"], found["training_rows_in_file"]) == (36, True, True)
    text = call("info", images.model).out
    for part in ("pictures: 36 images", "N3Classifier", "Gist", "3: dots, stripes, waves", "36, with thumbnails"):
        assert part in text
    assert "without thumbnails" in call("info", vectors.model).out


def test_numbers_that_the_fit_found(vectors):
    classifier = answer("info", vectors.model)["classifier"]
    chosen, lines = classifier["chosen"], call("info", vectors.model).out.splitlines()
    assert classifier["parameters"]["n_neighbors"] == "auto"
    assert f"  n_neighbors = 'auto', chosen by the fit: {chosen['n_neighbors']}" in lines
    assert f"  n_rounds = None, chosen by the fit: {chosen['n_rounds']}" in lines
    assert f"  temperature = {chosen['temperature']:.6g}, found by the fit" in lines
    assert f"  held_out_accuracy = {chosen['held_out_accuracy']:.6g}, found by the fit" in lines
    assert sum("n_neighbors" in line for line in lines) == 1


def test_info_of_a_bare_estimator(tmp_path):
    from sklearn.datasets import load_iris
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from nearboost import UNNClassifier

    X, y = load_iris(return_X_y=True)
    save(make_pipeline(StandardScaler(), UNNClassifier(3, n_rounds=3)).fit(X, y), tmp_path / "bare.nb")
    text = call("info", tmp_path / "bare.nb").out
    assert "sklearn.StandardScaler" in text
    assert "n_neighbors = 3" in text
    assert "holds Pipeline and no model" in refused("predict", tmp_path / "bare.nb", tmp_path)


@pytest.mark.parametrize("name", ["predict", "evaluate", "explain", "info", "suspects", "prune", "add", "forget"])
def test_model_that_is_none(name, images, tmp_path):
    (tmp_path / "model.nb").write_bytes(images.model.read_bytes()[:5000])
    others = [images.data] if name in ("predict", "evaluate", "explain", "add", "forget") else []
    assert "cut short or damaged" in refused(name, tmp_path / "model.nb", *others)
    assert "does not exist" in refused(name, tmp_path / "nowhere.nb", *others)


def test_names(images, vectors, tmp_path):
    lines = call("info", images.model, "--names").out.splitlines()
    assert lines[0] == "train/dots/00.png"
    assert len(lines) == 36
    assert answer("info", vectors.model, "--names") == [f"row {i}" for i in range(150)]
    call("fit", vectors.data, "--method", "slnd:max_passes=1", "--out", tmp_path / "linear.nb")
    assert "holds no names of training items" in refused("info", tmp_path / "linear.nb", "--names")


@pytest.mark.parametrize(
    ("method", "chosen"), [("knn", ["n_neighbors"]), ("rbf-svm", ["C", "gamma"]), ("knn:n_neighbors=3", [])]
)
def test_settings_that_folds_chose(vectors, tmp_path, method, chosen):
    call("fit", vectors.data, "--method", method, "--out", tmp_path / "model.nb")
    assert answer("info", tmp_path / "model.nb")["chosen_by_folds"] == chosen
    said = f", {' and '.join(chosen)} chosen by folds" if chosen else ""
    assert f"method          {method}, seed 0{said}" in call("info", tmp_path / "model.nb").out.splitlines()
