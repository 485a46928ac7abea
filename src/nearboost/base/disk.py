"""Files that several processes may want, and disks that may be full."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def reserve(path: Path) -> None:
    """Take the room on the disk that a file says it has; a mapped file without it ends the process on writing."""
    if not hasattr(os, "posix_fallocate") or not path.stat().st_size:
        return
    with open(path, "r+b") as file:
        os.posix_fallocate(file.fileno(), 0, path.stat().st_size)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Where to write a file: it takes the place of ``path`` once it is complete, and is gone where writing fails.

    Whoever reads ``path`` finds the old content or the new, never half of it.
    """
    made = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        yield made
        with open(made, "r+b") as file:
            os.fsync(file.fileno())
        os.replace(made, path)
    finally:
        made.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text as a whole; what is no UTF-8 in names of files becomes ``?``."""
    with whole_file(path) as made:
        made.write_text(text, encoding="utf-8", errors="replace")


@contextmanager
def one_writer(folder: Path) -> Iterator[None]:
    """Keep other processes from writing to a folder; the lock goes with the process."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    with open(folder / "lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BlockingIOError(f"Another process is writing to {folder}; wait for it to finish.") from None
        yield
