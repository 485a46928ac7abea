"""Files of arrays: .npy and .npz."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.validation import check_map
from nearboost.datasets.dataset import DataError

BLOCK = 1 << 22  # numbers looked at together, so that a memory-mapped file passes through in pieces


def check_finite(file: Path, rows: NDArray[Any]) -> None:
    """Refuse NaN and infinite numbers, and say where they are."""
    step = max(1, BLOCK // max(1, rows.shape[1]))
    for start in range(0, len(rows) if rows.dtype.kind == "f" else 0, step):
        check_map(rows)
        bad = ~np.isfinite(rows[start : start + step]).all(axis=1)
        if bad.any():
            raise DataError(
                f"{file} holds NaN or infinite values in row {start + int(bad.argmax())}; fill or drop it."
            )


def load_array(file: Path) -> NDArray[Any]:
    """An .npy file, memory-mapped; never objects, whose loading could run code."""
    try:
        return np.atleast_1d(np.load(file, mmap_mode="r", allow_pickle=False))
    except Exception as error:  # broken bytes make the reader raise almost anything
        raise _unreadable(file, error) from error


def load_arrays(file: Path) -> dict[str, NDArray[Any]]:
    """The arrays of an .npz file; never objects, whose loading could run code."""
    try:
        with np.load(file, allow_pickle=False) as arrays:
            return {name: np.atleast_1d(arrays[name]) for name in arrays.files}
    except Exception as error:  # as above
        raise _unreadable(file, error) from error


def _unreadable(file: Path, error: Exception) -> DataError:
    if not _begins_as_numpy(file):
        return DataError(f"{file} is not a {file.suffix} file, whatever its name says; give one that NumPy wrote.")
    if "object" in str(error).lower():  # as NumPy says of arrays that hold them
        return DataError(
            f"{file} is not a readable {file.suffix} file of numbers or text: it holds Python objects, and "
            f"loading these could run code; save labels as text, y.astype(str), and rows as numbers."
        )
    return DataError(f"{file} is not a readable {file.suffix} file of numbers or text ({first_line(error)}).")


def _begins_as_numpy(file: Path) -> bool:
    """Whether a file begins as .npy files or archives do, as far as it goes; one that is not there might."""
    try:
        with open(file, "rb") as opened:
            begun = opened.read(6)
    except OSError:
        return True
    return begun.startswith(b"PK") or b"\x93NUMPY".startswith(begun)


def first_line(error: Exception) -> str:
    """What a library says was wrong, as part of a sentence."""
    return str(error).partition("\n")[0].rstrip(".") or type(error).__name__
