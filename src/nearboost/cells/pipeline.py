"""``pipeline.json``: every setting of a project's steps, and what they were made with.

Equal versions of the libraries, equal settings and equal images give equal bytes: of this file, masks and tables.
"""

from pathlib import Path
from typing import Any

from nearboost.base.machine import describe_versions
from nearboost.cells.files import read_json, write_json_lines
from nearboost.cells.project import PIPELINE, Project
from nearboost.datasets import DataError

FORMAT = 1
LIBRARIES = (
    "nearboost",
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "opencv-python-headless",
    "tifffile",
    "pillow",
)
SECTIONS = ("channels", "segmentation", "features", "training", "prediction", "counting")


def read_pipeline(folder: Path) -> dict[str, Any]:
    """The settings that were used in a project so far.

    Parameters
    ----------
    folder : Path
        Of the project.

    Returns
    -------
    dict
        By section; empty before the first step.
    """
    path = folder / PIPELINE
    return open_pipeline(path) if path.exists() else {}


def open_pipeline(path: Path) -> dict[str, Any]:
    """Read a file of settings.

    Parameters
    ----------
    path : Path
        A ``pipeline.json``.

    Returns
    -------
    dict
        By section.
    """
    content = read_json(path, f"{path} does not exist; give a pipeline.json of a project.")
    if content.get("format") != FORMAT:
        raise DataError(f"{path} has format {content.get('format')!r}, and this version reads format {FORMAT}.")
    wrong = [name for name in SECTIONS if not isinstance(content.get(name, {}), dict)]
    if wrong:
        raise DataError(f"{path} has no settings under {wrong[0]!r}; restore it from a copy.")
    return content


def note_step(project: Project, section: str, settings: dict[str, Any]) -> None:
    """Write down the settings of a step; what followed from the step before is forgotten.

    Parameters
    ----------
    project : Project
        Whose step it was.
    section : str
        Name of the step.
    settings : dict
        All its settings.
    """
    content = read_pipeline(project.folder)
    later = SECTIONS[SECTIONS.index(section) + 1 :]
    if content.get(section) != settings:
        content = {name: value for name, value in content.items() if name not in later}
    content |= {"format": FORMAT, "versions": describe_versions(LIBRARIES), section: settings}
    content["channels"] = channels_of(project)
    write_json_lines(project.folder / PIPELINE, content)


def channels_of(project: Project) -> dict[str, Any]:
    """How files become pictures, as plain values.

    Parameters
    ----------
    project : Project
        The project.

    Returns
    -------
    dict
        Pattern, roles, projection and size of a pixel.
    """
    reading = project.reading
    return {
        "pattern": project.pattern,
        "roles": reading.roles,
        "project": reading.project,
        "plane": reading.plane,
        "pixel_size": reading.pixel_size,
    }
