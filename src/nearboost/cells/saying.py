"""What the project's model says of its cells, as far as they are described: read, never trained or written."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

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

KEPT = 2  # projects, or models, whose rows and predictions are in memory


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


class _Memory:
    """What was made last, by what it was made of; nothing is kept of what could not be made."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, ...], Any] = OrderedDict()
        self._lock = Lock()

    def get(self, key: tuple[str, ...], make: Callable[[], Any]) -> Any:
        """What belongs to a key, made once, whoever asks at the same time."""
        with self._lock:
            found = self._kept.get(key)
            if found is None and (found := make()) is not None:
                self._kept[key] = found
                if len(self._kept) > KEPT:
                    self._kept.popitem(last=False)
            return found


_rows, _said = _Memory(), _Memory()


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
    found: CellRows | None = _rows.get(_key_of(project), lambda: known_rows(project))
    return found


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
    file, rows = active_model(project), rows_of(project)
    if file is None or rows is None:
        return None
    found: Said | None = _said.get(
        (*_key_of(project), file.name, file_hash(file)), lambda: _say(project, file, rows)
    )
    return found


def _key_of(project: Project) -> tuple[str, ...]:
    """All that rows are made of."""
    records = [(one.number, (read_record(project, one) or {}).get("key")) for one in project.fields]
    settings = read_pipeline(project.folder).get("features")
    return str(project.folder.resolve()), digest_of([records, settings])


def _say(project: Project, file: Path, rows: CellRows) -> Said | None:
    model = open_cell_model(file)
    try:
        check_alike(model, project, file)
    except DataError:
        return None
    prediction = predict_cells(model, rows)
    chances = prediction.probabilities
    if chances is None:
        chances = (prediction.labels[:, np.newaxis] == np.array(model.classes)).astype(np.float64)
    return Said(model, rows, prediction.labels, chances, {key: row for row, key in enumerate(keys_of(rows))})
