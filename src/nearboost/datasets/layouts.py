"""The layouts that are known, in one table, and the one way to open data."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nearboost.base.validation import check_choice
from nearboost.datasets.dataset import DataError, Dataset
from nearboost.datasets.files import file_in
from nearboost.datasets.folders import METADATA, part_folders, read_image_folder, read_metadata
from nearboost.datasets.vectors import ROW_FILES, read_vectors


@dataclass(frozen=True)
class Layout:
    """How files lie, whether a path looks like it, and how to read them."""

    about: str
    fits: Callable[[Path], bool]
    read: Callable[[Path], Dataset]


def _is_vectors(path: Path) -> bool:
    return path.is_file() or file_in(path, *ROW_FILES) is not None


def _has_metadata(path: Path) -> bool:
    return path.is_dir() and any(file_in(folder, METADATA) for folder in (path, *part_folders(path).values()))


# "auto" takes the first that fits.
LAYOUTS = {
    "vectors": Layout("X.npy with y.npy or labels.csv beside it; .npz; .mat", _is_vectors, read_vectors),
    "metadata": Layout("images and metadata.csv with file_name and label", _has_metadata, read_metadata),
    "images": Layout("a subfolder for each class, perhaps below train/ and test/", Path.is_dir, read_image_folder),
}


def open_dataset(path: str | os.PathLike[str], layout: str = "auto") -> Dataset:
    """The data at a path; images are not opened yet, and rows stay on disk where their file allows it.

    Parameters
    ----------
    path : a folder of images, a folder with X.npy, or a file of rows
    layout : how the files lie, one of the names in the documentation's table; "auto" recognises it

    Raises
    ------
    DataError : with one sentence that says what is missing and what was expected
    """
    check_choice("layout", layout, ("auto", *LAYOUTS))
    place = Path(path)
    if not place.exists():
        raise DataError(f"{place} is not there; give a folder of images, or a file of rows with its labels.")
    if layout == "auto":
        layout = next((name for name, known in LAYOUTS.items() if known.fits(place)), "images")
    return LAYOUTS[layout].read(place)
