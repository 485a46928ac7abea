"""The labels of a project: the store of its annotations is the truth, ``labels.csv`` an export of what holds."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from nearboost.base.disk import whole_file, write_text
from nearboost.base.errors import warn_caller
from nearboost.base.words import counted
from nearboost.cells.annotation_file import backups_of
from nearboost.cells.annotation_log import LONGEST_NAME
from nearboost.cells.annotation_records import CellClass, CellLabel
from nearboost.cells.annotations import PROGRAM, AnnotationStore
from nearboost.cells.following import settle_masks
from nearboost.cells.labels import Found, Label, format_labels, read_label_file
from nearboost.cells.project import LABELS, Project
from nearboost.cells.saved_masks import read_record
from nearboost.datasets import DataError

STORE = "annotations.db"
LAST_EXPORT = "labels.sha256"  # beside the copies of the store


def open_store(project: Project) -> AnnotationStore:
    """Open the annotations of a project; the labels of a project that has only ``labels.csv`` are taken over.

    Parameters
    ----------
    project : Project
        The project.

    Returns
    -------
    AnnotationStore
        Its labels are of the present masks.
    """
    store = AnnotationStore(project.folder / STORE)
    try:
        if (project.folder / LABELS).exists() and not store.has_steps():
            with store.together():  # after a kill none of them is there, and all are taken over the next time
                if not store.has_steps():
                    _take_over(project, store)
        settle_masks(project, store)
    except BaseException:
        store.close()
        raise
    return store


def has_labels(project: Project) -> bool:
    """Whether somebody has annotated cells of a project, or could have."""
    return (project.folder / STORE).exists() or (project.folder / LABELS).exists()


def read_labels(project: Project) -> Found:
    """The labels of a project.

    Parameters
    ----------
    project : Project
        The project.

    Returns
    -------
    Found
        One label a cell, in the order of images and objects; and those without a cell, by name.
    """
    if not has_labels(project):
        return Found([], {})
    with open_store(project) as store:
        return present_labels(project, store)


def present_labels(project: Project, store: AnnotationStore) -> Found:
    """The labels of an open store.

    Parameters
    ----------
    project : Project
        Whose cells they are of.
    store : AnnotationStore
        Its annotations.

    Returns
    -------
    Found
        See `read_labels`.
    """
    said, known = store.labels(), {one.number for one in project.fields}
    names = {one.id: one.name for one in (*store.classes(), *store.classes(deleted=True))}  # may go by now
    labels = [_as_label(one, names) for one in said if one.image in known and one.object > 0]
    waiting = {
        f"label {one.id}": f"no cell is at x = {one.label.x or 0:g}, y = {one.label.y or 0:g} of image "
        f"{one.label.image}; place or discard it in the app."
        for one in store.unplaced()
    }
    return Found(labels, waiting)


def _as_label(one: CellLabel, names: Mapping[int, str]) -> Label:
    name = names.get(one.class_id or 0, "")
    return Label(one.image, one.object, one.x or 0.0, one.y or 0.0, name, one.who, one.at, one.excluded)


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
        The labels that were taken, lines that fit no cell, and a note where labels were replaced.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from nearboost.cells import SegmentationSettings, create_project, import_labels
    >>> from nearboost.cells import segment_project, write_demo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plate, screen = Path(folder) / "plate", Path(folder) / "screen"
    ...     _ = write_demo(plate, repeats=1, size=96, n_cells=5)
    ...     project = create_project(screen, [plate / "images"]).project
    ...     _ = segment_project(project, SegmentationSettings())
    ...     found = import_labels(project, plate / "truth.csv")
    >>> len(found.labels), found.labels[0].name, found.skipped
    (40, 'diffuse', {})
    """
    new = read_label_file(project, path)
    if not new.labels:
        why = next(iter(new.skipped.items()), (str(path), "it has no lines."))
        raise DataError(f"No line of {path} is a label of a cell: {why[0]}: {why[1]}")
    with open_store(project) as store:
        before = _meanings(project, store)
        take_in(project, store, new.labels)
        after = _meanings(project, store)
        export_labels(project, store)
    replaced = sum(after.get(key) != meaning for key, meaning in before.items())
    note = f"{counted(replaced, 'cell')} had another label until now, which the log of steps keeps."
    return new._replace(notes=[note] if replaced else [])


def _meanings(project: Project, store: AnnotationStore) -> dict[tuple[int, int], tuple[str, bool]]:
    return {(one.image, one.object): (one.name, one.excluded) for one in present_labels(project, store).labels}


def take_in(project: Project, store: AnnotationStore, labels: Iterable[Label]) -> None:
    """Write labels of a file to the store, with who gave them when; classes are made as they come.

    Parameters
    ----------
    project : Project
        Whose cells they are of.
    store : AnnotationStore
        Its annotations.
    labels : iterable of Label
        Of cells of the present masks.
    """
    labels = sorted(labels, key=lambda one: (one.when, one.who))
    numbers = _class_numbers(store, sorted({one.name for one in labels if one.name}))
    for image in sorted({one.image for one in labels}):
        begin_masks(project, store, image)
    for (when, who), given in groupby(labels, key=lambda one: (one.when, one.who)):
        store.take_in(_fit_name(who), when, [_as_event(one, numbers.get(one.name)) for one in given])


def _as_event(one: Label, class_id: int | None) -> CellLabel:
    return CellLabel(one.image, one.object, class_id, one.excluded, x=one.x, y=one.y)


def _fit_name(who: str) -> str:
    """A name of a file as far as the store takes it."""
    return "".join(letter for letter in who if letter.isprintable()).strip()[:LONGEST_NAME]


def begin_masks(project: Project, store: AnnotationStore, image: int) -> None:
    """Note which masks the first labels of an image are of.

    Parameters
    ----------
    project : Project
        The project.
    store : AnnotationStore
        Its annotations.
    image : int
        ImageNumber.
    """
    record = read_record(project, project.field_of(image))
    if record is not None:
        store.begin(image, record["key"])


def _class_numbers(store: AnnotationStore, names: Iterable[str]) -> dict[str, int]:
    known = {one.name: one.id for one in store.classes()}
    folded: dict[str, CellClass] = {one.name.casefold(): one for one in store.classes()}
    for name in names:
        if name not in known:
            same = folded.get(name.casefold())
            made = same or store.add_class(PROGRAM, name)
            known[name], folded[name.casefold()] = made.id, made
    return known


def export_labels(project: Project, store: AnnotationStore) -> str:
    """Write ``labels.csv`` anew; a file that somebody has changed since the last time is kept beside the copies.

    Parameters
    ----------
    project : Project
        The project.
    store : AnnotationStore
        Its annotations.

    Returns
    -------
    str
        SHA-256 of the file.
    """
    path, folder = project.folder / LABELS, backups_of(store.path)
    note = folder / LAST_EXPORT
    text = format_labels(present_labels(project, store).labels)
    digest = _digest(text.encode())
    if path.exists():
        there = _digest(path.read_bytes())
        last = note.read_bytes() if note.exists() else b""
        if there != digest and there.encode() != last:
            with whole_file(folder / f"labels-{there[:12]}.csv") as made:
                made.write_bytes(path.read_bytes())
    write_text(path, text)
    write_text(note, digest)
    return digest


def labels_digest(project: Project, store: AnnotationStore) -> str:
    """A hash of all that holds of the cells of a project: who said so does not matter.

    Parameters
    ----------
    project : Project
        The project.
    store : AnnotationStore
        Its annotations.

    Returns
    -------
    str
        SHA-256 in hexadecimal.
    """
    return digest_of_labels(present_labels(project, store).labels)


def digest_of_labels(labels: Iterable[Label]) -> str:
    """A hash of labels: cells, classes, and which cells are left out.

    Parameters
    ----------
    labels : iterable of Label
        In the order of cells.

    Returns
    -------
    str
        SHA-256 in hexadecimal.
    """
    return _digest(repr([(one.image, one.object, one.name, one.excluded) for one in labels]).encode())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _take_over(project: Project, store: AnnotationStore) -> None:
    """Labels of ``labels.csv``; those without a cell wait for one, and the file is kept as it was."""
    path = project.folder / LABELS
    found = read_label_file(project, path)
    take_in(project, store, found.labels)
    numbers = _class_numbers(store, sorted({one.name for one in found.homeless if one.name}))
    for place, one in enumerate(found.homeless, start=1):
        label = _as_event(replace(one, object=-place), numbers.get(one.name))
        store.keep_aside(_fit_name(one.who), one.when, label)
    lost = len(found.skipped) - len(found.homeless)
    if lost:
        kept = backups_of(store.path) / f"labels-{_digest(path.read_bytes())[:12]}.csv"
        warn_caller(f"{counted(lost, 'line')} of {path} fit no image of the project; the file is kept as {kept}.")
        with whole_file(kept) as made:
            made.write_bytes(path.read_bytes())
