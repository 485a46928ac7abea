"""The fields of a project are segmented, or get the masks of another program; what is done is not done again."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from nearboost.base.disk import check_folder, is_full
from nearboost.base.image_set import hash_file
from nearboost.base.progress import progress_bar
from nearboost.base.threads import map_in_threads
from nearboost.base.words import counted
from nearboost.cells.annotations import AnnotationStore
from nearboost.cells.bodies import grow_cells, ring_cells, stain_floor
from nearboost.cells.files import digest_of
from nearboost.cells.following import carry_labels
from nearboost.cells.illumination import LEAST_FIELDS, common_light, small_copy
from nearboost.cells.masks import assigned_nuclei, match_masks, read_labels
from nearboost.cells.nuclei import estimate_diameter, find_nuclei
from nearboost.cells.patterns import NUCLEI, STAIN
from nearboost.cells.pipeline import note_step
from nearboost.cells.project import Field, Project
from nearboost.cells.project_labels import has_labels, open_store
from nearboost.cells.saved_masks import (
    Lights,
    find_segmentation,
    list_masks,
    lit_pictures,
    read_record,
    save_lights,
    write_segmentation,
)
from nearboost.cells.segmentation import Segmentation, segment_field, selected
from nearboost.cells.settings import SegmentationSettings
from nearboost.datasets import DataError

VERSION = 2  # counts changes of the recipe: masks of another one are made anew
MOST_ESTIMATES = 24  # fields that a diameter is estimated from
Result = TypeVar("Result")


class Segmented(NamedTuple):
    """What was done: fields and cells, fields that were left out, by name, notes, and the settings in pixels."""

    n_fields: int
    n_cells: int
    skipped: dict[str, str]
    notes: list[str]
    settings: SegmentationSettings


@dataclass(frozen=True)
class GivenMasks:
    """Folders of masks that another program made.

    Parameters
    ----------
    nuclei : Path or None, default=None
        Masks of nuclei; None finds them.
    cells : Path or None, default=None
        Masks of cells, whose numbers are kept; None grows them from the nuclei.

    Examples
    --------
    >>> from pathlib import Path
    >>> from nearboost.cells import GivenMasks
    >>> GivenMasks(nuclei=Path("masks/nuclei")).cells is None  # cells are grown from these nuclei
    True
    """

    nuclei: Path | None = None
    cells: Path | None = None


def segment_project(
    project: Project,
    settings: SegmentationSettings,
    masks: GivenMasks | None = None,
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Segmented:
    """Find the cells of all fields, as far as that has not been done with these settings.

    Parameters
    ----------
    project : Project
        The project; masks and outlines are written below it.
    settings : SegmentationSettings
        Without ``nucleus_diameter`` it is estimated, the same for all fields.
    masks : GivenMasks or None, default=None
        Masks to take instead.
    n_jobs : int or None, default=None
        Number of threads, each with one field; None uses all cores.
    verbose : int, default=0
        Shows progress bars on standard error when above 0.

    Returns
    -------
    Segmented
        Counts, and fields that could not be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from nearboost.cells import SegmentationSettings, create_project, segment_project, write_demo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plate, screen = Path(folder) / "plate", Path(folder) / "screen"
    ...     _ = write_demo(plate, repeats=1, size=96, n_cells=5)
    ...     project = create_project(screen, [plate / "images"]).project
    ...     found = segment_project(project, SegmentationSettings())
    >>> found.n_fields, found.n_cells, found.settings.nucleus_diameter, found.skipped
    (8, 40, 20.0, {})
    """
    check_folder(project.folder / "masks")
    run = _Run(project, n_jobs, verbose)
    given = masks or GivenMasks()
    if settings.nucleus_diameter is None:
        settings = replace(settings, nucleus_diameter=_estimate(run))
    lights, notes = _lights(run, settings)
    save_lights(project, lights)
    floors = _floors(run, settings, lights)
    folders = {
        role: (folder, list_masks(project, folder))
        for role, folder in ((NUCLEI, given.nuclei), ("cells", given.cells))
        if folder is not None
    }

    store = open_store(project) if has_labels(project) else None

    def segment(one: Field) -> int:
        return _segment(project, one, settings, floors.get(one.place.plate), lights, folders, store)

    with store or nullcontext():
        found = run.map("Segmenting", segment, project.fields)
    described = {"masks": sorted(folders)} if folders else {}
    run.check_some(found)
    note_step(project, "segmentation", settings.as_json() | described | {"version": VERSION})
    return Segmented(len(found), sum(found.values()), run.skipped, notes, settings)


class _Run:
    """One pass after the other over fields; those that fail are left out of later ones."""

    def __init__(self, project: Project, n_jobs: int | None, verbose: int) -> None:
        self.project, self.n_jobs, self.verbose = project, n_jobs, verbose
        self.skipped: dict[str, str] = {}

    def map(self, title: str, work: Callable[[Field], Result], fields: Sequence[Field]) -> dict[Field, Result]:
        waiting = [one for one in fields if one.name not in self.skipped]

        def safely(one: Field) -> tuple[Result | None, str]:
            try:
                return work(one), ""
            except (ValueError, OSError) as error:
                if is_full(error):  # which is no fault of the field
                    raise
                return None, str(error)

        with progress_bar(title, len(waiting), self.verbose) as advance:
            results = map_in_threads(safely, waiting, self.n_jobs, advance)
        for one, (_, why) in zip(waiting, results, strict=True):
            if why:
                self.skipped[one.name] = why
        return {one: result for one, (result, why) in zip(waiting, results, strict=True) if not why}  # type: ignore[misc]

    def check_some(self, found: dict[Field, Result]) -> None:
        """Where nothing could be read, the first reason is that of all."""
        if not found:
            why = next(iter(self.skipped.items()), ("fields", "there are none."))
            raise DataError(f"No field could be segmented: {why[0]}: {why[1]}")


def _estimate(run: _Run) -> float:
    """The median over some fields, spread over all."""
    fields = run.project.fields
    step = max(1, -(-len(fields) // MOST_ESTIMATES))
    found = run.map(
        "Estimating", lambda one: estimate_diameter(run.project.read(one).by_role[NUCLEI]), fields[::step]
    )
    run.check_some(found)
    sizes = [size for size in found.values() if size is not None]
    if not sizes:
        raise DataError(
            f"No nuclei are seen in channel {run.project.reading.roles[NUCLEI]} of "
            f"{counted(len(found), 'field')}; give --nucleus-diameter, or another channel to nearboost cells new."
        )
    return round(float(np.median(sizes)), 1)


def _lights(run: _Run, settings: SegmentationSettings) -> tuple[Lights, list[str]]:
    """The light of each plate and channel, where it is asked for and there are fields enough."""
    if not settings.illumination:
        return {}, []
    copies = run.map(
        "Measuring light",
        lambda one: {role: small_copy(picture) for role, picture in run.project.read(one).by_role.items()},
        run.project.fields,
    )
    plates: dict[str, list[Field]] = {}
    for one in copies:
        plates.setdefault(one.place.plate, []).append(one)
    lights, notes = {}, []
    for plate, fields in plates.items():
        if len(fields) < LEAST_FIELDS:
            few = f"{counted(len(fields), 'field')}, and {LEAST_FIELDS} are needed"
            notes.append(f"light is not corrected on plate {plate!r}: it has {few}.")
            continue
        for role in run.project.reading.roles:
            lights[role, plate] = common_light([copies[one][role] for one in fields])
    return lights, notes


def _floors(run: _Run, settings: SegmentationSettings, lights: Lights) -> dict[str, float]:
    """The stain's background on each plate: that of its darkest field."""
    if STAIN not in run.project.reading.roles:
        return {}
    diameter = settings.nucleus_diameter or 0.0
    found = run.map(
        "Measuring background",
        lambda one: stain_floor(lit_pictures(run.project, one, lights).by_role[STAIN], diameter),
        run.project.fields,
    )
    floors: dict[str, float] = {}
    for one, floor in found.items():
        floors[one.place.plate] = min(floor, floors.get(one.place.plate, floor))
    return floors


def _segment(
    project: Project,
    one: Field,
    settings: SegmentationSettings,
    floor: float | None,
    lights: Lights,
    folders: dict[str, tuple[Path, list[str]]],
    store: AnnotationStore | None,
) -> int:
    """Segment a field unless its masks are there already; return the number of its cells.

    Labels are carried over before masks are written: whatever happens between the two, none is on a wrong cell.
    """
    names = {role: file.path for role, file in one.files.items()}
    files = {}
    for role, (folder, listed) in folders.items():
        mask = match_masks(names, listed, role)
        if mask is None:
            raise DataError(f"{folder} has no mask of its {role}; expected one named after {names[NUCLEI]}.")
        files[role] = folder / mask
    light = [digest_of(lights[key].tolist()) for key in sorted(lights) if key[1] == one.place.plate]
    hashes = {role: hash_file(file).digest for role, file in files.items()}
    reading = project.reading
    key = digest_of(
        [
            VERSION,
            one.content,
            settings.as_json(),
            floor,
            light,
            hashes,
            reading.project,
            reading.plane,
            reading.roles,
        ]
    )
    known = read_record(project, one)
    if known is not None and known["key"] == key and find_segmentation(project, one) is not None:
        changed = project.change_of(one)
        if changed:
            raise DataError(changed)
        return int(known["cells"])
    pictures = lit_pictures(project, one, lights).by_role
    if files:
        found = selected(_from_masks(pictures, files, settings, floor), settings)
    else:
        found = segment_field(pictures[NUCLEI], pictures.get(STAIN), settings, floor=floor)
    if store is not None:
        carry_labels(project, store, one, found, key)
    return write_segmentation(project, one, found, pictures, key, floor)


def _from_masks(
    pictures: dict[str, Any], files: dict[str, Path], settings: SegmentationSettings, floor: float | None
) -> Segmentation:
    """Cells of given masks, whose numbers are kept; what is not given is found."""
    shape = pictures[NUCLEI].shape
    diameter = settings.nucleus_diameter or 0.0
    nuclei = read_labels(files[NUCLEI], shape) if NUCLEI in files else find_nuclei(pictures[NUCLEI], settings)
    if "cells" in files:
        cells = read_labels(files["cells"], shape)
        return Segmentation(assigned_nuclei(nuclei, cells), cells, np.zeros(int(cells.max(initial=0)) + 1, bool))
    if STAIN in pictures and floor is not None:
        return Segmentation(nuclei, *grow_cells(pictures[STAIN], nuclei, diameter, floor, settings))
    return Segmentation(nuclei, ring_cells(nuclei, diameter), np.zeros(int(nuclei.max(initial=0)) + 1, bool))
