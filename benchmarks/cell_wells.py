"""The control wells of BBBC013 as rows of cells, divided into folds by well."""

import csv
from inspect import signature
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import data_folder
from nearboost.catalogue.methods import find_method
from nearboost.cells.creating import create_project
from nearboost.cells.describing import CellRows, describe_project
from nearboost.cells.features import PRESETS
from nearboost.cells.project import Project
from nearboost.cells.responses import z_prime
from nearboost.cells.segmenting import segment_project
from nearboost.cells.settings import SegmentationSettings

N_FOLDS = 4


class Wells(NamedTuple):
    """Cells of the control wells: rows by preset, labels (1 for positive), wells, folds by well."""

    project: Project
    cells: CellRows
    inside: NDArray[np.intp]
    labels: NDArray[np.int64]
    wells: NDArray[np.str_]
    folds: NDArray[np.int64]


def controls() -> tuple[dict[str, str], dict[str, float]]:
    """What the table of the wells says: 1, 0 or 0.5 for controls and others, and doses."""
    with open(data_folder() / "translocation" / "doses_and_controls.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    return {line["Well"]: line["PosNegCtrls"] for line in lines}, {
        line["Well"]: float(line["Dose"]) for line in lines
    }


def segmented(folder: Path) -> Project:
    """All wells of BBBC013, with the settings that nothing was told."""
    project = create_project(folder, [data_folder() / "translocation"]).project
    segment_project(project, SegmentationSettings())
    return project


def control_wells(project: Project, preset: str = "localisation") -> Wells:
    """Cells of positive and negative controls; each fold has two wells of each kind."""
    cells = describe_project(project, PRESETS[preset]).rows
    kinds, _ = controls()
    names = {one.number: one.place.well for one in project.fields}
    wells = np.array([names[number] for number in cells.images.tolist()])
    kind = np.array([kinds[well] for well in wells])
    inside = np.flatnonzero(kind != "0.5")
    labels, wells = (kind[inside] == "1").astype(np.int64), wells[inside]
    fold_of = {
        well: place % N_FOLDS for value in (0, 1) for place, well in enumerate(sorted(set(wells[labels == value])))
    }
    return Wells(project, cells, inside, labels, wells, np.array([fold_of[well] for well in wells]))


def crossed(
    rows: NDArray[Any], labels: NDArray[np.int64], folds: NDArray[np.int64], groups: NDArray[Any], name: str
) -> tuple[NDArray[np.int64], float]:
    """The answers on each fold of a model of the others, and the processor seconds of a fit."""
    said, seconds = np.zeros(len(labels), np.int64), 0.0
    for fold in range(N_FOLDS):
        train = folds != fold
        model = find_method(name).make(0, 1)
        started = process_time()
        fit_with_groups(model, rows[train], labels[train], groups[train])
        seconds += process_time() - started
        said[~train] = model.predict(rows[~train])
    return said, seconds / N_FOLDS


def fit_with_groups(model: Any, rows: NDArray[Any], labels: NDArray[Any], groups: NDArray[Any]) -> Any:
    """Fit with wells as groups, where the method takes them."""
    return model.fit(rows, labels, **({"groups": groups} if "groups" in signature(model.fit).parameters else {}))


def separation(values: NDArray[Any], found: Wells) -> float | None:
    """Z′ of the wells' means."""
    means = {
        value: [values[found.wells == well].mean() for well in sorted(set(found.wells[found.labels == value]))]
        for value in (0, 1)
    }
    return z_prime(means[1], means[0]).value
