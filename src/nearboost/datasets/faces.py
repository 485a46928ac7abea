"""Faces as MATLAB files: AR with its two sessions, Extended Yale B and ORL."""

import re
from pathlib import Path

from nearboost.datasets.dataset import DataError, Dataset
from nearboost.datasets.published import compared
from nearboost.datasets.vectors import read_vectors

NAMES = {"ar": r"ar([^a-z].*)?", "yale-b": r".*yale_?b.*", "orl": r".*orl.*"}  # of files, without .mat


def read_faces(path: Path, key: str) -> Dataset:
    """The rows of a .mat file, compared with the set they should be."""
    if path.suffix.lower() != ".mat":
        raise DataError(f"{path} is not a .mat file; expected one with fea and gnd, or with TrainSet and TestSet.")
    found = read_vectors(path)
    if key == "ar" and found.part is None:
        raise DataError(f"{path} has no TrainSet and TestSet; expected one for each session of AR.")
    return compared(found, key)


def are_faces(path: Path, key: str) -> bool:
    """Whether the file's name says so."""
    return path.suffix.lower() == ".mat" and re.fullmatch(NAMES[key], path.stem.lower()) is not None
