"""PASCAL VOC 2007: images with several objects, so several labels each."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nearboost.datasets.dataset import DataError, Dataset
from nearboost.datasets.files import existing_folder, first_below
from nearboost.datasets.folders import files_named, relative
from nearboost.datasets.published import compared

VOC_CLASSES = (
    *("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow"),
    *("diningtable", "dog", "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor"),
)
LISTS, IMAGES = "ImageSets/Main", "JPEGImages"
PARTS = {"trainval": "train", "test": "test"}
DIFFICULT = 0  # between absent, -1, and present, 1


def read_voc(path: Path) -> Dataset:
    """JPEGImages, and in ImageSets/Main a list of every class for trainval and for test."""
    root = _root(path)
    images: list[str] = []
    marks: list[NDArray[np.int8]] = []
    part: list[str] = []
    for words, side in PARTS.items():
        numbers, part_marks = _read_part(root, words)
        source = root / LISTS / f"{VOC_CLASSES[0]}_{words}.txt"
        images += files_named(root, root / IMAGES, [f"{number}.jpg" for number in numbers], source)
        marks.append(part_marks)
        part += [side] * len(numbers)
    labels = np.concatenate(marks)
    n_difficult = int((labels == DIFFICULT).sum())
    notes = (f"{n_difficult:,} labels are marked difficult and count as absent.",) if n_difficult else ()
    found = Dataset(
        name="voc2007",
        kind="images",
        items=images,
        labels=(labels == 1).astype(np.int8),
        classes=VOC_CLASSES,
        names=[relative(image, root) for image in images],
        part=np.array(part),
        notes=notes,
    )
    return compared(found, "voc2007")


def is_voc(path: Path) -> bool:
    """Whether the two folders lie there."""
    if not path.is_dir():
        return False
    root = first_below(path, "VOCdevkit/VOC2007", "VOC2007")
    return (root / LISTS).is_dir() and (root / IMAGES).is_dir()


def _root(path: Path) -> Path:
    root = first_below(existing_folder(path), "VOCdevkit/VOC2007", "VOC2007")
    for needed in (LISTS, IMAGES):
        if not (root / needed).is_dir():
            raise DataError(f"{root} has no folder {needed!r}; expected {LISTS} and {IMAGES}.")
    return root


def _read_part(root: Path, words: str) -> tuple[list[str], NDArray[np.int8]]:
    """Numbers of the images, and 1, 0 or -1 for each class."""
    columns = [_read_list(root / LISTS / f"{name}_{words}.txt") for name in VOC_CLASSES]
    numbers = list(columns[0])
    for name, column in zip(VOC_CLASSES, columns, strict=True):
        if list(column) != numbers:
            raise DataError(
                f"{root / LISTS}/{name}_{words}.txt lists different images from that of {VOC_CLASSES[0]}."
            )
    return numbers, np.array([list(column.values()) for column in columns], dtype=np.int8).T


def _read_list(file: Path) -> dict[str, int]:
    """Lines such as ``000005 -1``."""
    if not file.is_file():
        raise DataError(
            f"{file.parent} has no {file.name}; expected one for each class and for trainval and test."
        )
    found = {}
    for number, line in enumerate(file.read_text().splitlines(), start=1):
        words = line.split()
        if words and (len(words) != 2 or words[1] not in ("-1", "0", "1")):
            raise DataError(f"{file} has {line!r} in line {number}; expected an image and -1, 0 or 1.")
        if words:
            found[words[0]] = int(words[1])
    return found
