"""The models of a project: trained one after the other, kept with their figures, one of them active."""

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from nearboost.base.errors import UsageError
from nearboost.cells.learning import HeldOut, held_out
from nearboost.cells.pipeline import read_pipeline
from nearboost.cells.predicting import check_alike, open_cell_model
from nearboost.cells.project import Project
from nearboost.cells.saying import active_model
from nearboost.cells.tables import predict_project
from nearboost.cells.training import file_hash, train_cells
from nearboost.datasets import DataError
from nearboost.models import Model

STEM = "cells"


@dataclass(frozen=True)
class KeptModel:
    """A model of the project.

    Attributes
    ----------
    name : str
        Of its file.
    method : str
        What it is.
    labels : dict
        Labels by class that it learned from.
    figures : HeldOut or None
        How it does.
    active : bool
        Whether it is the one that predicts.
    problem : str
        Why it cannot be used with the present cells; nothing where it can.
    """

    name: str
    method: str
    labels: dict[str, int]
    figures: HeldOut | None
    active: bool
    problem: str


def kept_models(project: Project) -> list[KeptModel]:
    """All models of a project.

    Parameters
    ----------
    project : Project
        The project.

    Returns
    -------
    list of KeptModel
        The newest first.
    """
    files = sorted(
        (project.folder / "models").glob("*.nb"), key=lambda one: (one.stat().st_mtime_ns, one.name), reverse=True
    )
    active, described = active_model(project), "features" in read_pipeline(project.folder)
    found = []
    for file in files:
        try:
            model, figures = open_kept(file, file_hash(file))
            labels = _labels_of(model)
            problem = _problem(model, project, file) if described else "cells are not described yet."
            method = str(model.facts.get("method"))
        except ValueError as error:  # damaged, or no model of cells
            figures, labels, problem, method = None, {}, str(error), ""
        found.append(KeptModel(file.name, method, labels, figures, file == active, problem))
    return found


@lru_cache(maxsize=32)
def open_kept(file: Path, digest: str) -> tuple[Model, HeldOut | None]:
    """A model of cells and its held-out figures, kept in memory by the hash of its file."""
    model = open_cell_model(file)
    return model, held_out(model)


def _labels_of(model: Model) -> dict[str, int]:
    if model.origins is None or model.origins.labels.ndim != 1:
        return {}
    numbers = np.bincount(model.origins.labels, minlength=len(model.classes)).tolist()
    return dict(zip(model.classes, numbers, strict=True))


def _problem(model: Model, project: Project, file: Path) -> str:
    try:
        check_alike(model, project, file)
    except DataError as error:
        return str(error)
    return ""


def activate_model(project: Project, name: str) -> str:
    """Predict with another of the kept models from now on.

    Parameters
    ----------
    project : Project
        The project.
    name : str
        Of its file, see `kept_models`.

    Returns
    -------
    str
        A sentence.
    """
    predict_project(project, _file_of(project, name))
    return f"{name} predicts from now on."


def _file_of(project: Project, name: str) -> Path:
    for file in (project.folder / "models").glob("*.nb"):
        if file.name == name:
            return file
    raise UsageError(f"The project has no model {name!r}; look at the list again.")


def train_next(project: Project, seed: int = 0) -> str:
    """Train a model under a new name, so that earlier ones are kept.

    Parameters
    ----------
    project : Project
        The project.
    seed : int, default=0
        Random seed.

    Returns
    -------
    str
        A sentence about what came of it.
    """
    trained = train_cells(project, name=next_name(project), seed=seed)
    figures = held_out(trained.model)
    labels = ", ".join(f"{count} {name}" for name, count in trained.counts.items())
    told = "" if figures is None or figures.mean is None else f"; mean accuracy of classes {figures.mean:.1%}"
    return f"{trained.file.name} is trained on {labels}{told}."


def next_name(project: Project) -> str:
    """The first name in the row cells, cells-2, cells-3, … after those that there are."""
    names = [file.stem for file in (project.folder / "models").glob("*.nb")]
    numbers = [int(found[1] or 1) for name in names if (found := re.fullmatch(rf"{STEM}(?:-(\d{{1,6}}))?", name))]
    return STEM if not numbers else f"{STEM}-{max(numbers) + 1}"


def last_trained(project: Project) -> Path | None:
    """The model that was trained last on labels of this project, if its file is as it was.

    Parameters
    ----------
    project : Project
        The project.

    Returns
    -------
    Path or None
        Its file.
    """
    training = read_pipeline(project.folder).get("training", {})
    file = project.folder / "models" / f"{Path(str(training.get('name'))).name}.nb"
    return file if file.exists() and file_hash(file) == training.get("model") else None
