"""What the project's model says of its cells, as far as they are described: read, never trained or written."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nearboost.cells.describing import CellRows, known_rows
from nearboost.cells.files import digest_of
from nearboost.cells.pipeline import read_pipeline
from nearboost.cells.predicting import check_alike, open_cell_model, predict_cells
from nearboost.cells.project import Project
from nearboost.cells.saved_masks import read_record
from nearboost.cells.training import file_hash, keys_of
from nearboost.datasets import DataError
from nearboost.models import Model


@dataclass(frozen=True, eq=False)
class Said:
    """What a model says of all cells.

    Attributes
    ----------
    model : Model
        Who says it.
    rows : CellRows
        All cells.
    names : ndarray of str of shape (n_cells,)
        Class of each.
    chances : ndarray of shape (n_cells, n_classes)
        Probability of each class of the model.
    places : dict
        Row of each cell, by image and object.
    """

    model: Model
    rows: CellRows
    names: NDArray[np.str_]
    chances: NDArray[np.float64]
    places: dict[tuple[int, int], int]

    def of(self, image: int, number: int) -> tuple[str, float] | None:
        """The class of a cell and its probability; None of a cell that is not described."""
        row = self.places.get((image, number))
        if row is None:
            return None
        name = str(self.names[row])
        return name, float(self.chances[row, self.model.classes.index(name)])


class _Known:
    """A project, equal where what is asked for would be the same."""

    def __init__(self, project: Project, *key: str) -> None:
        self.project, self._key = project, (str(project.folder.resolve()), *key)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and self._key == other._key


def rows_of(project: Project) -> CellRows | None:
    """The cells of a project as rows.

    Parameters
    ----------
    project : Project
        The project.

    Returns
    -------
    CellRows or None
        None where cells are not all described; kept in memory until something changes.
    """
    return _rows(_known(project))


def active_model(project: Project) -> Path | None:
    """The file of the model that predicts: the one of the last prediction, or that was trained last.

    Parameters
    ----------
    project : Project
        The project.

    Returns
    -------
    Path or None
        None where there is none.
    """
    pipeline = read_pipeline(project.folder)
    name = pipeline.get("prediction", {}).get("model") or f"{pipeline.get('training', {}).get('name')}.nb"
    path = project.folder / "models" / Path(str(name)).name
    return path if path.exists() else None


def said_of(project: Project) -> Said | None:
    """What the active model says of all cells.

    Parameters
    ----------
    project : Project
        The project.

    Returns
    -------
    Said or None
        None without a model, without rows, or where the model is for cells that were found in another way.
    """
    file = active_model(project)
    if file is None or rows_of(project) is None:
        return None
    return _said(_known(project, file.name, file_hash(file)), file)


def _known(project: Project, *more: str) -> _Known:
    records = [(one.number, (read_record(project, one) or {}).get("key")) for one in project.fields]
    settings = read_pipeline(project.folder).get("features")
    return _Known(project, digest_of([records, settings]), *more)


@lru_cache(maxsize=2)
def _rows(known: _Known) -> CellRows | None:
    return known_rows(known.project)


@lru_cache(maxsize=2)
def _said(known: _Known, file: Path) -> Said | None:
    rows = rows_of(known.project)
    model = open_cell_model(file)
    try:
        check_alike(model, known.project, file)
    except DataError:
        return None
    if rows is None:
        return None
    prediction = predict_cells(model, rows)
    chances = prediction.probabilities
    if chances is None:
        chances = (prediction.labels[:, np.newaxis] == np.array(model.classes)).astype(np.float64)
    return Said(model, rows, prediction.labels, chances, {key: row for row, key in enumerate(keys_of(rows))})
