"""The SQLite file of annotations: what it holds, how it is opened, checked and copied.

Nothing in it is ever changed or deleted: each step of a person adds events, and what holds now is the last event
of each cell, class, field or unplaced label.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from nearboost.base.disk import is_on_network, whole_file
from nearboost.base.errors import UsageError
from nearboost.cells.project import BACKUPS
from nearboost.datasets import DataError

APPLICATION, FORMAT = 0x6E624341, 1
KEPT_BACKUPS = 10
JOURNAL = bytes.fromhex("d9d505f920a163d7")  # how a journal ends that names the journal of several files
UNREADABLE = (sqlite3.Error, UnicodeDecodeError)  # the latter for names of tables that are no text
EVENTS = ("label_events", "class_events", "generation_events", "unplaced_events")

# ``previous`` is the event that an event follows on, of the same cell, class, field or unplaced label; 0 is none.
# ``generation`` names the segmentation that numbers of objects are of. ``origin`` of a label that was carried over
# from another one is the event by which a person gave it; 0 is the event itself.
TABLES = (
    """CREATE TABLE steps (id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, who TEXT NOT NULL,
    action TEXT NOT NULL, target INTEGER REFERENCES steps (id)) STRICT""",
    """CREATE TABLE label_events (id INTEGER PRIMARY KEY AUTOINCREMENT, step INTEGER NOT NULL
    REFERENCES steps (id), previous INTEGER NOT NULL, image INTEGER NOT NULL, generation TEXT NOT NULL,
    object INTEGER NOT NULL, x REAL, y REAL, class INTEGER, excluded INTEGER NOT NULL, to_check INTEGER NOT NULL,
    origin INTEGER NOT NULL) STRICT""",
    """CREATE TABLE class_events (id INTEGER PRIMARY KEY AUTOINCREMENT, step INTEGER NOT NULL
    REFERENCES steps (id), previous INTEGER NOT NULL, class INTEGER NOT NULL, name TEXT NOT NULL,
    colour TEXT NOT NULL, position INTEGER NOT NULL, deleted INTEGER NOT NULL) STRICT""",
    """CREATE TABLE generation_events (id INTEGER PRIMARY KEY AUTOINCREMENT, step INTEGER NOT NULL
    REFERENCES steps (id), previous INTEGER NOT NULL, image INTEGER NOT NULL, generation TEXT NOT NULL) STRICT""",
    """CREATE TABLE unplaced_events (id INTEGER PRIMARY KEY AUTOINCREMENT, step INTEGER NOT NULL
    REFERENCES steps (id), previous INTEGER NOT NULL, image INTEGER NOT NULL, generation TEXT NOT NULL,
    label INTEGER NOT NULL REFERENCES label_events (id), outline TEXT NOT NULL, waits INTEGER NOT NULL) STRICT""",
    "CREATE INDEX cells ON label_events (image, generation, object, id)",
    "CREATE INDEX persons ON steps (who, id)",
)
TRIGGERS = tuple(
    f"CREATE TRIGGER {table}_{change.lower()} BEFORE {change} ON {table} "
    "BEGIN SELECT RAISE(ABORT, 'the log of annotations is append-only'); END"
    for table in ("steps", *EVENTS)
    for change in ("UPDATE", "DELETE")
)
SCHEMA = (*TABLES, *TRIGGERS)
NUMBERS = "CREATE TABLE sqlite_sequence(name,seq)"  # what SQLite makes for AUTOINCREMENT


def open_annotations(path: Path) -> sqlite3.Connection:
    """A connection to a file of annotations, made where there is none; a label is on the disk once committed.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    sqlite3.Connection
        In write-ahead mode with full synchronisation, safe to hand to several threads one after the other.
    """
    if is_on_network(path.parent):
        raise UsageError(
            f"{path.parent} is on a network drive, where annotations could be lost; move the project to a disk of "
            "this machine."
        )
    _check_journal(path)
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        _make_or_check(connection, path)
    except UNREADABLE as error:
        connection.close()
        if isinstance(error, sqlite3.OperationalError):  # the file may be sound
            raise DataError(
                f"{path} could not be opened ({error}); see whether the disk is full, and whether the project can "
                "be written to."
            ) from None
        raise damaged(path, error) from None
    except BaseException:
        connection.close()
        raise
    return connection


def _check_journal(path: Path) -> None:
    """Refuse a rollback journal that names another file: SQLite would delete that file, wherever it is."""
    journal = path.with_name(f"{path.name}-journal")
    if journal.is_file() and journal.read_bytes().endswith(JOURNAL):
        raise DataError(
            f"{journal} is not of nearboost: it names another file, which would be deleted; remove it."
        )


def _make_or_check(connection: sqlite3.Connection, path: Path) -> None:
    """Give a new file its tables; refuse one that is not, or not only, what this version writes."""
    connection.execute("BEGIN IMMEDIATE")  # two processes may make it at the same time
    try:
        found = [sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")]
        (application,), (version,) = (
            connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
        )
        if not found and application == version == 0:
            for statement in SCHEMA:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        elif application == APPLICATION and version > FORMAT:
            raise UsageError(
                f"{path} was written by a newer version of nearboost; update it to open this project."
            )
        elif (application, version) != (APPLICATION, FORMAT) or sorted(found) != sorted((*SCHEMA, NUMBERS)):
            raise DataError(
                f"{path} is not a file of annotations that nearboost has written; restore a copy of it."
            )
        (sound,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if sound != "ok":
            raise sqlite3.DatabaseError(" ".join(sound.split()))
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def damaged(path: Path, error: Exception) -> DataError:
    """What to say of a file that SQLite cannot read."""
    return DataError(f"{path} is damaged ({error}); put one of the copies in {backups_of(path)} there.")


def backups_of(path: Path) -> Path:
    """Where the copies of a file of annotations are."""
    return path.with_name(BACKUPS)


def back_up(connection: sqlite3.Connection, path: Path, day: str) -> Path:
    """Copy the annotations, once a day; the last ten copies are kept.

    Parameters
    ----------
    connection : sqlite3.Connection
        The open file.
    path : Path
        Its place.
    day : str
        Today's date, as year, month and day with hyphens between them.

    Returns
    -------
    Path
        The copy of this day.
    """
    folder = backups_of(path)
    folder.mkdir(exist_ok=True)
    copy = folder / f"{path.stem}-{day}{path.suffix}"
    if not copy.exists():
        with whole_file(copy) as made, closing(sqlite3.connect(made)) as target:
            connection.backup(target)
    for old in sorted(folder.glob(f"{path.stem}-*{path.suffix}"))[:-KEPT_BACKUPS]:
        old.unlink()
    return copy
