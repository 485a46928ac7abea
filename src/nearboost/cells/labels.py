"""Annotations: which cell is of which class, said by whom and when. A cell is known by a point inside it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nearboost.base.disk import write_text
from nearboost.base.tables import format_csv
from nearboost.cells.files import read_table
from nearboost.cells.layout import as_well
from nearboost.cells.project import LABELS, Project
from nearboost.cells.regions import Labels
from nearboost.cells.saved_masks import read_record, read_segmentation
from nearboost.datasets import DataError
from nearboost.datasets.tables import LabelTable

COLUMNS = ("ImageNumber", "ObjectNumber", "x", "y", "class", "who", "when", "excluded")
YES, NO = ("1", "true", "yes"), ("", "0", "false", "no")


@dataclass(frozen=True)
class Label:
    """An annotated cell.

    Parameters
    ----------
    image : int
        ImageNumber.
    object : int
        ObjectNumber.
    x : float
        Column of a point inside the cell, by which it is found again in other masks.
    y : float
        Row of that point.
    name : str
        Its class.
    who : str, default=""
        Who said so.
    when : str, default=""
        When it was said.
    excluded : bool, default=False
        Whether it is left out of training and of counts by annotation.
    """

    image: int
    object: int
    x: float
    y: float
    name: str
    who: str = ""
    when: str = ""
    excluded: bool = False


class Found(NamedTuple):
    """Labels of cells of the present masks, and what was wrong with the others, by line."""

    labels: list[Label]
    skipped: dict[str, str]


def read_label_file(project: Project, path: Path | None = None) -> Found:
    """Read annotations, and find their cells in the present masks.

    Parameters
    ----------
    project : Project
        A project that was segmented.
    path : Path or None, default=None
        CSV file with a column ``class``; ``ImageNumber``, or ``plate``, ``well`` and ``site``; and a point, ``x``
        and ``y``, or ``ObjectNumber``. None means the project's own.

    Returns
    -------
    Found
        One label a cell, in the order of images and objects; where a cell has several, the last counts.
    """
    own = path is None
    path = project.folder / LABELS if path is None else path
    if own and not path.exists():
        return Found([], {})
    table = read_table(path)
    lines = _images(project, table)
    masks: dict[int, Labels | None] = {}
    found: dict[tuple[int, int], Label] = {}
    skipped: dict[str, str] = {}
    classes = table.required(("class", "label"))
    for place, (image, name) in enumerate(zip(lines, classes, strict=True)):
        line = f"{path.name} line {place + 2}"
        if image is None:
            skipped[line] = "the project has no such image."
            continue
        if image not in masks:
            one = project.field_of(image)
            masks[image] = None if read_record(project, one) is None else read_segmentation(project, one).cells
        label = _label(table, place, image, name, masks[image], line)
        if isinstance(label, str):
            skipped[line] = label
        else:
            found[image, label.object] = label
    return Found([found[key] for key in sorted(found)], skipped)


def write_label_file(labels: Iterable[Label], path: Path, others: Iterable[Sequence[str]] = ()) -> None:
    """Write annotations.

    Parameters
    ----------
    labels : iterable of Label
        One a cell.
    path : Path
        CSV file, written as a whole.
    others : iterable, default=()
        Lines that fit no cell at present; they come first, so that newer ones count before them.
    """
    rows = ([*astuple(one)[:-1], int(one.excluded)] for one in labels)
    write_text(path, format_csv(COLUMNS, chain(others, rows)))


def import_labels(project: Project, path: Path) -> Found:
    """Take annotations of a file into the project; a cell's new label replaces the one that it had.

    Parameters
    ----------
    project : Project
        A project that was segmented.
    path : Path
        See `read_label_file`.

    Returns
    -------
    Found
        The labels that were taken, and lines that fit no cell.
    """
    new, old = read_label_file(project, path), read_label_file(project)
    if not new.labels:
        why = next(iter(new.skipped.items()), (str(path), "it has no lines."))
        raise DataError(f"No line of {path} is a label of a cell: {why[0]}: {why[1]}")
    merged = {(one.image, one.object): one for one in (*old.labels, *new.labels)}
    own = project.folder / LABELS
    write_label_file((merged[key] for key in sorted(merged)), own, _lines(own, old.skipped) if old.skipped else ())
    return new


def _lines(path: Path, names: Iterable[str]) -> list[list[str]]:
    """Lines of the project's own labels as they stand, by what `read_label_file` calls them."""
    table = read_table(path)
    columns = [table.column((name.lower(),)) for name in COLUMNS]
    places = [int(name.rpartition(" ")[2]) - 2 for name in names]
    return [[column[place] if column else "" for column in columns] for place in places]


def _images(project: Project, table: LabelTable) -> list[int | None]:
    """The image of each line."""
    known = {one.number for one in project.fields}
    given = table.column(("imagenumber",))
    if given is not None:
        numbers = [int(text) if text.isdecimal() else None for text in given]
        return [number if number in known else None for number in numbers]
    wells = table.required(("well", "metadata_well"))
    plates, sites = (table.column((name, f"metadata_{name}")) for name in ("plate", "site"))
    places: dict[tuple[str, ...], list[int]] = {}
    for one in project.fields:
        for plate in {one.place.plate, ""}:
            for site in {one.place.site, ""}:
                places.setdefault((plate, one.place.well, site), []).append(one.number)
    found = []
    for line, well in enumerate(wells):
        plate, site = (column[line] if column else "" for column in (plates, sites))
        numbers_here = places.get((plate, as_well(well), site), [])
        found.append(numbers_here[0] if len(numbers_here) == 1 else None)
    return found


def _label(table: LabelTable, place: int, image: int, name: str, mask: Labels | None, line: str) -> Label | str:
    """A line as a label, or what is wrong with it."""
    if mask is None:
        return "its image is not segmented."

    def cell(names: tuple[str, ...]) -> str:
        column = table.column(names)
        return "" if column is None else column[place]

    excluded = cell(("excluded",)).lower()
    if excluded not in (*YES, *NO):
        return f"it says excluded {excluded!r}; use 1 or nothing."
    x, y = _number(cell(("x", "location_center_x"))), _number(cell(("y", "location_center_y")))
    if x is not None and y is not None:
        height, width = mask.shape
        column, row = round(x), round(y)
        number = int(mask[row, column]) if 0 <= row < height and 0 <= column < width else 0
        if not number:
            return f"no cell is at x = {x:g}, y = {y:g} of image {image}."
    else:
        text = cell(("objectnumber",))
        number = int(text) if text.isdecimal() else 0
        inside = np.argwhere(mask == number) if number else np.empty((0, 2))
        if not len(inside):
            return f"image {image} has no cell numbered {text or 'nothing'}; give ObjectNumber, or x and y."
        y, x = map(float, inside[len(inside) // 2])
    who, when = cell(("who",)), cell(("when",))
    return Label(image, number, x, y, name, who, when, excluded in YES)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None


def by_cell(labels: Iterable[Label]) -> Mapping[tuple[int, int], str]:
    """The classes of annotated cells that are not excluded.

    Parameters
    ----------
    labels : iterable of Label
        Annotations.

    Returns
    -------
    mapping
        Class by image and object.
    """
    return {(one.image, one.object): one.name for one in labels if not one.excluded}
