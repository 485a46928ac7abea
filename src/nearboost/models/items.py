"""What a model is asked about: image files, folders of them, or rows of numbers without labels."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nearboost.datasets import DataError, open_dataset
from nearboost.datasets.files import IMAGE_ENDINGS, Found, find_images
from nearboost.datasets.vectors import (
    ROW_NAMES,
    VECTOR_ENDINGS,
    check_finite,
    load_array,
    load_arrays,
    names_beside,
)
from nearboost.models.model import Model


class Items(NamedTuple):
    """Items, what to call them, and what a reader should know about those left out."""

    items: Any
    names: list[str]
    notes: tuple[str, ...] = ()


def open_items(model: Model, paths: Sequence[str | os.PathLike[str]]) -> Items:
    """Images of files and folders, or the rows of one file or folder; labels are not needed."""
    places = [Path(path) for path in paths]
    for place in places:
        check_kind(model, _kind_of(place), str(place))
    if model.features is not None:
        return _images(places)
    if len(places) != 1:
        raise DataError(f"This model takes rows of numbers, from one file; {len(places)} were given.")
    return _rows(places[0])


def check_kind(model: Model, has: str | None, name: str) -> None:
    """Refuse rows where the model takes images, and images where it takes rows."""
    if model.features is None and has == "images":
        n_numbers = getattr(model.classifier, "n_features_in_", "some")
        raise DataError(
            f"This model takes rows of {n_numbers} numbers, and {name} holds images; give rows that "
            "`nearboost features` made as it did those of the training data, or a model that was fitted on images."
        )
    if model.features is not None and has == "vectors":
        raise DataError(
            f"This model takes images, and {name} holds rows of numbers; give image files or folders of them, or "
            "a model that was fitted on rows."
        )


def _kind_of(path: Path) -> str | None:
    """By the ending of a file or the files in a folder; None if they do not say."""
    if path.is_dir():
        if (path / "X.npy").is_file():
            return "vectors"
        return "images" if find_images(path) else None
    ending = path.suffix.lower()
    return "images" if ending in IMAGE_ENDINGS else "vectors" if ending in VECTOR_ENDINGS else None


def _images(paths: Sequence[Path]) -> Items:
    items: list[str] = []
    names: list[str] = []
    found = Found()
    for path in paths:
        if path.is_dir():
            below = find_images(path, found)
            items += below
            names += [os.path.relpath(file, path) if len(paths) == 1 else file for file in below]
        else:
            items.append(str(path))
            names.append(str(path))
    if not items:
        raise DataError(f"{', '.join(map(str, paths))} holds no images; give image files or folders of them.")
    masks = [f"Left out {len(found.masks):,} masks, such as {found.masks[0]}."] if found.masks else []
    return Items(items, names, (*masks, *found.notes()))


def _rows(path: Path) -> Items:
    if not path.exists():
        raise DataError(f"{path} does not exist; give a file of rows, such as X.npy.")
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
        return Items(np.asarray(data.items), list(data.names))
    if rows.ndim != 2 or rows.dtype.kind not in "uif":
        raise DataError(f"{path} holds {rows.dtype} of shape {rows.shape}; give a matrix, a row for each item.")
    check_finite(path, rows)
    return Items(np.asarray(rows), names_beside(path, len(rows)))
