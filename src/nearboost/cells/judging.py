"""The segmentation of a project beside masks that are trusted."""

from pathlib import Path
from typing import NamedTuple

from nearboost.cells.masks import match_masks, read_labels
from nearboost.cells.patterns import NUCLEI
from nearboost.cells.project import Project
from nearboost.cells.saved_masks import list_masks, read_segmentation
from nearboost.cells.scoring import Score, score_labels
from nearboost.datasets import DataError


class Judged(NamedTuple):
    """Scores of each field, by what was judged, and fields that were left out, by name."""

    scores: dict[str, dict[str, Score]]
    skipped: dict[str, str]


def score_project(project: Project, nuclei: Path | None = None, cells: Path | None = None) -> Judged:
    """Compare a project's masks with others.

    Parameters
    ----------
    project : Project
        A project that was segmented.
    nuclei : Path or None, default=None
        Folder of masks of nuclei, each named after its picture.
    cells : Path or None, default=None
        The same of cells.

    Returns
    -------
    Judged
        Under "nuclei" and "cells", as far as they were given, a score for each field.
    """
    folders = {kind: folder for kind, folder in ((NUCLEI, nuclei), ("cells", cells)) if folder is not None}
    if not folders:
        raise DataError("Nothing to compare with; give --nuclei-masks FOLDER, --cell-masks FOLDER, or both.")
    scores: dict[str, dict[str, Score]] = {kind: {} for kind in folders}
    skipped: dict[str, str] = {}
    for kind, folder in folders.items():
        listed = list_masks(project, folder)
        for one in project.fields:
            try:
                mask = match_masks({role: file.path for role, file in one.files.items()}, listed, kind)
                if mask is None:
                    raise DataError(f"{folder} has no mask of its {kind}.")
                found = getattr(read_segmentation(project, one), kind)
                scores[kind][one.name] = score_labels(found, read_labels(folder / mask, found.shape))
            except (ValueError, OSError) as error:
                skipped[one.name] = str(error)
    if not any(scores.values()):
        raise DataError(f"No field could be compared: {next(iter(skipped.values()))}")
    return Judged(scores, skipped)
