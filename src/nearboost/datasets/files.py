"""Walking through folders: image files in a stable order, and what was passed over."""

import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from nearboost.datasets.dataset import DataError

IMAGE_ENDINGS = (
    *(".avif", ".bmp", ".gif", ".jp2", ".jpe", ".jpeg", ".jpg", ".pbm", ".pcx"),
    *(".pgm", ".png", ".pnm", ".ppm", ".tga", ".tif", ".tiff", ".webp"),
)
MASK_ENDING = "_mask"  # of a file's name without its suffix, in any case


def is_image(path: Path) -> bool:
    """Whether the name says so; capital letters or small ones."""
    return path.suffix.lower() in IMAGE_ENDINGS


def is_mask(path: Path) -> bool:
    """Whether the name says that this is the mask of another image."""
    return path.stem.lower().endswith(MASK_ENDING)


def folder_of(path: str | os.PathLike[str]) -> Path:
    """A folder that is there."""
    folder = Path(path)
    if not folder.is_dir():
        raise DataError(f"{folder} is {'a file' if folder.exists() else 'not there'}; give the path of a folder.")
    return folder


def subfolders(folder: Path) -> list[Path]:
    """Folders in it by name, without hidden ones."""
    return [path for path in _entries(folder) if path.is_dir()]


def subfolder(folder: Path, *names: str) -> Path | None:
    """The first of its folders that has one of these names, in capital letters or small ones."""
    found = {path.name.lower(): path for path in subfolders(folder)}
    return next((found[name.lower()] for name in names if name.lower() in found), None)


def file_in(folder: Path, *names: str) -> Path | None:
    """The first of its files that has one of these names, in capital letters or small ones."""
    found = {path.name.lower(): path for path in _entries(folder) if path.is_file()}
    return next((found[name.lower()] for name in names if name.lower() in found), None)


@dataclass
class Found:
    """Image files, and what else lay there: suffixes of other files, names that are not text."""

    images: list[Path] = field(default_factory=list)
    passed_over: Counter[str] = field(default_factory=Counter)
    masks: list[Path] = field(default_factory=list)

    def notes(self) -> tuple[str, ...]:
        """A sentence, where something other than images was passed over."""
        if not self.passed_over:
            return ()
        kinds = ", ".join(f"{n:,} {kind}" for kind, n in sorted(self.passed_over.items()))
        return (f"Passed over files that are no images: {kinds}.",)


def find_images(folder: Path, found: Found | None = None, *, deep: bool = True) -> Found:
    """The images in a folder and, unless ``deep`` is False, in the folders below, sorted by their path.

    Hidden files are passed over silently; a link back to a folder above is not followed again.
    """
    found = Found() if found is None else found
    _walk(folder, found, deep, frozenset())
    return found


def _walk(folder: Path, found: Found, deep: bool, above: frozenset[str]) -> None:
    real = os.path.realpath(folder)
    if real in above:
        found.passed_over["links to a folder above"] += 1
        return
    for path in _entries(folder):
        if path.is_dir():
            if deep:
                _walk(path, found, deep, above | {real})
        elif not _is_text(path.name):
            found.passed_over["with unreadable names"] += 1
        elif not is_image(path):
            found.passed_over[path.suffix.lower() or "without suffix"] += 1
        elif is_mask(path):
            found.masks.append(path)
        else:
            found.images.append(path)


def _entries(folder: Path) -> list[Path]:
    try:
        names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except OSError as error:
        raise DataError(f"{folder} cannot be listed ({error.strerror}); check its permissions.") from error
    return [folder / name for name in names]


def _is_text(name: str) -> bool:
    """Bytes that are no UTF-8 become lone surrogates, which neither JSON nor a page can hold."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
