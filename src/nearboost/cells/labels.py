"""Annotations: which cell is of which class, said by whom and when. A cell is known by a point inside it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from math import isfinite, nan
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nearboost.base.disk import write_text
from nearboost.base.tables import format_csv
from nearboost.cells.carrying import object_at
from nearboost.cells.files import read_table
from nearboost.cells.layout import as_well
from nearboost.cells.project import Project
from nearboost.cells.regions import Labels
from nearboost.cells.saved_masks import find_segmentation
from nearboost.datasets.tables import LabelTable

COLUMNS = ("ImageNumber", "ObjectNumber", "x", "y", "class", "who", "when", "excluded")
CLASS = ("class", "label")
LONGEST = 10  # digits of a number of an image or a cell
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

    Examples
    --------
    >>> from nearboost.cells import Label
    >>> Label(1, 17, x=120.5, y=88.0, name="granular", who="Ada").name
    'granular'
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
    """Labels of cells of the present masks, and what was wrong with the others, by line.

    ``homeless`` are those of the others that have a point in an image of the project; ``notes`` say what a
    reader should know.
    """

    labels: list[Label]
    skipped: dict[str, str]
    homeless: Sequence[Label] = ()
    notes: Sequence[str] = ()


def read_label_file(project: Project, path: Path) -> Found:
    """Read annotations, and find their cells in the present masks.

    Parameters
    ----------
    project : Project
        A project that was segmented.
    path : Path
        CSV file with a column ``class``; ``ImageNumber``, or ``plate``, ``well`` and ``site``; and a point, ``x``
        and ``y``, or ``ObjectNumber``. Of cells that are ``excluded`` the class may be empty.

    Returns
    -------
    Found
        One label a cell, in the order of images and objects; where a cell has several, the last counts.
    """
    table = read_table(path)
    if table.column(CLASS) is None or table.column(("excluded",)) is None:
        table.required(CLASS)
    lines = _images(project, table)
    masks: dict[int, Labels | None] = {}
    found: dict[tuple[int, int], Label] = {}
    skipped: dict[str, str] = {}
    homeless: list[Label] = []
    for place, image in enumerate(lines):
        line = f"{path.name} line {place + 2}"
        if image is None:
            skipped[line] = "the project has no such image."
            continue
        if image not in masks:
            one = project.field_of(image)
            masked = find_segmentation(project, one)
            masks[image] = None if masked is None else masked.cells
        given = _given(table, place, image)
        label = given if isinstance(given, str) else _in_mask(given, masks[image])
        if isinstance(label, Label):
            found[image, label.object] = label
            continue
        skipped[line] = label
        if isinstance(given, Label) and isfinite(given.x):
            homeless.append(given)
    return Found([found[key] for key in sorted(found)], skipped, homeless)


def format_labels(labels: Iterable[Label]) -> str:
    """Annotations as CSV.

    Parameters
    ----------
    labels : iterable of Label
        One a cell.

    Returns
    -------
    str
        A line for each.
    """
    return format_csv(COLUMNS, ([*astuple(one)[:-1], int(one.excluded)] for one in labels))


def write_label_file(labels: Iterable[Label], path: Path) -> None:
    """Write annotations.

    Parameters
    ----------
    labels : iterable of Label
        One a cell.
    path : Path
        CSV file, written as a whole.
    """
    write_text(path, format_labels(labels))


def _images(project: Project, table: LabelTable) -> list[int | None]:
    """The image of each line."""
    known = {one.number for one in project.fields}
    given = table.column(("imagenumber",))
    if given is not None:
        return [number if number in known else None for number in map(_whole, given)]
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


def _given(table: LabelTable, place: int, image: int) -> Label | str:
    """A line as a label, or what is wrong with it; without a point x and y are NaN, without a number it is 0."""

    def cell(*names: str) -> str:
        column = table.column(names)
        return "" if column is None else column[place]

    excluded = cell("excluded").lower()
    if excluded not in (*YES, *NO):
        return f"it says excluded {excluded!r}; use 1 or nothing."
    name = cell(*CLASS)
    if not name and excluded not in YES:
        return "it has no class."
    x, y, number = (
        _number(cell("x", "location_center_x")),
        _number(cell("y", "location_center_y")),
        cell("objectnumber"),
    )
    x, y = (x, y) if isfinite(x) and isfinite(y) else (nan, nan)
    return Label(image, _whole(number), x, y, name, cell("who"), cell("when"), excluded in YES)


def _in_mask(given: Label, mask: Labels | None) -> Label | str:
    """The label on the cell at its point, or with its number; or why there is none."""
    if mask is None:
        return "its image is not segmented."
    if isfinite(given.x):
        number = object_at(mask, given.x, given.y)
        return replace(given, object=number) if number else (
            f"no cell is at x = {given.x:g}, y = {given.y:g} of image {given.image}."
        )  # fmt: skip
    inside = np.argwhere(mask == given.object) if given.object else np.empty((0, 2))
    if not len(inside):
        return (
            f"image {given.image} has no cell numbered {given.object or 'nothing'}; give ObjectNumber, or x and y."
        )
    y, x = map(float, inside[len(inside) // 2])
    return replace(given, x=x, y=y)


def _whole(text: str) -> int:
    """A number of an image or a cell; 0 where it is none."""
    return int(text) if text.isdecimal() and len(text) <= LONGEST else 0


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return nan


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
