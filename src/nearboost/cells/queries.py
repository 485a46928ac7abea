"""Which cells to look at next: random ones, of a predicted class, doubtful ones, similar ones, a row."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearboost.base.errors import UsageError
from nearboost.cells.annotation_records import CellLabel
from nearboost.cells.annotations import AnnotationStore
from nearboost.cells.describing import CellRows
from nearboost.cells.project import Project
from nearboost.cells.saying import Said, rows_of, said_of
from nearboost.cells.training import keys_of

KINDS = ("random", "predicted", "doubtful", "similar", "likeliest", "labelled", "to check")
RANDOM, PREDICTED, DOUBTFUL, SIMILAR, LIKELIEST, LABELLED, TO_CHECK = KINDS
MOST = 500  # cells of one answer
UNDESCRIBED = "Cells are not described yet; run nearboost cells features on the project, or train a model."
UNTRAINED = "There is no model yet whose predictions could be asked for; label cells of two classes and train one."


@dataclass(frozen=True)
class Query:
    """What to look for.

    Parameters
    ----------
    kind : str, default="random"
        random: any cells. predicted: cells of which the model says ``class_name``, the surest first. doubtful:
        cells between whose two best classes the model sees least difference. similar: cells like ``cell``.
        likeliest: a row of cells from the least to the most probable of ``class_name``. labelled: cells that
        people have said to be of ``class_name``. to check: cells that got their label from other masks.
    well : tuple of str or None, default=None
        Plate and well; None means all.
    class_name : str or None, default=None
        A class.
    cell : tuple of int or None, default=None
        Image and object.
    n : int, default=60
        How many cells at most.
    seed : int, default=0
        Equal seeds give equal random cells; another one gives others.
    also_labelled : bool, default=False
        Whether cells that have a label, or are left out, are among them.
    """

    kind: str = RANDOM
    well: tuple[str, str] | None = None
    class_name: str | None = None
    cell: tuple[int, int] | None = None
    n: int = 60
    seed: int = 0
    also_labelled: bool = False


@dataclass(frozen=True)
class FoundCell:
    """A cell that was looked for.

    Attributes
    ----------
    image, object : int
        Its numbers.
    plate, well : str
        Where it is.
    label : CellLabel or None
        What people said of it.
    said : str or None
        The class that the active model says.
    probability : float or None
        Of that class, or of the class that was asked for.
    """

    image: int
    object: int
    plate: str
    well: str
    label: CellLabel | None
    said: str | None
    probability: float | None


@dataclass(frozen=True)
class Answer:
    """Cells, and how many there would be in all."""

    cells: list[FoundCell]
    total: int


def find_cells(project: Project, store: AnnotationStore, query: Query) -> Answer:
    """Look for cells.

    Parameters
    ----------
    project : Project
        The project.
    store : AnnotationStore
        Its annotations.
    query : Query
        What to look for.

    Returns
    -------
    Answer
        The first of them.
    """
    if query.kind not in KINDS or not 1 <= query.n <= MOST:
        raise UsageError(f"Ask for 1 to {MOST} cells that are {', '.join(KINDS[:-1])} or {KINDS[-1]}.")
    rows, said = rows_of(project), said_of(project)
    if rows is None:
        raise UsageError(UNDESCRIBED)
    labels = {(one.image, one.object): one for one in store.said_of()}
    keys = keys_of(rows)
    allowed = _allowed(project, rows, query)
    if query.kind == LABELLED:
        number = _class_number(store, query.class_name)
        allowed &= np.array([key in labels and labels[key].class_id == number for key in keys], bool)
    elif query.kind == TO_CHECK:
        allowed &= np.array([key in labels and labels[key].to_check for key in keys], bool)
    elif not query.also_labelled:
        free = [key not in labels or not (labels[key].class_id or labels[key].excluded) for key in keys]
        allowed &= np.array(free, bool)
    among = np.flatnonzero(allowed)
    order, chances = _ordered(rows, said, query, among)
    places = {one.number: one.place for one in project.fields}
    found = []
    for row in order[: query.n].tolist():
        image, number = keys[row]
        name, own = (said.of(image, number) if said is not None else None) or (None, None)
        chance = own if chances is None else float(chances[row])
        place = places[image]
        found.append(FoundCell(image, number, place.plate, place.well, labels.get((image, number)), name, chance))
    return Answer(found, len(among if query.kind in (SIMILAR, LIKELIEST) else order))


def _allowed(project: Project, rows: CellRows, query: Query) -> NDArray[np.bool_]:
    if query.well is None:
        return np.ones(len(rows), bool)
    images = [one.number for one in project.fields if (one.place.plate, one.place.well) == query.well]
    return np.isin(rows.images, images)


def _class_number(store: AnnotationStore, name: str | None) -> int:
    for one in store.classes():
        if one.name == name:
            return one.id
    raise UsageError(f"There is no class {name!r}; look at the classes again.")


def _ordered(
    rows: CellRows, said: Said | None, query: Query, allowed: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.float64] | None]:
    """Rows in the order of the query, and probabilities of the class that it asks for."""
    if query.kind == RANDOM:
        return np.random.default_rng(query.seed).permutation(allowed), None
    if query.kind in (LABELLED, TO_CHECK):
        return allowed, None
    if query.kind == SIMILAR:
        return _by_similarity(rows, query, allowed), None
    if said is None:
        raise UsageError(UNTRAINED)
    if query.kind == DOUBTFUL:
        best = np.sort(said.chances[allowed], axis=1)
        margins = best[:, -1] - best[:, -2]
        return allowed[np.argsort(margins, kind="stable")], None
    if query.class_name not in said.model.classes:
        raise UsageError(f"The model has no class {query.class_name!r}; it has {', '.join(said.model.classes)}.")
    chances = said.chances[:, said.model.classes.index(query.class_name)]
    if query.kind == PREDICTED:
        mine = allowed[said.names[allowed] == query.class_name]
        return mine[np.argsort(-chances[mine], kind="stable")], chances
    order = allowed[np.argsort(chances[allowed], kind="stable")]
    spread = np.unique(np.linspace(0, len(order) - 1, min(query.n, len(order))).round().astype(np.intp))
    return order[spread] if len(order) else order, chances


def _by_similarity(rows: CellRows, query: Query, allowed: NDArray[np.intp]) -> NDArray[np.intp]:
    """Cells by the distance of their descriptors to those of a cell, which is no answer itself."""
    from nearboost.neighbors import NeighborSearch

    place = {key: row for row, key in enumerate(keys_of(rows))}.get(query.cell or (0, 0))
    if place is None:
        raise UsageError("Choose a cell that is described; others are compared with it.")
    others = allowed[allowed != place]
    if not len(others):
        return others
    k = min(query.n, len(others))
    found = NeighborSearch(rows.features[others], copy=False).search(rows.features[place : place + 1], k)
    return others[found.indices[0]]
