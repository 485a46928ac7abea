"""What a model learns from, is measured on and is asked about: data sets, image files, rows of numbers."""

import os
from collections.abc import Sequence
from dataclasses import replace
from glob import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearboost.base.image_set import ImageSet
from nearboost.base.rows import row_source
from nearboost.base.validation import check_choice
from nearboost.base.words import near_names
from nearboost.datasets import DataError, Dataset, open_dataset
from nearboost.datasets.arrays import check_finite, load_arrays
from nearboost.datasets.csv_rows import read_csv_rows
from nearboost.datasets.dataset import join_names
from nearboost.datasets.files import (
    IMAGE_ENDINGS,
    MASK_ENDING,
    VECTOR_ENDINGS,
    Found,
    files_ending,
    find_images,
    masks_beside,
)
from nearboost.datasets.opened import ENDINGS as ROW_ENDINGS
from nearboost.datasets.opened import open_rows
from nearboost.datasets.tables import FILE_COLUMNS
from nearboost.datasets.vectors import ROW_NAMES, RowNames, names_beside
from nearboost.features.extraction import takes_masks
from nearboost.models.model import Model, as_floats
from nearboost.models.origins import make_marks, row_digests

PARTS = ("auto", "all", "train", "test")


class LabelledRows(NamedTuple):
    """The items of a data set that could be described, their rows, and what was wrong with the others, by name."""

    rows: NDArray[Any]
    dataset: Dataset
    images: ImageSet | None
    skipped: dict[str, str]

    def marks(self, n_jobs: int | None = None) -> NDArray[np.uint64]:
        """A mark of each item to know it again: of its file, or of its row of numbers."""
        return item_marks(self.dataset, n_jobs, self.images)


def item_marks(dataset: Dataset, n_jobs: int | None = None, images: ImageSet | None = None) -> NDArray[np.uint64]:
    """A mark of each item, see `LabelledRows.marks`; ``images`` may know some contents already."""
    if dataset.kind == "vectors":
        return make_marks(row_digests(as_floats(np.asarray(dataset.items))))
    return make_marks([content.digest for content in (images or dataset.images()).contents(n_jobs)])


def hashed(dataset: Dataset, n_jobs: int | None = None, verbose: int = 0) -> Dataset:
    """The data with the contents of all its files, so that none is hashed again."""
    if dataset.kind == "vectors":
        return dataset
    contents = dataset.images().contents(n_jobs, verbose)
    return replace(dataset, contents=dict(zip(map(os.fspath, dataset.items), contents, strict=True)))


def known_marks(model: Model) -> NDArray[np.uint64]:
    """Marks of the items that a model was fitted on; of a file without marks, those of the images that vote."""
    known = model.marks
    if known is None:
        known = make_marks([] if model.origins is None else model.origins.hashes.tolist())
    return known[known > 0]


def find_names(names: Sequence[str], known: NDArray[np.str_] | Sequence[str]) -> NDArray[np.intp]:
    """Where items of these names are."""
    listed = list(map(str, known))
    there = set(listed)
    for name in names:
        if name not in there:
            near = near_names(name, listed) or listed[:1]
            alike = ", ".join(map(repr, near))
            raise DataError(f"The model has no item called {name!r}, or no longer; names are such as {alike}.")
    return np.flatnonzero(np.isin(known, names))


def labelled_rows(
    model: Model, dataset: Dataset, *, thumbnails: bool = False, n_jobs: int | None = None, verbose: int = 0
) -> LabelledRows:
    """Labelled items as the model's classifier wants them; all of its classes."""
    check_kind(model, dataset.kind, dataset.name)
    unknown = sorted(set(dataset.classes) - set(model.classes))
    if unknown:
        known = ", ".join(model.classes[:5]) + (", …" if len(model.classes) > 5 else "")
        raise DataError(
            f"{dataset.name} has the class {unknown[0]!r}, which the model does not know; it knows {known}. Leave "
            "the items of other classes out, or fit a model on data that has them."
        )
    return described_rows(model, dataset, thumbnails=thumbnails, n_jobs=n_jobs, verbose=verbose)


def described_rows(
    model: Model, dataset: Dataset, *, thumbnails: bool = False, n_jobs: int | None = None, verbose: int = 0
) -> LabelledRows:
    """Items of any classes with the rows that the model's features make."""
    check_kind(model, dataset.kind, dataset.name)
    check_columns(model, dataset.columns, dataset.name)
    images = dataset.images(thumbnails=thumbnails) if dataset.kind == "images" else None
    found = model.describe(dataset.items if images is None else images, n_jobs=n_jobs, verbose=verbose)
    return described_part(dataset, images, found.rows, found.places, found.skipped)


def described_part(
    dataset: Dataset,
    images: ImageSet | None,
    rows: NDArray[Any],
    places: NDArray[np.int64],
    skipped: dict[int, str],
) -> LabelledRows:
    """Rows with those items of a data set that have one."""
    if not len(places):
        raise DataError(f"No image of {dataset.name} could be described: {next(iter(skipped.values()))}")
    some = None if images is None else images.take(places)
    return LabelledRows(rows, dataset.take(places), some, {dataset.names[i]: why for i, why in skipped.items()})


def check_part(part: str) -> None:
    """Mistakes are reported before any work."""
    check_choice("part", part, PARTS)


def choose_part(dataset: Dataset, part: str, otherwise: str) -> Dataset:
    """The items of a part; "auto" is ``otherwise`` where the set comes divided, else all."""
    if part == "auto":
        part = "all" if dataset.part is None else otherwise
    if part == "all":
        return dataset
    if dataset.part is None:
        raise DataError(f"{dataset.name} is not divided into train and test; leave --part out.")
    chosen = np.flatnonzero(dataset.part == part)
    if not len(chosen):
        raise DataError(f"{dataset.name} has no items in its part {part}.")
    return dataset.take(chosen)


class Items(NamedTuple):
    """Items, what to call them, what a reader should know about those left out, masks where all have one, and the
    names of a table's columns."""

    items: Any  # of rows, a `RowSource`
    names: Sequence[str]
    notes: tuple[str, ...] = ()
    masks: list[str] | None = None
    columns: Sequence[str] | None = None

    @property
    def given(self) -> Any:
        """As a model takes them."""
        return self.items if self.masks is None else ImageSet(self.items, masks=self.masks)


def open_items(model: Model, paths: Sequence[str | os.PathLike[str]]) -> Items:
    """Images of files and folders, or the rows of one file or folder; labels are not needed."""
    places = [Path(path) for path in paths]
    for place in places:
        check_kind(model, _guess_kind(place), str(place))
    if model.features is not None:
        return _images(places, masked=takes_masks(model.features))
    if len(places) != 1:
        raise DataError(f"This model takes rows of numbers, from one file; {len(places)} were given.")
    found = _rows(places[0])
    check_columns(model, found.columns, str(places[0]))
    return found


def check_kind(model: Model, has: str | None, name: str) -> None:
    """Refuse rows where the model takes images, and images where it takes rows."""
    if model.features is None and has == "images":
        n_numbers = getattr(model.classifier, "n_features_in_", "some")
        raise DataError(
            f"This model takes rows of {n_numbers} numbers, and {name} holds images; give rows that "
            "`nearboost features` made as it did those of the training data, or a model that was fitted on images."
        )
    if model.features is not None and has == "vectors":
        raise DataError(
            f"This model takes images, and {name} holds rows of numbers; give image files or folders of them, or "
            "a model that was fitted on rows."
        )


def check_columns(model: Model, columns: Sequence[str] | None, name: str) -> None:
    """Refuse a table with other columns than the one that was fitted to, or in another order."""
    expected = model.facts.get("columns")
    if columns is None or expected is None or list(columns) == expected:
        return
    missing = [column for column in expected if column not in columns]
    others = [column for column in columns if column not in expected]
    if missing:
        wrong = f"has no column {missing[0]!r}, which"
    elif others:
        wrong = f"has the column {others[0]!r} too, which is none of those that"
    else:
        wrong = "has in another order the columns that"
    raise DataError(f"{name} {wrong} the model was fitted on; give these, in this order: {join_names(expected)}.")


def _guess_kind(path: Path) -> str | None:
    """By the ending of a file or the files in a folder; None if they do not say."""
    if path.is_dir():
        if (path / "X.npy").is_file():
            return "vectors"
        return "images" if find_images(path) else None
    ending = path.suffix.lower()
    return "images" if ending in IMAGE_ENDINGS else "vectors" if ending in VECTOR_ENDINGS else None


def _images(paths: Sequence[Path], *, masked: bool) -> Items:
    items: list[str] = []
    names: list[str] = []
    found = Found()
    for path in paths:
        if path.is_dir():
            below = find_images(path, found)
            items += below
            names += [os.path.relpath(file, path) if len(paths) == 1 else file for file in below]
        else:
            items.append(str(path))
            names.append(str(path))
            found.masks += map(str, path.parent.glob(f"{escape(path.stem)}{MASK_ENDING}.*"))
    if not items:
        raise DataError(f"{', '.join(map(str, paths))} holds no images; give image files or folders of them.")
    masks = masks_beside(items, found.masks) if masked else None
    notes = (
        [f"Left out {len(found.masks):,} masks, such as {found.masks[0]}."] if found.masks and not masks else []
    )
    return Items(items, names, (*notes, *found.notes()), masks)


def _rows(path: Path) -> Items:
    if not path.exists():
        raise DataError(f"{path} does not exist; give a file of rows, such as X.npy.")
    if (path / "X.npy").is_file():
        path = path / "X.npy"
    ending = path.suffix.lower()
    if ending in ROW_ENDINGS or (path.is_dir() and files_ending(path, ROW_ENDINGS)):
        opened = open_rows(path)
        return Items(opened, names_beside(path, len(opened)), columns=opened.columns)
    if ending == ".csv":
        table = read_csv_rows(path)
        check_finite(path, table.numbers)
        names = table.words.column(FILE_COLUMNS) or RowNames(len(table.numbers))
        return Items(row_source(table.numbers), names, columns=table.columns)
    rows: Any = None
    if ending == ".npz":
        arrays = {name.lower(): array for name, array in load_arrays(path).items()}
        rows = next((arrays[name] for name in ROW_NAMES if name in arrays), None)
    if rows is None:
        data = open_dataset(path)
        return Items(row_source(np.asarray(data.items)), data.names)
    if rows.ndim != 2 or rows.dtype.kind not in "uif":
        raise DataError(f"{path} holds {rows.dtype} of shape {rows.shape}; give a matrix, a row for each item.")
    check_finite(path, rows)
    return Items(row_source(rows), RowNames(len(rows)))
