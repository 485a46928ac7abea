"""Fifty labels of each class on real wells, as people would give them, and the model that pages train of them."""

import csv
import shutil

import numpy as np
import pytest

from cells.pictures import real
from nearboost.cells.creating import create_project
from nearboost.cells.describing import describe_project
from nearboost.cells.kept_models import train_next
from nearboost.cells.project import open_project
from nearboost.cells.project_labels import import_labels
from nearboost.cells.saying import said_of
from nearboost.cells.segmenting import segment_project
from nearboost.cells.settings import SegmentationSettings
from nearboost.cells.training import keys_of

N_FOLDS, N_DRAWS, OF_EACH = 4, 10, 50


@pytest.mark.slow
def test_a_hundred_labels_tell_the_other_control_wells_apart(tmp_path):
    """Ten draws: labels from three of four folds of the control wells, accuracy of classes on the others."""
    folder = real("translocation")
    project = create_project(tmp_path / "once", [folder]).project
    segment_project(project, SegmentationSettings())
    rows = describe_project(project).rows
    with open(folder / "doses_and_controls.csv", newline="", encoding="utf-8") as file:
        kinds = {line["Well"]: line["PosNegCtrls"] for line in csv.DictReader(file)}
    wells = {one.number: one.place.well for one in project.fields}
    names = {"1": "nuclear", "0": "cytoplasmic"}
    fold = {
        well: place % N_FOLDS
        for kind in names
        for place, well in enumerate(sorted(well for well in set(wells.values()) if kinds[well] == kind))
    }
    cells = {key: names[kinds[wells[key[0]]]] for key in keys_of(rows) if wells[key[0]] in fold}
    means = []
    for draw in range(N_DRAWS):
        mine = open_project(shutil.copytree(tmp_path / "once", tmp_path / f"draw {draw}"))
        random = np.random.default_rng(draw)
        lines = ["ImageNumber,ObjectNumber,class"]
        for name in names.values():
            known = [key for key, kind in cells.items() if kind == name and fold[wells[key[0]]] != draw % N_FOLDS]
            chosen = random.choice(len(known), OF_EACH, replace=False)
            lines += [f"{known[i][0]},{known[i][1]},{name}" for i in chosen]
        (mine.folder / "given.csv").write_text("\n".join(lines))
        import_labels(mine, mine.folder / "given.csv")
        train_next(mine)
        said = said_of(mine)
        rest = [(said.of(*key)[0], kind) for key, kind in cells.items() if fold[wells[key[0]]] == draw % N_FOLDS]
        means.append(np.mean([np.mean([a == b for a, b in rest if b == name]) for name in names.values()]))
        shutil.rmtree(mine.folder)
    assert np.mean(means) >= 0.93, means
