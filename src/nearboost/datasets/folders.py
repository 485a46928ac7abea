"""Folders of images: a class in each subfolder, train/ and test/ above them, or a table of labels."""

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from nearboost.datasets.dataset import DataError, Dataset, as_labels, shown
from nearboost.datasets.files import Found, file_in, find_images, folder_of, subfolder, subfolders
from nearboost.datasets.tables import FILE_COLUMNS, GROUP_COLUMNS, MASK_COLUMNS, TEST_NAMES, TRAIN_NAMES, read_csv

METADATA = "metadata.csv"
EXPECTED = (
    "a subfolder of images for each class, or train/ and test/ with such subfolders, or metadata.csv with the "
    "columns file_name and label"
)


def read_image_folder(path: str | os.PathLike[str]) -> Dataset:
    """Images whose class is the name of their folder; its parts where train/ and test/ lie above."""
    root = folder_of(path)
    found = Found()
    notes: list[str] = []
    images: list[Path] = []
    labels: list[str] = []
    parts: list[str] = []
    for part, folder in part_folders(root).items():
        for class_folder in _class_folders(root, folder):
            n_before = len(found.images)
            of_class = find_images(class_folder, found).images[n_before:]
            if not of_class:
                notes.append(f"The folder {relative(class_folder, root)} holds no images; it makes no class.")
            images += of_class
            labels += [class_folder.name] * len(of_class)
            parts += [part] * len(of_class)
    if not images:
        raise DataError(f"{root} holds no images; expected {EXPECTED}.")
    return image_dataset(
        root, images, labels, part=parts if "" not in parts else None, notes=(*notes, *found.notes())
    )


def read_metadata(path: str | os.PathLike[str]) -> Dataset:
    """Images named in metadata.csv, in the folder or in its train/ and test/."""
    root = folder_of(path)
    tables = {part: file_in(folder, METADATA) for part, folder in part_folders(root).items()}
    if not any(tables.values()):
        tables = {"": file_in(root, METADATA)}
    images: list[Path] = []
    labels: list[str] = []
    parts: list[str] = []
    groups: list[str] = []
    masks: list[str] = []
    for part, file in tables.items():
        if file is None:
            raise DataError(f"{root / part} has no {METADATA}; expected one in each of {shown(list(tables))}.")
        table = read_csv(file)
        images += files_named(root, file.parent, table.required(FILE_COLUMNS), file)
        labels += table.labels()
        parts += [part] * len(table) if part else table.part() or []
        groups += table.column(GROUP_COLUMNS) or []
        masks += map(str, files_named(root, file.parent, table.column(MASK_COLUMNS) or [], file))
    order = sorted(range(len(images)), key=lambda i: str(images[i]))
    data = image_dataset(root, images, labels, part=parts or None, groups=groups or None, masks=masks or None)
    return data.take(order)


def files_named(root: Path, folder: Path, names: Iterable[str], source: Path) -> list[Path]:
    """Files that a table names, all of them there and none outside of the set's own folder."""
    paths = [folder / name for name in names]
    inside = os.path.abspath(root) + os.sep
    for path in paths:
        if not os.path.abspath(path).startswith(inside):
            raise DataError(f"{source} names {str(path)!r}, which lies outside of {root}; use paths within it.")
    missing = [relative(path, root) for path in paths if not path.is_file()]
    if missing:
        raise DataError(f"{source} names {len(missing):,} files that are not there: {shown(missing, 3)}.")
    repeated = len(paths) - len(set(paths))
    if repeated:
        raise DataError(f"{source} names {repeated:,} files more than once; keep one line for each.")
    return paths


def part_folders(root: Path) -> dict[str, Path]:
    """train/ and test/ where both are there, whatever their spelling; else the folder itself, under ""."""
    train, test = subfolder(root, *TRAIN_NAMES), subfolder(root, *TEST_NAMES)
    return {"": root} if train is None or test is None else {"train": train, "test": test}


def _class_folders(root: Path, folder: Path) -> list[Path]:
    classes = subfolders(folder)
    if classes:
        return classes
    n_images = len(find_images(folder, deep=False).images)
    where = f"{n_images:,} images but no subfolders" if n_images else "neither images nor subfolders"
    raise DataError(f"{folder} holds {where}; expected {EXPECTED}.")


def image_dataset(
    root: Path,
    images: list[Path],
    labels: list[str],
    *,
    name: str | None = None,
    part: list[str] | None = None,
    groups: list[str] | None = None,
    masks: list[str] | None = None,
    notes: Iterable[str] = (),
) -> Dataset:
    """A data set of these files; images that lie in no class folder are told, and one class is refused."""
    array, classes = as_labels(labels)
    check_classes(root, classes)
    stray = len(find_images(root, deep=False).images) if not any(path.parent == root for path in images) else 0
    if stray:
        notes = (*notes, f"{stray:,} images lie in {root.name} itself, outside of the class folders; left out.")
    return Dataset(
        name=name or root.resolve().name,
        kind="images",
        items=[str(path) for path in images],
        labels=array,
        classes=classes,
        names=[relative(path, root) for path in images],
        part=None if part is None else np.array(part),
        groups=None if groups is None else np.array(groups),
        masks=masks,
        notes=tuple(notes),
    )


def check_classes(where: object, classes: tuple[str, ...]) -> None:
    """Two at least."""
    if len(classes) < 2:
        only = f"one class only, {classes[0]!r}" if classes else "no classes"
        raise DataError(f"{where} holds {only}; expected two or more: {EXPECTED}.")


def relative(path: Path, root: Path) -> str:
    """The path within the folder, with / everywhere."""
    return path.relative_to(root).as_posix()
