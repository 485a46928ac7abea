"""The tables that were written of a project, whether they still hold, and what they say."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nearboost.base.errors import UsageError
from nearboost.cells.annotations import AnnotationStore
from nearboost.cells.counting import unknown_to_model
from nearboost.cells.files import read_table
from nearboost.cells.kept_models import open_kept
from nearboost.cells.labels import format_labels
from nearboost.cells.layout import layout_hash
from nearboost.cells.measures import ratio_name
from nearboost.cells.pipeline import read_pipeline
from nearboost.cells.project import LABELS, LAYOUT, Project
from nearboost.cells.project_labels import labels_digest, present_labels
from nearboost.cells.responses import DoseFit
from nearboost.cells.saying import active_model
from nearboost.cells.tables import COUNTING, TABLES, count_project, predict_project, write_cells
from nearboost.cells.training import file_hash
from nearboost.cells.trust import check_inside
from nearboost.datasets import DataError

CURVE_POINTS = 80
CHANGED = "The tables are not those that were written; count again to replace them."
TEXTS = ("level", "plate", "well", "class", "compound", "readout", "z_prime_note", "ec50_note", "control")
DOWNLOADS = (*(f"{name}.csv" for name in TABLES), "cells.csv", "cells.parquet")
Line = dict[str, Any]


@dataclass(frozen=True)
class Curve:
    """A readout of the wells, with what the controls and the doses say of it.

    Attributes
    ----------
    plate, compound, readout, title : str
        What it is of, and its readout in words.
    z_prime : float or None
        Of the controls.
    z_prime_note : str
        Why there is none.
    ec50, low, high : float or None
        Dose of half of the effect, and its interval.
    note : str
        Why there is none, or what to know of it.
    doses, values : list of float
        Wells.
    curve : list of tuple of float
        Dose and answer of the fitted curve; empty without.
    """

    plate: str
    compound: str
    readout: str
    title: str
    z_prime: float | None
    z_prime_note: str
    ec50: float | None
    low: float | None
    high: float | None
    note: str
    doses: list[float]
    values: list[float]
    curve: list[tuple[float, float]]


@dataclass(frozen=True)
class Results:
    """What was counted.

    Attributes
    ----------
    stale : list of str
        Why the tables do not hold any more; empty where they do.
    counts : list of dict
        Lines of ``counts.csv``: numbers are numbers, and None where there is none.
    curves : list of Curve
        Lines of ``responses.csv`` with the wells that they are of.
    files : list of str
        What can be downloaded.
    """

    stale: list[str]
    counts: list[Line] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


def read_results(project: Project, store: AnnotationStore) -> Results:
    """The tables as they were written last.

    Parameters
    ----------
    project : Project
        The project.
    store : AnnotationStore
        Its annotations.

    Returns
    -------
    Results
        Empty where nothing was counted yet.
    """
    files = [name for name in DOWNLOADS if _table(project, name).exists()]
    if not all(f"{name}.csv" in files for name in TABLES):
        return Results([], files=files)
    try:
        counts, wells, responses = (_lines(_table(project, f"{name}.csv")) for name in TABLES)
        curves = [_curve(line, wells) for line in responses]
        _check_counts(counts)
    except (LookupError, TypeError, ValueError):  # a spreadsheet has written them, or a disk has lost them
        return Results([CHANGED], files=files)
    return Results(stale_reasons(project, store), counts, curves, files)


def stale_reasons(project: Project, store: AnnotationStore) -> list[str]:
    """Why the tables of counts do not hold any more.

    Parameters
    ----------
    project : Project
        The project.
    store : AnnotationStore
        Its annotations.

    Returns
    -------
    list of str
        Sentences; none where counting again would give the same, by the classes that there are.
    """
    pipeline = read_pipeline(project.folder)
    known, prediction = pipeline.get(COUNTING), pipeline.get("prediction")
    if known is None or prediction is None:
        return ["Settings, masks or the model have changed since the cells were counted."]
    reasons = []
    if prediction.get("labels") != labels_digest(project, store):
        reasons.append("Labels have changed since the cells were counted.")
    model = active_model(project)
    if model is None or file_hash(model) != prediction.get("sha256"):
        reasons.append("The model has changed since the cells were counted.")
    else:
        reasons += _classes_apart(project, store, model)
    if known.get("layout") != layout_hash(project.folder / LAYOUT):
        reasons.append("The layout has changed since the cells were counted.")
    written = {name: file_hash(_table(project, f"{name}.csv")) for name in TABLES}
    if known.get("tables") != written:
        reasons.append(CHANGED)
    return reasons


def _classes_apart(project: Project, store: AnnotationStore, file: Path) -> list[str]:
    """Classes that labels and the model do not have in common, since some were renamed, merged or deleted."""
    try:
        model = open_kept(file, file_hash(file))[0]
    except DataError as error:
        return [str(error)]
    labelled = {one.name for one in present_labels(project, store).labels if one.name and not one.excluded}
    present = {one.name for one in store.classes()}
    gone = [name for name in model.classes if name not in present] if labelled else []
    unknown = unknown_to_model(model.classes, labelled)
    if unknown or not gone:
        return [unknown[0].upper() + unknown[1:]] if unknown else []
    return [f"The model says {', '.join(gone)}, which is no class any more; train anew."]


def count_again(project: Project) -> str:
    """Write all tables anew, as ``predict`` and ``count`` do.

    Parameters
    ----------
    project : Project
        A project with a model.

    Returns
    -------
    str
        A sentence about what was written.
    """
    predicted = predict_project(project)
    write_cells(project, predicted.rows, predicted)  # first: where counts hold, this table does as well
    count_project(project, predicted)
    return f"{len(predicted.rows):,} cells are counted; the tables are in {project.folder / 'tables'}."


def download(project: Project, store: AnnotationStore, name: str) -> bytes:
    """A table as it is on the disk, byte by byte; or the labels as they are now.

    Parameters
    ----------
    project : Project
        The project.
    store : AnnotationStore
        Its annotations.
    name : str
        One of `Results.files`, or labels.csv.

    Returns
    -------
    bytes
        The file.
    """
    if name == LABELS:
        return format_labels(present_labels(project, store).labels).encode()
    if name not in DOWNLOADS or not _table(project, name).exists():
        raise UsageError(f"There is no table {name!r}; count the cells first.")
    check_inside(project.folder, _table(project, name))
    return _table(project, name).read_bytes()


def title_of(readout: str) -> str:
    """A readout in words.

    >>> title_of("Share_round"), title_of("Mean_Math_RatioNucleiCytoplasm_stain"), title_of("other")
    ('share of round', 'stain, nucleus over cytoplasm', 'other')
    """
    kind, _, name = readout.partition("_")
    if kind == "Share":
        return f"share of {name}"
    ratio = name.removeprefix(ratio_name(""))
    return f"{ratio}, nucleus over cytoplasm" if ratio != name else readout


def _table(project: Project, name: str) -> Path:
    return project.folder / "tables" / name


def _lines(path: Path) -> list[Line]:
    columns = read_table(path).columns
    lines = (dict(zip(columns, line, strict=True)) for line in zip(*columns.values(), strict=True))
    return [{name: _value(name, text) for name, text in line.items()} for line in lines]


def _check_counts(lines: Sequence[Line]) -> None:
    """What pages write as numbers is a number."""
    for line in lines:
        known = all(isinstance(line[name], float) for name in ("count", "total", "annotated"))
        if not known or not all(isinstance(line[name], float | None) for name in ("share", "low", "high")):
            raise ValueError


def _value(name: str, text: str) -> Any:
    if name in TEXTS:
        return text
    try:
        return None if text == "" else float(text)
    except ValueError:
        return text


def _curve(line: Line, wells: Sequence[Line]) -> Curve:
    """A line of the responses, and the wells with doses that its curve is of."""
    fit = DoseFit(
        ec50=line["ec50"],
        ec50_low=line["ec50_low"],
        ec50_high=line["ec50_high"],
        low=line["low"],
        high=line["high"],
        slope=line["slope"],
        note=line["ec50_note"],
    )
    mine = [
        (well["dose"], well[line["readout"].lower()])
        for well in wells
        if well["plate"] == line["plate"]
        and well.get("compound", "") == line["compound"]
        and not well.get("control")
        and well.get("dose") is not None
        and well[line["readout"].lower()] is not None
    ]
    curve: list[tuple[float, float]] = []
    tested = sorted({dose for dose, _ in mine if dose > 0})
    if fit.ec50 is not None and tested:
        doses = np.geomspace(tested[0], tested[-1], CURVE_POINTS)
        curve = list(zip(doses.tolist(), fit.at(doses).tolist(), strict=True))
    return Curve(
        line["plate"],
        line["compound"],
        line["readout"],
        title_of(line["readout"]),
        line["z_prime"],
        line["z_prime_note"],
        fit.ec50,
        fit.ec50_low,
        fit.ec50_high,
        fit.note,
        [dose for dose, _ in mine],
        [value for _, value in mine],
        curve,
    )
