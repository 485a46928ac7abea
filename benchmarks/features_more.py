"""More descriptors of images: ``python -m benchmarks.features_more``.

Images per second on one core of BIF, Nimble, the codings of `SpatialPyramid` and extraction into a store, 256 x
256 pixels. Images, threads and timing are as in `benchmarks.features`. Where 2D HeLa is there, also the
accuracy of BIF on its cells, with masks and without, mean of 4 folds; where Caltech-101 is, wall seconds that the
command line's default features take for 1,000 of its images, enlarged so that their longest side has 300 pixels.
Prints tables in Markdown and writes ``benchmarks/results/features_more.json``.
"""

import argparse
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.data import available, data_folder
from benchmarks.features import SIDE, fastest, photos
from benchmarks.machine import read_results, write_results
from benchmarks.tables import markdown
from nearboost import INNClassifier
from nearboost.base.images import read_image
from nearboost.catalogue.descriptors import find_descriptor
from nearboost.features.bif import BioInspiredFeatures
from nearboost.features.codings import CODINGS
from nearboost.features.extraction import extract
from nearboost.features.nimble import Nimble
from nearboost.features.pyramid import SpatialPyramid
from nearboost.features.sift import DenseSIFT


def descriptors(images: list[NDArray[np.uint8]], rounds: int, folder: Path) -> dict[str, float]:
    """Milliseconds an image; pyramids without the description of patches."""
    import cv2

    cv2.setNumThreads(1)
    masks = [one > 100 for one in images]
    four, five = BioInspiredFeatures(n_jobs=1), BioInspiredFeatures((5,), 32, n_jobs=1)
    nimble = Nimble(n_jobs=1, n_patches=10_000, max_descriptors=4_000).fit(images)
    described = list(DenseSIFT(step=8, bin_sizes=(4,)).transform(images))
    settings = {"n_words": 1024, "n_jobs": 1, "max_descriptors": 15_000}
    pyramids = {coding: SpatialPyramid(coding, **settings).fit(described) for coding in CODINGS}
    for number, one in enumerate(images):
        Image.fromarray(one).save(folder / f"{number}.png")

    def store() -> None:
        shutil.rmtree(folder / "stores", ignore_errors=True)
        extract(folder, five, folder / "stores", n_jobs=1)

    contenders: dict[str, Callable[[], Any]] = {
        "BIF, 4 scales, 256 bins, masks": lambda: four.transform(images, masks),
        "BIF, scale 5, 32 bins": lambda: five.transform(images),
        "BIF, scale 5, PNG files into a store": store,
        "Nimble, 100 fixations": lambda: list(nimble.transform(images)),
    }
    for coding, pyramid in pyramids.items():
        contenders[f'SpatialPyramid("{coding}"), {len(described[0])} patches'] = lambda p=pyramid: p.transform(
            described
        )
    for contender in contenders.values():
        contender()  # compile, and bring memory in
    return {name: 1000 * seconds / len(images) for name, seconds in fastest(contenders, rounds).items()}


def cells() -> dict[str, dict[str, float]]:
    """Accuracy on 2D HeLa by square roots of histograms, on the cell alone and on the whole image."""
    paths = sorted((data_folder() / "hela2d").glob("*/*.tif"))
    if not paths:
        return {}
    images = [read_image(path) for path in paths]
    kinds = [path.parent.name for path in paths]
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    contenders = {
        "k-NN, k = 5": KNeighborsClassifier(5),
        "INN": INNClassifier(normalize=True),
        "RBF-SVM, C = 30, γ = 2": SVC(C=30, gamma=2),
    }
    found = {}
    for name, masks in (("cell", [one > 0 for one in images]), ("whole image", None)):
        rows = np.sqrt(BioInspiredFeatures().transform(images, masks))
        found[name] = {
            contender: float(cross_val_score(model, rows, kinds, cv=folds).mean())
            for contender, model in contenders.items()
        }
    return found


def default_features(n_images: int = 1000) -> dict[str, float]:
    """Wall seconds on all cores: the mixtures, then the rows of all images."""
    if not (data_folder() / "caltech101").exists():
        return {}
    files = sorted((data_folder() / "caltech101").glob("*/*.jpg"))
    features = find_descriptor("fisher").make(0, None)
    with tempfile.TemporaryDirectory() as folder:
        images = [Path(folder) / f"{number}.jpg" for number in range(n_images)]
        for path, image in zip(files[:: len(files) // n_images], images, strict=False):
            ImageOps.contain(Image.open(path), (300, 300)).save(image, quality=90)
        started = perf_counter()
        features.fit(images)
        fitted = perf_counter()
        features.transform(images)
        ended = perf_counter()
    return {"images": n_images, "fit": fitted - started, "transform": ended - fitted}


def main() -> None:
    """Measure, write and print; or print what was written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--images", type=int, default=20)
    parser.add_argument("--show", action="store_true", help="print the last results, measure nothing")
    options = parser.parse_args()
    if not options.show:
        before = os.getloadavg()
        with threadpool_limits(1), tempfile.TemporaryDirectory() as folder:
            found = descriptors(photos(options.images), options.rounds, Path(folder))
        payload: dict[str, Any] = {
            "images": "Scene-15" if available("scene15") else "generated",
            "load_before": before,
        }
        payload |= {"descriptors": found, "cells": cells(), "default_features": default_features()}
        write_results("features_more", payload)
    results = read_results("features_more")
    rows = [[name, f"{ms:.2f}", f"{1000 / ms:,.0f}"] for name, ms in results["descriptors"].items()]
    print(markdown([f"descriptor, {SIDE} x {SIDE}", "ms", "images/s"], rows))
    if seconds := results["default_features"]:
        print(f"\nDefault features of {seconds['images']:,} images: {seconds['fit']:.1f} s to fit, "
              f"{seconds['transform']:.1f} s to describe")  # fmt: skip
    for name, scores in results["cells"].items():
        print(f"\n2D HeLa, {name}: " + ", ".join(f"{who} {100 * score:.1f}%" for who, score in scores.items()))


if __name__ == "__main__":
    main()
