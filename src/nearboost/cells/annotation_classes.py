"""Classes that cells may have: added, renamed, recoloured, put in order, deleted and restored, each a step."""

import re
from collections.abc import Sequence
from dataclasses import replace

from nearboost.base.errors import UsageError
from nearboost.cells.annotation_log import AnnotationLog, checked_name
from nearboost.cells.annotation_records import CellClass

# Okabe and Ito's colours, which people with any colour vision tell apart.
COLOURS = ("#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#999999")


class AnnotationClasses(AnnotationLog):
    """The classes of a file of annotations."""

    def classes(self, *, deleted: bool = False) -> list[CellClass]:
        """Classes in their order; or those that were deleted."""
        rows = self.rows(
            "SELECT * FROM class_events WHERE id IN (SELECT max(id) FROM class_events GROUP BY class)"
        )
        found = [
            CellClass(row["class"], row["name"], row["colour"], row["position"], bool(row["deleted"]))
            for row in rows
        ]
        return sorted((one for one in found if one.deleted == deleted), key=lambda one: (one.position, one.id))

    def add_class(self, who: str, name: str, colour: str | None = None) -> CellClass:
        """Add a class behind the others."""
        with self.step(who, "add class") as step:
            known = self.classes() + self.classes(deleted=True)
            number = max((one.id for one in known), default=0) + 1
            position = max((one.position for one in known), default=0) + 1
            made = CellClass(
                number, self._free_name(name), colour or COLOURS[(number - 1) % len(COLOURS)], position
            )
            self._write_class(step, made)
        return made

    def change_class(self, who: str, class_id: int, *, name: str | None = None, colour: str | None = None) -> None:
        """Rename or recolour a class."""
        with self.step(who, "change class") as step:
            old = self._class(class_id)
            new_name = old.name if name is None else self._free_name(name, but=class_id)
            self._write_class(step, replace(old, name=new_name, colour=colour or old.colour))

    def order_classes(self, who: str, class_ids: Sequence[int]) -> None:
        """Put all classes in an order."""
        with self.step(who, "order classes") as step:
            present = {one.id: one for one in self.classes()}
            if sorted(class_ids) != sorted(present):
                raise UsageError("An order of classes names each of them once.")
            for position, number in enumerate(class_ids, 1):
                self._write_class(step, replace(present[number], position=position))

    def delete_class(self, who: str, class_id: int) -> None:
        """Take a class out of use; its labels are kept aside, and come back with it."""
        with self.step(who, "delete class") as step:
            self._write_class(step, replace(self._class(class_id), deleted=True))

    def restore_class(self, who: str, class_id: int) -> None:
        """Take a deleted class and its labels back into use."""
        with self.step(who, "restore class") as step:
            old = self._class(class_id, deleted=True)
            self._write_class(step, replace(old, name=self._free_name(old.name), deleted=False))

    def _check_inverted(self) -> None:
        names = [one.name for one in self.classes()]
        twice = next((one for one in names if [name.casefold() for name in names].count(one.casefold()) > 1), None)
        if twice is not None:
            raise UsageError(f"There is another class {twice!r} by now; rename it, then undo or redo.")

    def _write_class(self, step: int, one: CellClass) -> None:
        last = self.rows("SELECT max(id) AS id FROM class_events WHERE class = ?", one.id)[0]["id"]
        self.insert(
            "class_events", step=step, previous=last or 0, name=one.name, colour=checked_colour(one.colour),
            position=one.position, deleted=int(one.deleted), **{"class": one.id},
        )  # fmt: skip

    def _class(self, class_id: int, *, deleted: bool = False) -> CellClass:
        for one in self.classes(deleted=deleted):
            if one.id == class_id:
                return one
        raise UsageError(
            f"There is no {'deleted ' if deleted else ''}class {class_id}; look at the classes again."
        )

    def _free_name(self, name: str, but: int | None = None) -> str:
        name = checked_name("A class's name", name)
        if any(one.name.casefold() == name.casefold() and one.id != but for one in self.classes()):
            raise UsageError(f"There is a class {name!r} already; give another name, or merge the two.")
        return name


def checked_colour(colour: str) -> str:
    """A colour as pages take it."""
    if not re.fullmatch("#[0-9a-f]{6}", colour.lower()):
        raise UsageError(f"{colour!r} is no colour; write it as #e69f00.")
    return colour.lower()
