"""What a file of annotations tells: cells, labels, classes, and labels without a cell."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nearboost.base.errors import UsageError


class Cell(NamedTuple):
    """A cell of an image, by the numbers of all tables, and the last event seen of it (0: none)."""

    image: int
    object: int
    seen: int = 0


class CellLabel(NamedTuple):
    """What holds of a cell now: the number of its class, or None, and who said so when."""

    image: int
    object: int
    class_id: int | None
    excluded: bool = False
    to_check: bool = False
    x: float | None = None
    y: float | None = None
    who: str = ""
    at: str = ""
    event: int = 0


@dataclass(frozen=True)
class CellClass:
    """A class that cells may have; of a deleted one, labels are kept aside."""

    id: int
    name: str
    colour: str
    position: int
    deleted: bool = False


class Unplaced(NamedTuple):
    """A label that a new segmentation has no cell for, with the outline of its old one, to place or discard."""

    id: int
    outline: str
    label: CellLabel


class ConflictError(UsageError):
    """Cells that somebody has changed since they were looked at; ``present`` is what holds of them now."""

    def __init__(self, present: Sequence[CellLabel]) -> None:
        self.present = tuple(present)
        first, more = present[0], f" and {len(present) - 1} more" if len(present) > 1 else ""
        super().__init__(
            f"Cell {first.object} of image {first.image}{more} was changed by {first.who} in the meantime; look "
            "at it and decide again."
        )


def label_of(row: sqlite3.Row) -> CellLabel:
    """A row of the table of label events, with who and when."""
    marks = bool(row["excluded"]), bool(row["to_check"])
    return CellLabel(
        row["image"], row["object"], row["class"], *marks, row["x"], row["y"], row["who"], row["at"], row["id"]
    )
