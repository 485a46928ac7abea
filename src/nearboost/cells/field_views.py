"""A field as people work on it: cells with outlines, labels, what the model says, and flags."""

import json
from dataclasses import dataclass, field

from nearboost.cells.annotation_records import CellLabel
from nearboost.cells.annotations import AnnotationStore
from nearboost.cells.browsing import FieldFacts, field_facts
from nearboost.cells.field_shapes import shapes_of
from nearboost.cells.measures import FLAGS
from nearboost.cells.polygons import Polygons
from nearboost.cells.project import Project
from nearboost.cells.saying import rows_of, said_of
from nearboost.cells.tiles import MOST_LEVELS, TILE, size_of


@dataclass(frozen=True)
class CellView:
    """A cell of a field.

    Attributes
    ----------
    object : int
        ObjectNumber.
    x, y : float
        A point inside.
    polygons : list
        Its outline: pieces, each a list of x and y.
    label : CellLabel or None
        What people said of it.
    said : str or None
        The class that the active model says.
    probability : float or None
        Of that class.
    flags : tuple of str
        What is unusual of it: no stain, no nucleus, at the border.
    """

    object: int
    x: float
    y: float
    polygons: Polygons
    label: CellLabel | None
    said: str | None
    probability: float | None
    flags: tuple[str, ...]


@dataclass(frozen=True)
class WaitingLabel:
    """A label without a cell.

    Attributes
    ----------
    id : int
        Its number, see `settle_label`.
    polygons : list
        The outline of the cell that it was given to; empty where it is not known.
    label : CellLabel
        What was said.
    """

    id: int
    polygons: Polygons
    label: CellLabel


@dataclass(frozen=True)
class FieldView:
    """A field.

    Attributes
    ----------
    facts : FieldFacts
        Number, place, what is missing.
    width, height : int
        Pixels.
    pixel_size : float or None
        Micrometres of a pixel, if they are known.
    roles : tuple of str
        Channels.
    levels : int
        Halvings until the field fits in a tile, and 1.
    cells : list of CellView
        In the order of their numbers.
    waiting : list of WaitingLabel
        Labels of this image without a cell.
    """

    facts: FieldFacts
    width: int
    height: int
    pixel_size: float | None
    roles: tuple[str, ...]
    levels: int
    cells: list[CellView] = field(default_factory=list)
    waiting: list[WaitingLabel] = field(default_factory=list)


def view_field(project: Project, store: AnnotationStore, number: int) -> FieldView:
    """A field with its cells.

    Parameters
    ----------
    project : Project
        The project.
    store : AnnotationStore
        Its annotations.
    number : int
        ImageNumber.

    Returns
    -------
    FieldView
        Without width and height where images are missing and there are no masks.
    """
    one = project.field_of(number)
    facts = next(facts for facts in field_facts(project, store) if facts.number == number)
    shapes = shapes_of(project, one)
    width, height, size = (0, 0, project.reading.pixel_size) if facts.missing else size_of(project, one)
    if shapes is not None and facts.missing:
        width, height = shapes.width, shapes.height
    levels = 1
    while levels <= MOST_LEVELS and max(width, height) > TILE * 2 ** (levels - 1):
        levels += 1
    cells = [] if shapes is None else cell_views(project, store, number)
    return FieldView(
        facts, width, height, size, tuple(project.reading.roles), levels, cells, waiting_labels(store, number)
    )


def cell_views(project: Project, store: AnnotationStore, number: int) -> list[CellView]:
    """The cells of a field, as far as it is segmented.

    Parameters
    ----------
    project : Project
        The project.
    store : AnnotationStore
        Its annotations.
    number : int
        ImageNumber.

    Returns
    -------
    list of CellView
        In the order of their numbers.
    """
    shapes = shapes_of(project, project.field_of(number))
    labels = {one.object: one for one in store.said_of(number)}
    said, flags = said_of(project), _flags(project, number)
    views = []
    for one in () if shapes is None else shapes.cells.values():
        name, chance = (said.of(number, one.object) if said is not None else None) or (None, None)
        label = labels.get(one.object)
        views.append(
            CellView(one.object, one.x, one.y, one.polygons, label, name, chance, flags.get(one.object, ()))
        )
    return views


def waiting_labels(store: AnnotationStore, number: int | None = None) -> list[WaitingLabel]:
    """Labels without a cell.

    Parameters
    ----------
    store : AnnotationStore
        Annotations.
    number : int or None, default=None
        ImageNumber; None means all images.

    Returns
    -------
    list of WaitingLabel
        In the order in which they lost their cells.
    """
    return [
        WaitingLabel(one.id, json.loads(one.outline) if one.outline else [], one.label)
        for one in store.unplaced(number)
    ]


def _flags(project: Project, number: int) -> dict[int, tuple[str, ...]]:
    rows = rows_of(project)
    if rows is None:
        return {}
    found = {}
    for row in (rows.images == number).nonzero()[0].tolist():
        found[int(rows.objects[row])] = tuple(name for name in FLAGS if rows.measures[name][row])
    return found
