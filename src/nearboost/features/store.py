"""Descriptors of many files on disk: made once, found again, and finished after an interruption.

A store is a folder that belongs to one descriptor, settings and fitted arrays included. It holds

- ``rows.npy``, one row of float32 numbers for each content, or several, which NumPy opens as it is;
- ``done.jsonl``, a line for each content (its hash, row, status and message), written after its row or rows;
- ``descriptor.txt``, the descriptor's settings, for people;
- ``table.csv``, the files of the last extraction, with content hash, status, row and message.

A content that has a line is never described again, whatever its file is called. A row without a line, or half a
line, is what an interruption leaves; it is computed again.
"""

import io
import json
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nearboost.base.disk import one_writer, reserve, whole_file, write_text
from nearboost.base.image_set import Content
from nearboost.base.tables import format_csv
from nearboost.features.fingerprint import fingerprint

LINES_AT_ONCE, SECONDS_AT_ONCE = 64, 5.0  # what an interruption may cost
OK, FAILED = "ok", "failed"
FILE = "<file>"  # stands in kept messages, because a content may have several files, and others later


@dataclass(frozen=True)
class Entry:
    """A file in a store.

    Attributes
    ----------
    file : str
        Its path.
    content : str
        Hash of its content.
    status : {"ok", "failed"}
        Whether it could be described.
    row : int
        Its row in the store, or -1.
    message : str
        What was wrong, if anything.
    count : int, default=1
        How many rows it has, one after the other: a field has one for each of its cells.
    """

    file: str
    content: str
    status: str
    row: int
    message: str
    count: int = 1


class Sources(Protocol):
    """What a store is made of: files, or others that have a content."""

    def item(self, index: int) -> Any: ...
    def has_changed(self, index: int) -> bool: ...


class FeatureStore:
    """The result of an extraction.

    Parameters
    ----------
    folder : Path
        Folder of the store.
    table : sequence of Entry
        One entry per file, in the order given.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from PIL import Image
    >>> from nearboost.features import SmallGrey, extract
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Image.fromarray(np.zeros((40, 60), dtype=np.uint8)).save(Path(folder) / "black.png")
    ...     store = extract([Path(folder) / "black.png"], SmallGrey(), Path(folder) / "store")
    ...     print(store.X.shape, len(store.table), store.failed)
    (1, 256) 1 []
    """

    def __init__(self, folder: Path, table: Sequence[Entry]) -> None:
        self.folder, self.table = folder, list(table)

    @property
    def rows(self) -> NDArray[np.float32]:
        """All rows of the store, memory-mapped; ``table`` says which is whose."""
        if not (self.folder / "rows.npy").exists():
            raise ValueError(f"No file could be described; {self.folder / 'table.csv'} says why.")
        rows: NDArray[np.float32] = np.load(self.folder / "rows.npy", mmap_mode="r")
        return rows

    @property
    def files(self) -> list[str]:
        """The files that could be described."""
        return [entry.file for entry in self.table if entry.status == OK]

    @property
    def failed(self) -> list[Entry]:
        """The entries of the files that could not be described."""
        return [entry for entry in self.table if entry.status != OK]

    @property
    def X(self) -> NDArray[np.float32]:
        """The rows of `files`: memory-mapped if they are contiguous, otherwise in memory."""
        sound = [np.arange(entry.row, entry.row + entry.count) for entry in self.table if entry.status == OK]
        numbers = np.concatenate([np.empty(0, np.int64), *sound])
        if len(numbers) and np.all(np.diff(numbers) == 1):
            return self.rows[numbers[0] : numbers[-1] + 1]
        return np.asarray(self.rows[numbers])


def store_folder(descriptor: Any, into: Path) -> Path:
    """The folder of a descriptor's store, the same for all that are equal."""
    return into / f"{type(descriptor).__name__}-{fingerprint(descriptor)[:20]}"


@contextmanager
def open_store(
    descriptor: Any, folder: Path, images: Sources, contents: Sequence[Content], n_numbers: int | None = None
) -> Iterator["StoreWriter"]:
    """The store of a descriptor, locked against other processes; what was written is kept, however it ends.

    Rows that are damaged, or of another length than ``n_numbers``, are made anew.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "descriptor.txt").write_text(f"{descriptor!r}\n", encoding="utf-8")
    with one_writer(folder):
        writer = StoreWriter(folder, images, contents, n_numbers)
        try:
            yield writer
        finally:
            writer.flush()


class StoreWriter:
    """Puts rows and then their lines on disk, some at a time; called from any thread.

    ``wanted`` has the images that lack a line, one for each content, and the rows that they will get.
    """

    def __init__(
        self, folder: Path, images: Sources, contents: Sequence[Content], n_numbers: int | None = None
    ) -> None:
        self.folder, self._images, self._contents = folder, images, contents
        self._rows_file, self._lines_file = folder / "rows.npy", folder / "done.jsonl"
        n_rows = mend_rows(self._rows_file, n_numbers)
        lines = read_lines(self._lines_file)
        self._done = {content: line for content, line in lines.items() if _is_line(line, n_rows)}
        first = max((line["row"] + line.get("count", 1) for line in self._done.values()), default=0)
        missing = {content.digest: i for i, content in reversed(list(enumerate(contents)))}
        waiting = sorted(i for digest, i in missing.items() if digest and digest not in self._done)
        self.wanted = {i: row for row, i in enumerate(waiting, start=first)}
        self._n_rows, self._end = first + len(waiting), first
        self._rows: NDArray[np.float32] | None = None
        self._lines: list[str] = []
        self._lock, self._flushed = threading.Lock(), monotonic()

    def write(self, i: int, values: NDArray[np.float32]) -> None:
        """Keep the row of an image, or all rows of a matrix, unless its file has changed since it was hashed."""
        if self._images.has_changed(i):
            self.write_failure(i, f"{FILE} changed while it was read; start again.", lasting=False)
            return
        with self._lock:
            several = values.ndim == 2  # how many is not known before: they go to the end
            first, rows = (self._end, values) if several else (self.wanted[i], values[np.newaxis])
            self._end = max(self._end, first + len(rows))
            if self._rows is None or len(self._rows) < self._end:
                self._rows = map_rows(self._rows_file, max(self._n_rows, self._end), rows.shape[1])
            if rows.shape[1] != self._rows.shape[1]:
                raise TypeError(
                    f"The descriptor gave {rows.shape[1]} numbers, after {self._rows.shape[1]} before."
                )
            self._rows[first : first + len(rows)] = rows
            count = {"count": len(rows)} if several else {}
            self._add(self._contents[i].digest, {"status": OK, "row": first, "message": "", **count})

    def write_failure(self, i: int, message: str, *, lasting: bool = True) -> None:
        """Keep what was wrong with an image; what is no fault of its content is tried again the next time."""
        content, line = self._contents[i].digest, {"status": FAILED, "row": -1, "message": message}
        with self._lock:
            if lasting:
                self._add(content, line)
            else:
                self._done[content] = line

    def close(self) -> FeatureStore:
        """Write the table of all files."""
        self.flush()
        table = [self._entry(str(self._images.item(i)), content) for i, content in enumerate(self._contents)]
        header = [field.name for field in fields(Entry)]
        write_text(self.folder / "table.csv", format_csv(header, map(astuple, table)))
        return FeatureStore(self.folder, table)

    def _entry(self, file: str, content: Content) -> Entry:
        if not content.digest:
            return Entry(file, "", FAILED, -1, content.problem)
        line = self._done[content.digest]
        message, count = line["message"].replace(FILE, file), line.get("count", 1)
        return Entry(file, content.digest, line["status"], line["row"], message, count)

    def _add(self, content: str, line: dict[str, Any]) -> None:
        self._done[content] = line
        self._lines.append(json.dumps({"content": content, **line}) + "\n")
        if len(self._lines) >= LINES_AT_ONCE or monotonic() - self._flushed > SECONDS_AT_ONCE:
            self._flush()

    def flush(self) -> None:
        with self._lock:
            self._flush()

    def _flush(self) -> None:
        """Rows first: a line promises its row."""
        if isinstance(self._rows, np.memmap):
            self._rows.flush()
        with open(self._lines_file, "a", encoding="utf-8") as file:
            file.write("".join(self._lines))
            file.flush()
            os.fsync(file.fileno())
        self._lines, self._flushed = [], monotonic()


def read_lines(path: Path) -> dict[str, dict[str, Any]]:
    """Lines by content; half a line at the end is cut off, one further up (of a full disk) is passed over."""
    if not path.exists():
        return {}
    text = path.read_bytes()
    whole = text[: text.rfind(b"\n") + 1]
    if len(whole) < len(text):
        os.truncate(path, len(whole))
    lines = {}
    for line in whole.splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict) and isinstance(found.get("content"), str):
            lines[found.pop("content")] = found
    return lines


def _is_line(line: dict[str, Any], n_rows: int) -> bool:
    """Whether a line says what a store writes, of a row that there is; others are made again."""
    row, status, message = (line.get(name) for name in ("row", "status", "message"))
    count = line.get("count", 1)
    if type(row) is not int or type(count) is not int or count < 0 or not isinstance(message, str):
        return False
    return row >= 0 and row + count <= n_rows if status == OK else status == FAILED and row == -1


def mend_rows(path: Path, n_numbers: int | None = None) -> int:
    """How many rows a file has; one that was cut short keeps its whole rows, one that holds none is deleted."""
    try:
        with open(path, "rb") as file:
            version = np.lib.format.read_magic(file)
            shape, is_fortran, kind = np.lib.format.read_array_header_1_0(file)
            start = file.tell()
            n_bytes = os.fstat(file.fileno()).st_size - start
    except FileNotFoundError:
        return 0
    except ValueError:
        version = None
    known = version == (1, 0) and len(shape) == 2 and not is_fortran and kind == np.float32 and shape[1] > 0
    n_rows = min(shape[0], n_bytes // (4 * shape[1])) if known and n_numbers in (None, shape[1]) else 0
    if n_rows <= 0:
        path.unlink()
        return 0
    if n_rows < shape[0]:
        add_rows(path, n_rows, shape[1])
    return int(n_rows)


def map_rows(path: Path, n_rows: int, n_numbers: int) -> NDArray[np.float32]:
    """The rows as a memory map, with room for so many."""
    if not path.exists():
        with whole_file(path) as made:
            np.lib.format.open_memmap(made, "w+", np.float32, (n_rows, n_numbers)).flush()
            reserve(made)
    rows = np.lib.format.open_memmap(path, "r+")
    if len(rows) < n_rows and rows.shape[1] == n_numbers:
        add_rows(path, n_rows, n_numbers)
        rows = np.lib.format.open_memmap(path, "r+")
    return rows


def add_rows(path: Path, n_rows: int, n_numbers: int) -> None:
    """Give an npy file so many rows. NumPy's headers leave room for a larger number."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": (n_rows, n_numbers)}
    )
    os.truncate(path, header.tell() + 4 * n_rows * n_numbers)
    reserve(path)
    with open(path, "r+b", buffering=0) as file:
        file.write(header.getvalue())
