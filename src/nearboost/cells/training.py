"""A model of cells: learned from annotated ones, used on others that were found and described alike."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearboost.base.words import counted
from nearboost.cells.describing import CellRows, describe_project
from nearboost.cells.features import FeatureSettings
from nearboost.cells.labels import Label, by_cell
from nearboost.cells.patterns import NUCLEI, STAIN
from nearboost.cells.pipeline import channels_of, note_step, read_pipeline
from nearboost.cells.polygons import boxes_of
from nearboost.cells.project import Project
from nearboost.cells.project_labels import export_labels, open_store, read_labels
from nearboost.cells.saved_masks import lit_pictures, read_segmentation, saved_lights
from nearboost.datasets import DataError, Dataset
from nearboost.models import Model, origins_of, save
from nearboost.models.fitting import check_names, fit_model

METHOD = "nearboost:class_weight=balanced"  # best where labels are few, and few of a class: docs/cells.md
MARGIN = 4  # pixels around a cell on its picture


class Trained(NamedTuple):
    """A model, its file, what was learned from, and what a reader should know."""

    model: Model
    file: Path
    counts: dict[str, int]
    notes: list[str]
    skipped: dict[str, str]


def train_cells(
    project: Project,
    *,
    method: str | None = None,
    features: FeatureSettings | None = None,
    name: str = "cells",
    seed: int = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Trained:
    """Fit a model to the annotated cells of a project; cells of a well are held out together.

    Parameters
    ----------
    project : Project
        A project with masks and labels.
    method : str or None, default=None
        Name of a method, perhaps with settings; None means NearBoost with balanced classes.
    features : FeatureSettings or None, default=None
        How cells are described; None takes those of the last call.
    name : str, default="cells"
        Of the model's file, below ``models``.
    seed : int, default=0
        Random seed.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    verbose : int, default=0
        Shows progress bars on standard error when above 0.

    Returns
    -------
    Trained
        The model, saved.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from nearboost.cells import SegmentationSettings, create_project, import_labels, segment_project
    >>> from nearboost.cells import train_cells, write_demo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plate, screen = Path(folder) / "plate", Path(folder) / "screen"
    ...     _ = write_demo(plate, repeats=1, size=96, n_cells=5)
    ...     project = create_project(screen, [plate / "images"]).project
    ...     _ = segment_project(project, SegmentationSettings())
    ...     _ = import_labels(project, plate / "truth.csv")
    ...     trained = train_cells(project)
    >>> trained.file.name, trained.model.classes, trained.counts
    ('cells.nb', ('diffuse', 'granular'), {'diffuse': 16, 'granular': 24})
    """
    method = method or METHOD
    check_names(None, method)
    annotated = read_labels(project)
    chosen = by_cell(annotated.labels)
    if len(set(chosen.values())) < 2:
        raise DataError(
            f"{project.folder} has {counted(len(chosen), 'label')}, and labels of two classes or more are needed; "
            "annotate cells, and take them in with nearboost cells labels import."
        )
    rows, skipped = describe_project(project, features, n_jobs=n_jobs, verbose=verbose)
    places = [i for i, key in enumerate(keys_of(rows)) if key in chosen]
    dataset = _dataset(project, rows, places, chosen)
    fitted = fit_model(dataset, method=method, seed=seed, n_jobs=n_jobs, verbose=verbose).model
    if "n_jobs" in fitted.last_step.get_params(deep=False):
        fitted.last_step.set_params(n_jobs=None)  # the file is the same for any number of threads
    labelled = {(one.image, one.object): one for one in annotated.labels}
    fitted = replace(fitted, cells=cell_facts(project), origins=_origins(project, fitted, rows, places, labelled))
    file = project.folder / "models" / f"{name}.nb"
    save(fitted, file)
    settings = {"method": method, "seed": seed, "name": name, "model": file_hash(file)}
    with open_store(project) as store:
        settings["labels"] = export_labels(project, store)
    note_step(project, "training", settings)
    return Trained(fitted, file, dataset.counts, _notes(dataset), annotated.skipped | skipped)


def keys_of(rows: CellRows) -> list[tuple[int, int]]:
    """Image and object of each row.

    Parameters
    ----------
    rows : CellRows
        All cells.

    Returns
    -------
    list of tuple
        In their order.
    """
    return list(zip(rows.images.tolist(), rows.objects.tolist(), strict=True))


def well_names(project: Project, images: NDArray[np.int64]) -> NDArray[np.str_]:
    """Plate and well of each image number; the image itself where no well is known.

    Parameters
    ----------
    project : Project
        The project.
    images : ndarray of int
        Image numbers.

    Returns
    -------
    ndarray of str
        A name for each.
    """
    names = {
        one.number: f"{one.place.plate} {one.place.well}".strip() if one.place.well else f"image {one.number}"
        for one in project.fields
    }
    return np.array([names[number] for number in images.tolist()], dtype=np.str_)


def _dataset(project: Project, rows: CellRows, places: list[int], chosen: Any) -> Dataset:
    keys = keys_of(rows)
    labels = np.array([chosen[keys[i]] for i in places])
    return Dataset(
        "cells",  # and not the project's name, which changes no answer
        "vectors",
        rows.features[places],
        labels,
        tuple(map(str, np.unique(labels))),
        [f"image {keys[i][0]} cell {keys[i][1]}" for i in places],
        groups=well_names(project, rows.images[places]),
    )


def _notes(dataset: Dataset) -> list[str]:
    """Classes of a single well cannot be judged on another one."""
    notes = []
    for name in dataset.classes:
        wells = np.unique(np.asarray(dataset.groups)[dataset.labels == name])
        if len(wells) < 2:
            notes.append(one_well_note(name, str(wells[0])))
    return notes


def one_well_note(name: str, well: str) -> str:
    """What a reader should know of a class that is labelled in one well only.

    Parameters
    ----------
    name : str
        The class.
    well : str
        The well.

    Returns
    -------
    str
        A sentence.
    """
    return (
        f"all labelled cells of class {name!r} are of {well}, so that held-out figures may tell wells apart and "
        "not classes; annotate cells of other wells."
    )


def cell_facts(project: Project) -> dict[str, Any]:
    """What a model must know of cells: how they were seen, found and described.

    Parameters
    ----------
    project : Project
        A project whose cells were described.

    Returns
    -------
    dict
        Plain values.
    """
    pipeline = read_pipeline(project.folder)
    channels = channels_of(project)
    seen = {name: channels[name] for name in ("roles", "project", "plane")}
    return {
        "channels": seen,
        "pixel_size": pixel_size_of(project),
        "segmentation": pipeline.get("segmentation", {}),
        "features": pipeline.get("features", {}),
    }


def pixel_size_of(project: Project) -> float | None:
    """Micrometres of a pixel: as given, or as the first readable field says.

    Parameters
    ----------
    project : Project
        The project.

    Returns
    -------
    float or None
        None where nobody says it.
    """
    if project.reading.pixel_size is not None:
        return project.reading.pixel_size
    for one in project.fields:
        try:
            return project.read(one).pixel_size
        except (ValueError, OSError):
            continue
    return None


def _origins(
    project: Project, model: Model, rows: CellRows, places: list[int], labelled: dict[tuple[int, int], Label]
) -> Any:
    """Names and small pictures of the cells that vote."""
    keys, voters = keys_of(rows), model.voters
    lights = saved_lights(project)
    crops: dict[tuple[int, int], NDArray[np.uint8]] = {}
    wanted = [keys[places[i]] for i in voters]
    for image in sorted({image for image, _ in wanted}):
        one = project.field_of(image)
        pictures = lit_pictures(project, one, lights).by_role
        cells = read_segmentation(project, one).cells
        boxes = boxes_of(cells)
        for key in (key for key in wanted if key[0] == image):
            crops[key] = crop_cell(pictures.get(STAIN, pictures[NUCLEI]), cells, key[1], boxes[key[1]])
    codes = {name: code for code, name in enumerate(model.classes)}
    labels = np.array([codes[labelled[key].name] for key in wanted], dtype=np.int64)
    names = [f"image {image} cell {number}" for image, number in wanted]
    return origins_of([crops[key] for key in wanted] if wanted else None, names, labels, rows=voters)


def crop_cell(
    picture: NDArray[Any], cells: NDArray[np.int32], number: int, box: tuple[slice, slice] | None = None
) -> NDArray[np.uint8]:
    """A cell and a margin around it, stretched to be seen.

    Parameters
    ----------
    picture : ndarray of shape (height, width)
        A channel of the field.
    cells : ndarray of int of shape (height, width)
        Cells of the field.
    number : int
        Which of them.
    box : tuple of slice or None, default=None
        Its rows and columns, where they are known.

    Returns
    -------
    ndarray of uint8
        Its picture.
    """
    part = box or tuple(slice(at.min(), at.max() + 1) for at in np.nonzero(cells == number))
    part = tuple(slice(max(0, at.start - MARGIN), at.stop + MARGIN) for at in part)
    crop, inside = picture[part].astype(np.float32), cells[part] == number
    low, high = float(crop.min()), max(float(crop[inside].max()), float(crop.min()) + 1e-9)
    return (255 * np.clip((crop - low) / (high - low), 0, 1) + 0.5).astype(np.uint8)


def file_hash(path: Path) -> str:
    """SHA-256 of a file.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    str
        In hexadecimal.
    """
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
