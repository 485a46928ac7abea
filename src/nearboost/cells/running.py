"""A pipeline is repeated: on the same images to the same bytes, on others with the same settings and model."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from nearboost.cells.creating import create_project
from nearboost.cells.describing import describe_project, settings_of
from nearboost.cells.fields import Reading
from nearboost.cells.pipeline import note_step, open_pipeline
from nearboost.cells.project import LABELS, LAYOUT, Project, open_project, reading_of_json
from nearboost.cells.project_labels import import_labels
from nearboost.cells.segmenting import GivenMasks, segment_project
from nearboost.cells.settings import SegmentationSettings
from nearboost.cells.tables import count_project, predict_project, write_cells
from nearboost.cells.training import file_hash, train_cells
from nearboost.datasets import DataError

KINDS = ("nuclei", "cells")  # of masks


class Ran(NamedTuple):
    """The new project, its tables, what was left out, by name, and notes."""

    project: Project
    files: list[Path]
    skipped: dict[str, str]
    notes: list[str]


def run_pipeline(
    pipeline: Path,
    images: Sequence[Path],
    out: Path,
    *,
    layout: Path | None = None,
    masks: GivenMasks | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Ran:
    """Make a project of images with all settings of another one.

    Parameters
    ----------
    pipeline : Path
        ``pipeline.json`` of a project; its model and labels lie beside it.
    images : sequence of Path
        Folders of images.
    out : Path
        Folder of the new project.
    layout : Path or None, default=None
        Table of wells; None takes the one beside the pipeline.
    masks : GivenMasks or None, default=None
        Masks of another program, where the pipeline was made with such.
    n_jobs : int or None, default=None
        Number of threads; None uses all cores.
    verbose : int, default=0
        Shows progress bars on standard error when above 0.

    Returns
    -------
    Ran
        The project with all tables that the pipeline has the settings for.
    """
    content, beside = open_pipeline(pipeline), pipeline.parent
    segmentation = _settings(content, pipeline, masks)
    pattern, reading = _channels(content, pipeline)
    _check_training(content, pipeline)
    layout = layout or (beside / LAYOUT if (beside / LAYOUT).exists() else None)
    made = create_project(
        out,
        images,
        pattern=pattern,
        roles=reading.roles,
        project=reading.project,
        plane=reading.plane,
        pixel_size=reading.pixel_size,
        layout=layout,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    project = made.project
    segmented = segment_project(project, segmentation, masks, n_jobs=n_jobs, verbose=verbose)
    skipped, notes, files = made.skipped | segmented.skipped, [*made.notes, *segmented.notes], []
    if "features" in content:
        settings = settings_of(content["features"], str(pipeline))
        rows, _ = describe_project(project, settings, n_jobs=n_jobs, verbose=verbose)
        files = write_cells(project, rows)
    training = content.get("training")
    if training is not None:
        _repeat_training(project, beside, training, n_jobs, verbose)
    if "prediction" in content:
        model = _sound(
            beside / "models" / Path(str(content["prediction"].get("model"))).name, content["prediction"]
        )
        predicted = predict_project(project, model, n_jobs=n_jobs, verbose=verbose)
        files = write_cells(project, predicted.rows, predicted)
        files += count_project(project, n_jobs=n_jobs, verbose=verbose).files
    return Ran(project, files, skipped, notes)


def _channels(content: dict[str, Any], pipeline: Path) -> tuple[str | None, Reading]:
    """How names are read and files become pictures; the usual way where the pipeline does not say."""
    given = {"pattern": None, "project": None, "plane": None, "pixel_size": None} | content.get("channels", {})
    try:
        reading = reading_of_json(given | {"channels": given["roles"]}) if "roles" in given else Reading({})
        if not isinstance(given["pattern"], str | None):
            raise ValueError
    except (AttributeError, KeyError, TypeError, ValueError):
        raise DataError(f"{pipeline} has channels that no project has; restore it from a copy.") from None
    return given["pattern"], reading


def _check_training(content: dict[str, Any], pipeline: Path) -> None:
    given = {"method": None, "name": "cells", "seed": 0} | content.get("training", {})
    is_text = isinstance(given["method"], str | None) and isinstance(given["name"], str)
    if not is_text or type(given["seed"]) is not int or given["seed"] < 0:
        raise DataError(f"{pipeline} has settings of training that no model has; restore it from a copy.")


def _settings(content: dict[str, Any], pipeline: Path, masks: GivenMasks | None) -> SegmentationSettings:
    section = dict(content.get("segmentation", {}))
    section.pop("version", None)
    wanted = section.pop("masks", [])
    if not isinstance(wanted, list) or not set(map(str, wanted)) <= set(KINDS):
        raise DataError(f"{pipeline} was made with masks of no known kind; restore it from a copy.")
    given = [name for name in KINDS if masks is not None and getattr(masks, name) is not None]
    if sorted(map(str, wanted)) != sorted(given):
        raise DataError(
            f"{pipeline} was made with masks of {' and '.join(map(str, wanted)) or 'nothing'} and masks of "
            f"{' and '.join(given) or 'nothing'} were given; give the same with --nuclei-masks and --cell-masks."
        )
    return SegmentationSettings.of_json(section, str(pipeline))


def _repeat_training(
    project: Project, beside: Path, training: dict[str, Any], n_jobs: int | None, verbose: int
) -> None:
    """Train again on the same images; other images get the model as it is."""
    contents = [one.content for one in open_project(beside).fields]
    labels = beside / LABELS
    if [one.content for one in project.fields] != contents or not labels.exists():
        name = f"{training.get('name')}.nb"
        _sound(beside / "models" / Path(name).name, {"sha256": training.get("model")})
        shutil.copyfile(beside / "models" / Path(name).name, project.folder / "models" / Path(name).name)
        note_step(project, "training", training)
        return
    if file_hash(labels) != training.get("labels"):
        raise DataError(
            f"{labels} has changed since the model was trained; train it anew, then repeat the pipeline."
        )
    import_labels(project, labels)
    train_cells(
        project,
        method=training.get("method"),
        name=Path(str(training.get("name"))).name,
        seed=training.get("seed", 0),
        n_jobs=n_jobs,
        verbose=verbose,
    )


def _sound(model: Path, section: dict[str, Any]) -> Path:
    """A model file that is the one that was used."""
    if not model.exists():
        raise DataError(f"{model} is gone; keep it beside pipeline.json, or train it anew.")
    if file_hash(model) != section.get("sha256"):
        raise DataError(f"{model} is not the model that the pipeline was made with; restore it, or predict anew.")
    return model
