"""How many cells are of which class: by image, well and plate, with intervals."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearboost.cells.describing import CellRows
from nearboost.cells.project import Project
from nearboost.cells.saved_masks import is_empty
from nearboost.cells.training import keys_of

LEVEL = 0.95


class Classified(NamedTuple):
    """The class that counts of each cell: its annotation where it has one, else what the model said.

    ``excluded`` cells, whose annotation says so, count nowhere.
    """

    names: NDArray[np.str_]
    annotated: NDArray[np.bool_]
    excluded: NDArray[np.bool_]
    classes: tuple[str, ...]


class Unit(NamedTuple):
    """An image, well or plate, and its cells by number."""

    level: str
    name: dict[str, Any]
    rows: NDArray[np.int64]
    wells: NDArray[np.str_]


def classify(
    rows: CellRows,
    predicted: Sequence[str],
    labels: dict[tuple[int, int], tuple[str, bool]],
    classes: Sequence[str],
) -> Classified:
    """Put annotations and predictions together.

    Parameters
    ----------
    rows : CellRows
        All cells.
    predicted : sequence of str
        Class of each cell, as a model says.
    labels : dict
        Class and whether it is excluded, by image and object.
    classes : sequence of str
        Classes of the model.

    Returns
    -------
    Classified
        What counts.
    """
    said = [labels.get(key) for key in keys_of(rows)]
    names = np.array(
        [p if s is None or s[1] else s[0] for p, s in zip(predicted, said, strict=True)], dtype=np.str_
    )
    annotated = np.array([s is not None and not s[1] for s in said], dtype=bool)
    excluded = np.array([s is not None and s[1] for s in said], dtype=bool)
    known = tuple(dict.fromkeys([*classes, *sorted(set(names[annotated].tolist()))]))
    return Classified(names, annotated, excluded, known)


def unknown_to_model(model: Sequence[str], labelled: Iterable[str]) -> str:
    """What a reader of counts should know where labels have classes that the model has not, as after a renaming.

    Parameters
    ----------
    model : sequence of str
        Classes of the model.
    labelled : iterable of str
        Classes of labels.

    Returns
    -------
    str
        A sentence; "" where the model knows all of them.

    >>> unknown_to_model(["flat", "round"], ["round", "spread"])
    'cells are labelled spread, which the model does not know (it says flat, round); train anew.'
    """
    unknown = sorted({*labelled} - {*model})
    if not unknown:
        return ""
    return (
        f"cells are labelled {', '.join(unknown)}, which the model does not know "
        f"(it says {', '.join(model)}); train anew."
    )


def units_of(project: Project, rows: CellRows) -> list[Unit]:
    """Images, wells and plates with their cells.

    Parameters
    ----------
    project : Project
        The project.
    rows : CellRows
        All cells.

    Returns
    -------
    list of Unit
        Images first, then wells, then plates; also those in which no cell was found.
    """
    fields = {one.number: one for one in project.fields}
    wells = np.array(
        [f"{fields[n].place.plate}\n{fields[n].place.well or n}" for n in rows.images.tolist()], np.str_
    )
    # images without a cell count too: a well whose cells are all dead is a result
    seen = sorted({*rows.images.tolist(), *(one.number for one in project.fields if is_empty(project, one))})
    units = []
    for number in seen:
        place = fields[number].place
        name = {"plate": place.plate, "well": place.well, "ImageNumber": number}
        units.append(_unit("image", name, rows.images == number, wells))
    places = [fields[n].place for n in rows.images.tolist()]
    of_wells = np.array([f"{place.plate}\n{place.well}" for place in places], dtype=np.str_)
    for key in sorted({f"{fields[n].place.plate}\n{fields[n].place.well}" for n in seen}):
        plate, well = key.split("\n")
        if well:
            name = {"plate": plate, "well": well, "ImageNumber": None}
            units.append(_unit("well", name, of_wells == key, wells))
    plates = np.array([place.plate for place in places], dtype=np.str_)
    for plate in sorted({fields[n].place.plate for n in seen}):
        units.append(_unit("plate", {"plate": plate, "well": "", "ImageNumber": None}, plates == plate, wells))
    return units


def _unit(level: str, name: dict[str, Any], inside: NDArray[np.bool_], wells: NDArray[np.str_]) -> Unit:
    rows = np.flatnonzero(inside)
    return Unit(level, name, rows, wells[rows])


def count_cells(project: Project, rows: CellRows, found: Classified) -> dict[str, list[Any]]:
    """Counts of each class in each image, well and plate.

    Parameters
    ----------
    project : Project
        The project.
    rows : CellRows
        All cells.
    found : Classified
        What counts.

    Returns
    -------
    dict
        Columns: level, plate, well, ImageNumber, class, count, total, share, low, high (95% of the share, by well
        where there are several), annotated (how many of the count are annotations).
    """
    names = (
        "level",
        "plate",
        "well",
        "ImageNumber",
        "class",
        "count",
        "total",
        "share",
        "low",
        "high",
        "annotated",
    )
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for unit in units_of(project, rows):
        inside = unit.rows[~found.excluded[unit.rows]]
        wells = unit.wells[~found.excluded[unit.rows]]
        for name in found.classes:
            is_one = found.names[inside] == name
            count, total = int(is_one.sum()), len(inside)
            low, high = share_interval(is_one, wells)
            share = count / total if total else None
            annotated = int((is_one & found.annotated[inside]).sum())
            values = (unit.level, *unit.name.values(), name, count, total, share, low, high, annotated)
            for column, value in zip(columns.values(), values, strict=True):
                column.append(value)
    return columns


def share_interval(is_one: NDArray[np.bool_], wells: NDArray[np.str_]) -> tuple[float | None, float | None]:
    """A 95% interval of a share.

    Cells of one well are not independent. With several wells the interval is that of a ratio of sums over wells,
    with Student's t; within one well it is Wilson's, which knows of no other wells.

    Parameters
    ----------
    is_one : ndarray of bool of shape (n_cells,)
        Whether a cell is of the class.
    wells : ndarray of shape (n_cells,)
        Well of each.

    Returns
    -------
    low, high : float or None
        None without cells.
    """
    from scipy.stats import norm, t

    n = len(is_one)
    if not n:
        return None, None
    share = float(is_one.mean())
    _, numbers = np.unique(wells, return_inverse=True)
    sizes = np.bincount(numbers)
    if len(sizes) > 1:
        counts = np.bincount(numbers, weights=is_one)
        m = len(sizes)
        variance = m / (m - 1) * float(((counts - share * sizes) ** 2).sum()) / n**2
        if variance > 0:
            half = float(t.ppf((1 + LEVEL) / 2, m - 1)) * variance**0.5
            return max(0.0, share - half), min(1.0, share + half)
    z = float(norm.ppf((1 + LEVEL) / 2))
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * float(np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))) / (1 + z**2 / n)
    return max(0.0, middle - half), min(1.0, middle + half)
