"""The method that is fitted where none is asked for: every command knows it."""

import numpy as np
import pytest

from cli.calling import answer, call, refused
from cli.made import image_folder
from nearboost.cli.common import Exit
from nearboost.models import load_model


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Two noisy classes, three rows of which have a wrong label; the rows of a track are of one group."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.repeat(["high", "low"], 30)
    X[:30, 0] += 6
    y[[3, 40, 50]] = ["low", "high", "high"]
    folder = tmp_path_factory.mktemp("rows")
    np.savez(folder / "rows.npz", X=X, y=y)
    np.savez(folder / "tracks.npz", X=X, y=y, groups=np.arange(60) // 5)
    return folder


@pytest.fixture(scope="module")
def model(rows):
    ended = call("fit", rows / "rows.npz", "--out", rows / "model.nb")
    assert ended.code == Exit.DONE
    assert ended.out.startswith(f"Model: {rows / 'model.nb'} (nearboost, 60 items, 2 classes, held-out accuracy 9")
    assert " ± " in ended.out
    return rows / "model.nb"


def test_several_labels_get_n3(tmp_path):
    labels = np.random.default_rng(0).integers(0, 2, (40, 3))
    np.savez(tmp_path / "many.npz", X=np.arange(120.0).reshape(40, 3) % 7, y=labels)
    ended = call("fit", tmp_path / "many.npz", "--out", tmp_path / "model.nb")
    assert f"Model: {tmp_path / 'model.nb'} (n3, 40 items, 3 classes" in ended.out
    assert answer("info", tmp_path / "model.nb")["facts"]["method"] == "n3"
    said = refused("fit", tmp_path / "many.npz", "--method", "nearboost", "--out", tmp_path / "model.nb")
    assert said == "Error: NearBoostClassifier takes one label per sample; N3Classifier takes several."


def test_groups_reach_it(rows, model, tmp_path):
    call("fit", rows / "tracks.npz", "--out", tmp_path / "m.nb")
    assert answer("info", tmp_path / "m.nb")["facts"]["folds"] == "by group"
    assert answer("info", model)["facts"]["folds"] != "by group"


def test_scaled_if_asked_for(rows, tmp_path):
    call("fit", rows / "rows.npz", "--scale", "--out", tmp_path / "m.nb")
    assert [
        step["class"] for _, step in answer("info", tmp_path / "m.nb")["classifier"]["parameters"]["steps"]
    ] == [
        "sklearn.StandardScaler",
        "NearBoostClassifier",
    ]
    assert answer("evaluate", tmp_path / "m.nb", rows / "rows.npz")["measures"]["accuracy"] > 0.9


@pytest.mark.parametrize("about", ["high", "low"])
def test_votes_and_the_linear_head_add_up_to_the_score(model, rows, about):
    """Two classes have two scores, the difference of which is what the classifier decides by."""
    vote = answer("explain", model, rows / "rows.npz", "--row", 7, "--about", about)
    total = sum(voter["vote"] for voter in vote["voters"]) + vote["linear"][about]
    X = np.load(rows / "rows.npz")["X"][7:8]
    difference = load_model(model).last_step.decision_function(X)[0]
    assert vote["score"] == pytest.approx(total, abs=1e-5 * abs(difference))
    assert vote["score"] == pytest.approx((difference if about == "low" else -difference) / 2, rel=1e-5)
    assert list(vote["linear"].values()) == sorted(vote["linear"].values(), reverse=True)


def test_the_linear_head_has_one_line(model, rows):
    lines = call("explain", model, rows / "rows.npz", "--row", 7, "--most", 2).out.splitlines()
    assert lines[0] == "Item: row 7"
    vote = answer("explain", model, rows / "rows.npz", "--row", 7)
    added = vote["linear"]
    assert lines[3].startswith("A vote is ")
    assert lines[3].endswith("; the linear head adds the rest.")
    assert lines[4] == f"The linear head adds: high {added['high']:+.4f}, low {added['low']:+.4f}"
    assert len(lines) == 6 + 2
    labels = np.load(rows / "rows.npz")["y"]
    assert all(voter["label"] == labels[voter["row"]] for voter in vote["voters"])


def test_a_picture_of_voters(tmp_path):
    data = image_folder(tmp_path / "pictures", 8, broken=False)
    call("fit", data, "--out", tmp_path / "m.nb")
    ended = call("explain", tmp_path / "m.nb", data / "test/dots/08.png", "--out", tmp_path / "v.png")
    assert f"Picture: {tmp_path / 'v.png'}" in ended.out
    assert "The linear head adds: dots +" in ended.out


def test_held_out_figures_are_in_info(model):
    fitted, lines = load_model(model).last_step, call("info", model).out.splitlines()
    figure = f"{fitted.held_out_accuracy_:.6g} ± {fitted.held_out_error_:.6g}"
    assert f"  held_out_accuracy = {figure}, found by the fit" in lines
    assert f"  held_out_log_loss = {fitted.held_out_log_loss_:.6g}, found by the fit" in lines
    for step, choice in fitted.report_.chosen.items():
        assert f"  {step} = {choice!r}, found by the fit" in lines
    assert [line for line in lines if "note: " in line] == [f"  note: {note}" for note in fitted.report_.notes]
    found = answer("info", model)
    assert found["classifier"]["notes"] == fitted.report_.notes
    assert found["training_rows_in_file"] is False  # but in the metric


def test_wrong_labels_are_suspect(model, rows, tmp_path):
    names = ["row 3", "row 40", "row 50"]
    for more in ([], ["--data", rows / "rows.npz"]):
        found = answer("suspects", model, *more, "--out", tmp_path / "suspects.html")
        assert found["judged"] == 60
        assert sorted(one["name"] for one in found["suspects"][:3]) == names


def test_pruned_with_the_data(model, rows, tmp_path):
    said = refused("prune", model, "--keep", 0.2, "--out", tmp_path / "few.nb")
    assert said == "Error: The training rows are not in the model's file; give them with --data."
    found = answer("prune", model, "--keep", 0.2, "--data", rows / "rows.npz", "--out", tmp_path / "few.nb")
    assert found["after"]["prototypes"] <= 12
    call("fit", rows / "rows.npz", "--method", "nearboost:n_prototypes=0.2", "--out", tmp_path / "fresh.nb")
    answers = [answer("predict", tmp_path / name, rows / "rows.npz") for name in ("few.nb", "fresh.nb")]
    assert answers[0] == answers[1]


def test_nothing_to_hold_out(tmp_path):
    """One row of each class has no held-out figures, which JSON could not write as a number."""
    np.savez(tmp_path / "two.npz", X=[[0.0, 1.0], [1.0, 0.0], [1.0, 0.5]], y=["a", "b", "c"])
    ended = call("fit", tmp_path / "two.npz", "--out", tmp_path / "m.nb")
    assert "held-out" not in ended.out
    assert "Note: Every class has a single row or group, so nothing can be held out" in ended.err
    gone = answer("forget", tmp_path / "m.nb", "row 2", "--data", tmp_path / "two.npz", "--out", tmp_path / "f.nb")
    assert gone["after"]["held_out_accuracy"] is None
    assert answer("info", tmp_path / "m.nb")["classifier"]["chosen"]["held_out_accuracy"] == "nan"
    told = call("info", tmp_path / "m.nb").out
    assert "nan" not in told
    assert "No row could be held out" in told
