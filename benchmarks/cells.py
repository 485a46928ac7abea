"""Cells, from images to answers: ``python -m benchmarks.cells [PART ...]``.

- segmentation: scores on BBBC022's fields with masks, and processor time of a field of 1024 x 1024 pixels;
- wells: BBBC013's control wells, four folds by well, methods and presets, and a threshold on the ratio;
- background: the same on discs of empty background, and by how bright cells are;
- few: few labels, few of one class, mean of the classes' accuracies;
- dose: the row of doses, answered by a model of the controls;
- hela: 2D HeLa, ten half splits, four scales of 256 bins.

``--show`` prints the last results.
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from benchmarks.cell_wells import (
    N_FOLDS,
    Wells,
    control_wells,
    controls,
    crossed,
    fit_with_groups,
    segmented,
    separation,
)
from benchmarks.data import data_folder
from benchmarks.machine import read_results, write_results
from benchmarks.tables import markdown
from nearboost.base.images import read_image
from nearboost.catalogue.methods import find_method
from nearboost.cells.creating import create_project
from nearboost.cells.features import PRESETS, describe_cells
from nearboost.cells.filters import distances_to
from nearboost.cells.judging import score_project
from nearboost.cells.measures import measure_cells, ratio_name
from nearboost.cells.project import Project
from nearboost.cells.regions import Labels
from nearboost.cells.responses import fit_dose
from nearboost.cells.saved_masks import read_segmentation
from nearboost.cells.scoring import pooled
from nearboost.cells.segmentation import Segmentation, segment_field
from nearboost.cells.segmenting import segment_project
from nearboost.cells.settings import SegmentationSettings
from nearboost.cells.training import METHOD, crop_cell
from nearboost.features import BagOfFeatures, BioInspiredFeatures, DenseSIFT
from nearboost.features.bif import region_histograms

METHODS = {
    "k-NN": "knn",
    "UNN": "unn",
    "UNN, adaptive": "unn:balance=adaptive",
    "N3": "n3",
    "INNC": "innc",
    "RBF-SVM": "rbf-svm",
    "NearBoost": METHOD,
}
FEW = (
    "knn",
    "unn:balance=adaptive",
    "unn:class_weight=balanced",
    "n3",
    "n3:class_weight=balanced",
    "nearboost",
    METHOD,
)
N_DISCS = 40


def wells(project: Project) -> dict[str, Any]:
    """Accuracy, Z′ and processor seconds of a fit: methods by presets, a bag of SIFT, the ratio alone."""
    results: dict[str, Any] = {}
    for preset in PRESETS:
        found = control_wells(project, preset)
        results[preset] = _methods(found, found.cells.features[found.inside])
    found = control_wells(project)
    results["bag of SIFT"] = _methods(found, None)
    ratio = found.cells.measures[ratio_name("stain")][found.inside]
    said = np.zeros(len(ratio), np.int64)
    for fold in range(N_FOLDS):
        train = found.folds != fold
        best = max(
            np.unique(ratio[train]), key=lambda t, train=train: np.mean((ratio[train] > t) == found.labels[train])
        )
        said[~train] = ratio[~train] > best
    results["ratio"] = {"threshold": _judged(said, found, 0.0)}
    results["cells"] = {"controls": len(found.labels), "positive": int(found.labels.sum())}
    return results


def _methods(found: Wells, rows: NDArray[Any] | None) -> dict[str, Any]:
    results = {}
    bags = None if rows is not None else _bags(found)
    for title, name in METHODS.items():
        if rows is not None:
            said, seconds = crossed(rows, found.labels, found.folds, found.wells, name)
        else:
            said, seconds = np.zeros(len(found.labels), np.int64), 0.0
            for fold, bag in enumerate(bags or []):
                train = found.folds != fold
                model = find_method(name).make(0, 1)
                started = process_time()
                fit_with_groups(model, bag[train], found.labels[train], found.wells[train])
                seconds += (process_time() - started) / N_FOLDS
                said[~train] = model.predict(bag[~train])
        results[title] = _judged(said, found, seconds)
        print(title, results[title], flush=True)
    return results


def _bags(found: Wells) -> list[NDArray[np.float32]]:
    """Square roots of bags of 256 words, learned from the wells to train, of crops twice as large as the cells."""
    import cv2

    crops = []
    for one in found.project.fields:
        numbers = found.cells.objects[found.inside][found.cells.images[found.inside] == one.number]
        if len(numbers):
            picture, cells = found.project.read(one).by_role["stain"], read_segmentation(found.project, one).cells
            crops += [crop_cell(picture, cells, number) for number in numbers]
    large = [cv2.resize(crop, None, fx=2, fy=2, interpolation=cv2.INTER_LINEAR) for crop in crops]
    points = DenseSIFT(4, bin_sizes=(4,)).transform(large)
    bags = []
    for fold in range(N_FOLDS):
        train = np.flatnonzero(found.folds != fold)
        bag = BagOfFeatures(256, max_descriptors=60_000, random_state=0, n_jobs=1)
        bag.fit([points[i] for i in train])
        bags.append(np.sqrt(bag.transform(points)))
    return bags


def _judged(said: NDArray[np.int64], found: Wells, seconds: float) -> dict[str, Any]:
    right = said == found.labels
    return {"accuracy": float(right.mean()), "z_prime": separation(said, found), "fit_seconds": seconds}


def background(project: Project) -> dict[str, Any]:
    """How much of the answer is the field: discs without cells; and accuracy from dark to bright cells."""
    found = control_wells(project)
    rows = found.cells.features[found.inside]
    said, _ = crossed(rows, found.labels, found.folds, found.wells, "n3")
    stain = found.cells.measures["Cells_Intensity_MeanIntensity_stain"][found.inside]
    tenth = np.searchsorted(np.quantile(stain, np.linspace(0.1, 0.9, 9)), stain)
    by_level = [float((said == found.labels)[tenth == level].mean()) for level in range(10)]
    discs = {name: _on_discs(found, name == "by the field's maximum") for name in
             ("by the disc's own maximum", "by the field's maximum")}  # fmt: skip
    return {"accuracy_by_tenth_of_stain": by_level, "discs": discs}


def _on_discs(found: Wells, by_field: bool) -> dict[str, float]:
    rows, labels, wells, folds = [], [], [], []
    for one in found.project.fields:
        mine = np.flatnonzero(found.wells == one.place.well)
        if not len(mine):
            continue
        discs = _discs(read_segmentation(found.project, one).cells, seed=one.number)
        picture = found.project.read(one).by_role["stain"].astype(np.float32)
        if by_field:
            n = len(discs.numbers)
            regions = np.where(discs.cells > 0, 2 * discs.cells - (discs.nuclei > 0), 0).astype(np.int32)
            shares = region_histograms(picture / picture.max(), regions, np.ones(2 * n), (1, 2, 3, 4, 5), 32)
            some = np.sqrt(shares.reshape(5, n, 64).transpose(1, 0, 2).reshape(n, 320))
        else:
            some = describe_cells(picture, discs)
        rows.append(some)
        labels += [found.labels[mine[0]]] * len(some)
        wells += [one.place.well] * len(some)
        folds += [found.folds[mine[0]]] * len(some)
    y, f = np.array(labels), np.array(folds)
    said, _ = crossed(np.concatenate(rows), y, f, np.array(wells), "n3")
    return {"discs": len(y), "accuracy": float(np.mean([np.mean(said[y == value] == value) for value in (0, 1)]))}


def _discs(cells: Labels, seed: int) -> Segmentation:
    """Discs as large as nuclei in rings, where no cell is near; they do not overlap."""
    random, diameter = np.random.default_rng(seed), 16
    free = distances_to(cells > 0) > diameter
    free[:diameter], free[-diameter:], free[:, :diameter], free[:, -diameter:] = False, False, False, False
    y, x = np.mgrid[-diameter : diameter + 1, -diameter : diameter + 1]
    inner, outer = y * y + x * x <= (diameter / 2) ** 2, y * y + x * x <= (0.85 * diameter) ** 2
    nuclei, rings = np.zeros_like(cells), np.zeros_like(cells)
    number = 0
    for place in random.permutation(np.flatnonzero(free)):
        row, column = divmod(int(place), cells.shape[1])
        part = (slice(row - diameter, row + diameter + 1), slice(column - diameter, column + diameter + 1))
        if number < N_DISCS and not rings[part][outer].any():
            number += 1
            rings[part][outer], nuclei[part][inner] = number, number
    return Segmentation(nuclei, rings, np.zeros(number + 1, bool))


def few(project: Project) -> dict[str, Any]:
    """Mean of the classes' accuracies on the wells of a fold, of models that saw few cells of the others."""
    found = control_wells(project)
    rows = found.cells.features[found.inside]
    results: dict[str, Any] = {}
    for sizes in ((400, 20), (100, 100), (20, 20), (10, 10)):
        scores: dict[str, list[float]] = {name: [] for name in FEW}
        for seed in range(8):
            random, flipped = np.random.default_rng(seed), seed % 2 == 1
            labels = 1 - found.labels if flipped else found.labels
            train, test = np.flatnonzero(found.folds != seed % 4), found.folds == seed % 4
            some = np.concatenate(
                [random.permutation(train[labels[train] == value])[:n] for value, n in enumerate(sizes)]
            )
            for name in FEW:
                model = fit_with_groups(find_method(name).make(0, 1), rows[some], labels[some], found.wells[some])
                said = model.predict(rows[test])
                scores[name].append(float(np.mean([np.mean(said[labels[test] == v] == v) for v in (0, 1)])))
        results[f"{sizes[0]} + {sizes[1]}"] = {name: float(np.mean(values)) for name, values in scores.items()}
        print(sizes, results[f"{sizes[0]} + {sizes[1]}"], flush=True)
    return results


def dose(project: Project) -> dict[str, Any]:
    """The share of cells that a model of the controls calls positive, against the dose; row E without controls."""
    found = control_wells(project)
    model = fit_with_groups(
        find_method(METHOD).make(0, 1), found.cells.features[found.inside], found.labels, found.wells
    )
    kinds, doses = controls()
    names = {one.number: one.place.well for one in project.fields}
    wells = np.array([names[number] for number in found.cells.images.tolist()])
    said = model.predict(found.cells.features)
    tested = [well for well in sorted(kinds) if kinds[well] == "0.5"]
    shares = [float(said[wells == well].mean()) for well in tested]
    fit = fit_dose([doses[well] for well in tested], shares)
    return {"wells": tested, "doses": [doses[well] for well in tested], "shares": shares, "fit": vars(fit)}


def hela() -> dict[str, Any]:
    """Accuracy of the single cells of ten organelle patterns, halves of each for training."""
    paths = sorted((data_folder() / "hela2d").glob("*/*.tif"))
    images, kinds = [read_image(path) for path in paths], np.array([path.parent.name for path in paths])
    rows = BioInspiredFeatures(root=True).transform(images, [one > 0 for one in images])
    codes = np.unique(kinds, return_inverse=True)[1]
    results: dict[str, list[float]] = {title: [] for title in METHODS if title != "UNN, adaptive"}
    for seed in range(10):
        train, test = train_test_split(np.arange(len(rows)), train_size=0.5, stratify=codes, random_state=seed)
        for title, scores in results.items():
            model = find_method(METHODS[title]).make(seed, 1).fit(rows[train], codes[train])
            scores.append(float(np.mean(model.predict(rows[test]) == codes[test])))
        print(seed, {title: round(scores[-1], 3) for title, scores in results.items()}, flush=True)
    return results


def segmentation(folder: Path) -> dict[str, Any]:
    """Scores beside the masks that come with the fields; processor seconds of a large field."""
    data = data_folder() / "fields_with_masks"
    images = folder / "images"
    images.mkdir()
    for path in data.glob("*_Ch?.tif"):
        (images / path.name).symlink_to(path)
    project = create_project(folder / "project", [images]).project
    settings = segment_project(project, SegmentationSettings()).settings
    masks = folder / "masks"
    for kind in ("nuclei", "cells"):
        (masks / kind).mkdir(parents=True)
        for path in data.glob(f"*_{kind}_mask.png"):
            (masks / kind / path.name).symlink_to(path)
    scores = score_project(project, masks / "nuclei", masks / "cells").scores
    results: dict[str, Any] = {
        kind: pooled(each.values()).as_json() | {"lowest_f1": min(one.f1 for one in each.values())}
        for kind, each in scores.items()
    }
    two = project.read(project.fields[-1]).by_role
    large = {role: np.pad(one, ((0, 504), (0, 328)), mode="wrap") for role, one in two.items()}
    seconds = []
    for _ in range(3):
        started = process_time()
        found = segment_field(large["nuclei"], large["stain"], settings)
        measure_cells(large, found)
        describe_cells(large["stain"], found)
        seconds.append(process_time() - started)
    results["cpu_seconds_1024"] = {"seconds": min(seconds), "cells": len(found.numbers)}
    return results


def show(results: dict[str, Any]) -> None:
    """Tables of what was measured."""
    for kind in ("nuclei", "cells"):
        if "segmentation" in results:
            one = results["segmentation"][kind]
            print(f"{kind}: F1 {one['f1']:.3f}, lowest {one['lowest_f1']:.3f}, mean AP {one['mean_ap']:.3f}")
    if "wells" in results:
        kept = {name: table for name, table in results["wells"].items() if name != "cells"}
        lines = [
            [title, *(_line(table.get(title)) for name, table in kept.items() if name != "ratio")]
            for title in METHODS
        ]
        print(markdown(["method", *(name for name in kept if name != "ratio")], lines))
        print("ratio alone:", _line(kept["ratio"]["threshold"]))
    for name in ("background", "dose"):
        if name in results:
            print(name, results[name])
    if "few" in results:
        table = results["few"]
        print(markdown(["method", *table], [[name, *(f"{table[s][name]:.3f}" for s in table)] for name in FEW]))
    if "hela" in results:
        for title, scores in results["hela"].items():
            print(f"{title}: {np.mean(scores):.3f} ± {np.std(scores, ddof=1):.3f}")


def _line(one: dict[str, Any] | None) -> str:
    return "" if one is None else f"{one['accuracy']:.3f}, {one['z_prime']:.2f}, {one['fit_seconds']:.1f} s"


def main() -> None:
    """Measure what is asked for, write and print; or print what was written."""
    parts: dict[str, Callable[[Path], Any]] = {
        "segmentation": segmentation,
        "wells": lambda folder: wells(segmented(folder / "p")),
        "background": lambda folder: background(segmented(folder / "p")),
        "few": lambda folder: few(segmented(folder / "p")),
        "dose": lambda folder: dose(segmented(folder / "p")),
        "hela": lambda _: hela(),
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*parts, []], default=[])
    parser.add_argument("--show", action="store_true", help="print the last results, measure nothing")
    options = parser.parse_args()
    if not options.show:
        for name in options.parts or parts:
            with threadpool_limits(1), tempfile.TemporaryDirectory() as folder:
                found = parts[name](Path(folder))
            try:
                before = read_results("cells")
            except FileNotFoundError:
                before = {}
            write_results("cells", before | {name: found}, merged=True)
    show(read_results("cells"))


if __name__ == "__main__":
    main()
