"""The sets that the papers use, where they must lie below ``--data``, and what stands in for them."""

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from nearboost.base.compiling import user_cache
from nearboost.base.disk import read_arrays, write_arrays
from nearboost.base.validation import check_whole
from nearboost.cells.creating import create_project
from nearboost.cells.describing import VERSION as DESCRIBING
from nearboost.cells.describing import describe_project
from nearboost.cells.features import PRESETS
from nearboost.cells.files import digest_of
from nearboost.cells.segmenting import VERSION as SEGMENTING
from nearboost.cells.segmenting import segment_project
from nearboost.cells.settings import SegmentationSettings
from nearboost.datasets import DataError, Dataset, open_dataset
from nearboost.datasets.tables import read_csv

QUICK_CLASSES, QUICK_ITEMS = 4, 16


@dataclass(frozen=True)
class DataSource:
    """Files that may serve.

    Attributes
    ----------
    path : below ``--data``; empty for what comes with scikit-learn
    title : what they are
    layout : how they lie, as `open_dataset` names it
    is_stand_in : whether they are another set than the paper's
    protocol : where they come with a split of their own that the paper used
    every : steps of thinning: one training item in so many of each track (or other group) is taken, and one
        test item in so many
    """

    path: str
    title: str
    layout: str = "auto"
    is_stand_in: bool = False
    protocol: str | None = None
    every: tuple[int, int] = (1, 1)


# The first one that is there is taken.
SOURCES: dict[str, tuple[DataSource, ...]] = {
    "caltech256": (
        DataSource("caltech256", "Caltech-256", "caltech-256"),
        DataSource("caltech101", "Caltech-101", is_stand_in=True),
    ),
    "sun397": (
        DataSource("sun397", "SUN397", "sun397"),
        DataSource("scene15", "Scene-15", "scene-15", is_stand_in=True),
    ),
    "ilsvrc": (DataSource("ilsvrc2010", "ILSVRC 2010", "ilsvrc"),),
    "8-cat": (
        DataSource("scene8", "8-cat", "scene-8"),
        DataSource("scene15", "8-cat, its grey images in Scene-15", "scene-8"),
    ),
    "13-cat": (
        DataSource("scene13", "13-cat", "scene-13"),
        DataSource("scene15", "13-cat, in Scene-15", "scene-13"),
    ),
    "15-cat": (DataSource("scene15", "Scene-15", "scene-15"),),
    "gtsrb": (
        DataSource("gtsrb/gtsrb_roi_gray24.npz", "GTSRB, grey crops", "gtsrb-npz"),
        DataSource("gtsrb", "GTSRB", "gtsrb"),
    ),
    "ar": (
        DataSource("faces/AR.mat", "AR", "ar", protocol="fixed"),
        DataSource("faces/YaleB_32x32.mat", "Extended Yale B", "yale-b", is_stand_in=True),
    ),
    "gtsrb-small": (
        DataSource("gtsrb/gtsrb_roi_gray24.npz", "GTSRB, every eighth frame", "gtsrb-npz", every=(8, 6)),
    ),
    "digits": (DataSource("", "scikit-learn's digits", "digits"),),
    "objects": (DataSource("caltech101", "Caltech-101", is_stand_in=True),),
    "hep2": (DataSource("hep2", "HEp-2", "hep2"), DataSource("hela2d", "2D HeLa", "images", is_stand_in=True)),
    "thyroid": (DataSource("translocation", "control wells of BBBC013", "wells", is_stand_in=True),),
    "voc2007": (DataSource("VOC2007", "PASCAL VOC 2007", "voc2007"),),
}
TITLES = {
    "caltech256": "Caltech-256",
    "sun397": "SUN397",
    "ilsvrc": "ILSVRC 2010",
    "8-cat": "8-cat",
    "13-cat": "13-cat",
    "15-cat": "Scene-15",
    "gtsrb": "GTSRB",
    "ar": "AR faces",
    "gtsrb-small": "GTSRB",
    "digits": "digits",
    "objects": "SUN397",
    "hep2": "HEp-2 cells",
    "thyroid": "thyroid cells",
    "voc2007": "PASCAL VOC 2007",
}


def find_source(key: str, root: Path) -> DataSource:
    """The set itself where it is there, else its stand-in, else a sentence that says where it must lie."""
    for source in SOURCES[key]:
        if (root / source.path).exists():
            return source
    title = TITLES[key]
    wanted = [source.path + ("" if source.title == title else f" ({source.title})") for source in SOURCES[key]]
    raise DataError(f"{root} has no {title} at {' or '.join(wanted)}; put it there or give another --data.")


def is_available(key: str, root: Path) -> bool:
    """Whether the set or its stand-in is there."""
    return any((root / source.path).exists() for source in SOURCES[key])


def read(source: DataSource, root: Path) -> Dataset:
    """The whole set."""
    if source.layout == "digits":
        digits = load_digits()
        labels, names = digits.target.astype(str), [f"row {i}" for i in range(len(digits.target))]
        return Dataset("digits", "vectors", digits.data / 16, labels, tuple(np.unique(labels)), names)
    if source.layout == "wells":
        return control_cells(root / source.path)
    dataset = open_dataset(root / source.path, source.layout, duplicates=False)
    return dataset if source.every == (1, 1) else thinned(dataset, *source.every)


def control_cells(folder: Path) -> Dataset:
    """Cells of the negative controls and every third of the positive ones, in numbers as uneven as the thesis's.

    A row is the histograms of nucleus and outer region at scale 5. Rows are kept in the user's cache folder:
    each run is a process of its own.
    """
    table = read_csv(folder / "doses_and_controls.csv")
    kinds = [{"0": "negative", "1": "positive"}.get(kind, "") for kind in table.required(("posnegctrls",))]
    kind_of = dict(zip(table.required(("well",)), kinds, strict=True))
    files = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(folder.iterdir())]
    kept = user_cache() / "nearboost" / "papers" / f"wells-{digest_of([files, SEGMENTING, DESCRIBING])[:20]}.npz"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_arrays(kept, **_described_cells(folder))
    cells = read_arrays(kept)
    labels = np.array([kind_of.get(well, "") for well in cells["wells"].tolist()])
    some = np.sort(
        np.concatenate([np.flatnonzero(labels == "negative"), np.flatnonzero(labels == "positive")[::3]])
    )
    names = [f"{cells['wells'][i]} cell {cells['objects'][i]}" for i in some]
    return Dataset("BBBC013", "vectors", cells["rows"][some], labels[some], ("negative", "positive"), names)


def _described_cells(folder: Path) -> dict[str, NDArray[Any]]:
    with TemporaryDirectory() as made:
        project = create_project(Path(made) / "project", [folder], n_jobs=1).project
        segment_project(project, SegmentationSettings(), n_jobs=1)
        cells = describe_project(project, replace(PRESETS["thesis-thyroid"], root=False), n_jobs=1).rows
    wells = {one.number: one.place.well for one in project.fields}
    names = np.array([wells[number] for number in cells.images.tolist()])
    return {"wells": names, "objects": cells.objects, "rows": cells.features}


def thinned(dataset: Dataset, every_train: int, every_test: int) -> Dataset:
    """One training item in ``every_train`` of each group, and one test item in ``every_test``."""
    part, groups = np.asarray(dataset.part), np.asarray(dataset.groups)
    kept = part == "test"
    kept[np.flatnonzero(kept)] = np.arange(kept.sum()) % every_test == 0
    for group in np.unique(groups[part == "train"]):
        kept[np.flatnonzero((groups == group) & (part == "train"))[::every_train]] = True
    return dataset.take(kept)


def load(source: DataSource, root: Path, n_classes: int | None, *, quick: bool = False) -> Dataset:
    """The set with so many of its classes; a quick one has few, and few items of each."""
    dataset = read(source, root)
    if quick:
        n_classes = min(n_classes or QUICK_CLASSES, QUICK_CLASSES)
    if n_classes is not None and n_classes < len(dataset.classes):
        dataset = draw_classes(dataset, n_classes)
    return few_items(dataset) if quick else dataset


def few_items(dataset: Dataset) -> Dataset:
    """The first few items of each class, and of each part of it."""
    if dataset.is_multilabel:
        strata = np.asarray(dataset.labels).argmax(axis=1).astype(str)
    else:
        strata = np.asarray(dataset.labels).astype(str)
    if dataset.part is not None:
        strata = np.char.add(np.char.add(strata, "/"), np.asarray(dataset.part).astype(str))
    kept = np.concatenate([np.flatnonzero(strata == one)[:QUICK_ITEMS] for one in np.unique(strata)])
    return dataset.take(np.sort(kept))


def draw_classes(dataset: Dataset, n_classes: int, seed: int = 0) -> Dataset:
    """So many of its classes, drawn with a seed; fewer classes are a subset of more with the same seed."""
    check_whole("n_classes", n_classes, least=2)
    if n_classes > len(dataset.classes):
        raise DataError(f"{dataset.name} has {len(dataset.classes)} classes; n_classes={n_classes} is too many.")
    order = np.random.default_rng(seed).permutation(len(dataset.classes))
    return dataset.with_classes([dataset.classes[i] for i in order[:n_classes]])
