"""Single HEp-2 cells with their masks: numbered images, NAME_mask.png beside each, and a table of patterns."""

from pathlib import Path

from nearboost.datasets.dataset import DataError, Dataset, join_names
from nearboost.datasets.files import Found, existing_folder, file_in, find_images, masks_beside, subfolder
from nearboost.datasets.folders import image_dataset
from nearboost.datasets.published import compared
from nearboost.datasets.tables import LABEL_COLUMNS, LabelTable, read_csv

TABLES = {"train": "gt_training.csv", "test": "gt_test.csv"}
NUMBERS, PATTERNS = ("id", "cell_id"), ("pattern", *LABEL_COLUMNS)
SPECIMENS = ("specimen", "specimen_id", "image", "image_id")


def read_hep2(path: Path) -> Dataset:
    """training/gt_training.csv and, where it is there, test/gt_test.csv, each with its images and masks."""
    root = existing_folder(path)
    parts = {part: _table(root, part) for part in TABLES}
    if parts["train"] is None:
        raise DataError(
            f"{root} has no {TABLES['train']}, nor training/{TABLES['train']}; expected id and pattern in it."
        )
    images: list[str] = []
    masks: list[str] = []
    labels: list[str] = []
    groups: list[str] = []
    part: list[str] = []
    for side, table in parts.items():
        if table is not None:
            some, their_masks = _cells(table)
            images, masks = images + some, masks + their_masks
            labels += [word.strip().lower().replace(" ", "_") for word in table.required(PATTERNS)]
            groups += table.column(SPECIMENS) or []
            part += [side] * len(some)
    divided = part if "test" in part else None
    specimens = groups if len(groups) == len(images) else None
    return compared(image_dataset(root, images, labels, part=divided, groups=specimens, masks=masks), "hep2")


def is_hep2(path: Path) -> bool:
    """Whether the table of the training cells lies there."""
    return path.is_dir() and _file(path, "train") is not None


def _file(root: Path, part: str) -> Path | None:
    folder = subfolder(root, "training" if part == "train" else "test")
    return file_in(root, TABLES[part]) or (file_in(folder, TABLES[part]) if folder else None)


def _table(root: Path, part: str) -> LabelTable | None:
    file = _file(root, part)
    return None if file is None else read_csv(file)


def _cells(table: LabelTable) -> tuple[list[str], list[str]]:
    """The image of each line and its mask, by number, whatever the zeros before it."""
    found = Found()
    by_number = {Path(image).stem.lstrip("0"): image for image in find_images(table.path.parent, found)}
    numbers = table.required(NUMBERS)
    missing = [number for number in numbers if number.lstrip("0") not in by_number]
    if missing:
        raise DataError(
            f"{table.path} names cells without an image: {join_names(missing, 3)}; expected 001.png and so on."
        )
    images = [by_number[number.lstrip("0")] for number in numbers]
    masks = masks_beside(images, found.masks)
    if masks is None:
        raise DataError(
            f"{table.path.parent} lacks masks; expected 001_mask.png beside 001.png, one for each cell."
        )
    return images, masks
