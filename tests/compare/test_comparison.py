"""Comparisons as a whole: same splits for all, resumed, failures and skipped images told."""

import base64
import csv
import io
import json
import shutil
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from compare import strange_runs
from compare.problems import make_runs_here, write_blobs, write_stripes
from nearboost.base.errors import UsageError
from nearboost.catalogue.methods import METHODS
from nearboost.compare import comparison as comparing
from nearboost.compare import estimates, processes
from nearboost.compare.comparison import Settings, compare
from nearboost.compare.protocols import make_splits
from nearboost.compare.records import Costs
from nearboost.compare.report.facts import Failure
from nearboost.datasets import DataError, open_dataset
from nearboost.measures.intervals import share_interval

FAST = ("crc", "linear-svm")


@pytest.fixture(scope="module")
def blobs(tmp_path_factory):
    return write_blobs(tmp_path_factory.mktemp("data") / "blobs.npz")


@pytest.fixture(scope="module")
def first(blobs, tmp_path_factory):
    """A finished comparison; tests work on copies of its folder."""
    out = tmp_path_factory.mktemp("out with space ü") / "report"
    with pytest.MonkeyPatch.context() as patch:
        make_runs_here(patch)
        return compare(settings(blobs, out))


@pytest.fixture
def out(first, tmp_path):
    return Path(shutil.copytree(first.folder, tmp_path / "copy"))


def settings(data, out, **changes):
    return Settings(str(data), **{"methods": FAST, "repeats": 2, "threads": 1, "out": out, **changes})


def predictions(found):
    return [run.assessment.predictions for run in found.runs]


@pytest.fixture
def asked(monkeypatch, first):
    """The runs that would be made; each has the answers of one that was."""
    ran = []

    def run(task, timeout=None):
        identity = task["identity"]
        ran.append((identity["method"], identity["split"]))
        return {**first.runs[0].as_result(), "mistakes": [], **identity}

    monkeypatch.setattr(comparing, "run_task", run)
    return ran


def test_everything_is_written(first):
    assert first.is_complete
    assert {path.name for path in first.folder.iterdir()} == {
        *("report.html", "results.json", "results.csv", "cells", "features", "lock")
    }
    stored = json.loads((first.folder / "results.json").read_text())
    assert stored["cells"] == [run.as_result() for run in first.runs]
    rows = list(csv.DictReader((first.folder / "results.csv").open()))
    assert [(row["method"], row["split"]) for row in rows] == [(m, s) for s in "01" for m in FAST]
    assert float(rows[0]["accuracy"]) == first.runs[0].assessment.measures["accuracy"]
    assert "linear-svm" in first.report.read_text()


def test_all_methods_see_the_same_splits(first):
    by_split = {split: [run for run in first.runs if run.identity.split == split] for split in (0, 1)}
    for runs in by_split.values():
        assert len({run.identity.content for run in runs}) == 1
        assert runs[0].assessment.truth == runs[1].assessment.truth
    assert by_split[0][0].identity.content != by_split[1][0].identity.content


def test_a_second_call_finds_everything(blobs, out, asked):
    assert compare(settings(blobs, out)).is_complete
    assert asked == []


def test_a_second_call_runs_what_is_missing(blobs, out, first):
    cells = sorted((out / "cells").glob("*.json"))
    lost = json.loads(cells[1].read_text())
    cells[1].write_text(cells[1].read_text()[:100])  # half a file, as another program might leave
    lines = []
    again = compare(settings(blobs, out), notify=lines.append)
    [run] = [line for line in lines[2:] if "from before" not in line]
    assert f"{lost['method']}, vectors, split {lost['split'] + 1}:" in run
    assert predictions(again) == predictions(first)


def test_more_methods_and_splits_add_runs(blobs, out, asked):
    compare(settings(blobs, out, methods=(*FAST, "linear-svm:C=1"), repeats=3))
    assert sorted(asked) == [
        *(("crc", 2), ("linear-svm", 2)),
        *(("linear-svm:C=1", split) for split in range(3)),
    ]


def test_other_methods_join_those_of_earlier_calls(blobs, out, first, runs_here):
    asked = ("linear-svm:C=1",)
    found = compare(settings(blobs, out, methods=asked, repeats=1))
    assert {(run.identity.method, run.identity.split) for run in found.runs} == {
        *(("linear-svm:C=1", 0), ("crc", 0), ("linear-svm", 0)),
    }, "on the split that was asked for"
    assert len(found.facts.leaderboard) == 3
    earlier = [run for run in found.runs if run.identity.method == "crc"]
    assert earlier[0].assessment.predictions == first.runs[0].assessment.predictions
    assert any(
        "earlier calls in this folder stand beside: crc, linear-svm. --fresh" in note
        for note in found.facts.data.notes
    )
    again = compare(settings(blobs, out, methods=("linear-svm:C=1", "crc"), repeats=1))
    assert len(again.runs) == 3, "none comes twice"
    other = compare(settings(blobs, out, methods=asked, repeats=1, scale=True))
    assert [entry.method for entry in other.facts.leaderboard] == list(asked), "other rows, another comparison"
    fresh = compare(settings(blobs, out, methods=asked, repeats=1, fresh=True))
    assert [entry.method for entry in fresh.facts.leaderboard] == list(asked)


def test_failures_of_what_was_asked_count_alone(blobs, out, first):
    found = compare(settings(blobs, out, methods=("linear-svm:C=3",), repeats=1, run_timeout=0.001))
    assert not found.is_complete
    assert found.facts.best in FAST, "what is there is shown"


def test_a_learning_curve(blobs, out, runs_here):
    lines = []
    found = compare(settings(blobs, out, curve=True), notify=lines.append)
    points = {(one.label, one.share): one for one in found.facts.curve}
    assert set(points) == {(method, share) for method in FAST for share in (0.1, 0.2, 0.5, 1.0)}
    assert [points["crc", share].train for share in (0.1, 0.2, 0.5, 1.0)] == [3, 6, 15, 30]
    assert len(points["crc", 0.1].accuracy.values) == 2
    assert [entry.splits for entry in found.facts.leaderboard] == [2, 2], "parts are no splits"
    assert sum("from before" in line for line in lines) == 4
    assert "5/16  crc, vectors, split 1, 50% of the training items: accuracy" in "\n".join(lines)
    assert "Learning curve" in found.report.read_text()
    lines.clear()
    compare(settings(blobs, out, curve=True), notify=lines.append)
    assert sum("from before" in line for line in lines) == 16
    lines.clear()
    joined = compare(settings(blobs, out, methods=("linear-svm:C=1", "crc")), notify=lines.append)
    assert {(one.label, one.share) for one in joined.facts.curve} == {
        ("linear-svm:C=1", 1.0),
        *((method, share) for method in FAST for share in (0.1, 0.2, 0.5, 1.0)),
    }, "the curves of earlier calls stay"
    assert "4/4  crc" in "\n".join(lines), "and nothing more is fitted for them"
    assert any("stand beside: linear-svm. --fresh" in note for note in joined.facts.data.notes)
    fresh = compare(settings(blobs, out, fresh=True))
    assert not fresh.facts.curve


def test_the_same_items_in_two_splits_are_known_again(blobs, first):
    """Halves of 60 rows: items that are tested in both splits are no others."""
    mine = [run for run in first.runs if run.identity.method == first.facts.best]
    right = [np.equal(run.assessment.truth, run.assessment.predictions) for run in mine]
    units = [split.test for split in make_splits(open_dataset(blobs), "half", repeats=2)]
    found = first.facts.leaderboard[0].measures["accuracy"].interval
    assert found == pytest.approx(share_interval(right, 30, units=units), abs=1e-12)
    assert found != pytest.approx(share_interval(right, 30), abs=1e-3)


def test_fresh_forgets(blobs, out, asked):
    compare(settings(blobs, out, fresh=True, methods=("crc",)))
    assert asked == [("crc", 0), ("crc", 1)]
    assert list((out / "cells").glob("*.json")) == []


@pytest.mark.parametrize("change", [{"scale": True}, {"threads": 2}, {"seed": 5}, {"protocol": "5-per-class"}])
def test_what_changes_results_changes_runs(blobs, out, asked, change):
    compare(settings(blobs, out, methods=("crc",), **{"repeats": 1, **change}))
    assert asked == [("crc", 0)]


def test_changed_data_is_other_data(blobs, out, asked, tmp_path):
    with np.load(blobs) as old:
        X, y = old["X"].copy(), old["y"]
    X[0, 0] += 1
    np.savez(tmp_path / "blobs.npz", X=X, y=y)
    compare(settings(tmp_path / "blobs.npz", out, methods=("crc",), repeats=1))
    assert asked == [("crc", 0)]


@pytest.mark.alone
def test_a_killed_run_costs_one_run(blobs, out, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[1]))  # for the processes
    strange = partial(processes.run_task, program="compare.strange_runs")
    monkeypatch.setattr("nearboost.compare.comparison.run_task", strange)
    strange_runs.register(table := dict(METHODS))
    monkeypatch.setattr("nearboost.catalogue.methods.METHODS", table)
    lines = []
    methods = ("crc", "strange:does=kill", "linear-svm:C=2")
    found = compare(settings(blobs, out, methods=methods, repeats=1), notify=lines.append)
    assert [run.as_result()["status"] for run in found.runs[:3]] == ["done", "failed", "done"]
    assert not found.is_complete
    assert found.facts.failed == [
        Failure("strange:does=kill", "vectors", "Killed (SIGKILL), as the system does when memory runs out.", 1)
    ]
    assert "Killed (SIGKILL)" in found.report.read_text()
    assert lines[:2] == [
        f"Reading {blobs}.",
        "blobs: 60 vectors of 3 classes; protocol half, 1 split, 3 methods.",
    ]
    assert "from before" in lines[2]
    assert "failed. Killed" in lines[3]
    assert found.facts.leaderboard


def test_all_runs_failed(blobs, tmp_path):
    found = compare(settings(blobs, tmp_path / "out", methods=("linear-svm",), repeats=1, run_timeout=0.001))
    assert found.facts.best is None
    assert found.facts.leaderboard == []
    assert "0.001 seconds" in found.report.read_text()


def test_broken_images_are_skipped_and_told(tmp_path, runs_here):
    data = write_stripes(tmp_path / "böse bilder", classes=("<b>a", "b & c"))
    (data / "b & c" / "broken <i>.png").write_bytes(b"no image")
    found = compare(settings(data, tmp_path / "out", features=("pixels", "gist"), repeats=1, methods=("crc",)))
    assert list(found.skipped) == ["b & c/broken <i>.png"]
    assert not found.is_complete
    assert [run.identity.features for run in found.runs] == ["pixels", "gist"]
    assert len({(run.costs.train, run.costs.queries) for run in found.runs}) == 1
    assert found.facts.mistakes == [] or found.facts.mistakes[0].thumbnail.startswith("data:image/jpeg")
    page = found.report.read_text()
    assert "<b>a" not in page
    assert "&lt;b&gt;a" in page


def test_learned_features_see_training_images_only(tmp_path, asked):
    from PIL import Image

    data = write_stripes(tmp_path / "stripes", classes="ABC", per_class=6)  # the classes of the answers
    options = {"features": ("bag",), "repeats": 1, "methods": ("crc",)}
    found = compare(settings(data, tmp_path / "first", **options))
    table = dict(np.load(next((tmp_path / "first" / "features").glob("split-*.npz"))))
    tested = data / str(table["test_names"][0])
    Image.fromarray(np.random.default_rng(9).integers(0, 255, (48, 48), dtype=np.uint8)).save(tested)
    other = compare(settings(data, tmp_path / "second", **options))
    assert found.runs[0].identity.rows == other.runs[0].identity.rows  # the fitted steps are the same
    assert found.runs[0].identity.content != other.runs[0].identity.content


def test_several_labels(tmp_path, runs_here):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)).astype(np.float32)
    labels = (X[:, :3] + 0.3 * rng.normal(size=(60, 3)) > 0).astype(int)
    np.savez(tmp_path / "tags.npz", X=X, y=labels)
    found = compare(settings(tmp_path / "tags.npz", tmp_path / "out", methods=("sgd", "crc"), repeats=1))
    assert [run.as_result()["status"] for run in found.runs] == ["done", "failed"]
    assert found.runs[1].reason == "CRC takes one label for each item, not several."
    assert found.facts.leaderboard[0].measures["average_precision"].mean > 0.8
    assert "Average precision" in found.report.read_text()


def test_slow_methods_are_announced_with_a_time(tmp_path, runs_here):
    lines = []
    data = write_blobs(tmp_path / "blobs.npz", per_class=120)
    compare(settings(data, tmp_path / "out", methods=("adaboost:n_estimators=5",), repeats=1), notify=lines.append)
    title = "AdaBoost, n_estimators = 5 on vectors"
    assert lines[2:4] == [
        f"Trying {title} on a few rows to estimate the time.",
        f"{title}: less than a minute.",
    ]


@pytest.mark.parametrize("fixed", [0.0, 5.0])
@pytest.mark.parametrize("power", [1.0, 2.0])
def test_the_time_told_is_about_the_time_it_takes(monkeypatch, fixed, power):
    """What a fit or a call costs by itself does not grow: taken for growing, it was told eight times too long."""

    def seconds(n_train, n_test):
        fit = fixed + 20 * (n_train / 900) ** power
        return Costs(fit, fixed / 20 + 0.001 * n_test * n_train / 900, n_test, n_train, None)

    monkeypatch.setattr(estimates, "_try", lambda task, n_train, n_test: seconds(n_train, n_test))
    split = SimpleNamespace(n_train=900, n_test=900)
    told = estimates.estimate_run(SimpleNamespace(split=split, task=None))
    real = seconds(900, 900)
    assert 0.6 < told / (real.fit_seconds + 2 * real.query_seconds) < 1.6


def as_pixels(address):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2]))).convert("L"))


def test_vectors_that_are_images_have_pictures(tmp_path, runs_here):
    """The upper half is bright in one class and the lower in the other, as the pictures of the report show."""
    rng = np.random.default_rng(0)
    y = np.repeat(["down", "up"], 20)
    X = rng.uniform(0, 4, size=(40, 8, 6))
    X[:20, 4:] += 12
    X[20:, :4] += 12
    y[3] = "up"  # one mistake to show
    np.savez(tmp_path / "shaped.npz", X=X.reshape(40, -1), y=y, shape=(8, 6))
    np.savez(tmp_path / "stacked.npz", X=X, y=y)
    np.savez(tmp_path / "flat.npz", X=X.reshape(40, -1), y=y)
    said = {"shaped": (), "stacked": (), "flat": (8, 6)}
    for name, shape in said.items():
        changes = {"methods": ("unn:n_neighbors=3",), "protocol": "2-fold", "repeats": 1, "image_shape": shape}
        found = compare(settings(tmp_path / f"{name}.npz", tmp_path / name, **changes))
        [mistake] = [one for one in found.facts.mistakes if one.name == "row 3"]
        picture = as_pixels(mistake.thumbnail)
        assert picture.shape == (64, 48), "each pixel a square"
        assert picture[:32].mean() < 80
        assert picture[32:].mean() > 150
    without = compare(settings(tmp_path / "flat.npz", tmp_path / "out", methods=FAST, repeats=1))
    assert {one.thumbnail for one in without.facts.mistakes} <= {None}


def test_a_shape_that_does_not_fit(blobs, tmp_path):
    for shape in ((2, 3), (5,), (1, 5, 2)):
        with pytest.raises(DataError, match="has rows of 5 numbers, which are no images of"):
            compare(settings(blobs, tmp_path / "out", image_shape=shape))
    with pytest.raises(DataError, match="has images, whose shape is known"):
        compare(settings(write_stripes(tmp_path / "pictures"), tmp_path / "out", image_shape=(48, 48)))


def test_mistakes_are_told(blobs, tmp_path):
    with pytest.raises(DataError, match="vectors, which need no features"):
        compare(settings(blobs, tmp_path / "out", features=("gist",)))
    with pytest.raises(ValueError, match="There is no method 'forest'"):
        compare(settings(blobs, tmp_path / "out", methods=("forest",)))
    with pytest.raises(DataError, match="needs 101 of each class"):
        compare(settings(blobs, tmp_path / "out", protocol="100-per-class"))
    assert not (tmp_path / "out").exists()


def test_one_class_is_no_comparison(blobs, tmp_path):
    with pytest.raises(DataError, match=r"^--classes names 'B' alone; name at least two of A, B, C\.$"):
        compare(settings(blobs, tmp_path / "out", classes=("B",)))
    with pytest.raises(DataError, match=r"alone; name at least two of A, B, C\.$"):
        compare(settings(blobs, tmp_path / "out", classes=("B", "B")))
    assert not (tmp_path / "out").exists()


def test_folders_of_others_are_left_alone(blobs, tmp_path):
    (tmp_path / "features").mkdir()
    (tmp_path / "features" / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds other files"):
        compare(settings(blobs, tmp_path, fresh=True))
    assert (tmp_path / "features" / "mine.txt").read_text() == "mine"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "results.csv").write_text("mine")
    with pytest.raises(UsageError, match="was not written by nearboost"):
        compare(settings(blobs, tmp_path / "other"))
    assert (tmp_path / "other" / "results.csv").read_text() == "mine"
    with pytest.raises(UsageError, match="is a file, where a folder is needed"):
        compare(settings(blobs, blobs))
    data = write_stripes(tmp_path / "pictures")
    lines = []
    with pytest.raises(UsageError, match="lies within the data"):
        compare(settings(data, data / "report"), notify=lines.append)
    assert lines == []


def test_a_place_is_refused_before_anything_is_read(tmp_path, monkeypatch):
    """Also the one that is named after the data."""
    data = write_stripes(tmp_path / "pictures")
    monkeypatch.chdir(data)
    lines = []
    with pytest.raises(UsageError, match="compare-pictures lies within the data; give one outside with --out"):
        compare(settings(data, None), notify=lines.append)
    assert lines == []


def test_one_comparison_at_a_time_in_a_folder(blobs, out):
    fcntl = pytest.importorskip("fcntl", reason="locks are those of POSIX")
    with open(out / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(OSError, match="Another process is writing to"):
            compare(settings(blobs, out, fresh=True))
    assert list((out / "cells").glob("*.json"))


def test_settings_that_are_no_numbers(blobs, tmp_path):
    for value in ("NaN", "-Infinity", "1e999"):
        with pytest.raises(ValueError, match=f"has the value {value} for n_prototypes; give a finite number"):
            compare(settings(blobs, tmp_path / "out", methods=("crc", f"n3:n_prototypes={value}")))


def test_the_folder_is_named_after_the_data_and_notes_are_told(tmp_path, monkeypatch, runs_here):
    """Classes as in a published set make it that set by name, but two such folders must not share a report."""
    scenes = ("Coast", "Forest", "Highway", "InsideCity", "Mountain", "OpenCountry", "Street", "TallBuilding")
    data = write_stripes(tmp_path / "mine", scenes, per_class=2)
    monkeypatch.chdir(tmp_path)
    lines = []
    found = compare(settings(data, None, methods=("crc",), features=("pixels",), repeats=1), notify=lines.append)
    assert found.folder.name == "compare-mine"
    assert any(
        line.startswith("Note: These files hold 16 items of 8 classes; published were 2,688") for line in lines
    )
