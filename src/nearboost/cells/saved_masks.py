"""What segmentation leaves on disk: masks, outlines, a record of each field, and the light of plates."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from nearboost.base.disk import read_arrays, whole_file, write_arrays
from nearboost.base.images import ImageError
from nearboost.cells.fields import Pictures, list_images
from nearboost.cells.files import read_json, write_json_lines
from nearboost.cells.filters import Picture
from nearboost.cells.illumination import corrected, is_light
from nearboost.cells.masks import LARGEST_LABEL, numbers_of, read_labels, write_labels
from nearboost.cells.outlines import draw_outlines
from nearboost.cells.patterns import NUCLEI, STAIN
from nearboost.cells.project import Field, Project
from nearboost.cells.segmentation import Segmentation
from nearboost.datasets import DataError

MOST_LIGHT = 1e9  # of a pixel
LIGHTS = "illumination.npz"
Lights = dict[tuple[str, str], Picture]  # by role and plate


def mask_path(project: Project, one: Field, kind: str) -> Path:
    """A file of a field's segmentation.

    Parameters
    ----------
    project : Project
        The project.
    one : Field
        A field of it.
    kind : str
        Such as nuclei.tif.

    Returns
    -------
    Path
        Its place.
    """
    return project.folder / "masks" / f"{one.number:05}_{kind}"


def list_masks(project: Project, folder: Path) -> list[str]:
    """The masks of a folder, which may be that of the images: the project's own pictures are no masks.

    Parameters
    ----------
    project : Project
        The project.
    folder : Path
        Where another program left its masks.

    Returns
    -------
    list of str
        Paths below it.
    """
    pictures = {project.path_of(file).resolve() for one in project.fields for file in one.files.values()}
    return [path for path in list_images(folder) if (folder / path).resolve() not in pictures]


def read_record(project: Project, one: Field) -> dict[str, Any] | None:
    """What was written about a field's segmentation.

    Parameters
    ----------
    project : Project
        The project.
    one : Field
        A field of it.

    Returns
    -------
    dict or None
        None where it was not segmented, or not to the end.
    """
    path = mask_path(project, one, "record.json")
    files = [mask_path(project, one, kind) for kind in ("nuclei.tif", "cells.tif")]
    if not path.exists() or not all(file.exists() for file in files):
        return None
    stat = path.stat()
    return _record_at(path, stat.st_mtime_ns, stat.st_ino)


@lru_cache(maxsize=20_000)
def _record_at(path: Path, written: int, inode: int) -> dict[str, Any] | None:
    """The record of a file, which is written as a whole: read once as long as it is the same, never changed."""
    try:
        record = read_json(path, f"{path} is gone.")
    except DataError:  # damaged: it promises nothing
        return None
    return record if _is_record(record) else None


def _is_record(given: dict[str, Any]) -> bool:
    """Whether a record says what `write_segmentation` writes; another one promises nothing."""
    key, cells, unstained, floor = (given.get(name) for name in ("key", "cells", "unstained", "floor"))
    numbers = [cells, *unstained] if isinstance(unstained, list) else [None]
    wholes = all(type(number) is int and 0 <= number <= LARGEST_LABEL for number in numbers)
    level = floor is None or (type(floor) in (int, float) and abs(floor) <= MOST_LIGHT)
    return wholes and level and isinstance(key, str) and key.isprintable() and "floor" in given


def is_empty(project: Project, one: Field) -> bool:
    """Whether a field was segmented and has no cell.

    Parameters
    ----------
    project : Project
        The project.
    one : Field
        A field of it.

    Returns
    -------
    bool
        Whether it is so.
    """
    record = read_record(project, one)
    return record is not None and record["cells"] == 0


def read_segmentation(project: Project, one: Field) -> Segmentation:
    """The masks of a field.

    Parameters
    ----------
    project : Project
        The project.
    one : Field
        A field that was segmented.

    Returns
    -------
    Segmentation
        As saved.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from nearboost.cells import SegmentationSettings, create_project, read_segmentation
    >>> from nearboost.cells import segment_project, write_demo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plate, screen = Path(folder) / "plate", Path(folder) / "screen"
    ...     _ = write_demo(plate, repeats=1, size=96, n_cells=5)
    ...     project = create_project(screen, [plate / "images"]).project
    ...     _ = segment_project(project, SegmentationSettings())
    ...     found = read_segmentation(project, project.fields[0])
    >>> found.cells.shape, found.numbers.tolist()
    ((96, 96), [1, 2, 3, 4, 5])
    """
    record = read_record(project, one)
    if record is None:
        raise DataError(f"{one.name} is not segmented; run nearboost cells segment {project.folder} first.")
    try:
        nuclei, cells = (read_labels(mask_path(project, one, kind)) for kind in ("nuclei.tif", "cells.tif"))
        if nuclei.shape != cells.shape or not ((nuclei == 0) | (nuclei == cells)).all():
            raise ImageError("its nuclei do not lie in its cells")
    except ImageError as error:
        why = str(error).rstrip(".").replace("; replace it by a sound copy", "")
        raise DataError(
            f"{one.name} has damaged masks ({why}); run nearboost cells segment {project.folder} again."
        ) from error
    unstained = np.zeros(int(cells.max(initial=0)) + 1, bool)
    unstained[[number for number in record["unstained"] if number < len(unstained)]] = True
    return Segmentation(nuclei, cells, unstained)


def find_segmentation(project: Project, one: Field) -> Segmentation | None:
    """The masks of a field, as far as there are any that can be read.

    Parameters
    ----------
    project : Project
        The project.
    one : Field
        A field of it.

    Returns
    -------
    Segmentation or None
        None where they are to be made, for the first time or anew.
    """
    try:
        return read_segmentation(project, one)
    except DataError:
        return None


def write_segmentation(
    project: Project, one: Field, found: Segmentation, pictures: dict[str, Any], key: str, floor: float | None
) -> int:
    """Write masks and outlines, then the record that promises them.

    Parameters
    ----------
    project : Project
        The project.
    one : Field
        A field of it.
    found : Segmentation
        Its cells.
    pictures : dict
        Its channels, by role.
    key : str
        Of all that the masks were made of.
    floor : float or None
        Background of the stain.

    Returns
    -------
    int
        Number of cells.
    """
    record = mask_path(project, one, "record.json")
    record.unlink(missing_ok=True)
    write_labels(mask_path(project, one, "nuclei.tif"), found.nuclei)
    write_labels(mask_path(project, one, "cells.tif"), found.cells)
    with whole_file(mask_path(project, one, "outlines.png")) as made:
        made.write_bytes(draw_outlines(pictures.get(STAIN, pictures[NUCLEI]), found))
    numbers = numbers_of(found.cells)
    unstained = [int(number) for number in numbers if found.unstained[number]]
    content = {"key": key, "content": one.content, "cells": len(numbers), "unstained": unstained, "floor": floor}
    write_json_lines(record, content)
    return len(numbers)


def save_lights(project: Project, lights: Lights) -> None:
    """Keep the light that segmentation is made with, or that there is none.

    Parameters
    ----------
    project : Project
        The project.
    lights : dict
        By role and plate.
    """
    path = project.folder / "masks" / LIGHTS
    if lights:
        write_arrays(path, **{f"{role} {plate}": light for (role, plate), light in lights.items()})
    else:
        path.unlink(missing_ok=True)


def saved_lights(project: Project) -> Lights:
    """The light that segmentation was made with.

    Parameters
    ----------
    project : Project
        The project.

    Returns
    -------
    dict
        By role and plate; empty if none was corrected.
    """
    path = project.folder / "masks" / LIGHTS
    if not path.exists():
        return {}
    try:
        stored = read_arrays(path)
    except Exception:  # broken bytes make numpy raise almost anything
        stored = {}
    if not stored or not all(map(is_light, stored.values())):
        raise DataError(f"{path} is damaged; run nearboost cells segment {project.folder} --illumination again.")
    return {(name.partition(" ")[0], name.partition(" ")[2]): light for name, light in stored.items()}


def lit_pictures(project: Project, one: Field, lights: Lights) -> Pictures:
    """The pictures of a field in even light, where the light is known.

    Parameters
    ----------
    project : Project
        The project.
    one : Field
        A field of it.
    lights : dict
        By role and plate.

    Returns
    -------
    Pictures
        By role.
    """
    pictures = project.read(one)
    plate = one.place.plate
    by_role = {
        role: corrected(picture, lights[role, plate]) if (role, plate) in lights else picture
        for role, picture in pictures.by_role.items()
    }
    return Pictures(by_role, pictures.pixel_size)
