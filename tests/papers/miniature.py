"""All sets that the experiments know, in miniature: a few small generated images of each class."""

from pathlib import Path

import numpy as np
from PIL import Image
from scipy.io import savemat

from nearboost.cells.demo import demo_field
from nearboost.datasets.scenes import SCENES
from nearboost.datasets.voc import VOC_CLASSES

SIDE = 48


def picture(kind, seed, side=SIDE):
    """Waves whose direction and width tell the class, and noise."""
    rng = np.random.default_rng(1000 * kind + seed)
    angle, width = 0.4 * kind, 3 + kind % 3
    y, x = np.mgrid[:side, :side]
    waves = np.sin((x * np.cos(angle) + y * np.sin(angle)) / width + rng.uniform(0, 6))
    grey = 128 + 50 * waves + 15 * rng.normal(size=(side, side))
    return np.clip(grey, 0, 255).astype(np.uint8)


def coloured(kind, seed):
    return np.stack([picture(kind, seed), picture(kind + 1, seed), picture(kind + 2, seed)], axis=-1)


def save(path, pixels):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


def scene15(root, n=6):
    for kind, name in enumerate(SCENES):
        for i in range(n):
            save(root / "scene15" / ("train" if i % 2 else "test") / name / f"{i:04d}.jpg", picture(kind, i))


def caltech101(root, n=6):
    for kind in range(5):
        for i in range(n):
            save(root / "caltech101" / f"thing{kind}" / f"image_{i:04d}.jpg", coloured(kind, i))


def hela2d(root, n=8):
    """Cells on a background of zero."""
    y, x = np.mgrid[:SIDE, :SIDE]
    cell = (y - SIDE / 2) ** 2 + (x - SIDE / 2) ** 2 < (SIDE / 3) ** 2
    for kind, name in enumerate(("actin", "dna", "er")):
        for i in range(n):
            save(root / "hela2d" / name / f"r{i:02d}.tif", (200 * picture(kind, i).astype(np.uint16)) * cell)


def faces(root, n=8):
    rows = np.stack([picture(kind, i, 16).ravel() for kind in range(5) for i in range(n)])
    (root / "faces").mkdir(parents=True)
    savemat(root / "faces" / "YaleB_32x32.mat", {"fea": rows, "gnd": np.repeat(np.arange(1, 6), n)[:, None]})


def gtsrb(root, n=8):
    stack = np.stack([picture(kind, i, 24) for kind in range(4) for i in range(2 * n)])
    y = np.repeat(np.arange(4), 2 * n)
    first = np.tile(np.arange(2 * n), 4) < n
    (root / "gtsrb").mkdir(parents=True)
    np.savez(
        root / "gtsrb" / "gtsrb_roi_gray24.npz",
        x_train=stack[first], y_train=y[first], track_train=np.tile(np.arange(n) // 2, 4),
        x_test=stack[~first], y_test=y[~first],
    )  # fmt: skip


def ilsvrc(root):
    for kind, name in enumerate(("n01440764", "n01443537")):
        for part in ("train", "val"):
            for i in range(3):
                save(root / "ilsvrc2010" / part / name / f"{part}_{i}.jpg", coloured(kind, i))


def voc(root, n=20):
    """Each image has the marks of two neighbouring classes."""
    lists = root / "VOC2007" / "ImageSets" / "Main"
    lists.mkdir(parents=True)
    for part, offset in (("trainval", 0), ("test", n)):
        marks = {f"{offset + i:06d}": {i % 20, (i + 1) % 20} for i in range(n)}
        for number, kinds in marks.items():
            save(root / "VOC2007" / "JPEGImages" / f"{number}.jpg", coloured(max(kinds), int(number)))
        for kind, name in enumerate(VOC_CLASSES):
            lines = [f"{number} {' 1' if kind in kinds else '-1'}\n" for number, kinds in marks.items()]
            (lists / f"{name}_{part}.txt").write_text("".join(lines))


def translocation(root):
    """Two wells of each control, made up, in the names of BBBC013."""
    folder = root / "translocation"
    folder.mkdir(parents=True)
    lines = ["Plate,Well,Dose,PosNegCtrls"]
    for number, (well, kind) in enumerate(
        (("A01", "0"), ("B01", "0"), ("A12", "1"), ("B12", "1"), ("E02", "0.5"))
    ):
        made = demo_field(number, granular=float(kind), n_cells=24, shape=(160, 160))
        save(folder / f"BBBC013_{well}_s1_w1.tif", made.stain)
        save(folder / f"BBBC013_{well}_s1_w2.tif", made.nuclei)
        lines.append(f"plate_1,{well},0,{kind}")
    (folder / "doses_and_controls.csv").write_text("\n".join(lines) + "\n")


def write_all(root: Path) -> Path:
    for write in (scene15, caltech101, hela2d, translocation, faces, gtsrb, ilsvrc, voc):
        write(root)
    return root
