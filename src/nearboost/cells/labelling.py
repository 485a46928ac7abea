"""Cells are labelled by people: a step in the store, which begins with the masks that cells are of."""

from collections.abc import Sequence

from nearboost.base.errors import UsageError
from nearboost.cells.annotation_records import Cell, CellLabel
from nearboost.cells.annotations import AnnotationStore
from nearboost.cells.field_shapes import shape_of
from nearboost.cells.project import Project
from nearboost.cells.project_labels import begin_masks
from nearboost.cells.saying import said_of


def label_cells(
    project: Project, store: AnnotationStore, who: str, cells: Sequence[Cell], class_id: int | None
) -> list[CellLabel]:
    """Give cells a class, or none.

    Parameters
    ----------
    project : Project
        Whose cells they are.
    store : AnnotationStore
        Its annotations.
    who : str
        The person.
    cells : sequence of Cell
        Each with the event last seen of it.
    class_id : int or None
        The class; None removes labels.

    Returns
    -------
    list of CellLabel
        What holds of these cells now, on the disk.
    """
    return store.label(who, cells, class_id, _begun(project, store, cells))


def exclude_cells(
    project: Project, store: AnnotationStore, who: str, cells: Sequence[Cell], excluded: bool = True
) -> list[CellLabel]:
    """Mark outlines as wrong, so that training and counts leave these cells out; or as right again.

    Parameters
    ----------
    project : Project
        Whose cells they are.
    store : AnnotationStore
        Its annotations.
    who : str
        The person.
    cells : sequence of Cell
        Each with the event last seen of it.
    excluded : bool, default=True
        Whether they are left out.

    Returns
    -------
    list of CellLabel
        What holds of these cells now, on the disk.
    """
    return store.exclude(who, cells, excluded, _begun(project, store, cells))


def confirm_cells(project: Project, store: AnnotationStore, who: str, cells: Sequence[Cell]) -> list[CellLabel]:
    """Give cells the class that the active model says of each, in one step.

    Parameters
    ----------
    project : Project
        Whose cells they are.
    store : AnnotationStore
        Its annotations.
    who : str
        The person.
    cells : sequence of Cell
        Each with the event last seen of it.

    Returns
    -------
    list of CellLabel
        What holds of these cells now, on the disk.
    """
    said, numbers = said_of(project), {one.name: one.id for one in store.classes()}
    wanted = {}
    for cell in cells:
        found = None if said is None else said.of(cell.image, cell.object)
        if found is None:
            raise UsageError("There is no prediction to confirm; train a model first.")
        if found[0] not in numbers:
            raise UsageError(f"The model says {found[0]!r}, which is no class any more; add it, or train anew.")
        wanted[cell] = numbers[found[0]]
    return store.label_each(who, wanted, _begun(project, store, cells))


def settle_label(project: Project, store: AnnotationStore, who: str, unplaced: int, cell: Cell | None) -> None:
    """Give a label without a cell to one, or discard it.

    Parameters
    ----------
    project : Project
        Whose label it is.
    store : AnnotationStore
        Its annotations.
    who : str
        The person.
    unplaced : int
        Number of the waiting label, see `AnnotationStore.unplaced`.
    cell : Cell or None
        A cell of the same image, with the event last seen of it; None discards the label.
    """
    waiting = next((one for one in store.unplaced() if one.id == unplaced), None)
    if waiting is None:
        raise UsageError("This label was placed or discarded in the meantime; nothing was changed.")
    if cell is not None and cell.image != waiting.label.image:
        raise UsageError("A label is placed in the image that it was given in; choose a cell of that image.")
    store.settle(who, waiting, cell, {} if cell is None else _begun(project, store, [cell]))


def _begun(
    project: Project, store: AnnotationStore, cells: Sequence[Cell]
) -> dict[tuple[int, int], tuple[float, float]]:
    """Points of cells that there are; the store knows which masks they are of."""
    places = {}
    for cell in cells:
        shape = shape_of(project, cell.image, cell.object)
        places[cell.image, cell.object] = shape.x, shape.y
    for image in {cell.image for cell in cells}:
        begin_masks(project, store, image)
    return places
