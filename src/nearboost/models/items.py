"""What a model is asked about: image files, folders of them, or rows of numbers without labels."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nearboost.datasets import DataError, open_dataset
from nearboost.datasets.vectors import ROW_NAMES, check_finite, load_array, load_arrays
from nearboost.features.store import find_files


class Items(NamedTuple):
    """Items and what to call them."""

    items: Any
    names: list[str]


def open_items(paths: Sequence[str | os.PathLike[str]], *, are_images: bool) -> Items:
    """Images of files and folders, or the rows of one file or folder; labels are not needed."""
    if are_images:
        return _images([Path(path) for path in paths])
    if len(paths) != 1:
        raise DataError(f"This model takes rows of numbers, from one file; {len(paths)} were given.")
    return _rows(Path(paths[0]))


def _images(paths: Sequence[Path]) -> Items:
    items, names = [], []
    for path in paths:
        if path.is_dir():
            found = find_files(path)
            items += found
            names += [str(file.relative_to(path)) if len(paths) == 1 else str(file) for file in found]
        else:
            items.append(path)
            names.append(str(path))
    if not items:
        raise DataError(f"{', '.join(map(str, paths))} holds no images; give image files or folders of them.")
    return Items([str(item) for item in items], names)


def _rows(path: Path) -> Items:
    if not path.exists():
        raise DataError(f"{path} is not there; give a file of rows, such as X.npy.")
    if (path / "X.npy").is_file():
        path = path / "X.npy"
    rows: Any = None
    if path.suffix.lower() == ".npy":
        rows = load_array(path)
    elif path.suffix.lower() == ".npz":
        arrays = {name.lower(): array for name, array in load_arrays(path).items()}
        rows = next((arrays[name] for name in ROW_NAMES if name in arrays), None)
    if rows is None:
        data = open_dataset(path)
        if data.kind == "images":
            raise DataError(f"{path} holds images, and this model takes rows of numbers; make them with features.")
        return Items(np.asarray(data.items), list(data.names))
    if rows.ndim != 2 or rows.dtype.kind not in "uif":
        raise DataError(f"{path} holds {rows.dtype} of shape {rows.shape}; give a matrix, a row for each item.")
    check_finite(path, rows)
    return Items(np.asarray(rows), [f"row {i}" for i in range(len(rows))])
