"""The layouts that are known, in one table, and the one way to open data."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from nearboost.base.validation import check_choice
from nearboost.datasets.cells import is_hep2, read_hep2
from nearboost.datasets.dataset import DataError, Dataset
from nearboost.datasets.duplicates import note_duplicates
from nearboost.datasets.files import file_in
from nearboost.datasets.folders import METADATA, part_folders, read_image_folder, read_metadata
from nearboost.datasets.objects import (
    is_caltech_101,
    is_caltech_256,
    is_ilsvrc,
    is_sun397,
    read_caltech_101,
    read_caltech_256,
    read_ilsvrc,
    read_sun397,
)
from nearboost.datasets.published import compared
from nearboost.datasets.scenes import are_scenes, read_scenes
from nearboost.datasets.signs import is_gtsrb, is_gtsrb_npz, read_gtsrb, read_gtsrb_npz
from nearboost.datasets.vectors import ROW_FILES, read_vectors
from nearboost.datasets.voc import is_voc, read_voc

FACES = {"ar": r"ar([^a-z].*)?", "yale-b": r".*yale_?b.*", "orl": r".*orl.*"}  # names of .mat files


@dataclass(frozen=True)
class Layout:
    """How files lie, whether a path looks like it, and how to read them."""

    about: str
    fits: Callable[[Path], bool]
    read: Callable[[Path], Dataset]


def _has_metadata(path: Path) -> bool:
    return path.is_dir() and any(file_in(folder, METADATA) for folder in (path, *part_folders(path).values()))


def _is_vectors(path: Path) -> bool:
    return path.is_file() or file_in(path, *ROW_FILES) is not None


def _scenes(n_classes: int) -> Layout:
    about = f"the first {n_classes} scenes as folders (Coast or MITcoast), perhaps below train/ and test/"
    return Layout(about, partial(are_scenes, n_classes=n_classes), partial(read_scenes, n_classes=n_classes))


def _read_faces(path: Path, key: str) -> Dataset:
    """The rows of a .mat file, compared with the set they should be."""
    if path.suffix.lower() != ".mat":
        raise DataError(f"{path} is not a .mat file; expected one with fea and gnd, or with TrainSet and TestSet.")
    found = read_vectors(path)
    if key == "ar" and found.part is None:
        raise DataError(f"{path} has no TrainSet and TestSet; expected one for each session of AR.")
    return compared(found, key)


def _are_faces(path: Path, key: str) -> bool:
    """Whether the file's name says so."""
    return path.suffix.lower() == ".mat" and re.fullmatch(FACES[key], path.stem.lower()) is not None


def _faces(key: str, about: str) -> Layout:
    return Layout(about, partial(_are_faces, key=key), partial(_read_faces, key=key))


# "auto" takes the first that fits: the special ones come before the general ones.
LAYOUTS = {
    "metadata": Layout("images and metadata.csv with file_name and label", _has_metadata, read_metadata),
    "scene-8": _scenes(8),
    "scene-13": _scenes(13),
    "scene-15": _scenes(15),
    "caltech-101": Layout("101_ObjectCategories/accordion/*.jpg", is_caltech_101, read_caltech_101),
    "caltech-256": Layout("256_ObjectCategories/001.ak47/*.jpg", is_caltech_256, read_caltech_256),
    "sun397": Layout("a/abbey/*.jpg, and ClassName.txt", is_sun397, read_sun397),
    "ilsvrc": Layout("train/n01440764/*.JPEG and val/, by class or flat", is_ilsvrc, read_ilsvrc),
    "gtsrb": Layout(
        "Final_Training/Images/00000/*.ppm with GT-00000.csv, Final_Test/Images", is_gtsrb, read_gtsrb
    ),
    "gtsrb-npz": Layout("x_train, y_train, track_train, x_test, y_test", is_gtsrb_npz, read_gtsrb_npz),
    "ar": _faces("ar", "AR….mat with TrainSet and TestSet"),
    "yale-b": _faces("yale-b", "YaleB….mat with fea and gnd"),
    "orl": _faces("orl", "ORL….mat with fea and gnd"),
    "voc2007": Layout("VOC2007/JPEGImages and VOC2007/ImageSets/Main", is_voc, read_voc),
    "hep2": Layout("training/gt_training.csv, 001.png and 001_mask.png", is_hep2, read_hep2),
    "vectors": Layout("X.npy with y.npy or labels.csv; .npz; .mat; .parquet; .csv", _is_vectors, read_vectors),
    "images": Layout("a folder for each class, perhaps below train/ and test/", Path.is_dir, read_image_folder),
}


def open_dataset(
    path: str | os.PathLike[str],
    layout: str = "auto",
    *,
    min_classes: int = 2,
    duplicates: bool = True,
    verbose: int = 0,
) -> Dataset:
    """Open the data at a path; images are not read yet, and rows stay on disk if their file allows it.

    Parameters
    ----------
    path : str or path
        A folder of images, a folder with X.npy, or a file of rows.
    layout : str, default="auto"
        How the files are arranged, one of the names in the documentation's page on data; "auto" recognises it.
    min_classes : int, default=2
        Fewer classes than so many are refused.
    duplicates : bool, default=True
        Look for items that occur twice, which reads a little of every file.
    verbose : int, default=0
        Shows the progress of that search when above 0.

    Returns
    -------
    Dataset
        The items; its ``notes`` say what was left out, which items occur twice, and which counts differ from the
        published ones.

    Raises
    ------
    DataError
        Says in one sentence what is missing and what was expected.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/X.npy", np.eye(4))
    ...     np.save(f"{folder}/y.npy", ["cat", "cat", "dog", "dog"])
    ...     data = open_dataset(folder)
    >>> data.kind, len(data), data.classes
    ('vectors', 4, ('cat', 'dog'))
    """
    check_choice("layout", layout, ("auto", *LAYOUTS))
    place = Path(os.path.abspath(path))  # valid wherever a child process runs
    if not place.exists():
        raise DataError(f"{place} does not exist; give a folder of images, or a file of rows with its labels.")
    if not place.is_file() and not place.is_dir():
        raise DataError(f"{place} is neither a file nor a folder; save what it gives in a file, such as rows.csv.")
    if layout == "auto":
        layout = next(name for name, known in LAYOUTS.items() if known.fits(place))
    found = LAYOUTS[layout].read(place)
    if len(found.classes) < min_classes:
        only = f"one class only, {found.classes[0]!r}" if found.classes else "no items"
        raise DataError(f"{place} holds {only}; two classes or more are needed.")
    return note_duplicates(found, verbose) if duplicates else found
