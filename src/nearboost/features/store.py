"""Descriptors of many files on disk: made once, found again, and finished after an interruption.

A store is a folder that belongs to one descriptor, settings and fitted arrays included. It holds

- ``rows.npy``, one row of float32 numbers for each content, which NumPy opens as it is;
- ``done.jsonl``, a line for each content (its hash, row, status and message), written after its row;
- ``descriptor.txt``, the descriptor's settings, for people;
- ``table.csv``, the files of the last extraction, with content hash, status, row and message.

A content that has a line is never described again, whatever its file is called. A row without a line, or half a
line, is what an interruption leaves; it is computed again.
"""

import hashlib
import io
import json
import os
import threading
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline

from nearboost.base.disk import one_writer, reserve, whole_file, write_text
from nearboost.base.images import IMAGE_ENDINGS
from nearboost.base.progress import Advance, progress_bar
from nearboost.base.tables import format_csv
from nearboost.base.threads import map_in_threads, one_matrix_thread
from nearboost.features.fingerprint import fingerprint
from nearboost.features.fixed import FixedDescriptor

FILES_AT_ONCE = 4096  # waiting for a thread
LINES_AT_ONCE, SECONDS_AT_ONCE = 64, 5.0  # what an interruption may cost
OURS = (ImportError, MemoryError, NotFittedError)  # not the fault of a file
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
    """

    file: str
    content: str
    status: str
    row: int
    message: str


class FeatureStore:
    """The result of an extraction.

    Parameters
    ----------
    folder : Path
        Folder of the store.
    table : sequence of Entry
        One entry per file, in the order given.
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
        numbers = np.array([entry.row for entry in self.table if entry.status == OK], dtype=np.int64)
        if len(numbers) and np.all(np.diff(numbers) == 1):
            return self.rows[numbers[0] : numbers[-1] + 1]
        return np.asarray(self.rows[numbers])


def extract(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    descriptor: Any,
    into: str | os.PathLike[str],
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> FeatureStore:
    """Describe the images of a folder, or some files, as far as that has not been done yet.

    A file that gives no image is reported in the table and skipped. If killed at any moment, the next call
    continues where this one stopped. A store with other settings or another fit is another folder.

    Parameters
    ----------
    source : str, path or sequence of these
        A folder, searched with its subfolders for files named like images; or paths of files.
    descriptor : transformer or fitted pipeline
        Makes one row of numbers from ``[path]``.
    into : str or path
        Folder of all stores; the descriptor's own is named by its class and `fingerprint`.
    n_jobs : int or None, default=None
        Number of threads, each with one image; None uses all cores.
    verbose : int, default=0
        Shows a progress bar with the time left on standard error when above 0.

    Returns
    -------
    FeatureStore
        The rows, and a table of the files.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from PIL import Image
    >>> from nearboost.features import BioInspiredFeatures, extract
    >>> folder = Path(tempfile.mkdtemp())
    >>> for i in range(3):
    ...     Image.fromarray(np.full((20, 30), 40 * i, dtype=np.uint8)).save(folder / f"{i}.png")
    >>> _ = (folder / "broken.jpg").write_bytes(b"no image")
    >>> store = extract(folder, BioInspiredFeatures((1,), 8), folder / "stores")
    >>> store.X.shape, [entry.status for entry in store.table]
    ((3, 8), ['ok', 'ok', 'ok', 'failed'])
    """
    files = find_files(source)
    check_settings(descriptor)
    folder = Path(into) / f"{type(descriptor).__name__}-{fingerprint(descriptor)[:20]}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "descriptor.txt").write_text(f"{descriptor!r}\n", encoding="utf-8")
    with progress_bar("Reading files", len(files), verbose) as advance:
        hashed = map_in_threads(content_of, files, n_jobs, advance)
    with one_writer(folder):
        writer = Writer(folder)
        missing = {content: path for path, (content, _) in zip(files, hashed, strict=True) if content}
        waiting = [(content, path) for content, path in missing.items() if content not in writer.done]
        with progress_bar("Describing", len(waiting), verbose) as advance:
            describe_all(waiting, descriptor, writer, n_jobs, advance)
        table = [
            entry_of(str(path), content, writer.done[content])
            if content
            else Entry(str(path), "", FAILED, -1, problem)
            for path, (content, problem) in zip(files, hashed, strict=True)
        ]
        header = [field.name for field in fields(Entry)]
        write_text(folder / "table.csv", format_csv(header, map(astuple, table)))
    return FeatureStore(folder, table)


def find_files(source: Any) -> list[Path]:
    """The files to describe; those of a folder in the order of their names."""
    if not isinstance(source, str | os.PathLike):
        return [Path(path) for path in source]
    folder = Path(source)
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder; give one, or a list of files.")
    found = [path for path in folder.rglob("*") if path.suffix.lower() in IMAGE_ENDINGS and path.is_file()]
    return sorted(found, key=lambda path: path.relative_to(folder).parts)


def check_settings(descriptor: Any) -> None:
    """Wrong settings of what looks at the images, before files are blamed for them."""
    first = descriptor[0] if isinstance(descriptor, Pipeline) else descriptor
    if isinstance(first, FixedDescriptor):
        first.fit()


def entry_of(file: str, content: str, line: dict[str, Any]) -> Entry:
    return Entry(file, content, line["status"], line["row"], line["message"].replace(FILE, file))


def content_of(path: Path) -> tuple[str, str]:
    """The hash of a file's content, or what keeps it from being read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest(), ""
    except OSError as error:
        return "", f"{path} cannot be opened: {error.strerror}."


def describe_all(
    waiting: Sequence[tuple[str, Path]], descriptor: Any, writer: "Writer", n_jobs: int | None, advance: Advance
) -> None:
    """Describe contents and write them down; rows follow the order given, whoever is ready first."""
    first = writer.reserve(len(waiting))

    def describe(number: int) -> None:
        content, path = waiting[number]
        try:
            found = descriptor.transform([str(path)])
        except OURS:
            raise
        except Exception as error:  # whatever a file makes decoders and descriptors raise
            said = str(error) if isinstance(error, ValueError) else repr(error)
            said = said.replace(str(path), FILE).partition("\n")[0]
            writer.write_failure(content, said, lasting=getattr(error.__cause__, "errno", None) is None)
            return
        row = as_row(found, descriptor)
        if content_of(path)[0] != content:
            writer.write_failure(content, f"{FILE} changed while it was read; start again.", lasting=False)
        elif not np.isfinite(row).all():
            writer.write_failure(content, f"{FILE} gives NaN or infinite numbers.")
        else:
            writer.write(content, first + number, row)

    try:
        with one_matrix_thread():
            for start in range(0, len(waiting), FILES_AT_ONCE):
                some = range(start, min(start + FILES_AT_ONCE, len(waiting)))
                map_in_threads(describe, some, n_jobs, advance)
    finally:
        writer.flush()


def as_row(found: Any, descriptor: Any) -> NDArray[np.float32]:
    rows = np.asarray(found) if hasattr(found, "__array__") else None  # of data frames as well
    if rows is None or rows.ndim != 2 or len(rows) != 1:
        raise TypeError(
            f"{type(descriptor).__name__} gave {type(found).__name__} for one image and not one row of numbers; "
            "put an encoder such as SpatialPyramid after local descriptors."
        )
    return np.asarray(rows[0], dtype=np.float32)


class Writer:
    """Puts rows and then their lines on disk, some at a time; called from any thread."""

    def __init__(self, folder: Path) -> None:
        self.rows_file, self.lines_file = folder / "rows.npy", folder / "done.jsonl"
        n_rows = len(np.load(self.rows_file, mmap_mode="r")) if self.rows_file.exists() else 0
        lines = read_lines(self.lines_file)
        self.done = {content: line for content, line in lines.items() if line["row"] < n_rows}
        self._n_rows = 1 + max((line["row"] for line in self.done.values()), default=-1)
        self._rows: NDArray[np.float32] | None = None
        self._lines: list[str] = []
        self._lock, self._flushed = threading.Lock(), monotonic()

    def reserve(self, n_rows: int) -> int:
        """The first of so many new rows."""
        first = self._n_rows
        self._n_rows += n_rows
        return first

    def write(self, content: str, row: int, values: NDArray[np.float32]) -> None:
        with self._lock:
            if self._rows is None:
                self._rows = open_rows(self.rows_file, self._n_rows, len(values))
            if len(values) != self._rows.shape[1]:
                raise TypeError(f"The descriptor gave {len(values)} numbers, after {self._rows.shape[1]} before.")
            self._rows[row] = values
            self._add(content, {"status": OK, "row": row, "message": ""})

    def write_failure(self, content: str, message: str, *, lasting: bool = True) -> None:
        """What is no fault of the content does not last: the next extraction tries again."""
        line = {"status": FAILED, "row": -1, "message": message}
        with self._lock:
            if lasting:
                self._add(content, line)
            else:
                self.done[content] = line

    def _add(self, content: str, line: dict[str, Any]) -> None:
        self.done[content] = line
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
        with open(self.lines_file, "a", encoding="utf-8") as file:
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
            lines[found.pop("content")] = found
        except ValueError:
            continue
    return lines


def open_rows(path: Path, n_rows: int, n_numbers: int) -> NDArray[np.float32]:
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
    """Make an npy file longer. NumPy's headers leave room for a larger number of rows."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": (n_rows, n_numbers)}
    )
    os.truncate(path, header.tell() + 4 * n_rows * n_numbers)
    reserve(path)
    with open(path, "r+b", buffering=0) as file:
        file.write(header.getvalue())
