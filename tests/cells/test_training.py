"""Labels, models of cells, tables: what is learned from, what is refused, what is counted."""

import csv
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from nearboost.cells.counting import share_interval
from nearboost.cells.features import PRESETS
from nearboost.cells.labels import Label, read_label_file, write_label_file
from nearboost.cells.pipeline import read_pipeline
from nearboost.cells.predicting import check_alike, open_cell_model
from nearboost.cells.project import open_project
from nearboost.cells.project_labels import import_labels, read_labels
from nearboost.cells.segmenting import segment_project
from nearboost.cells.settings import SegmentationSettings
from nearboost.cells.tables import count_project, predict_project, write_cells
from nearboost.cells.training import keys_of, train_cells
from nearboost.datasets import DataError
from nearboost.models import load, save


def lines(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def trained_once(segmented_once, plate, tmp_path_factory):
    folder = shutil.copytree(segmented_once, tmp_path_factory.mktemp("trained") / "project")
    project = open_project(folder)
    every = read_label_file(project, plate / "truth.csv").labels
    write_label_file(every[::3], folder / "labels.csv")  # as an older version left it
    train_cells(project)
    return folder


@pytest.fixture
def trained(trained_once, tmp_path):
    return shutil.copytree(trained_once, tmp_path / "trained")


def truth_of(project, plate):
    return {(one.image, one.object): one.name for one in read_label_file(project, plate / "truth.csv").labels}


def test_points_become_cells_and_come_back(segmented, plate):
    project = open_project(segmented)
    found = import_labels(project, plate / "truth.csv")
    assert found.skipped == {}
    assert len(found.labels) == len(lines(plate / "truth.csv"))
    assert list(lines(segmented / "labels.csv")[0]) == [
        *("ImageNumber", "ObjectNumber", "x", "y", "class", "who", "when", "excluded")
    ]
    again = read_labels(project).labels
    assert [(one.image, one.object, one.x, one.y, one.name) for one in again] == [
        (one.image, one.object, one.x, one.y, one.name) for one in found.labels
    ]
    assert read_label_file(project, segmented / "labels.csv").labels == again


def test_lines_that_fit_no_cell_are_told(segmented, tmp_path):
    project = open_project(segmented)
    (tmp_path / "odd.csv").write_text(
        "ImageNumber,ObjectNumber,x,y,class,excluded\n1,1,,,a,\n1,9999,,,a,\n99,1,,,a,\n1,,-5,3,a,\n1,2,,,=cmd(),maybe\n"
    )
    found = import_labels(project, tmp_path / "odd.csv")
    assert [one.object for one in found.labels] == [1]
    assert list(found.skipped) == [f"odd.csv line {line}" for line in (3, 4, 5, 6)]
    assert "no cell numbered 9999" in found.skipped["odd.csv line 3"]
    assert "excluded 'maybe'" in found.skipped["odd.csv line 6"]
    (tmp_path / "none.csv").write_text("ImageNumber,ObjectNumber,class\n99,1,a\n")
    with pytest.raises(DataError, match="No line"):
        import_labels(project, tmp_path / "none.csv")


def test_labels_follow_their_cells_into_other_masks(segmented, plate):
    """Numbers change where border cells are dropped; points do not."""
    project = open_project(segmented)
    import_labels(project, plate / "truth.csv")
    before = {(one.x, one.y, one.image): one.name for one in read_labels(project).labels}
    segment_project(project, SegmentationSettings(20.0, border="drop"))
    after = read_labels(project)
    assert 0 < len(after.labels) < len(before)
    assert all(before[one.x, one.y, one.image] == one.name for one in after.labels)
    assert len(after.skipped) == len(before) - len(after.labels)


def test_formulas_stay_texts(segmented):
    project = open_project(segmented)
    write_label_file([Label(1, 1, 30, 30, "=1+1", "@me")], segmented / "labels.csv")
    assert "'=1+1,'@me" in (segmented / "labels.csv").read_text()
    found = read_label_file(project, segmented / "labels.csv")
    assert [one.name for one in found.labels] in (["=1+1"], [])


def test_training_and_prediction(trained, plate):
    project = open_project(trained)
    model = open_cell_model(trained / "models" / "cells.nb")
    assert model.classes == ("diffuse", "granular")
    assert model.facts["folds"] == "by group"
    assert model.cells["features"]["bins"] == 32
    assert model.origins.picture(0)[:2] == b"\xff\xd8"  # a JPEG of the cell
    assert model.origins.names[0].startswith("image ")
    predicted = predict_project(project)
    truth = truth_of(project, plate)
    said = dict(zip(keys_of(predicted.rows), predicted.prediction.labels.tolist(), strict=True))
    assert np.mean([said[key] == name for key, name in truth.items()]) > 0.9
    files = write_cells(project, predicted.rows, predicted)
    first = lines(files[0])[0]
    assert first["Class"] in model.classes
    assert float(first["Probability_diffuse"]) + float(first["Probability_granular"]) == pytest.approx(1)
    assert {"ImageNumber", "ObjectNumber", "Metadata_Well", "Metadata_Dose", "Location_Center_X"} <= set(first)


def test_the_same_bytes(trained, trained_once):
    """Training, tables and settings depend on nothing but what they are made of."""
    for folder in (trained, trained_once):
        project = open_project(folder)
        predicted = predict_project(project, n_jobs=1 if folder is trained else 2)
        write_cells(project, predicted.rows, predicted)
        count_project(project)
    train_cells(open_project(trained), n_jobs=1)
    predict_project(open_project(trained))
    for name in ("models/cells.nb", "tables/cells.csv", "tables/counts.csv", "tables/wells.csv", "pipeline.json"):
        assert (trained / name).read_bytes() == (trained_once / name).read_bytes(), name


def test_annotations_count_before_predictions(trained):
    project = open_project(trained)
    written = count_project(project)
    labels = read_labels(project).labels
    wells = [row for row in lines(trained / "tables" / "counts.csv") if row["level"] == "plate"]
    assert sum(int(row["annotated"]) for row in wells) == len(labels)
    wrong = [replace(one, name="other") for one in labels[:4]] + [replace(labels[4], excluded=True)]
    write_label_file(wrong, trained / "wrong.csv")
    import_labels(project, trained / "wrong.csv")
    again = count_project(project)
    plate_rows = [i for i, level in enumerate(again.counts["level"]) if level == "plate"]
    counted = {again.counts["class"][i]: again.counts["count"][i] for i in plate_rows}
    assert counted["other"] == 4
    total = {again.counts["total"][i] for i in plate_rows}
    before = {
        n for n, level in zip(written.counts["total"], written.counts["level"], strict=True) if level == "plate"
    }
    assert total == {before.pop() - 1}


def test_wells_and_doses(trained):
    count_project(open_project(trained))
    wells = lines(trained / "tables" / "wells.csv")
    assert len(wells) == 16
    assert {"dose", "control", "cells", "Share_granular", "Mean_Flag_Unstained"} <= set(wells[0])
    shares = {row["control"]: float(row["Share_granular"]) for row in wells if row["control"]}
    assert shares["negative"] < 0.3
    assert shares["positive"] > 0.7
    responses = {row["readout"]: row for row in lines(trained / "tables" / "responses.csv")}
    granular = responses["Share_granular"]
    assert float(granular["z_prime"]) < 1
    assert granular["ec50"] or granular["ec50_note"]


def test_other_settings_are_refused_with_both_values(trained):
    project, file = open_project(trained), trained / "models" / "cells.nb"
    model = open_cell_model(file)
    check_alike(model, project, file)
    for section, name, value, match in (
        ("features", "bins", 16, "features bins = 16, .* bins = 32"),
        ("segmentation", "border", "drop", "border = drop, .* border = keep"),
        ("channels", "roles", {"nuclei": "9"}, "roles = .*9.*, .* roles = "),
    ):
        other = replace(model, cells=model.cells | {section: model.cells[section] | {name: value}})
        with pytest.raises(DataError, match=match):
            check_alike(other, project, file)
    sized = replace(project, reading=replace(project.reading, pixel_size=0.65))
    with pytest.raises(DataError, match=r"pixels of 0\.325 µm and .* pixels of 0\.65 µm"):
        check_alike(replace(model, cells=model.cells | {"pixel_size": 0.325}), sized, file)
    save(replace(model, cells=None), trained / "plain.nb")
    with pytest.raises(DataError, match="no model of cells"):
        open_cell_model(trained / "plain.nb")


def test_a_model_file_keeps_its_settings(trained):
    model = load(trained / "models" / "cells.nb")
    save(model, trained / "copy.nb")
    assert load(trained / "copy.nb").cells == model.cells


def test_one_well_a_class_is_noted(segmented, plate):
    project = open_project(segmented)
    every = read_label_file(project, plate / "truth.csv").labels
    wells = {one.number: one.place.well for one in project.fields}
    few = [one for one in every if (wells[one.image], one.name) in (("A01", "diffuse"), ("A08", "granular"))]
    write_label_file(few, segmented / "labels.csv")
    found = train_cells(project, method="n3:class_weight=balanced", features=PRESETS["thesis-thyroid"])
    assert len(found.notes) == 2
    assert "demo A01" in found.notes[0]
    assert read_pipeline(segmented)["training"]["method"] == "n3:class_weight=balanced"


def test_too_few_labels(segmented):
    with pytest.raises(DataError, match="0 labels"):
        train_cells(open_project(segmented))
    with pytest.raises(DataError, match="no model"):
        predict_project(open_project(segmented))


def test_intervals_of_shares():
    from scipy.stats import binomtest

    one_well = share_interval(np.arange(10) < 3, np.repeat("A", 10))
    wilson = binomtest(3, 10).proportion_ci(method="wilson")
    assert one_well == pytest.approx((wilson.low, wilson.high), abs=1e-9)
    assert share_interval(np.empty(0, bool), np.empty(0, str)) == (None, None)
    # wells of equal size: the interval of their mean
    shares = np.array([0.2, 0.4, 0.5, 0.3])
    cells = np.concatenate([np.arange(10) < 10 * share for share in shares])
    low, high = share_interval(cells, np.repeat(list("ABCD"), 10))
    half = 3.182446 * shares.std(ddof=1) / 2
    assert (low, high) == pytest.approx((shares.mean() - half, shares.mean() + half), abs=1e-5)
    assert all(0 < edge < 1 for edge in share_interval(np.ones(20, bool), np.repeat(["A", "B"], 10))[:1])


def test_h5ad(trained):
    pytest.importorskip("h5py")
    project = open_project(trained)
    predicted = predict_project(project)
    file = write_cells(project, predicted.rows, predicted, h5ad=True)[-1]
    import h5py

    with h5py.File(file) as stored:
        assert stored["X"].shape == predicted.rows.features.shape
        assert stored["obs"].attrs["_index"] == "_index"
        assert next(iter(stored["obs"].attrs["column-order"])) == "ImageNumber"
        assert stored["obs/Class"][0].decode() in predicted.model.classes


def test_pipeline_has_hashes(trained):
    content = json.loads((trained / "pipeline.json").read_text())
    assert len(content["training"]["labels"]) == len(content["training"]["model"]) == 64
    assert content["versions"]["nearboost"]
