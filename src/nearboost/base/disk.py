"""Files that several processes may want, and disks that may be full."""

import errno
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.errors import UsageError

# Kinds of file systems of other machines, where locks and shared memory of a database do not hold.
_NETWORK_KINDS = (
    "nfs",
    "cifs",
    "smb",
    "9p",
    "afs",
    "ceph",
    "glusterfs",
    "lustre",
    "fuse.sshfs",
    "fuse.rclone",
    "davfs",
)


def check_target(path: str | os.PathLike[str], *, force: bool = True) -> None:
    """Refuse at once a place where no file can be written, and unless ``force`` is set, a file that exists."""
    place = behind_links(Path(path))
    if place.is_dir():
        raise UsageError(f"{place} is a folder; give the name of a file to write.")
    if not place.parent.is_dir():
        raise UsageError(f"{place.parent} is not a folder; make it first, or write {place.name} elsewhere.")
    if place.exists() and not place.stat().st_mode & stat.S_IWUSR:  # replacing it would succeed all the same
        raise UsageError(f"{place} is read-only; make it writable, or give another name.")
    check_folder(place.parent)
    if place.exists() and not force:
        raise UsageError(f"{path} exists already; add --force to replace it, or give another name.")


def check_folder(path: str | os.PathLike[str]) -> None:
    """Refuse at once a folder that cannot be made or written to."""
    if not isinstance(path, str | os.PathLike) or not str(path):
        raise UsageError(f"{path!r} is no folder; give the path of one.")
    place = Path(path)
    there = next(one for one in (place, *place.absolute().parents) if one.exists())
    if not there.is_dir():
        raise UsageError(f"{there} is a file, where a folder is needed; give another name.")
    try:
        tempfile.TemporaryFile(dir=there).close()
    except OSError as error:
        raise UsageError(
            f"{there} cannot be written to ({error.strerror}); change its permissions, or write elsewhere."
        ) from None


def is_full(error: BaseException) -> bool:
    """Whether a file could not be written for want of room, on the disk or under the limit of a file's size."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def reserve(path: Path) -> None:
    """Take the room on the disk that a file says it has; a mapped file without it ends the process on writing."""
    n_bytes = path.stat().st_size
    if not hasattr(os, "posix_fallocate") or not n_bytes:
        return
    with open(path, "r+b") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, n_bytes)
        except OSError as error:
            if not is_full(error):
                raise
            sentence = f"{path.parent} has no room for {n_bytes:,} bytes; make room there, or write elsewhere"
            raise OSError(error.errno, sentence) from error


def behind_links(path: Path) -> Path:
    """The file that a link leads to, so that its old content does not stay behind where it is replaced."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Where to write a file: it takes the place of ``path`` once it is complete, and is gone where writing fails.

    Whoever reads ``path`` finds the old content or the new, never half of it; who may read it stays as it was.
    """
    path = behind_links(path)
    made = path.with_name(f".{path.name}.{token_hex(4)}.new")  # a name that nobody can have put a link under
    try:
        yield made
        with open(made, "r+b") as file:
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, made)
        os.replace(made, path)
    finally:
        made.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text as a whole; what is no UTF-8 in names of files becomes ``?``."""
    with whole_file(path) as made:
        made.write_text(text, encoding="utf-8", errors="replace")


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file as a whole; NaN and infinite numbers are refused."""
    with whole_file(path) as made, open(made, "w", encoding="utf-8") as file:
        json.dump(content, file, allow_nan=False)  # ASCII: names of files may hold bytes that are not text


def write_arrays(path: Path, **arrays: NDArray[Any] | None) -> None:
    """Write an npz file as a whole; arrays that are None are left out."""
    with whole_file(path) as made, open(made, "wb") as file:
        np.savez(file, **{name: array for name, array in arrays.items() if array is not None})  # type: ignore[arg-type]


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of an npz file, in memory."""
    with np.load(path) as stored:
        return dict(stored)


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


def is_on_network(path: Path) -> bool:
    """Whether a folder is on a drive of another machine, as far as the system tells."""
    try:
        lines = Path("/proc/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # not Linux
        return str(path.absolute()).startswith("\\\\")  # \\server\share
    mounts = {Path(place.replace("\\040", " ")): kind for _, place, kind, *_ in map(str.split, lines)}
    there = path.resolve()
    kind = next((mounts[one] for one in (there, *there.parents) if one in mounts), "")
    return kind.startswith(_NETWORK_KINDS)
