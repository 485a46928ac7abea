"""Wells and fields of a project with what is known of them: cells, labels, shares, means."""

import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from nearboost.base.errors import UsageError
from nearboost.cells.annotations import AnnotationStore
from nearboost.cells.counting import Classified, classify
from nearboost.cells.project import Field, Project
from nearboost.cells.project_labels import present_labels
from nearboost.cells.saved_masks import read_record
from nearboost.cells.saying import rows_of, said_of
from nearboost.cells.tables import share_name

CELLS, LABELS = "cells", "labels"
MEAN = "Mean_"


@dataclass(frozen=True)
class FieldFacts:
    """A field of the plate.

    Attributes
    ----------
    number : int
        ImageNumber.
    plate, well, site : str
        Where it is; empty where its name does not say.
    name : str
        What people call it.
    cells : int or None
        Cells; None where it is not segmented.
    labels : int
        Labelled cells.
    waiting : int
        Labels without a cell.
    missing : tuple of str
        Names of image files that are gone; ``nearboost cells relink`` finds them again.
    """

    number: int
    plate: str
    well: str
    site: str
    name: str
    cells: int | None
    labels: int
    waiting: int
    missing: tuple[str, ...]


@dataclass(frozen=True)
class WellFacts:
    """A well of the plate.

    Attributes
    ----------
    plate, well : str
        Its name.
    row, column : int or None
        Its place, counted from 0; None where the name is no letter and number.
    layout : dict
        What the layout says of it, such as control and dose.
    fields : tuple of int
        Its images.
    value : float or None
        What was asked for.
    """

    plate: str
    well: str
    row: int | None
    column: int | None
    layout: dict[str, str]
    fields: tuple[int, ...]
    value: float | None


@dataclass(frozen=True)
class Plate:
    """All wells, or only fields where names of images say no wells.

    Attributes
    ----------
    measure : str
        What ``value`` of the wells is.
    measures : list of str
        What it could be.
    wells : list of WellFacts
        In the order of plates, rows and columns.
    fields : list of FieldFacts
        In the order of their numbers.
    """

    measure: str
    measures: list[str]
    wells: list[WellFacts] = field(default_factory=list)
    fields: list[FieldFacts] = field(default_factory=list)


def view_plate(project: Project, store: AnnotationStore, measure: str = CELLS) -> Plate:
    """Wells with a value each, and fields.

    Parameters
    ----------
    project : Project
        The project.
    store : AnnotationStore
        Its annotations.
    measure : str, default="cells"
        One of `plate_measures`.

    Returns
    -------
    Plate
        As far as there is something to show.
    """
    measures = plate_measures(project)
    if measure not in measures:
        raise UsageError(f"Wells have no {measure!r}; choose one of {', '.join(measures[:6])}.")
    fields = field_facts(project, store)
    places: dict[tuple[str, str], list[FieldFacts]] = {}
    for one in fields:
        if one.well:
            places.setdefault((one.plate, one.well), []).append(one)
    values = _values(project, store, measure, places)
    wells = [
        WellFacts(
            *key,
            *_place(key[1]),
            project.layout.of(*key),
            tuple(one.number for one in inside),
            values.get(key),
        )
        for key, inside in places.items()
    ]
    wells.sort(key=lambda one: (one.plate, one.row is None, one.row or 0, one.column or 0, one.well))
    return Plate(measure, measures, wells, fields)


def plate_measures(project: Project) -> list[str]:
    """What wells can be coloured by.

    Parameters
    ----------
    project : Project
        The project.

    Returns
    -------
    list of str
        Cells and labels; shares of classes where a model says them; means of what was measured.
    """
    said, rows = said_of(project), rows_of(project)
    shares = [share_name(name) for name in said.model.classes] if said is not None else []
    means = [f"{MEAN}{name}" for name in rows.measures] if rows is not None else []
    return [CELLS, LABELS, *shares, *means]


def field_facts(project: Project, store: AnnotationStore) -> list[FieldFacts]:
    """All fields with what is known of them.

    Parameters
    ----------
    project : Project
        The project.
    store : AnnotationStore
        Its annotations.

    Returns
    -------
    list of FieldFacts
        In the order of their numbers.
    """
    labels = Counter(one.image for one in store.labels() if one.object > 0)
    waiting = Counter(one.label.image for one in store.unplaced())
    return [
        FieldFacts(
            one.number,
            *one.place,
            str(one.place),
            _count(project, one),
            labels[one.number],
            waiting[one.number],
            missing_images(project, one),
        )
        for one in project.fields
    ]


def missing_images(project: Project, one: Field) -> tuple[str, ...]:
    """Image files of a field that are gone.

    Parameters
    ----------
    project : Project
        The project.
    one : Field
        A field of it.

    Returns
    -------
    tuple of str
        Their paths below the folder of images.
    """
    files = dict.fromkeys(one.files.values())
    return tuple(file.path for file in files if not project.path_of(file).exists())


def present_classes(project: Project, store: AnnotationStore) -> Classified | None:
    """The class that counts of each cell now: its label, else what the active model says.

    Parameters
    ----------
    project : Project
        The project.
    store : AnnotationStore
        Its annotations.

    Returns
    -------
    Classified or None
        In the order of `rows_of`; None without a model.
    """
    said = said_of(project)
    if said is None:
        return None
    labels = {(one.image, one.object): (one.name, one.excluded) for one in present_labels(project, store).labels}
    return classify(said.rows, said.names.tolist(), labels, said.model.classes)


def _count(project: Project, one: Field) -> int | None:
    record = read_record(project, one)
    return None if record is None else int(record["cells"])


def _values(
    project: Project, store: AnnotationStore, measure: str, places: dict[tuple[str, str], list[FieldFacts]]
) -> dict[tuple[str, str], float | None]:
    if measure in (CELLS, LABELS):
        return {key: float(sum(getattr(one, measure) or 0 for one in inside)) for key, inside in places.items()}
    rows, found = rows_of(project), present_classes(project, store)
    if rows is None:
        return {}
    excluded = found.excluded if found is not None else np.zeros(len(rows), bool)
    if measure.startswith(MEAN):
        values: NDArray[np.float64] = rows.measures[measure.removeprefix(MEAN)]
    else:
        assert found is not None  # else there are no shares among the measures
        name = next(name for name in found.classes if share_name(name) == measure)
        values = (found.names == name).astype(np.float64)
    means: dict[tuple[str, str], float | None] = {}
    for key, inside in places.items():
        mine = values[np.isin(rows.images, [one.number for one in inside]) & ~excluded]
        means[key] = float(mine.mean()) if len(mine) else None
    return means


def _place(well: str) -> tuple[int | None, int | None]:
    """Row and column of a well as `as_well` writes it.

    >>> _place("B03"), _place("AA01"), _place("slide 3")
    ((1, 2), (26, 0), (None, None))
    """
    letters = well.rstrip("0123456789")
    if not re.fullmatch("[A-Z]{1,2}", letters) or letters == well:
        return None, None
    row = 0
    for letter in letters:
        row = 26 * row + ord(letter) - ord("A") + 1
    return row - 1, int(well[len(letters) :]) - 1
