"""The tables of a project: every cell, counts, wells, and what wells say together."""

import shutil
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearboost.base.tables import write_table
from nearboost.cells.counting import Classified, classify, count_cells, units_of, unknown_to_model
from nearboost.cells.creating import layout_notes
from nearboost.cells.describing import CellRows, describe_project
from nearboost.cells.measures import FLAGS, ratio_name
from nearboost.cells.patterns import STAIN
from nearboost.cells.pipeline import note_step
from nearboost.cells.predicting import check_alike, open_cell_model, predict_cells
from nearboost.cells.project import Project
from nearboost.cells.project_labels import digest_of_labels, read_labels
from nearboost.cells.responses import DoseFit, fit_dose, z_prime
from nearboost.cells.saying import active_model
from nearboost.cells.training import file_hash
from nearboost.datasets import DataError
from nearboost.models import Model, Prediction

Columns = dict[str, list[Any]]
COUNTING, TABLES = "counting", ("counts", "wells", "responses")


class Predicted(NamedTuple):
    """The cells of a project with what a model says of them."""

    rows: CellRows
    prediction: Prediction
    found: Classified
    model: Model
    skipped: dict[str, str]


class Written(NamedTuple):
    """Files that were written, what is in them, fields that were left out, and notes."""

    files: list[Path]
    counts: Columns
    responses: Columns
    skipped: dict[str, str]
    notes: list[str]


def predict_project(
    project: Project, model: Path | None = None, *, n_jobs: int | None = None, verbose: int = 0
) -> Predicted:
    """Predict the class of every cell; nothing is trained.

    Parameters
    ----------
    project : Project
        A project that was segmented.
    model : Path or None, default=None
        A file of a model of cells, which is copied into the project; None takes the one of the last call, or the
        one that was trained last.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    verbose : int, default=0
        Shows progress bars on standard error when above 0.

    Returns
    -------
    Predicted
        Classes and probabilities.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from nearboost.cells import SegmentationSettings, create_project, import_labels, segment_project
    >>> from nearboost.cells import predict_project, train_cells, write_demo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plate, screen = Path(folder) / "plate", Path(folder) / "screen"
    ...     _ = write_demo(plate, repeats=1, size=96, n_cells=5)
    ...     project = create_project(screen, [plate / "images"]).project
    ...     _ = segment_project(project, SegmentationSettings())
    ...     _ = import_labels(project, plate / "truth.csv")
    ...     _ = train_cells(project)
    ...     predicted = predict_project(project)
    >>> predicted.prediction.probabilities.shape, len(predicted.rows)
    ((40, 2), 40)
    """
    file = model or active_model(project)
    if file is None:
        raise DataError(
            f"{project.folder} has no model; train one with nearboost cells train, or take another project's with "
            "nearboost cells predict --model FILE."
        )
    loaded = open_cell_model(file)
    rows, skipped = describe_project(project, n_jobs=n_jobs, verbose=verbose)
    check_alike(loaded, project, file)
    kept = _keep_model(project, file)
    prediction = predict_cells(loaded, rows)
    said = read_labels(project)
    labels = {(one.image, one.object): (one.name, one.excluded) for one in said.labels}
    found = classify(rows, prediction.labels.tolist(), labels, loaded.classes)
    settings = {"model": kept.name, "sha256": file_hash(kept), "labels": digest_of_labels(said.labels)}
    note_step(project, "prediction", settings)
    return Predicted(rows, prediction, found, loaded, said.skipped | skipped)


def _keep_model(project: Project, file: Path) -> Path:
    """The model's copy below the project; another one of its name keeps its place."""
    folder = project.folder / "models"
    if file.resolve().parent == folder.resolve():
        return file
    target = folder / file.name
    if target.exists() and file_hash(target) != file_hash(file):
        target = folder / f"{file.stem}-{file_hash(file)[:8]}.nb"
    shutil.copyfile(file, target)
    return target


def cell_columns(project: Project, rows: CellRows, predicted: Predicted | None = None) -> Columns:
    """A line for each cell.

    Parameters
    ----------
    project : Project
        The project.
    rows : CellRows
        All cells.
    predicted : Predicted or None, default=None
        What a model says of them.

    Returns
    -------
    dict
        Columns as CellProfiler names them.
    """
    fields = {one.number: one for one in project.fields}
    places = [fields[number].place for number in rows.images.tolist()]
    columns: Columns = {"ImageNumber": rows.images.tolist(), "ObjectNumber": rows.objects.tolist()}
    for name in ("plate", "well", "site"):
        columns[f"Metadata_{name.capitalize()}"] = [getattr(place, name) for place in places]
    layouts = [project.layout.of(place.plate, place.well) for place in places]
    for name in project.layout.columns:
        columns[f"Metadata_{name.capitalize()}"] = [layout[name] for layout in layouts]
    measured = {name: values for name, values in rows.measures.items() if name not in FLAGS}
    columns |= {name: values.tolist() for name, values in measured.items()}
    if predicted is not None:
        columns |= _class_columns(predicted)
    flags = {name: rows.measures[name].astype(int).tolist() for name in FLAGS}
    return columns | flags


def _class_columns(predicted: Predicted) -> Columns:
    columns: Columns = {"Class": predicted.prediction.labels.tolist()}
    chances = predicted.prediction.probabilities
    if chances is not None:
        for code, name in enumerate(predicted.model.classes):
            columns[f"Probability_{name}"] = chances[:, code].tolist()
    found = predicted.found
    said = [name if known else "" for name, known in zip(found.names.tolist(), found.annotated, strict=True)]
    return columns | {"Annotation": said, "Excluded": found.excluded.astype(int).tolist()}


def write_cells(
    project: Project, rows: CellRows, predicted: Predicted | None = None, *, h5ad: bool = False
) -> list[Path]:
    """Write ``cells.csv``, ``cells.parquet`` where its package is there, and ``cells.h5ad`` if asked for.

    Parameters
    ----------
    project : Project
        The project.
    rows : CellRows
        All cells.
    predicted : Predicted or None, default=None
        What a model says of them.
    h5ad : bool, default=False
        Whether features and columns go to a file for single-cell tools as well.

    Returns
    -------
    list of Path
        What was written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from nearboost.cells import SegmentationSettings, create_project, describe_project, segment_project
    >>> from nearboost.cells import write_cells, write_demo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plate, screen = Path(folder) / "plate", Path(folder) / "screen"
    ...     _ = write_demo(plate, repeats=1, size=96, n_cells=5)
    ...     project = create_project(screen, [plate / "images"]).project
    ...     _ = segment_project(project, SegmentationSettings())
    ...     file, *_ = write_cells(project, describe_project(project).rows)
    ...     print(file.name, len(file.read_text().splitlines()))
    cells.csv 41
    """
    columns, folder = cell_columns(project, rows, predicted), project.folder / "tables"
    files = [folder / "cells.csv"]
    if find_spec("pyarrow") is not None:
        files.append(folder / "cells.parquet")
    for file in files:
        write_table(file, columns)
    if h5ad:
        from nearboost.cells.h5ad import write_h5ad

        files.append(folder / "cells.h5ad")
        write_h5ad(files[-1], rows.features, columns, rows.settings.names())
    return files


def well_columns(project: Project, rows: CellRows, found: Classified) -> Columns:
    """A line for each well: layout, cells, the share of each class, means of what was measured.

    Parameters
    ----------
    project : Project
        The project.
    rows : CellRows
        All cells.
    found : Classified
        What counts.

    Returns
    -------
    dict
        Columns.
    """
    wells = [unit for unit in units_of(project, rows) if unit.level == "well"]
    counting = [unit.rows[~found.excluded[unit.rows]] for unit in wells]
    columns: Columns = {
        "plate": [unit.name["plate"] for unit in wells],
        "well": [unit.name["well"] for unit in wells],
    }
    layouts = [project.layout.of(unit.name["plate"], unit.name["well"]) for unit in wells]
    columns |= {name: [layout[name] for layout in layouts] for name in project.layout.columns}
    columns["cells"] = [len(inside) for inside in counting]
    for name in found.classes:
        columns[share_name(name)] = [_mean(found.names[inside] == name) for inside in counting]
    for name, values in rows.measures.items():
        columns[f"Mean_{name}"] = [_mean(values[inside]) for inside in counting]
    return columns


def share_name(name: str) -> str:
    """The column of the share of a class.

    Parameters
    ----------
    name : str
        The class.

    Returns
    -------
    str
        Name of the column.
    """
    return f"Share_{name}"


def _mean(values: NDArray[Any]) -> float | None:
    return float(np.mean(values)) if len(values) else None


def response_columns(wells: Columns, readouts: Sequence[str]) -> Columns:
    """Z′ of the controls and a curve of doses, for each plate, compound and readout.

    Parameters
    ----------
    wells : dict
        See `well_columns`.
    readouts : sequence of str
        Columns of it.

    Returns
    -------
    dict
        Columns, with a sentence where there is no figure.
    """
    names = ("plate", "compound", "readout", "z_prime", "z_prime_note", "ec50", "ec50_low", "ec50_high")
    columns: Columns = {name: [] for name in (*names, "low", "high", "slope", "ec50_note")}
    n = len(wells["well"])
    controls, doses = (wells.get(name, [""] * n) for name in ("control", "dose"))
    compounds = wells.get("compound", [""] * n)
    for plate in sorted(set(wells["plate"])):
        here = [i for i in range(n) if wells["plate"][i] == plate]
        tested = [i for i in here if doses[i] != "" and not controls[i]]
        for compound in sorted({compounds[i] for i in tested}) or [""]:
            mine = [i for i in tested if compounds[i] == compound]
            for readout in readouts:
                values = wells[readout]
                apart = z_prime(*(_values(values, here, controls, kind) for kind in ("positive", "negative")))
                known = [i for i in mine if values[i] is not None]
                fit = fit_dose([float(doses[i]) for i in known], [values[i] for i in known])
                if not mine:
                    fit = DoseFit(note="the layout has no doses of these wells.")
                line = (plate, compound, readout, *apart, fit.ec50, fit.ec50_low, fit.ec50_high, fit.low, fit.high)
                for column, value in zip(columns.values(), (*line, fit.slope, fit.note), strict=True):
                    column.append(value)
    return columns


def _values(values: Sequence[Any], here: Sequence[int], controls: Sequence[str], kind: str) -> list[float]:
    return [values[i] for i in here if controls[i] == kind and values[i] is not None]


def count_project(
    project: Project, predicted: Predicted | None = None, *, n_jobs: int | None = None, verbose: int = 0
) -> Written:
    """Write ``counts.csv``, ``wells.csv`` and ``responses.csv``.

    Parameters
    ----------
    project : Project
        A project with a model.
    predicted : Predicted or None, default=None
        What `predict_project` has just said; None asks it.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    verbose : int, default=0
        Shows progress bars on standard error when above 0.

    Returns
    -------
    Written
        Files and tables.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from nearboost.cells import SegmentationSettings, create_project, import_labels, segment_project
    >>> from nearboost.cells import count_project, train_cells, write_demo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plate, screen = Path(folder) / "plate", Path(folder) / "screen"
    ...     _ = write_demo(plate, repeats=1, size=96, n_cells=5)
    ...     project = create_project(screen, [plate / "images"]).project
    ...     _ = segment_project(project, SegmentationSettings())
    ...     _ = import_labels(project, plate / "truth.csv")
    ...     _ = train_cells(project)
    ...     written = count_project(project)
    >>> [file.name for file in written.files], len(written.counts["share"])
    (['counts.csv', 'wells.csv', 'responses.csv'], 34)
    """
    predicted = predicted or predict_project(project, n_jobs=n_jobs, verbose=verbose)
    counts = count_cells(project, predicted.rows, predicted.found)
    wells = well_columns(project, predicted.rows, predicted.found)
    readouts = [share_name(name) for name in predicted.found.classes]
    if STAIN in project.reading.roles:
        readouts.append(f"Mean_{ratio_name(STAIN)}")
    responses = response_columns(wells, readouts)
    folder = project.folder / "tables"
    files = [folder / f"{name}.csv" for name in TABLES]
    for file, columns in zip(files, (counts, wells, responses), strict=True):
        write_table(file, columns)
    hashes = {name: file_hash(file) for name, file in zip(TABLES, files, strict=True)}
    note_step(project, COUNTING, {"layout": project.layout.sha256, "tables": hashes})
    notes = layout_notes(project)
    notes += [] if wells["well"] else ["names of images say no wells, so that there are counts of images only."]
    unknown = unknown_to_model(predicted.model.classes, predicted.found.classes)
    notes += [unknown] if unknown else []
    return Written(files, counts, responses, predicted.skipped, notes)
