"""The scene sets of 8, 13 and 15 classes: each holds the one before.

They lie as class folders, perhaps below train/ and test/, with plain names (Coast) or those of the distribution
(MITcoast); 8-cat also as one folder of files whose names begin with the class (coast_arnat59.jpg).
"""

import os
from functools import partial
from pathlib import Path

from nearboost.datasets.dataset import Dataset
from nearboost.datasets.files import Found, existing_folder, find_images, subfolders
from nearboost.datasets.folders import image_dataset, part_folders, read_image_folder
from nearboost.datasets.published import compared, require_folders

SCENES = (
    *("Coast", "Forest", "Highway", "InsideCity", "Mountain", "OpenCountry", "Street", "TallBuilding"),
    *("Bedroom", "Kitchen", "LivingRoom", "Office", "Suburb"),
    *("Industrial", "Store"),
)  # the first 8, 13 and 15 are the three sets
_BY_NAME = {name.lower(): name for name in SCENES}
_SOURCES = ("mit", "cal", "par")  # places that the distribution's folder names begin with


def scene_of(name: str) -> str | None:
    """The scene that a folder or the start of a file name stands for.

    Examples
    --------
    >>> scene_of("MITtallbuilding"), scene_of("living_room"), scene_of("Beach")
    ('TallBuilding', 'LivingRoom', None)
    """
    word = "".join(letter for letter in name.lower() if letter.isalpha())
    return _BY_NAME.get(word) or next(
        (_BY_NAME.get(word[3:]) for source in _SOURCES if word.startswith(source)), None
    )


def read_scenes(path: Path, n_classes: int) -> Dataset:
    """The first classes; a larger set will do."""
    root = existing_folder(path)
    wanted = SCENES[:n_classes]
    key = f"scene-{n_classes}"
    if n_classes == 8 and not subfolders(root):
        return compared(_read_flat(root), key)
    for folder in part_folders(root).values():
        require_folders(folder, wanted, {scene_of(one.name) or one.name for one in subfolders(folder)})
    return compared(read_image_folder(root, partial(_scene_among, wanted), key), key)


def are_scenes(path: Path, n_classes: int) -> bool:
    """Whether exactly these classes lie there."""
    if not path.is_dir():
        return False
    if not subfolders(path):
        return n_classes == 8 and _flat_scenes(find_images(path, deep=False)) == set(SCENES[:8])
    folders = part_folders(path).values()
    return all({scene_of(one.name) for one in subfolders(folder)} == set(SCENES[:n_classes]) for folder in folders)


def _scene_among(wanted: tuple[str, ...], name: str) -> str | None:
    scene = scene_of(name)
    return scene if scene in wanted else None


def _read_flat(root: Path) -> Dataset:
    found = Found()
    images = find_images(root, found, deep=False)
    require_folders(root, SCENES[:8], {str(scene) for scene in _flat_scenes(images)})
    labels = [_scene_in(image) for image in images]
    kept = [(image, label) for image, label in zip(images, labels, strict=True) if label in SCENES[:8]]
    return image_dataset(
        root, [image for image, _ in kept], [str(label) for _, label in kept], notes=found.notes()
    )


def _flat_scenes(images: list[str]) -> set[str | None]:
    return {_scene_in(image) for image in images}


def _scene_in(image: str) -> str | None:
    return scene_of(os.path.basename(image).partition("_")[0])
