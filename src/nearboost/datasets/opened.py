"""Rows of files that may be larger than memory: .npy files, Parquet, folders of either, Arrow datasets."""

import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nearboost.base.disk import check_folder, is_full
from nearboost.base.maps import read_map
from nearboost.base.outputs import npy_file
from nearboost.base.progress import progress_bar
from nearboost.base.rows import Block, MappedRowSource, RowSource, overflown, read_type
from nearboost.datasets.arrays import load_array
from nearboost.datasets.dataset import DataError
from nearboost.datasets.files import files_ending
from nearboost.datasets.parquet import FragmentRows, ParquetRows

ENDINGS = (".npy", ".parquet")
BYTES_AT_ONCE = 2**24
MARK = 16  # bytes of a hash, in the name of a copy


class Shard(Protocol):
    """A file of rows, or another part of them."""

    name: str
    n_rows: int
    n_features: int
    dtype: np.dtype[Any]

    def batches(self, size: int) -> Iterator[NDArray[Any]]:
        """All rows in order, at most so many at a time."""


class NpyRows:
    """The rows of one .npy file, which is mapped."""

    def __init__(self, file: Path) -> None:
        self.rows, self.name = load_array(file), str(file)
        if self.rows.ndim != 2 or self.rows.dtype.kind not in "fiub":
            raise DataError(
                f"{file} holds {self.rows.dtype} of shape {self.rows.shape}; give a matrix, a row for each item."
            )
        (self.n_rows, self.n_features), self.dtype = self.rows.shape, self.rows.dtype

    def batches(self, size: int) -> Iterator[NDArray[Any]]:
        """All rows in order, at most so many at a time."""
        for start in range(0, self.n_rows, size):
            numbers = np.arange(start, min(start + size, self.n_rows))
            block = np.empty((len(numbers), self.n_features), dtype=self.dtype)
            read_map(self.rows, numbers, block)
            yield block


class OpenedRows(RowSource):
    """Rows of one file or several, one after the other; made by `open_rows`.

    Estimators take it as X: queries are read in blocks, and to learn from rows in any order they are mapped, which
    copies them once unless they are one .npy file. ``numpy.asarray`` reads all into memory.

    Parameters
    ----------
    shards : sequence of Shard
        The files, in order.
    name : str
        What they are called together.
    folder : path or None, default=None
        Where the copy is kept.
    verbose : int, default=0
        Shows a progress bar on standard error while copying, when above 0.

    Attributes
    ----------
    shape : tuple of int
        Number of rows and of features.
    stored : dtype
        Type of the numbers as they are stored; float16 stays float16.
    dtype : dtype
        Type that blocks come in: float32 or float64, whichever holds the numbers.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from nearboost import KNNClassifier
    >>> from nearboost.datasets import open_rows
    >>> rng = np.random.default_rng(0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "rows.npy", rng.normal(size=(100, 3)).astype(np.float32))
    ...     rows = open_rows(Path(folder) / "rows.npy")
    ...     said = KNNClassifier().fit(rng.normal(size=(20, 3)), np.arange(20) % 2).predict(rows)
    >>> rows.shape, rows.stored, len(said)
    ((100, 3), dtype('float32'), 100)
    """

    lie_in_memory = False

    def __init__(
        self,
        shards: Sequence[Shard],
        name: str,
        folder: str | os.PathLike[str] | None = None,
        verbose: int = 0,
    ) -> None:
        self.name, self.folder, self._verbose = name, folder, verbose
        self._shards = [shard for shard in shards if shard.n_rows]
        if not self._shards:
            raise DataError(f"{shards[0].name} has no rows; give some.")
        first = self._shards[0]
        for shard in self._shards:
            if shard.n_features != first.n_features:
                raise DataError(
                    f"{shard.name} has {shard.n_features:,} numbers in row 0, and {first.name} has "
                    f"{first.n_features:,}; rows of different files must have the same features."
                )
            if getattr(shard, "columns", None) != getattr(first, "columns", None):
                raise DataError(
                    f"{shard.name} and {first.name} have columns of different names, or in another order; "
                    "give all files the same columns."
                )
        if not first.n_features:
            raise DataError(f"{first.name} has rows of no numbers; give some.")
        self.n_rows, self.n_features = sum(shard.n_rows for shard in self._shards), first.n_features
        types = {shard.dtype for shard in self._shards}
        self.stored = np.result_type(*types) if len(types) > 1 else first.dtype
        self.dtype = read_type(self.stored)

    @property
    def columns(self) -> list[str] | None:
        """Names of the columns, if each holds one number of a row."""
        names: list[str] | None = getattr(self._shards[0], "columns", None)
        return names if names is not None and len(names) == self.n_features else None

    def blocks(self, room: float, most: int | None = None) -> Iterator[tuple[int, Block]]:
        """All rows in order, in blocks.

        Parameters
        ----------
        room : float
            Bytes that a block may take.
        most : int or None, default=None
            Most rows of a block.

        Yields
        ------
        start : int
            Number of the first row.
        block : ndarray of shape (n_rows, n_features)
            The rows, float32 or float64.
        """
        step = self.fitting(room) if most is None else max(1, min(most, self.fitting(room)))
        for start, block in self._stored_blocks(step):
            yield start, block.astype(self.dtype, copy=False)

    def take(self, rows: NDArray[np.integer]) -> Block:
        """Some rows, from the map.

        Parameters
        ----------
        rows : ndarray of int
            Their numbers, in rising order.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            The rows, float32 or float64.
        """
        return MappedRowSource(self._mapped).take(rows)

    def in_any_order(self) -> NDArray[Any]:
        """The rows as a map, of which any can be read; those of several files are copied to ``folder``, once.

        A copy of the same numbers that is there already is used as it is.

        Returns
        -------
        memmap of shape (n_rows, n_features)
            The rows, in the type that they are stored in.
        """
        return self._mapped

    @cached_property
    def _mapped(self) -> NDArray[Any]:
        [first, *others] = self._shards
        if isinstance(first, NpyRows) and not others:
            return first.rows
        if self.folder is None:
            raise DataError(
                f"{self.name} is read from its beginning to its end, and its rows are needed in any order; give "
                "open_rows a folder=, where they are copied once."
            )
        if Path(self.folder).resolve() in {Path(shard.name).resolve().parent for shard in others}:
            raise DataError(
                f"folder={str(self.folder)!r} is where the files of {self.name} lie, and a copy there would be "
                "taken for one of them; give another folder."
            )
        check_folder(self.folder)
        Path(self.folder).mkdir(parents=True, exist_ok=True)
        copy = Path(self.folder) / f"{self.name}-{self._digest()}.npy"
        if not self._is_copy(copy):
            self._copy_to(copy)
        return load_array(copy)

    def _digest(self) -> str:
        """A hash of all numbers, so that a copy of others is never taken for one of these."""
        found = hashlib.blake2b(f"{self.stored.str}{self.shape}".encode(), digest_size=MARK)
        with progress_bar("Looking at rows", self.n_rows, self._verbose) as advance:
            for _, block in self._stored_blocks():
                found.update(block.data.cast("B"))
                advance(len(block))
        return found.hexdigest()

    def _is_copy(self, file: Path) -> bool:
        try:
            there = load_array(file)
        except DataError:  # none, or broken
            return False
        return bool(there.shape == self.shape and there.dtype == self.stored)

    def _copy_to(self, file: Path) -> None:
        n_bytes = self.n_rows * self.n_features * self.stored.itemsize
        full = (
            f"A copy of {self.name} takes {n_bytes:,} bytes, more than are free in {file.parent}; make room "
            "there, or give another folder."
        )
        if shutil.disk_usage(file.parent).free < n_bytes:
            raise DataError(full)
        try:
            with (
                progress_bar("Copying rows", self.n_rows, self._verbose) as advance,
                npy_file(file, self.stored, self.shape) as written,
            ):
                for _, block in self._stored_blocks():
                    written.write(block.data.cast("B"))
                    advance(len(block))
        except OSError as error:
            if is_full(error):
                raise DataError(full) from error
            raise

    def _stored_blocks(self, step: int | None = None) -> Iterator[tuple[int, NDArray[Any]]]:
        """Blocks of so many rows, the last one perhaps of fewer, whichever files they are from."""
        fitting = max(1, BYTES_AT_ONCE // (self.n_features * self.stored.itemsize))
        step = fitting if step is None else step
        start, filled, block = 0, 0, np.empty((0, self.n_features), dtype=self.stored)
        for rows in self._finite_batches(min(step, fitting)):
            while len(rows):
                if not filled:
                    block = np.empty((min(step, self.n_rows - start), self.n_features), dtype=self.stored)
                fits = rows[: len(block) - filled]
                block[filled : filled + len(fits)] = fits
                rows, filled = rows[len(fits) :], filled + len(fits)
                if filled == len(block):
                    yield start, block
                    start, filled = start + len(block), 0

    def _finite_batches(self, size: int) -> Iterator[NDArray[Any]]:
        for shard in self._shards:
            n_read = 0
            for rows in shard.batches(size):
                if rows.dtype.kind == "f" and not np.isfinite(rows).all():
                    row = int(np.argmin(np.isfinite(rows).all(axis=1)))
                    cure = overflown(rows, rows[row]) or "fill or drop it"
                    raise DataError(f"{shard.name} holds NaN or infinite values in row {n_read + row}; {cure}.")
                n_read += len(rows)
                yield rows
            if n_read != shard.n_rows:
                raise DataError(f"{shard.name} has changed since it was opened; open it again.")

    def __repr__(self) -> str:
        return f"OpenedRows({self.name!r}, {self.n_rows:,} rows of {self.n_features:,} {self.stored})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """All rows in memory."""
        whole = np.empty(self.shape, dtype=self.stored if dtype is None else dtype)
        for start, block in self._stored_blocks():
            whole[start : start + len(block)] = block
        return whole


def open_rows(
    path: Any,
    folder: str | os.PathLike[str] | None = None,
    *,
    columns: Sequence[str] | None = None,
    verbose: int = 0,
) -> OpenedRows:
    """Open rows of numbers in files, of which no more than a block is ever in memory.

    Parameters
    ----------
    path : path, or Arrow dataset
        A .npy or .parquet file, a folder of one kind of them (in the order of their names; of a folder with X.npy
        that file alone), or a ``pyarrow.dataset.Dataset``.
    folder : path or None, default=None
        Where rows are copied, once, as a .npy file, when they are needed in any order: to learn from Parquet or
        from several files. A copy of the same numbers is used again. None copies nothing.
    columns : sequence of str or None, default=None
        Of Parquet and Arrow, the columns of numbers, or of lists of numbers of one length. None takes all but
        those called label, part, group or file_name, and their other names.
    verbose : int, default=0
        Shows a progress bar on standard error while rows are copied, when above 0.

    Returns
    -------
    OpenedRows
        The rows.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> from nearboost.datasets import open_rows
    >>> with TemporaryDirectory() as folder:
    ...     for part in range(3):
    ...         np.save(f"{folder}/part-{part}.npy", np.full((4, 2), part, dtype=np.float16))
    ...     rows = open_rows(folder)
    ...     print(rows.shape, rows.stored, [len(block) for _, block in rows.blocks(room=40)])
    (12, 2) float16 [5, 5, 2]
    """
    if isinstance(columns, str):
        raise DataError(f"columns={columns!r} must be a list of names; give [{columns!r}].")
    if hasattr(path, "get_fragments"):
        fragments = [FragmentRows(path, fragment, columns) for fragment in path.get_fragments()]
        if not fragments:
            raise DataError("The dataset has no rows; give some.")
        return OpenedRows(fragments, "dataset", folder, verbose)
    if not isinstance(path, str | os.PathLike):
        raise DataError(f"open_rows opens files, and path is of the kind {type(path).__name__}; give a path.")
    place = Path(path)
    files = _files_in(place) if place.is_dir() else [place]
    if not files[0].is_file():
        raise DataError(f"{place} {'is no file' if place.exists() else 'does not exist'}; give a file of rows.")
    return OpenedRows([_shard(file, columns) for file in files], place.resolve().stem, folder, verbose)


def _files_in(folder: Path) -> list[Path]:
    names = files_ending(folder, ENDINGS)
    if "X.npy" in names:
        return [folder / "X.npy"]
    if not names:
        raise DataError(f"{folder} holds no files that end in {' or '.join(ENDINGS)}; give a folder of such.")
    for name in names:
        if Path(name).suffix.lower() != Path(names[0]).suffix.lower():
            raise DataError(
                f"{folder} holds both {names[0]} and {name}; give a folder of one kind of files, or one of them."
            )
    return [folder / name for name in names]


def _shard(file: Path, columns: Sequence[str] | None) -> Shard:
    if file.suffix.lower() == ".npy":
        if columns is not None:
            raise DataError(f"{file} has no columns with names; leave columns out.")
        return NpyRows(file)
    if file.suffix.lower() == ".parquet":
        return ParquetRows(file, columns)
    raise DataError(f"{file} is of an unknown kind; expected {' or '.join(ENDINGS)}.")
