"""What was labelled, and how well it was learned, by votes that had not seen it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nearboost.base.words import counted
from nearboost.cells.annotations import AnnotationStore
from nearboost.cells.project import Project
from nearboost.cells.project_labels import present_labels
from nearboost.cells.training import one_well_note, well_names
from nearboost.measures.metrics import class_accuracies, confusion
from nearboost.models import Model
from nearboost.models.suspects import judged_in_file

UNBALANCED = 5.0  # so many times more labels of one class than of another are worth a note
FEW = 10  # labels of a class


@dataclass(frozen=True)
class LabelTable:
    """Labels by class and well.

    Attributes
    ----------
    classes : list of str
        Columns.
    wells : list of str
        Lines.
    counts : list of list of int
        A number for each well and class.
    excluded : int
        Cells with a wrong outline, which are left out.
    to_check : int
        Labels that came from other masks and nobody has looked at since.
    notes : list of str
        What a person should know before training.
    """

    classes: list[str]
    wells: list[str]
    counts: list[list[int]]
    excluded: int
    to_check: int
    notes: list[str]


def label_table(project: Project, store: AnnotationStore) -> LabelTable:
    """Labels by class and by well.

    Parameters
    ----------
    project : Project
        The project.
    store : AnnotationStore
        Its annotations.

    Returns
    -------
    LabelTable
        Classes in their order, wells by name.
    """
    labels = present_labels(project, store).labels
    used = [one for one in labels if one.name and not one.excluded]
    classes = [one.name for one in store.classes()]
    wells = well_names(project, np.array([one.image for one in used], np.int64)).tolist()
    numbers = Counter(zip(wells, (one.name for one in used), strict=True))
    lines = sorted(set(wells))
    counts = [[numbers[well, name] for name in classes] for well in lines]
    return LabelTable(
        classes,
        lines,
        counts,
        sum(one.excluded for one in labels),
        sum(one.to_check for one in store.labels() if one.object > 0),
        _notes(classes, lines, counts),
    )


def _notes(classes: Sequence[str], wells: Sequence[str], counts: Sequence[Sequence[int]]) -> list[str]:
    totals = {name: sum(line[i] for line in counts) for i, name in enumerate(classes)}
    there = {name: total for name, total in totals.items() if total}
    if len(there) < 2:
        return ["Labels of two classes or more are needed before a model can be trained."]
    notes = [f"Class {name!r} has no label; the model will not know it." for name in classes if not totals[name]]
    few = [f"{name!r} has {total}" for name, total in there.items() if total < FEW]
    if few:
        notes.append(
            f"Few labels: class {', '.join(few)}; with {FEW} or more of each class figures mean something."
        )
    most, least = max(there, key=there.__getitem__), min(there, key=there.__getitem__)
    if there[most] > UNBALANCED * there[least]:
        notes.append(
            f"{counted(there[most], 'label')} of {most!r} and {there[least]} of {least!r}; classes count alike in "
            "training, but more labels of the small one help most."
        )
    for i, name in enumerate(classes):
        mine = [well for well, line in zip(wells, counts, strict=True) if line[i]]
        if len(mine) == 1:
            notes.append(one_well_note(name, mine[0]))
    return notes


@dataclass(frozen=True)
class HeldOut:
    """How a model does on training cells that it had not seen, wells being held out as a whole.

    Attributes
    ----------
    classes : tuple of str
        Of the model.
    counts : list of list of int
        Confusion: a line for each true class, a column for each that was said.
    accuracies : list of float or None
        Of each class.
    mean : float or None
        Of the classes' accuracies.
    n_cells : int
        Cells that were judged.
    by_well : bool
        Whether wells were held out as a whole.
    """

    classes: tuple[str, ...]
    counts: list[list[int]]
    accuracies: list[float | None]
    mean: float | None
    n_cells: int
    by_well: bool


def held_out(model: Model) -> HeldOut | None:
    """Confusion and accuracies of held-out votes.

    Parameters
    ----------
    model : Model
        A model of cells.

    Returns
    -------
    HeldOut or None
        None where nothing could be held out, or the file does not have it.
    """
    try:
        rows, chances = judged_in_file(model)
    except ValueError:
        return None
    origins = model.origins
    places = [] if origins is None else [origins.place(row) for row in rows.tolist()]
    if origins is None or not places or None in places:
        return None
    truth = [model.classes[origins.labels[place]] for place in places]
    said = [model.classes[code] for code in chances.argmax(axis=1)]
    counts = confusion(truth, said, model.classes)
    accuracies = class_accuracies(counts)
    known = [one for one in accuracies if one is not None]
    mean = float(np.mean(known)) if known else None
    by_well = model.facts.get("folds") is not None
    return HeldOut(model.classes, counts, accuracies, mean, len(truth), by_well)
