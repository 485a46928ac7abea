"""Labels that people give to cells: every step is kept, can be undone, and is on the disk once acknowledged."""

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from nearboost.base.errors import UsageError
from nearboost.base.words import counted
from nearboost.cells.annotation_classes import AnnotationClasses
from nearboost.cells.annotation_log import IMPORT, SEGMENT, state_of
from nearboost.cells.annotation_records import Cell, CellLabel, ConflictError, Unplaced, label_of
from nearboost.cells.carrying import Placement

PROGRAM = "nearboost"  # who does what no person does
FROM_A_FILE = "file"  # the segmentation that labels of a file are of, until their image is segmented
LABELS = "SELECT e.*, steps.who, steps.at FROM label_events e JOIN steps ON steps.id = e.step WHERE "
Places = Mapping[tuple[int, int], tuple[float, float]]  # x and y of cells, by image and object
OF_THE_PRESENT = (
    "e.generation = coalesce((SELECT generation FROM generation_events g WHERE g.image = e.image "
    "ORDER BY g.id DESC LIMIT 1), '') AND NOT EXISTS (SELECT 1 FROM label_events later WHERE "
    "later.image = e.image AND later.generation = e.generation AND later.object = e.object AND later.id > e.id)"
)


class AnnotationStore(AnnotationClasses):
    """The annotations of a project.

    Parameters
    ----------
    path : Path
        The SQLite file; made if there is none, and copied once a day.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, AnnotationStore(Path(folder) / "annotations.db") as store:
    ...     round_cells = store.add_class("Ada", "round")
    ...     label = store.label("Ada", [Cell(image=1, object=7)], round_cells.id)
    ...     done = store.undo("Ada"), store.labels(), store.redo("Ada"), len(store.labels())
    >>> done
    ('label', [], 'label', 1)
    """

    def labels(self, image: int | None = None) -> list[CellLabel]:
        """Labelled and excluded cells, of an image or of all; a deleted class is none."""
        return [one for one in self.said_of(image) if one.class_id or one.excluded]

    def said_of(self, image: int | None = None) -> list[CellLabel]:
        """The last that was said of each cell, of an image or of all, also that it has no class any more.

        A deleted class is none.
        """
        gone = {one.id for one in self.classes(deleted=True)}
        return [one._replace(class_id=None) if one.class_id in gone else one for one in self._present(image)]

    def aside(self) -> list[CellLabel]:
        """Labels whose class was deleted."""
        gone = {one.id for one in self.classes(deleted=True)}
        return [one for one in self._present() if one.class_id in gone]

    def history(self, image: int, object: int) -> list[CellLabel]:
        """All that was said of a cell, the oldest first; numbers of objects are those of their time."""
        rows = self.rows(f"{LABELS} e.image = ? AND e.object = ? ORDER BY e.id", image, object)
        return [label_of(row) for row in rows]

    def label(
        self,
        who: str,
        cells: Iterable[Cell],
        class_id: int | None,
        places: Places | None = None,
    ) -> list[CellLabel]:
        """Give cells a class.

        Parameters
        ----------
        who : str
            The person.
        cells : iterable of Cell
            Each with the event last seen of it; where another one says otherwise by now, none is changed.
        class_id : int or None
            The class; None removes labels.
        places : mapping or None
            x and y of cells, by image and object.

        Returns
        -------
        list of CellLabel
            What holds of these cells now, on the disk.
        """
        return self._change(who, "label", cells, {"class": class_id, "to_check": 0}, places or {})

    def label_each(self, who: str, cells: Mapping[Cell, int], places: Places | None = None) -> list[CellLabel]:
        """Give each of some cells a class of its own, in one step."""
        with self.step(who, "confirm") as step:
            for class_id in sorted(set(cells.values())):
                self._class(class_id)
                mine = [cell for cell, wanted in cells.items() if wanted == class_id]
                self._write_changes(step, mine, {"class": class_id, "to_check": 0}, places or {})
        return [self._label_of(cell) for cell in cells]

    def exclude(
        self, who: str, cells: Iterable[Cell], excluded: bool = True, places: Places | None = None
    ) -> list[CellLabel]:
        """Mark outlines as wrong, so that training and counts leave these cells out; or as right again."""
        return self._change(who, "exclude", cells, {"excluded": int(excluded)}, places or {})

    def begin(self, image: int, generation: str) -> None:
        """Name the segmentation of an image that nobody has said anything of yet."""
        if not self.generation(image) and not self.to_carry(image):
            with self.step(PROGRAM, SEGMENT) as step:
                self.insert("generation_events", step=step, previous=0, image=image, generation=generation)

    def take_in(self, who: str, at: str, labels: Iterable[CellLabel]) -> None:
        """Labels of a file, which count before those that are there; nothing to undo."""
        with self.step(who or IMPORT, IMPORT, at=at) as step:
            for one in labels:
                cell = Cell(one.image, one.object)
                _, last = self._last_of(cell)
                state = {
                    "class": one.class_id,
                    "excluded": int(one.excluded),
                    "x": one.x,
                    "y": one.y,
                    "to_check": 0,
                }
                self._write_changes(step, [cell._replace(seen=last["id"] if last is not None else 0)], state, {})

    def keep_aside(self, who: str, at: str, label: CellLabel) -> None:
        """A label of a file that has a place and no cell there: it waits to be placed or discarded."""
        with self.step(who or IMPORT, IMPORT, at=at) as step:
            event = self.insert("label_events", step=step, previous=0, image=label.image, generation=FROM_A_FILE,
                                object=label.object, x=label.x, y=label.y, excluded=int(label.excluded),
                                to_check=0, origin=0, **{"class": label.class_id})  # fmt: skip
            generation = self.generation(label.image)
            if generation == "":
                self.insert("generation_events", step=step, previous=0, image=label.image, generation=FROM_A_FILE)
            elif generation != FROM_A_FILE:
                self.insert("unplaced_events", step=step, previous=0, image=label.image, generation=generation,
                            label=event, outline="", waits=1)  # fmt: skip

    def merge_classes(self, who: str, class_id: int, into: int) -> None:
        """Give all cells of a class another one, and delete it."""
        if class_id == into:
            raise UsageError("A class cannot be merged into itself; name two.")
        with self.step(who, "merge classes") as step:
            old = self._class(class_id)
            self._class(into)
            waiting = sum(one.label.class_id == class_id for one in self.unplaced())
            if waiting:
                raise UsageError(
                    f"{counted(waiting, 'label')} of class {old.name!r} without a cell would keep it; "
                    "place or discard what is unplaced, then merge."
                )
            for event in self._present_events():
                if event["class"] == class_id:
                    self.follow("label_events", step, event, **{"class": into, "origin": 0})
            self._write_class(step, replace(old, deleted=True))

    def carry_over(
        self,
        who: str,
        image: int,
        generation: str,
        placement: Placement,
        outlines: Mapping[int, str],
        places: Places | None = None,
    ) -> None:
        """Take an image's labels over to a new segmentation of it.

        On a segmentation that the image had before, labels are as they were, but for what was decided since.

        Parameters
        ----------
        who : str
            The person who segmented.
        image : int
            The image.
        generation : str
            A name of the new segmentation, such as a hash of its masks.
        placement : Placement
            What became of each cell in `to_carry`.
        outlines : mapping
            Outline of each cell that has no place.
        places : mapping or None
            x and y of the new cells, by image and object.
        """
        with self.step(who, SEGMENT) as step:
            old = {event["object"]: event for event in self._present_events(image)}
            waiting = self._waiting_events(image)
            self.insert("generation_events", step=step, previous=0, image=image, generation=generation)
            there = {event["object"]: event for event in self._present_events(image)}
            known = {_origin(event) for event in there.values()}
            for found, to_check in ((placement.placed, 0), (placement.to_check, 1)):
                for one, target in found.items():
                    x, y = (places or {}).get((image, target), (old[one]["x"], old[one]["y"]))
                    new = {"generation": generation, "object": target, "x": x, "y": y, "to_check": to_check}
                    self._carry(step, old[one], there.get(target), new)
            lost = [(old[one], outlines[one]) for one in placement.unplaced]
            lost += [(self.rows(f"{LABELS} e.id = ?", row["label"])[0], row["outline"]) for row in waiting]
            for event, outline in lost:
                if _origin(event) not in known and (event["class"] is not None or event["excluded"]):
                    self.insert("unplaced_events", step=step, previous=0, image=image, generation=generation,
                                label=event["id"], outline=outline, waits=1)  # fmt: skip

    def to_carry(self, image: int) -> dict[int, tuple[int | None, bool]]:
        """Class and exclusion of each cell of an image that somebody has said something of."""
        return {
            event["object"]: (event["class"], bool(event["excluded"])) for event in self._present_events(image)
        }

    def unplaced(self, image: int | None = None) -> list[Unplaced]:
        """Labels that the present segmentation has no cell for."""
        return [
            Unplaced(row["id"], row["outline"], label_of(self.rows(f"{LABELS} e.id = ?", row["label"])[0]))
            for row in self._waiting_events(image)
        ]

    def settle(self, who: str, unplaced: Unplaced, cell: Cell | None, places: Places | None = None) -> None:
        """Give an unplaced label to a cell, or discard it (None)."""
        with self.step(who, "place" if cell is not None else "discard") as step:
            found = [row for row in self._waiting_events() if row["id"] == unplaced.id]
            if not found:
                raise UsageError("This label was placed or discarded in the meantime; nothing was changed.")
            self.follow("unplaced_events", step, found[0], waits=0)
            if cell is not None:
                if unplaced.label.class_id is not None:
                    self._class(unplaced.label.class_id)
                state = {"class": unplaced.label.class_id, "excluded": int(unplaced.label.excluded), "to_check": 0}
                self._write_changes(step, [cell], state, places or {})

    def _change(
        self,
        who: str,
        action: str,
        cells: Iterable[Cell],
        state: dict[str, Any],
        places: Places,
    ) -> list[CellLabel]:
        cells = list(cells)
        with self.step(who, action) as step:
            if state.get("class") is not None:
                self._class(state["class"])
            self._write_changes(step, cells, state, places)
        return [self._label_of(cell) for cell in cells]

    def _write_changes(
        self,
        step: int,
        cells: Iterable[Cell],
        state: dict[str, Any],
        places: Places,
    ) -> None:
        """An event for each cell that is not yet as wanted; none at all where somebody else was faster."""
        found = [(cell, *self._last_of(cell)) for cell in cells]
        found = [one for one in found if one[2] is None or any(one[2][key] != state[key] for key in state)]
        late = [cell for cell, _, last in found if cell.seen != (last["id"] if last is not None else 0)]
        if late:
            raise ConflictError([self._label_of(cell) for cell in late])
        for cell, generation, last in found:
            x, y = places.get((cell.image, cell.object), (None, None))
            if last is not None:
                self.follow("label_events", step, last, **(state | {"origin": 0}))
            else:
                new = {"class": None, "excluded": 0, "to_check": 0, "origin": 0, "x": x, "y": y} | state
                self.insert("label_events", step=step, previous=0, image=cell.image, generation=generation,
                            object=cell.object, **new)  # fmt: skip

    def _carry(self, step: int, event: sqlite3.Row, there: sqlite3.Row | None, new: dict[str, Any]) -> None:
        """A label on its cell in a new segmentation, unless what is said there is the same, or as new."""
        said = ("class", "excluded")
        if there is not None and (_origin(there) >= _origin(event) or all(there[x] == event[x] for x in said)):
            return
        state = state_of(event) | new | {"origin": _origin(event)}
        self.insert("label_events", step=step, previous=there["id"] if there is not None else 0, **state)

    def _last_of(self, cell: Cell) -> tuple[str, sqlite3.Row | None]:
        """The present segmentation of a cell's image, and what was said last of the cell in it."""
        generation = self.generation(cell.image)
        same = "e.image = ? AND e.generation = ? AND e.object = ? ORDER BY e.id DESC LIMIT 1"
        rows = self.rows(LABELS + same, cell.image, generation, cell.object)
        return generation, rows[0] if rows else None

    def _label_of(self, cell: Cell) -> CellLabel:
        _, last = self._last_of(cell)
        return label_of(last) if last is not None else CellLabel(cell.image, cell.object, None)

    def _present_events(self, image: int | None = None) -> list[sqlite3.Row]:
        if image is None:
            return self.rows(f"{LABELS} {OF_THE_PRESENT} ORDER BY e.image, e.object")
        return self.rows(f"{LABELS} e.image = ? AND {OF_THE_PRESENT} ORDER BY e.object", image)

    def _present(self, image: int | None = None) -> list[CellLabel]:
        return [label_of(row) for row in self._present_events(image)]

    def _waiting_events(self, image: int | None = None) -> list[sqlite3.Row]:
        rows = self.rows(
            "SELECT * FROM unplaced_events e WHERE waits AND e.generation = (SELECT generation "
            "FROM generation_events g WHERE g.image = e.image ORDER BY g.id DESC LIMIT 1) "
            "AND NOT EXISTS (SELECT 1 FROM unplaced_events later WHERE later.previous = e.id) ORDER BY e.id"
        )
        return [row for row in rows if image is None or row["image"] == image]


def _origin(event: sqlite3.Row) -> int:
    """The event by which a person gave a label."""
    return int(event["origin"] or event["id"])
