"""Folders of images: a class in each subfolder, train/ and test/ above them, or a table of labels."""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from nearboost.base.words import counted
from nearboost.datasets.dataset import DataError, Dataset, as_labels, join_names
from nearboost.datasets.files import (
    VECTOR_ENDINGS,
    Found,
    existing_folder,
    file_in,
    files_ending,
    find_images,
    masks_beside,
    subfolder,
    subfolders,
)
from nearboost.datasets.tables import FILE_COLUMNS, MASK_COLUMNS, TEST_NAMES, TRAIN_NAMES, read_csv

METADATA = "metadata.csv"
EXPECTED = (
    "a subfolder of images for each class, or train/ and test/ with such subfolders, or metadata.csv with the "
    "columns file_name and label"
)
ClassOf = Callable[[str], str | None]  # the class of a folder by its name, None where it is none


def read_image_folder(path: str | os.PathLike[str], class_of: ClassOf = str, name: str | None = None) -> Dataset:
    """Images whose class is the name of their folder; with their parts where train/ and test/ lie above."""
    root = existing_folder(path)
    _check_both_parts(root)
    found = Found()
    notes: list[str] = []
    others: list[str] = []
    labels: list[str] = []
    parts: list[str] = []
    for part, folder in part_folders(root).items():
        for class_folder in class_folders(folder):
            label = class_of(class_folder.name)
            if label is None:
                others.append(class_folder.name)
                continue
            images = find_images(class_folder, found)
            if not images:
                notes.append(f"The folder {relative(class_folder, root)} holds no images and makes no class.")
            labels += [label] * len(images)
            parts += [part] * len(images)
    if not labels:
        _refuse_rows(root)
        raise DataError(f"{root} holds no images in its subfolders; expected {EXPECTED}.")
    if others:
        notes.append(f"Left out folders that are not classes of the set: {join_names(sorted(set(others)))}.")
    notes += [*_left_out(root), *found.notes()]
    part_of_each = None if "" in parts else parts
    masks = masks_beside(found.images, found.masks)
    return image_dataset(root, found.images, labels, name=name, part=part_of_each, masks=masks, notes=notes)


def read_metadata(path: str | os.PathLike[str]) -> Dataset:
    """Images named in metadata.csv, in the folder itself or in its train/ and test/."""
    root = existing_folder(path)
    whole = file_in(root, METADATA)
    folders = {"": root} if whole else part_folders(root)
    images: list[str] = []
    labels: list[str] = []
    parts: list[str] = []
    groups: list[str] = []
    masks: list[str] = []
    for part, folder in folders.items():
        file = file_in(folder, METADATA)
        if file is None:
            raise DataError(f"{folder} has no {METADATA}; expected one in {root}, or one in each of its parts.")
        table = read_csv(file)
        images += files_named(root, folder, table.required(FILE_COLUMNS), file)
        labels += table.labels()
        parts += [part] * len(table) if part else table.part() or []
        groups += table.groups() or []
        masks += files_named(root, folder, table.column(MASK_COLUMNS) or [], file)
    if any(len(column) not in (0, len(images)) for column in (groups, masks)):
        raise DataError(f"{root} has groups or masks in one {METADATA} only; give the column in both or in none.")
    order = sorted(range(len(images)), key=images.__getitem__)
    data = image_dataset(root, images, labels, part=parts or None, groups=groups or None, masks=masks or None)
    return data.take(order)


def files_named(root: Path, folder: Path, names: Iterable[str], source: Path) -> list[str]:
    """Files that a table names, all of them there and none outside of the set's own folder."""
    paths = [os.path.normpath(os.path.join(folder, name)) for name in names]
    inside = str(root) + os.sep
    for path in paths:
        if not path.startswith(inside):
            raise DataError(f"{source} names {path!r}, which lies outside of {root}; use paths within it.")
    missing = [relative(path, root) for path in paths if not os.path.isfile(path)]
    if missing:
        do = "does" if len(missing) == 1 else "do"
        raise DataError(
            f"{source} names {counted(len(missing), 'file')} that {do} not exist: {join_names(missing, 3)}."
        )
    repeated = len(paths) - len(set(paths))
    if repeated:
        raise DataError(f"{source} names {counted(repeated, 'file')} more than once; keep one line for each.")
    return paths


def part_folders(root: Path) -> dict[str, Path]:
    """train/ and test/ where both are there, whatever their spelling; else the folder itself, under ""."""
    train, test = subfolder(root, *TRAIN_NAMES), subfolder(root, *TEST_NAMES)
    if train is not None and test is not None:
        return {"train": train, "test": test}
    return {"": root}


def _check_both_parts(root: Path) -> None:
    """A training part alone would be taken for the only class."""
    folders = subfolders(root)
    if len(folders) == 1 and folders[0].name.lower() in (*TRAIN_NAMES, *TEST_NAMES):
        other = "test" if folders[0].name.lower() in TRAIN_NAMES else "train"
        raise DataError(f"{root} has {folders[0].name}/ but no {other}/; add it, or open {folders[0]} itself.")


def _left_out(root: Path) -> list[str]:
    """Sentences about folders beside train/ and test/, and about images outside of the class folders."""
    folders = part_folders(root)
    beside = [path.name for path in subfolders(root) if "" not in folders and path not in folders.values()]
    notes = [f"Left out {join_names(beside)}, beside train and test."] if beside else []
    stray = {folder: len(find_images(folder, deep=False)) for folder in {root, *folders.values()}}
    return notes + [
        f"Left out {counted(n, 'image')} in {folder.name}/ itself, outside of the class folders."
        for folder, n in sorted(stray.items())
        if n
    ]


def class_folders(folder: Path) -> list[Path]:
    """The subfolders of a folder that has some."""
    classes = subfolders(folder)
    if classes:
        return classes
    _refuse_rows(folder)
    n_images = len(find_images(folder, deep=False))
    where = f"{counted(n_images, 'image')} but no subfolders" if n_images else "neither images nor subfolders"
    raise DataError(f"{folder} holds {where}; expected {EXPECTED}.")


def _refuse_rows(folder: Path) -> None:
    """Files of rows without images are data themselves, one by one; they are named."""
    names = files_ending(folder, VECTOR_ENDINGS)
    if names and not find_images(folder, deep=False):
        one = "it" if len(names) == 1 else "one of them"
        raise DataError(f"{folder} holds files of rows, {join_names(names, 5)}; give {one}: {folder / names[0]}.")


def image_dataset(
    root: Path,
    images: Sequence[str],
    labels: Sequence[str],
    *,
    name: str | None = None,
    part: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
    masks: Sequence[str] | None = None,
    notes: Iterable[str] = (),
) -> Dataset:
    """A data set of these files."""
    array, classes = as_labels(labels)
    return Dataset(
        name=name or root.resolve().name,
        kind="images",
        items=images,
        labels=array,
        classes=classes,
        names=[relative(path, root) for path in images],
        part=None if part is None else np.array(part),
        groups=None if groups is None else np.array(groups),
        masks=masks,
        notes=tuple(notes),
    )


def relative(path: str | Path, root: Path) -> str:
    """The path within the folder, with / everywhere."""
    return str(path)[len(str(root)) :].lstrip(os.sep).replace(os.sep, "/")
