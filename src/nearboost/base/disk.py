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
