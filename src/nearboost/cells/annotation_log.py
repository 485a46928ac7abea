"""Steps of persons in an append-only log: written whole or not at all, undone by further steps."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock
from typing import Any, Self

from nearboost.base.errors import UsageError
from nearboost.cells.annotation_file import UNREADABLE, back_up, damaged, open_annotations
from nearboost.datasets import DataError

UNDOABLE = 100  # steps of a person
LONGEST_NAME = 100
OWN = ("id", "step", "previous", "who", "at")  # of an event and its step; the other columns are a state
# What holds where an event that came first is undone.
BEFORE_THE_FIRST: dict[str, dict[str, Any]] = {
    "label_events": {"class": None, "excluded": 0, "to_check": 0, "origin": 0},
    "class_events": {"deleted": 1},
    "unplaced_events": {"waits": 0},
}
SEGMENT, IMPORT = "segment", "import"
NOBODYS = (SEGMENT, IMPORT)  # actions of steps that are nobody's to undo


class AnnotationLog:
    """The file of annotations as steps and events.

    Parameters
    ----------
    path : Path
        The SQLite file; made if there is none, and copied once a day.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = RLock()  # one connection, several threads
        self._connection = open_annotations(path)
        self._connection.row_factory = sqlite3.Row
        back_up(self._connection, path, datetime.now(UTC).date().isoformat())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; what was acknowledged is in it."""
        with self._lock:
            self._connection.close()

    def rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        """What a query finds."""
        with self._lock:
            try:
                return self._connection.execute(query, values).fetchall()
            except UNREADABLE as error:
                raise damaged(self.path, error) from error

    @contextmanager
    def step(self, who: str, action: str, target: int | None = None, at: str = "") -> Iterator[int]:
        """One step of a person: when the block ends all of its events are on the disk, or none."""
        who = checked_name("A person's name", who)
        with self.together():
            at = at or datetime.now(UTC).isoformat(timespec="milliseconds")
            yield self.insert("steps", at=at, who=who, action=action, target=target)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Steps that are on the disk when the block ends, all of them, or none."""
        with self._lock:
            if self._connection.in_transaction:  # a part of more
                yield
                return
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield
                self._connection.execute("COMMIT")
            except BaseException as error:
                if self._connection.in_transaction:  # SQLite has ended it already where the disk is full
                    self._connection.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise DataError(
                        f"{self.path} could not be written to ({error}), and nothing of this step was kept; "
                        "see whether the disk is full."
                    ) from error
                raise

    def insert(self, table: str, **values: Any) -> int:
        """One row, and its number; tables and columns are named by this package alone."""
        columns, marks = ", ".join(values), ", ".join("?" * len(values))
        written = self._connection.execute(
            f"INSERT INTO {table} ({columns}) VALUES ({marks})", tuple(values.values())
        )
        return int(written.lastrowid or 0)

    def follow(self, table: str, step: int, event: sqlite3.Row, **changed: Any) -> None:
        """An event after another one of the same cell, class or label: its state, but for what changed."""
        self.insert(table, step=step, previous=event["id"], **(state_of(event) | changed))

    def has_steps(self) -> bool:
        """Whether anybody has done anything yet."""
        return bool(self.rows("SELECT 1 FROM steps LIMIT 1"))

    def generation(self, image: int) -> str:
        """The present segmentation of an image; the first has no name."""
        last = "SELECT generation FROM generation_events WHERE image = ? ORDER BY id DESC LIMIT 1"
        found = self.rows(last, image)
        return str(found[0]["generation"]) if found else ""

    def generations(self) -> dict[int, str]:
        """The present segmentation of each image that has a named one."""
        rows = self.rows("SELECT image, generation FROM generation_events ORDER BY id")
        return {row["image"]: row["generation"] for row in rows}

    def undo(self, who: str) -> str | None:
        """Take back the last step of a person.

        Parameters
        ----------
        who : str
            The person.

        Returns
        -------
        str or None
            What was undone; None where there is nothing left, or a hundred steps were taken back.
        """
        done, undone = self._stacks(who)
        return self._invert(who, "undo", done[-1]) if done and len(undone) < UNDOABLE else None

    def redo(self, who: str) -> str | None:
        """Do again what was undone last.

        Parameters
        ----------
        who : str
            The person.

        Returns
        -------
        str or None
            What was done again; None where nothing is left to.
        """
        _, undone = self._stacks(who)
        return self._invert(who, "redo", undone[-1]) if undone else None

    def _stacks(self, who: str) -> tuple[list[int], list[int]]:
        """Steps of a person that can be undone, and undoings that can be taken back; the last of each is next."""
        done: list[int] = []
        undone: list[int] = []
        for row in self.rows("SELECT id, action FROM steps WHERE who = ? ORDER BY id", who.strip()):
            if row["action"] == "undo":
                done.pop()
                undone.append(row["id"])
            elif row["action"] == "redo":
                undone.pop()
                done.append(row["id"])
            elif row["action"] not in NOBODYS:
                done.append(row["id"])
                undone.clear()
        return done, undone

    def _invert(self, who: str, action: str, target: int) -> str:
        """Write the states before the events of a step anew; refused where somebody has gone on from them."""
        with self.step(who, action, target) as step:
            for table, first in BEFORE_THE_FIRST.items():
                for event in self.rows(f"SELECT * FROM {table} WHERE step = ?", target):
                    if "generation" in state_of(event) and event["generation"] != self.generation(event["image"]):
                        raise UsageError(
                            "This step was on an earlier segmentation; label the cells of the present one instead."
                        )
                    if self.rows(f"SELECT 1 FROM {table} WHERE previous = ?", event["id"]):
                        raise UsageError(
                            "Somebody has gone on from this step, so it cannot be taken back; change it by hand."
                        )
                    before = self.rows(f"SELECT * FROM {table} WHERE id = ?", event["previous"])
                    self.follow(table, step, event, **(state_of(before[0]) if before else first))
            self._check_inverted()
            return self._meant_by(target)

    def _check_inverted(self) -> None:
        """Refuse what may not come back, as it is by now."""

    def _meant_by(self, step: int) -> str:
        """What a step did that may itself undo an undoing."""
        [row] = self.rows("SELECT * FROM steps WHERE id = ?", step)
        while row["target"] is not None:
            [row] = self.rows("SELECT * FROM steps WHERE id = ? AND id < ?", row["target"], step)
            step = row["id"]
        return str(row["action"])


def state_of(event: sqlite3.Row) -> dict[str, Any]:
    """What an event says, without its place in the log."""
    return {name: value for name, value in dict(event).items() if name not in OWN}


def checked_name(what: str, name: str) -> str:
    """A name without blanks around it; refused where it is empty, long, or would not be shown as it is."""
    name = name.strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise UsageError(f"{what} has 1 to {LONGEST_NAME} letters that can be printed.")
    return name
