"""Rows as one .npy file that all workers read, and arrays that are filled block by block."""

import hashlib
import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.disk import check_folder, is_full, reserve, whole_file
from nearboost.base.errors import UsageError
from nearboost.base.progress import progress_bar
from nearboost.base.rows import RowSource
from nearboost.datasets import open_rows
from nearboost.distributed.tasks import here
from nearboost.neighbors import as_rows


def rows_file(rows: Any, client: Any, folder: str | os.PathLike[str] | None, verbose: int) -> str:
    """The .npy file that all workers read; what is none is written into ``folder``, once."""
    if isinstance(rows, import_module("distributed").Future):
        raise UsageError(
            "The rows are scattered, and lost with the worker that holds them; give a path, an array or a Dask "
            "array."
        )
    if isinstance(rows, RowSource):
        rows = rows.in_any_order()
    if isinstance(rows, np.ndarray) and (file := _whole_map(rows)) is not None:
        return file
    if isinstance(rows, str | os.PathLike) and Path(rows).suffix == ".npy":
        return os.path.abspath(rows)
    if folder is None:
        what = rows if isinstance(rows, str | os.PathLike) else f"A {type(rows).__name__}"
        raise UsageError(
            f"{what} is no .npy file that workers can open; give folder=, a folder that all of them can open, "
            "where its rows are written once."
        )
    if isinstance(rows, str | os.PathLike):
        return str(open_rows(rows, folder, verbose=verbose).in_any_order().filename)  # type: ignore[attr-defined]
    check_folder(folder)
    Path(folder).mkdir(parents=True, exist_ok=True)
    try:
        if hasattr(rows, "__dask_graph__"):
            return _write_chunks(rows, client, Path(folder).absolute(), verbose)
        return _write_array(np.ascontiguousarray(as_rows(rows)), Path(folder).absolute())
    except OSError as error:
        if is_full(error):
            raise OSError(
                error.errno, f"{folder} has no room for the rows; make room, or give another folder"
            ) from error
        raise


def _whole_map(rows: NDArray[Any]) -> str | None:
    """The .npy file of which an array is the map of all rows."""
    file = str(getattr(rows, "filename", None))
    if not isinstance(rows, np.memmap) or not file.endswith(".npy"):
        return None
    every = np.load(file, mmap_mode="r")
    same = (every.shape, every.dtype, every.strides) == (rows.shape, rows.dtype, rows.strides)
    return os.path.abspath(file) if same else None


def _write_array(X: NDArray[Any], folder: Path) -> str:
    digest = hashlib.blake2b(f"{X.dtype.str}{X.shape}".encode(), digest_size=16)
    digest.update(X.data.cast("B"))
    file = folder / f"rows-{digest.hexdigest()}.npy"
    if not file.exists():
        with whole_file(file) as made:
            np.lib.format.open_memmap(made, "w+", X.dtype, X.shape).flush()
            reserve(made)
            np.load(made, mmap_mode="r+")[:] = X
    return str(file)


def _write_chunks(array: Any, client: Any, folder: Path, verbose: int) -> str:
    """A Dask array as one .npy file: workers write the chunks, and make lost ones again from the array's graph."""
    if array.ndim != 2 or len(array.chunks[1]) != 1:
        raise UsageError(
            f"The Dask array has chunks {array.chunks}; rows must be whole: use rechunk({{0: 'auto', 1: -1}})."
        )
    if any(np.isnan(size) for size in array.chunks[0]):
        raise UsageError("The Dask array has chunks of unknown sizes; call its compute_chunk_sizes() first.")
    file = folder / f"rows-{hashlib.blake2b(array.name.encode(), digest_size=16).hexdigest()}.npy"
    if file.exists():
        return str(file)
    starts = np.append(0, np.cumsum(array.chunks[0]))
    distributed = import_module("distributed")
    with whole_file(file) as made:
        np.lib.format.open_memmap(made, "w+", array.dtype, array.shape).flush()
        reserve(made)
        delayed = import_module("dask").delayed(_write_chunk)
        tasks = [
            delayed(chunk, str(made), int(start), int(stop))
            for chunk, start, stop in zip(array.to_delayed().ravel(), starts[:-1], starts[1:], strict=True)
        ]
        with progress_bar("Writing rows", len(tasks), verbose) as advance:
            for future in distributed.as_completed(client.compute(tasks)):
                future.result()
                advance()
    return str(file)


def _write_chunk(chunk: NDArray[Any], path: str, start: int, stop: int) -> None:
    if not os.path.isfile(path):
        raise ValueError(f"{here()} finds no {path}; give a folder= that all workers can open.")
    written = np.load(path, mmap_mode="r+")
    expected = stop - start, written.shape[1]
    if chunk.shape != expected or not np.can_cast(chunk.dtype, written.dtype):
        raise ValueError(
            f"Rows {start:,} to {stop:,} of the Dask array are {chunk.dtype} of shape {chunk.shape}, and it says "
            f"that they are {written.dtype} of shape {expected}; build it with the right chunks and dtype."
        )
    written[start:stop] = chunk
    written.flush()


class BlocksInMemory:
    """Takes blocks as `KeptBlocks` does, into memory."""

    def __init__(self, n_rows: int, block: int, kinds: Mapping[str, tuple[Any, ...]]) -> None:
        self.missing = [slice(start, min(start + block, n_rows)) for start in range(0, n_rows, block)]
        self._arrays = [np.empty((n_rows, *shape), dtype) for *shape, dtype in kinds.values()]

    def write(self, part: slice, *values: NDArray[Any]) -> None:
        for array, block in zip(self._arrays, values, strict=True):
            array[part] = block

    def read(self) -> list[NDArray[Any]]:
        return self._arrays
