"""German traffic signs (GTSRB): the original images with their tables, and arrays of crops.

Training images come in tracks of about 30 frames of one sign, which are the groups. The tracks of the test images
are not given, so each of them is a group of its own.
"""

import os
import re
from pathlib import Path
from zipfile import ZipFile

import numpy as np

from nearboost.datasets.dataset import DataError, Dataset
from nearboost.datasets.files import existing_folder, file_in, first_below, subfolders
from nearboost.datasets.folders import files_named, image_dataset
from nearboost.datasets.published import compared
from nearboost.datasets.tables import read_csv
from nearboost.datasets.vectors import load_arrays, two_parts

TRAIN, TEST = "Final_Training/Images", "Final_Test/Images"
TEST_LABELS = "GT-final_test.csv"
ARRAYS = ("x_train", "y_train", "track_train", "x_test", "y_test")
UNKNOWN_TRACKS = "The tracks of the test images are not given; pooled, each of them counts as a group of its own."


def read_gtsrb(path: Path) -> Dataset:
    """Final_Training/Images/00000/GT-00000.csv and so on, and Final_Test/Images with GT-final_test.csv."""
    root = _root(path)
    images, labels = _read_training(root)
    tracks = [f"{_class_folder(image)}/{os.path.basename(image).partition('_')[0]}" for image in images]
    table = file_in(root / TEST, TEST_LABELS) if (root / TEST).is_dir() else None
    table = table or file_in(root, TEST_LABELS) or file_in(root.parent, TEST_LABELS)
    if table is None:
        raise DataError(
            f"{root / TEST} has no {TEST_LABELS}; expected it there or in {root}, with Filename and ClassId."
        )
    tests, test_labels = _read_table(root, table, root / TEST)
    return compared(
        image_dataset(
            root,
            images + tests,
            labels + test_labels,
            part=["train"] * len(images) + ["test"] * len(tests),
            groups=tracks + [f"test/{i:05d}" for i in range(len(tests))],
            notes=(UNKNOWN_TRACKS,),
        ),
        "gtsrb",
    )


def is_gtsrb(path: Path) -> bool:
    """Whether the folder of the training images lies there."""
    return path.is_dir() and (first_below(path, "GTSRB") / TRAIN).is_dir()


def _root(path: Path) -> Path:
    root = first_below(existing_folder(path), "GTSRB")
    if not (root / TRAIN).is_dir():
        raise DataError(f"{root} has no folder {TRAIN!r}; expected it and {TEST}.")
    return root


def _read_training(root: Path) -> tuple[list[str], list[str]]:
    images: list[str] = []
    labels: list[str] = []
    for folder in subfolders(root / TRAIN):
        table = file_in(folder, f"GT-{folder.name}.csv")
        if table is None:
            raise DataError(f"{folder} has no GT-{folder.name}.csv; expected it with Filename and ClassId.")
        some, their_labels = _read_table(root, table, folder)
        images, labels = images + some, labels + their_labels
    return images, labels


def _read_table(root: Path, file: Path, folder: Path) -> tuple[list[str], list[str]]:
    table = read_csv(file)
    images = files_named(root, folder, table.required(("filename",)), file)
    return images, [_sign(number, file) for number in table.required(("classid",))]


def _class_folder(image: str) -> str:
    return os.path.basename(os.path.dirname(image))


def _sign(number: str, where: Path) -> str:
    if not re.fullmatch(r"\d{1,5}", number):
        raise DataError(f"{where} has the class {number!r}; expected a number.")
    return f"{int(number):05d}"


def read_gtsrb_npz(path: Path) -> Dataset:
    """Crops as arrays: x_train, y_train, track_train, x_test and y_test."""
    arrays = load_arrays(path)
    missing = [name for name in ARRAYS if name not in arrays]
    if missing:
        raise DataError(f"{path} has no {missing[0]}; expected {', '.join(ARRAYS)}.")
    if arrays["track_train"].shape != arrays["y_train"].shape:
        raise DataError(
            f"{path} has track_train and y_train of different shapes; expected a number for each image."
        )
    y, y_test = (np.char.zfill(arrays[name].astype(str), 5) for name in ("y_train", "y_test"))
    tracks = np.char.add(np.char.add(y, "/"), np.char.zfill(arrays["track_train"].astype(str), 5))
    groups = np.concatenate([tracks, [f"test/{i:05d}" for i in range(len(y_test))]])
    found = two_parts(
        path, "gtsrb", arrays["x_train"], y, arrays["x_test"], y_test, groups, notes=(UNKNOWN_TRACKS,)
    )
    return compared(found, "gtsrb-npz")


def is_gtsrb_npz(path: Path) -> bool:
    """Whether these arrays are in the file, by its directory alone."""
    if path.suffix.lower() != ".npz" or not path.is_file():
        return False
    try:
        with ZipFile(path) as file:
            return {f"{name}.npy" for name in ARRAYS} <= set(file.namelist())
    except Exception:  # a broken file is no such file; the general reader will say so
        return False
