"""The cells of a project as rows: measured and described once, kept in a store, found again."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearboost.base.disk import is_full
from nearboost.base.image_set import Content, hash_file
from nearboost.base.progress import progress_bar
from nearboost.base.threads import map_in_threads
from nearboost.cells.features import FeatureSettings, describe_cells
from nearboost.cells.files import digest_of
from nearboost.cells.masks import LARGEST_LABEL
from nearboost.cells.measures import OBJECT, measure_cells
from nearboost.cells.patterns import NUCLEI, STAIN
from nearboost.cells.pipeline import note_step, read_pipeline
from nearboost.cells.project import PIPELINE, Field, Project
from nearboost.cells.saved_masks import lit_pictures, mask_path, read_record, read_segmentation, saved_lights
from nearboost.datasets import DataError
from nearboost.features.store import FILE, OK, FeatureStore, open_store

_opening = Lock()  # of the store's own lock, which two threads of a process would refuse each other
VERSION = 1  # counts changes of what is measured


@dataclass(frozen=True, eq=False)
class CellRows:
    """All cells of a project.

    Attributes
    ----------
    images : ndarray of int64 of shape (n_cells,)
        ImageNumber of each.
    objects : ndarray of int64 of shape (n_cells,)
        ObjectNumber of each, its label in the saved mask.
    measures : dict
        Columns of what was measured.
    features : ndarray of float32 of shape (n_cells, n_numbers)
        Descriptors.
    settings : FeatureSettings
        What made them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from nearboost.cells import FeatureSettings, SegmentationSettings, write_demo
    >>> from nearboost.cells import create_project, describe_project, segment_project
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_demo(Path(folder) / "plate", repeats=1, size=96, n_cells=4)
    ...     project = create_project(Path(folder) / "screen", [Path(folder) / "plate" / "images"]).project
    ...     _ = segment_project(project, SegmentationSettings())
    ...     cells, skipped = describe_project(project, FeatureSettings())
    >>> len(cells) == len(cells.features) == len(cells.images), cells.features.shape[1], len(skipped)
    (True, 320, 0)
    """

    images: NDArray[np.int64]
    objects: NDArray[np.int64]
    measures: dict[str, NDArray[np.float64]]
    features: NDArray[np.float32]
    settings: FeatureSettings

    def __len__(self) -> int:
        return len(self.images)


class Described(NamedTuple):
    """Rows of all cells, and fields that were left out, by name."""

    rows: CellRows
    skipped: dict[str, str]


def describe_project(
    project: Project, settings: FeatureSettings | None = None, *, n_jobs: int | None = None, verbose: int = 0
) -> Described:
    """Measure and describe the cells of all fields, as far as that has not been done.

    Parameters
    ----------
    project : Project
        A project that was segmented; rows are kept below it.
    settings : FeatureSettings or None, default=None
        None takes those of the last call, or the preset "localisation".
    n_jobs : int or None, default=None
        Number of threads, each with one field; None uses all cores.
    verbose : int, default=0
        Shows a progress bar on standard error when above 0.

    Returns
    -------
    Described
        Rows in the order of images and objects.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from nearboost.cells import SegmentationSettings, create_project, describe_project
    >>> from nearboost.cells import segment_project, write_demo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plate, screen = Path(folder) / "plate", Path(folder) / "screen"
    ...     _ = write_demo(plate, repeats=1, size=96, n_cells=5)
    ...     project = create_project(screen, [plate / "images"]).project
    ...     _ = segment_project(project, SegmentationSettings())
    ...     cells = describe_project(project).rows
    >>> len(cells), cells.features.shape, round(cells.measures["Nuclei_AreaShape_Area"].mean())
    (40, (40, 320), 320)
    """
    pipeline = read_pipeline(project.folder)
    if "segmentation" not in pipeline:
        raise DataError(f"{project.folder} is not segmented; run nearboost cells segment {project.folder} first.")
    if settings is None:
        known = pipeline.get("features")
        settings = FeatureSettings() if known is None else settings_of(known, str(project.folder / PIPELINE))
    work = _Fields(project, settings)
    with ExitStack() as held:
        with _opening:  # a page that looks for rows lets go of them in a moment
            contents = work.contents(n_jobs)
            store = held.enter_context(open_store(settings, work.folder, work, contents, work.n_numbers))
        waiting = sorted(store.wanted)

        def describe(i: int) -> None:
            try:
                store.write(i, work.rows(i))
            except (ValueError, OSError) as error:
                if is_full(error):  # which is no fault of the field
                    raise
                store.write_failure(i, str(error).replace(work.item(i), FILE), lasting=False)

        with progress_bar("Describing", len(waiting), verbose) as advance:
            map_in_threads(describe, waiting, n_jobs, advance)
        made = store.close()
    note_step(project, "features", settings.as_json() | {"version": VERSION})
    return work.gather(made)


def describe_cells_of(project: Project) -> str:
    """Describe the cells of a project with the settings of the last call, or the usual ones.

    Parameters
    ----------
    project : Project
        A project that was segmented.

    Returns
    -------
    str
        A sentence about what came of it.
    """
    rows, skipped = describe_project(project)
    left = f"; {len(skipped)} fields were left out" if skipped else ""
    return f"{len(rows):,} cells are described{left}."


def known_rows(project: Project) -> CellRows | None:
    """The cells of a project, if all of them are described; nothing is made.

    Parameters
    ----------
    project : Project
        A project.

    Returns
    -------
    CellRows or None
        None where there is something to do first.
    """
    section = read_pipeline(project.folder).get("features")
    if section is None:
        return None
    settings = settings_of(section, str(project.folder / PIPELINE))
    work = _Fields(project, settings)
    if not (work.folder / "rows.npy").exists():
        return None
    try:
        with _opening, open_store(settings, work.folder, work, work.contents(None), work.n_numbers) as store:
            return None if store.wanted else work.gather(store.close()).rows
    except BlockingIOError:  # they are being made
        return None


def settings_of(section: dict[str, Any], where: str) -> FeatureSettings:
    """The settings of features that a pipeline holds.

    Parameters
    ----------
    section : dict
        Of ``pipeline.json``.
    where : str
        What messages call the file.

    Returns
    -------
    FeatureSettings
        Checked.
    """
    given = {name: value for name, value in section.items() if name != "version"}
    return FeatureSettings.of_json(given, where)


class _Fields:
    """The fields of a project as a store sees them: by content, masks and light; settings name the folder."""

    def __init__(self, project: Project, settings: FeatureSettings) -> None:
        self.project, self.settings = project, settings
        self._lights = saved_lights(project)
        roles, reading = project.reading.roles, project.reading
        key = digest_of([VERSION, settings.as_json(), roles, reading.project, reading.plane])
        self.folder: Path = project.folder / "features" / f"cells-{key[:20]}"
        self._names = [*_columns(project), *settings.names()]

    @property
    def n_numbers(self) -> int:
        return len(self._names)

    def item(self, index: int) -> str:
        return self.project.fields[index].name

    def has_changed(self, index: int) -> bool:
        return False  # images are known by their content, and masks are written as a whole

    def contents(self, n_jobs: int | None) -> list[Content]:
        return map_in_threads(self._content, self.project.fields, n_jobs)

    def _content(self, one: Field) -> Content:
        record = read_record(self.project, one)
        if record is None:
            return Content("", f"it is not segmented; run nearboost cells segment {self.project.folder}.")
        changed = self.project.change_of(one)
        if changed:
            return Content("", changed)
        masks = [hash_file(mask_path(self.project, one, kind)).digest for kind in ("nuclei.tif", "cells.tif")]
        plates = sorted(key for key in self._lights if key[1] == one.place.plate)
        light = [digest_of(self._lights[key].tolist()) for key in plates]
        return Content(digest_of([one.content, masks, record["unstained"], record["floor"], light]))

    def rows(self, index: int) -> NDArray[np.float32]:
        """Measures and descriptors of a field's cells."""
        one = self.project.fields[index]
        pictures = lit_pictures(self.project, one, self._lights).by_role
        found = read_segmentation(self.project, one)
        if found.cells.shape != pictures[NUCLEI].shape:
            raise DataError(
                f"{one.name} has masks of another size than its images; remove them, and segment it anew."
            )
        record = read_record(self.project, one) or {}
        measures = measure_cells(pictures, found, record.get("floor"))
        described = describe_cells(pictures.get(STAIN, pictures[NUCLEI]), found, self.settings)
        return np.column_stack([*(column.astype(np.float32) for column in measures.values()), described])

    def gather(self, made: FeatureStore) -> Described:
        """All rows in the order of images, and what was wrong with the others."""
        fields = self.project.fields
        skipped = {
            one.name: entry.message for one, entry in zip(fields, made.table, strict=True) if entry.status != OK
        }
        sound = [(one, entry) for one, entry in zip(fields, made.table, strict=True) if entry.status == OK]
        if not sound:
            raise DataError(f"No field could be described: {next(iter(skipped.values()), 'there are none.')}")
        some = any(entry.count for _, entry in sound)
        stored = made.rows if some else np.empty((0, self.n_numbers), np.float32)
        rows = np.concatenate([np.asarray(stored[entry.row : entry.row + entry.count]) for _, entry in sound])
        images = np.repeat([one.number for one, _ in sound], [entry.count for _, entry in sound])
        n_measures = len(self._names) - self.settings.n_numbers
        with np.errstate(invalid="ignore"):  # a damaged store may hold NaN that signal
            measures = dict(zip(self._names, rows[:, :n_measures].T.astype(np.float64), strict=False))
        objects = measures.pop(OBJECT)
        if not ((objects >= 1) & (objects <= LARGEST_LABEL) & (objects == np.round(objects))).all():
            raise DataError(f"{self.folder} is damaged; remove it, and describe the cells anew.")
        objects = objects.astype(np.int64)
        return Described(
            CellRows(images.astype(np.int64), objects, measures, rows[:, n_measures:], self.settings), skipped
        )


def _columns(project: Project) -> list[str]:
    """Names of what is measured, from an empty field."""
    from nearboost.cells.segmentation import Segmentation

    empty = np.zeros((1, 1), np.int32)
    pictures = dict.fromkeys(project.reading.roles, np.zeros((1, 1), np.float32))
    return list(measure_cells(pictures, Segmentation(empty, empty, np.zeros(1, bool))))
