"""Arrays with a row for each item that are filled block by block in a folder, and go on after an interruption.

The folder holds ``NAME.npy`` for each array, which NumPy opens as it is, ``done.npy``, a byte for each block, and
``run.json``, which says whose blocks they are. A block is marked as done after its rows are on the disk.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.disk import check_folder, is_full, one_writer, reserve, whole_file, write_json
from nearboost.base.validation import check_whole

DONE, RUN = "done", "run.json"


class KeptBlocks:
    """Arrays on the disk, of which some blocks are done; made by `keep_blocks`.

    Attributes
    ----------
    block : int
        Rows of a block; the last one may have fewer.
    """

    def __init__(self, folder: Path, n_rows: int, block: int, kinds: Mapping[str, tuple[Any, ...]]) -> None:
        self.folder, self.n_rows, self.block = folder, n_rows, block
        self._names = tuple(kinds)
        n_blocks = -(-n_rows // block)
        arrays = {name: self._open(name, (n_rows, *shape), dtype) for name, (*shape, dtype) in kinds.items()}
        self._done, _ = self._open(DONE, (n_blocks,), np.uint8)
        if not all(there for _, there in arrays.values()):
            self._done[:] = 0  # of arrays that are gone
        self._arrays = {name: array for name, (array, _) in arrays.items()}

    def _open(self, name: str, shape: tuple[int, ...], dtype: Any) -> tuple[Any, bool]:
        """An array of the folder, and whether it was there."""
        file = self.folder / f"{name}.npy"
        try:
            there = np.load(file, mmap_mode="r", allow_pickle=False)  # to write, one that is too short would grow
            if there.shape == shape and there.dtype == dtype:
                return np.load(file, mmap_mode="r+"), True
        except (OSError, ValueError, EOFError):  # none, broken, or empty
            pass
        with whole_file(file) as made:
            np.lib.format.open_memmap(made, "w+", dtype, shape).flush()
            reserve(made)
        return np.load(file, mmap_mode="r+"), False

    @property
    def missing(self) -> list[slice]:
        """The blocks that are not done."""
        starts = self.block * np.flatnonzero(self._done == 0)
        return [slice(int(start), min(int(start) + self.block, self.n_rows)) for start in starts]

    def write(self, part: slice, *values: NDArray[Any]) -> None:
        """Keep a block of each array, in their order."""
        for array, block in zip(self._arrays.values(), values, strict=True):
            array[part] = block
            array.flush()
        self.mark(part)

    def mark(self, part: slice) -> None:
        """A block is done, and its rows are on the disk."""
        self._done[part.start // self.block] = 1
        self._done.flush()

    def read(self) -> list[NDArray[Any]]:
        """The arrays as maps that cannot be written to, in their order."""
        return [np.load(self.folder / f"{name}.npy", mmap_mode="r") for name in self._names]


@contextmanager
def keep_blocks(
    folder: str | Path, run: Mapping[str, Any], n_rows: int, block: int, kinds: Mapping[str, tuple[Any, ...]]
) -> Iterator[KeptBlocks]:
    """A folder of arrays for one writer; what an earlier one of the same ``run`` has done stays.

    Parameters
    ----------
    folder : where they are kept
    run : what the blocks are of, as JSON; that of another run is refused
    n_rows : how many rows each array has
    block : rows of a block, unless the folder has some of another size
    kinds : for each array its name and the shape of a row, followed by its type
    """
    place = Path(folder)
    check_folder(place)
    place.mkdir(parents=True, exist_ok=True)
    _refuse_strange(place)  # first: a writer leaves a lock
    with one_writer(place):
        for name in (RUN, f"{DONE}.npy", *(f"{name}.npy" for name in kinds)):
            for half in place.glob(f".{name}.*.new"):  # of a writer that was killed; it may be large
                half.unlink()
        try:
            block = _block_of(place, json.loads(json.dumps(dict(run))), n_rows, block)
            kept = KeptBlocks(place, n_rows, block, kinds)
        except OSError as error:
            if not is_full(error):
                raise
            n_bytes = sum(
                n_rows * int(np.prod(shape)) * np.dtype(kind).itemsize for *shape, kind in kinds.values()
            )
            raise OSError(
                error.errno, f"{place} has no room for {n_bytes:,} bytes; make room, or give another folder"
            ) from error
        yield kept


def _refuse_strange(folder: Path) -> None:
    """Refuse a folder of something else."""
    names = sorted(one.name for one in folder.iterdir())
    # A writer may be at work, or have been killed as it wrote down its run.
    strange = next((name for name in names if name != "lock" and not name.startswith(f".{RUN}.")), None)
    if strange is not None and RUN not in names:
        raise ValueError(f"{folder} holds {strange}, which is of no run; give an empty folder, or a new one.")


def _block_of(folder: Path, run: dict[str, Any], n_rows: int, block: int) -> int:
    """The size of the folder's blocks; that of a new run is written down."""
    file = folder / RUN
    if not file.exists():
        write_json(file, {"block": block, "n_rows": n_rows, "run": run})
        return block
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        known, size = {"n_rows": found["n_rows"], **found["run"]}, int(found["block"])
        check_whole("block", size)
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{file} is damaged; remove the folder, or give another one.") from None
    wanted = {"n_rows": n_rows, **run}
    for name in wanted:
        if known.get(name) != wanted[name]:
            raise ValueError(
                f"{folder} holds another run, of {name}={known.get(name)!r} where this one has {wanted[name]!r}; "
                "give another folder, or remove that one."
            )
    return size
