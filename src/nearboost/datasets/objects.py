"""Objects and scenes on a large scale: Caltech-101 and 256, SUN397, the folders of ILSVRC."""

import os
import re
from pathlib import Path

from nearboost.datasets.dataset import DataError, Dataset
from nearboost.datasets.files import (
    Found,
    existing_folder,
    file_in,
    find_images,
    first_below,
    subfolder,
    subfolders,
)
from nearboost.datasets.folders import image_dataset, read_image_folder
from nearboost.datasets.published import compared, require_folders
from nearboost.datasets.tables import read_csv

CALTECH_101 = (
    *("Faces", "Faces_easy", "Leopards", "Motorbikes", "accordion", "airplanes", "anchor", "ant", "barrel"),
    *("bass", "beaver", "binocular", "bonsai", "brain", "brontosaurus", "buddha", "butterfly", "camera"),
    *("cannon", "car_side", "ceiling_fan", "cellphone", "chair", "chandelier", "cougar_body", "cougar_face"),
    *("crab", "crayfish", "crocodile", "crocodile_head", "cup", "dalmatian", "dollar_bill", "dolphin"),
    *("dragonfly", "electric_guitar", "elephant", "emu", "euphonium", "ewer", "ferry", "flamingo"),
    *("flamingo_head", "garfield", "gerenuk", "gramophone", "grand_piano", "hawksbill", "headphone"),
    *("hedgehog", "helicopter", "ibis", "inline_skate", "joshua_tree", "kangaroo", "ketch", "lamp", "laptop"),
    *("llama", "lobster", "lotus", "mandolin", "mayfly", "menorah", "metronome", "minaret", "nautilus"),
    *("octopus", "okapi", "pagoda", "panda", "pigeon", "pizza", "platypus", "pyramid", "revolver", "rhino"),
    *("rooster", "saxophone", "schooner", "scissors", "scorpion", "sea_horse", "snoopy", "soccer_ball"),
    *("stapler", "starfish", "stegosaurus", "stop_sign", "strawberry", "sunflower", "tick", "trilobite"),
    *("umbrella", "watch", "water_lilly", "wheelchair", "wild_cat", "windsor_chair", "wrench", "yin_yang"),
)
SUN_CLASSES = "ClassName.txt"
VAL_LABELS = "LOC_val_solution.csv"


def read_caltech_101(path: Path) -> Dataset:
    """A folder for each of the 101 classes; BACKGROUND_Google is left out."""
    root = _caltech_101_root(path)
    require_folders(root, CALTECH_101)
    known = set(CALTECH_101)
    return compared(read_image_folder(root, lambda name: name if name in known else None), "caltech-101")


def is_caltech_101(path: Path) -> bool:
    """Whether all 101 folders lie there."""
    return path.is_dir() and set(CALTECH_101) <= {one.name for one in subfolders(_caltech_101_root(path))}


def _caltech_101_root(path: Path) -> Path:
    return first_below(existing_folder(path), "101_ObjectCategories", "caltech-101/101_ObjectCategories")


def read_caltech_256(path: Path) -> Dataset:
    """Folders 001.ak47 to 256.toad; 257.clutter is left out."""
    root = _caltech_256_root(path)
    numbers = {one.name[:3] for one in subfolders(root) if _is_numbered(one.name)}
    require_folders(root, [f"{number:03d}" for number in range(1, 257)], numbers)
    return compared(read_image_folder(root, _class_of_caltech_256), "caltech-256")


def is_caltech_256(path: Path) -> bool:
    """Whether its first and its last class lie there."""
    if not path.is_dir():
        return False
    names = {one.name[:3] for one in subfolders(_caltech_256_root(path)) if _is_numbered(one.name)}
    return {"001", "256"} <= names


def _caltech_256_root(path: Path) -> Path:
    return first_below(existing_folder(path), "256_ObjectCategories", "caltech256/256_ObjectCategories")


def _is_numbered(name: str) -> bool:
    return re.fullmatch(r"\d{3}\..+", name) is not None


def _class_of_caltech_256(name: str) -> str | None:
    return name if _is_numbered(name) and 1 <= int(name[:3]) <= 256 else None


def read_sun397(path: Path) -> Dataset:
    """Classes below a folder for their first letter, some with a second level: a/abbey, a/apse/indoor."""
    root = first_below(existing_folder(path), "SUN397")
    found = Found()
    images = [image for letter in subfolders(root) if _is_letter(letter) for image in find_images(letter, found)]
    if not images:
        raise DataError(f"{root} has no images below folders a to z; expected a/abbey/sun_….jpg and so on.")
    labels = [os.path.relpath(os.path.dirname(image), root).replace(os.sep, "/")[2:] for image in images]
    listed = file_in(root, SUN_CLASSES)
    if listed is not None:
        expected = [line.strip()[3:] for line in listed.read_text().splitlines() if line.strip()]  # "/a/abbey"
        require_folders(root, expected, set(labels))
    return compared(image_dataset(root, images, labels, notes=found.notes()), "sun397")


def is_sun397(path: Path) -> bool:
    """Whether the list of classes lies there, or the folder has the name of the set and some of single letters."""
    if not path.is_dir():
        return False
    root = first_below(path, "SUN397")
    letters = root.resolve().name.lower() == "sun397" and any(map(_is_letter, subfolders(root)))
    return letters or file_in(root, SUN_CLASSES) is not None


def _is_letter(folder: Path) -> bool:
    return re.fullmatch("[a-z]", folder.name) is not None


def read_ilsvrc(path: Path) -> Dataset:
    """train/n01440764/*.JPEG; val/ likewise, or flat with LOC_val_solution.csv beside or above."""
    top = existing_folder(path)
    root = _ilsvrc_root(top)
    train, val = (subfolder(root, part) for part in ("train", "val"))
    if train is None or val is None:
        raise DataError(f"{root} has no folder {'val' if train else 'train'!r}; expected train/ and val/.")
    found = Found()
    images = [image for one in subfolders(train) for image in find_images(one, found)]
    labels = [_folder_name(image) for image in images]
    tests = find_images(val, found)
    part = ["train"] * len(images) + ["test"] * len(tests)
    flat = _flat_labels(top, val) if any(os.path.dirname(image) == str(val) for image in tests) else None
    labels += [_folder_name(image) if flat is None else _flat_label(flat, image) for image in tests]
    return compared(image_dataset(root, images + tests, labels, part=part, notes=found.notes()), "ilsvrc")


def is_ilsvrc(path: Path) -> bool:
    """Whether train/ has folders named like n01440764 only."""
    train = subfolder(_ilsvrc_root(path), "train") if path.is_dir() else None
    names = [one.name for one in subfolders(train)] if train else []
    return bool(names) and all(re.fullmatch(r"n\d{8}", name) for name in names)


def _ilsvrc_root(path: Path) -> Path:
    return first_below(path, "ILSVRC/Data/CLS-LOC", "Data/CLS-LOC")


def _folder_name(image: str) -> str:
    return os.path.basename(os.path.dirname(image))


def _flat_labels(top: Path, val: Path) -> dict[str, str]:
    """The first word that the table says of each image."""
    file = file_in(top, VAL_LABELS) or file_in(val.parent, VAL_LABELS)
    if file is None:
        raise DataError(
            f"{val} has images without class folders; expected {VAL_LABELS} in {top}, or such folders."
        )
    table = read_csv(file)
    said = table.required(("predictionstring",))
    return {name: words.split()[0] for name, words in zip(table.required(("imageid",)), said, strict=True)}


def _flat_label(labels: dict[str, str], image: str) -> str:
    name = os.path.splitext(os.path.basename(image))[0]
    if name not in labels:
        raise DataError(f"{VAL_LABELS} has no line for {name}; expected one for each image of val/.")
    return labels[name]
