"""Walking through folders: image files in a stable order, and what was passed over."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nearboost.base.images import IMAGE_ENDINGS
from nearboost.datasets.dataset import DataError

VECTOR_ENDINGS = (".npy", ".npz", ".mat", ".parquet", ".csv")
MASK_ENDING = "_mask"  # of a file's name without its suffix, in any case


@dataclass
class Found:
    """Image files, their masks, and the suffixes of what else lay there."""

    images: list[str] = field(default_factory=list)
    masks: list[str] = field(default_factory=list)
    passed_over: Counter[str] = field(default_factory=Counter)

    def notes(self) -> tuple[str, ...]:
        """A sentence, where something other than images was passed over."""
        kinds = ", ".join(f"{n:,} {kind}" for kind, n in sorted(self.passed_over.items()))
        return (f"Skipped files that are not images: {kinds}.",) if kinds else ()


def find_images(folder: Path, found: Found | None = None, *, deep: bool = True) -> list[str]:
    """The images in a folder and, unless ``deep`` is False, in the folders below; sorted, files before folders.

    Hidden files are passed over silently. Links are followed, wherever they lead, but for those to a folder above,
    which holds the rest of the set and more; and no folder is entered twice. ``found`` gets what was passed over.
    """
    found = Found() if found is None else found
    n_before = len(found.images)
    _walk(str(folder), found, deep, _and_above(os.path.dirname(os.path.abspath(folder))), set())
    return found.images[n_before:]


def _and_above(folder: str) -> frozenset[str]:
    """The folder itself and all above it, links resolved."""
    real = Path(os.path.realpath(folder))
    return frozenset(map(str, (real, *real.parents)))


def _walk(folder: str, found: Found, deep: bool, above: frozenset[str], entered: set[str]) -> None:
    real = os.path.realpath(folder)
    if real in above or real in entered:
        found.passed_over["links to a folder above" if real in above else "links to a folder seen before"] += 1
        return
    entered.add(real)
    below = []
    for entry in _entries(folder):
        stem, suffix = os.path.splitext(entry.name.lower())
        if _is_folder(entry):
            below.append(entry.path)
        elif not _is_file(entry):
            found.passed_over["broken links or devices"] += 1
        elif not _is_text(entry.name):
            found.passed_over["files with unreadable names"] += 1
        elif suffix not in IMAGE_ENDINGS:
            found.passed_over[suffix or "files without suffix"] += 1
        elif stem.endswith(MASK_ENDING):
            found.masks.append(entry.path)
        else:
            found.images.append(entry.path)
    for path in below if deep else ():
        _walk(path, found, deep, above | _and_above(real), entered)


def masks_beside(images: Sequence[str], masks: Sequence[str]) -> list[str] | None:
    """The mask of each image, NAME_mask.* beside NAME.*; None unless every image has one."""
    mask_by_stem = {_stem(mask)[: -len(MASK_ENDING)]: mask for mask in masks}
    found = [mask_by_stem.get(_stem(image)) for image in images]
    return [mask for mask in found if mask is not None] if found and None not in found else None


def _stem(path: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, os.path.splitext(name)[0].lower())


def existing_folder(path: str | os.PathLike[str]) -> Path:
    """A folder that is there."""
    folder = Path(path)
    if not folder.is_dir():
        raise DataError(
            f"{folder} {'is a file' if folder.exists() else 'does not exist'}; give the path of a folder."
        )
    return folder


def first_below(folder: Path, *paths: str) -> Path:
    """The first of these folders below that is there, else the folder itself."""
    return next((folder / path for path in paths if (folder / path).is_dir()), folder)


def subfolders(folder: Path) -> list[Path]:
    """Folders in it by name, without hidden ones."""
    return [Path(entry.path) for entry in _entries(folder) if _is_folder(entry)]


def subfolder(folder: Path, *names: str) -> Path | None:
    """The first of its folders that has one of these names, in capital letters or small ones."""
    return _named(subfolders(folder), names)


def file_in(folder: Path, *names: str) -> Path | None:
    """The first of its files that has one of these names, in capital letters or small ones."""
    return _named([Path(entry.path) for entry in _entries(folder) if _is_file(entry)], names)


def files_ending(folder: Path, endings: tuple[str, ...]) -> list[str]:
    """The names of its files that end so, in capital letters or small ones."""
    return [one.name for one in _entries(folder) if one.name.lower().endswith(endings) and _is_file(one)]


def _named(paths: list[Path], names: Sequence[str]) -> Path | None:
    found = {path.name.lower(): path for path in paths}
    return next((found[name.lower()] for name in names if name.lower() in found), None)


def _entries(folder: str | Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            found = sorted((one for one in entries if not one.name.startswith(".")), key=lambda one: one.name)
    except OSError as error:
        raise DataError(f"{folder} cannot be listed ({error.strerror}); check its permissions.") from error
    for one in found:
        if not _is_text(one.name) and _is_folder(one):  # perhaps a class: not to be passed over
            raise DataError(f"{folder} holds the folder {os.fsencode(one.name)!r}, which is not UTF-8; rename it.")
    return found


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself, or into a place that may not be looked at
        return False


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # as above
        return False


def _is_text(name: str) -> bool:
    """Bytes that are no UTF-8 become lone surrogates, which neither JSON nor a page can hold."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
