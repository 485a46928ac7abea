"""One process at a time writes to a project."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

from nearboost.base.disk import one_writer, write_text
from nearboost.base.errors import UsageError
from nearboost.cells.project import Project, open_project

WRITER = "writer.txt"  # who has the project open; it means something while the lock is held


@contextmanager
def opened_for_writing(folder: Path) -> Iterator[Project]:
    """A project that no other process writes to in the meantime.

    Parameters
    ----------
    folder : Path
        Of a project.

    Yields
    ------
    Project
        The opened project.
    """
    project = open_project(folder)
    note = folder / WRITER
    with ExitStack() as held:
        try:
            held.enter_context(one_writer(folder))
        except BlockingIOError:
            who = note.read_text(encoding="utf-8") if note.exists() else "another process"
            raise UsageError(
                f"{folder} is open for writing in {who}; close it there, or wait until it has ended."
            ) from None
        except OSError as error:
            raise UsageError(
                f"{folder} cannot be written to ({error.strerror}); change its permissions, or copy the project."
            ) from None
        write_text(note, f"process {os.getpid()} since {datetime.now():%Y-%m-%d %H:%M}")
        held.callback(note.unlink, missing_ok=True)
        yield project
