"""The cells of a field as people see them: number, a point inside, outline. Fields of late stay in memory."""

from dataclasses import dataclass
from functools import lru_cache

from nearboost.cells.polygons import Box, Polygons, boxes_of, points_inside, polygons_of
from nearboost.cells.project import Field, Project
from nearboost.cells.saved_masks import read_record, read_segmentation
from nearboost.datasets import DataError

KEPT_FIELDS = 64


@dataclass(frozen=True)
class CellShape:
    """A cell of a field.

    Attributes
    ----------
    object : int
        ObjectNumber.
    x, y : float
        A point inside its nucleus, or inside of it where it has none.
    polygons : list
        Its outline: pieces, each a list of x and y of pixels on the edge.
    box : tuple of slice
        Rows and columns that hold it.
    """

    object: int
    x: float
    y: float
    polygons: Polygons
    box: Box


@dataclass(frozen=True)
class FieldShapes:
    """All cells of a field.

    Attributes
    ----------
    width, height : int
        Pixels.
    cells : dict
        `CellShape` by ObjectNumber, in increasing order.
    """

    width: int
    height: int
    cells: dict[int, CellShape]


def shapes_of(project: Project, one: Field) -> FieldShapes | None:
    """The cells of a field.

    Parameters
    ----------
    project : Project
        The project.
    one : Field
        A field of it.

    Returns
    -------
    FieldShapes or None
        None where it is not segmented.
    """
    record = read_record(project, one)
    return None if record is None else _shapes(_Place(project, one, str(project.folder), record["key"]))


def shape_of(project: Project, image: int, number: int) -> CellShape:
    """A cell by its numbers.

    Parameters
    ----------
    project : Project
        The project.
    image : int
        ImageNumber.
    number : int
        ObjectNumber.

    Returns
    -------
    CellShape
        The cell; an error where there is none.
    """
    found = shapes_of(project, project.field_of(image))
    if found is None or number not in found.cells:
        raise DataError(f"Image {image} has no cell numbered {number}; look at the present cells again.")
    return found.cells[number]


class _Place:
    """A field and its masks, equal where folder, number and masks are."""

    def __init__(self, project: Project, one: Field, folder: str, key: str) -> None:
        self.project, self.field, self._key = project, one, (folder, one.number, key)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Place) and self._key == other._key


@lru_cache(maxsize=KEPT_FIELDS)
def _shapes(place: _Place) -> FieldShapes:
    found = read_segmentation(place.project, place.field)
    boxes, outlines = boxes_of(found.cells), polygons_of(found.cells)
    points = points_inside(found.cells, boxes) | points_inside(found.nuclei, boxes)
    cells = {number: CellShape(number, *points[number], outlines[number], boxes[number]) for number in boxes}
    height, width = found.cells.shape
    return FieldShapes(width, height, cells)
