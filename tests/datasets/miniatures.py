"""The layouts of data sets in miniature: a few small generated images each, in folders as they are distributed."""

from itertools import count

import numpy as np
from PIL import Image

from nearboost.datasets.objects import CALTECH_101
from nearboost.datasets.voc import VOC_CLASSES

_numbers = count()


def write_image(path, *, same_as=None):
    """An image that no other call gives, unless it is to be the same as another file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if same_as is not None:
        path.write_bytes(same_as.read_bytes())
        return path
    pixels = np.random.default_rng(next(_numbers)).integers(0, 256, (6, 6, 3), dtype=np.uint8)
    kind = {".jpg": "JPEG", ".jpeg": "JPEG", ".ppm": "PPM", ".tif": "TIFF"}.get(path.suffix.lower(), "PNG")
    Image.fromarray(pixels).save(path, format=kind)
    return path


def write_classes(folder, classes, n=2, name="image_{:04d}.jpg"):
    return [write_image(folder / label / name.format(i)) for label in classes for i in range(1, n + 1)]


def scenes(folder, names, n=2):
    for part in ("train", "test"):
        write_classes(folder / part, names, n)
    return folder


def caltech_101(folder):
    write_classes(folder / "101_ObjectCategories", (*CALTECH_101, "BACKGROUND_Google"), 1)
    return folder


def caltech_256(folder):
    names = ["001.ak47", *(f"{i:03d}.thing-{i}" for i in range(2, 256)), "256.toad", "257.clutter"]
    write_classes(folder / "256_ObjectCategories", names, 1, "001_{:04d}.jpg")
    return folder


def sun397(folder):
    classes = ["a/abbey", "a/apartment_building/outdoor", "z/zen_garden"]
    write_classes(folder / "SUN397", classes, 2, "sun_a{:04d}.jpg")
    (folder / "SUN397" / "ClassName.txt").write_text("".join(f"/{name}\n" for name in classes))
    return folder


def ilsvrc(folder, *, flat=False):
    root = folder / "ILSVRC" / "Data" / "CLS-LOC"
    classes = ("n01440764", "n01443537")
    for label in classes:
        for i in range(2):
            write_image(root / "train" / label / f"{label}_{i}.JPEG")
    if not flat:
        write_classes(root / "val", classes, 1, "ILSVRC2012_val_{:08d}.JPEG")
        return folder
    for i in (1, 2):
        write_image(root / "val" / f"ILSVRC2012_val_{i:08d}.JPEG")
    (folder / "LOC_val_solution.csv").write_text(
        "ImageId,PredictionString\nILSVRC2012_val_00000002,n01440764 1 2 3 4 n01440764 5 6 7 8\n"
        "ILSVRC2012_val_00000001,n01443537 1 2 3 4\n"
    )
    return folder


def gtsrb(folder):
    head = "Filename;Width;Height;Roi.X1;Roi.Y1;Roi.X2;Roi.Y2;ClassId\n"
    train, test = folder / "GTSRB" / "Final_Training" / "Images", folder / "GTSRB" / "Final_Test" / "Images"
    for label in ("00000", "00007"):
        names = [f"{track:05d}_{frame:05d}.ppm" for track in (0, 1) for frame in (0, 1, 2)]
        for name in names:
            write_image(train / label / name)
        lines = "".join(f"{name};6;6;1;1;5;5;{int(label)}\n" for name in names)
        (train / label / f"GT-{label}.csv").write_text(head + lines)
    for i in range(3):
        write_image(test / f"{i:05d}.ppm")
    (test / "GT-final_test.csv").write_text(
        head + "".join(f"{i:05d}.ppm;6;6;1;1;5;5;{7 * (i % 2)}\n" for i in range(3))
    )
    return folder


def gtsrb_npz(folder):
    rng = np.random.default_rng(0)
    path = folder / "signs.npz"
    np.savez_compressed(
        path,
        x_train=rng.integers(0, 256, (8, 4, 4), dtype=np.uint8),
        y_train=np.array([0, 0, 0, 0, 12, 12, 12, 12], dtype=np.uint8),
        track_train=np.array([0, 0, 1, 1, 0, 0, 1, 1], dtype=np.int16),
        x_test=rng.integers(0, 256, (3, 4, 4), dtype=np.uint8),
        y_test=np.array([12, 0, 12], dtype=np.uint8),
    )
    return path


VOC_MARKS = {"000001": ("dog", "person"), "000002": ("train",), "000003": ("person",), "000004": ()}
VOC_DIFFICULT = {"000003": "dog"}


def voc(folder):
    """Two images to train and two to test; one of the latter has a dog that is hard to see, one nothing."""
    root = folder / "VOCdevkit" / "VOC2007"
    lists = root / "ImageSets" / "Main"
    lists.mkdir(parents=True)
    for number in VOC_MARKS:
        write_image(root / "JPEGImages" / f"{number}.jpg")
    for part, numbers in (("trainval", ("000001", "000002")), ("test", ("000003", "000004"))):
        for label in VOC_CLASSES:
            marks = [
                " 1" if label in VOC_MARKS[number] else " 0" if VOC_DIFFICULT.get(number) == label else "-1"
                for number in numbers
            ]
            lines = "".join(f"{number} {mark}\n" for number, mark in zip(numbers, marks, strict=True))
            (lists / f"{label}_{part}.txt").write_text(lines)
    return folder


def hep2(folder):
    for part, table, n in (("training", "gt_training.csv", 4), ("test", "gt_test.csv", 2)):
        for i in range(1, n + 1):
            write_image(folder / part / f"{i:03d}.png")
            write_image(folder / part / f"{i:03d}_mask.png")
        lines = "".join(
            f"{i};{('homogeneous', 'Fine Speckled')[i % 2]};positive;{i // 2}\n" for i in range(1, n + 1)
        )
        (folder / part / table).write_text("id;pattern;intensity;image\n" + lines)
    return folder
