"""Labels follow their cells into new masks: by what overlaps, or by their points where the old masks are gone."""

from collections.abc import Mapping
from dataclasses import replace

from nearboost.cells.annotations import FROM_A_FILE, PROGRAM, AnnotationStore
from nearboost.cells.carrying import Placement, object_at, place_labels
from nearboost.cells.polygons import as_text, points_inside, polygons_of
from nearboost.cells.project import Field, Project
from nearboost.cells.saved_masks import find_segmentation, read_record
from nearboost.cells.segmentation import Segmentation


def settle_masks(project: Project, store: AnnotationStore) -> None:
    """Carry labels by their points where masks were changed behind their back, or came after them.

    Parameters
    ----------
    project : Project
        The project.
    store : AnnotationStore
        Its annotations.
    """
    fields = {one.number: one for one in project.fields}
    for image, generation in store.generations().items():
        record = read_record(project, fields[image]) if image in fields else None
        if record is not None and generation and record["key"] != generation:
            found = find_segmentation(project, fields[image])
            if found is not None:  # else labels wait for masks that can be read
                _carry_by_points(store, image, record["key"], found, sure=generation == FROM_A_FILE)


def carry_labels(project: Project, store: AnnotationStore, one: Field, found: Segmentation, key: str) -> None:
    """Take the labels of a field over to masks that are about to be written.

    Parameters
    ----------
    project : Project
        The project, with the old masks.
    store : AnnotationStore
        Its annotations.
    one : Field
        The field.
    found : Segmentation
        The new masks.
    key : str
        Of all that these were made of.
    """
    known, record, said = store.generation(one.number), read_record(project, one), store.to_carry(one.number)
    if known == key or not (known or said):
        return
    old = find_segmentation(project, one)
    if record is None or old is None or old.cells.shape != found.cells.shape or known not in ("", record["key"]):
        _carry_by_points(store, one.number, key, found, sure=known == FROM_A_FILE)
        return
    centres = points_inside(old.cells, said) | points_inside(old.nuclei, said)
    placement = place_labels(old.cells, found.cells, {one: said[one] for one in centres}, centres)
    lost = tuple(one for one in said if one not in centres)  # said of a cell that is in no mask
    placement = replace(placement, unplaced=(*placement.unplaced, *lost))
    outlines = polygons_of(old.cells, placement.unplaced)
    _carry(store, one.number, key, found, placement, {number: as_text(one) for number, one in outlines.items()})


def _carry_by_points(
    store: AnnotationStore, image: int, generation: str, found: Segmentation, *, sure: bool
) -> None:
    """To the cell at the point of each label, to be checked unless points are all that a label ever had."""
    said = store.to_carry(image)
    points = {one.object: (one.x, one.y) for one in store.labels(image) if one.x is not None and one.y is not None}
    targets = {one: object_at(found.cells, *points[one]) for one in said if one in points}
    wanted: dict[int, set[tuple[int | None, bool]]] = {}
    for one, target in targets.items():
        wanted.setdefault(target, set()).add(said[one])
    placed = {one: target for one, target in targets.items() if target and len(wanted[target]) == 1}
    unplaced = tuple(one for one in said if one not in placed)
    placement = Placement(placed, {}, unplaced) if sure else Placement({}, placed, unplaced)
    _carry(store, image, generation, found, placement, {})


def _carry(
    store: AnnotationStore,
    image: int,
    generation: str,
    found: Segmentation,
    placement: Placement,
    outlines: Mapping[int, str],
) -> None:
    old = {one.object: (one.x, one.y) for one in store.labels(image) if one.x is not None and one.y is not None}
    moves = (placement.placed | placement.to_check).items()
    targets = [new for one, new in moves if one not in old or object_at(found.cells, *old[one]) != new]
    points = points_inside(found.cells, targets) | points_inside(found.nuclei, targets)
    places = {(image, number): point for number, point in points.items()}
    outlines = dict.fromkeys(placement.unplaced, "") | dict(outlines)
    store.carry_over(PROGRAM, image, generation, placement, outlines, places)
