"""How many items and classes the published sets have, as distributed, and sentences where files differ."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from nearboost.datasets.dataset import DataError, Dataset, join_names
from nearboost.datasets.files import subfolders


class Published(NamedTuple):
    """What the distributed files hold."""

    title: str
    n_items: int
    n_classes: int


# Counted in the files where they were at hand; the papers' misprints are in the errata.
PUBLISHED = {
    "scene-8": Published("8-cat (Oliva and Torralba)", 2_688, 8),
    "scene-13": Published("13-cat (Fei-Fei and Perona)", 3_859, 13),
    "scene-15": Published("15-cat (Lazebnik and others)", 4_485, 15),
    "caltech-101": Published("Caltech-101 without its background", 8_677, 101),
    "caltech-256": Published("Caltech-256 without its clutter", 29_780, 256),
    "sun397": Published("SUN397", 108_754, 397),
    "ilsvrc": Published("ILSVRC 2012, train and val", 1_331_167, 1_000),
    "gtsrb": Published("GTSRB", 51_839, 43),
    "gtsrb-npz": Published("GTSRB", 51_839, 43),
    "ar": Published("the AR subset of 14 images a person", 1_400, 100),
    "yale-b": Published("Extended Yale B, cropped", 2_414, 38),
    "orl": Published("ORL", 400, 40),
    "voc2007": Published("PASCAL VOC 2007, trainval and test", 9_963, 20),
    "hep2": Published("HEp-2 cells (ICPR 2012), training and test", 1_455, 6),
}
ALSO_COMPLETE = {"hep2": 721}  # the training cells, handed out alone at first


def compared(dataset: Dataset, key: str) -> Dataset:
    """The set under its published name, with a note where its size is another one."""
    known = PUBLISHED[key]
    sizes = (len(dataset), len(dataset.classes))
    notes = dataset.notes
    if sizes not in ((known.n_items, known.n_classes), (ALSO_COMPLETE.get(key), known.n_classes)):
        held = f"These files hold {sizes[0]:,} items of {sizes[1]:,} classes"
        notes = (f"{held}; published were {known.n_items:,} of {known.n_classes:,} ({known.title}).", *notes)
    return replace(dataset, name=key, notes=notes)


def require_folders(folder: Path, expected: Sequence[str], found: set[str] | None = None) -> None:
    """All of these folders, or a sentence that names the missing ones."""
    there = {path.name for path in subfolders(folder)} if found is None else found
    missing = [name for name in expected if name not in there]
    if missing:
        some = (
            f"folder {missing[0]!r}"
            if len(missing) == 1
            else f"folders {join_names([repr(n) for n in missing], 5)}"
        )
        raise DataError(f"{folder} has no {some}; expected {join_names(expected, 20)}.")
