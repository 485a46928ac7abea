"""The images of a data set as rows on disk, in a folder that is itself a data set of vectors."""

from pathlib import Path
from typing import Any

import numpy as np

from nearboost.base.disk import reserve, whole_file
from nearboost.base.tables import write_table
from nearboost.catalogue.descriptors import describe, find_descriptor
from nearboost.datasets import DataError, Dataset
from nearboost.features.store import OK, extract
from nearboost.models import load_model


def extract_rows(
    dataset: Dataset,
    out: Path,
    *,
    features: str = "gist",
    model: Path | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> dict[str, Any]:
    """Write ``X.npy`` and ``labels.csv``; the store below them keeps what was done when a call is interrupted.

    Parameters
    ----------
    dataset : of images
    out : folder to write to
    features : name of the descriptor; what it learns, it learns from the train part where there is one
    model : file of a model whose features are used instead
    seed, n_jobs, verbose : as in the estimators
    """
    if dataset.kind != "images":
        raise DataError(f"{dataset.name} holds rows of numbers already; give a folder of images.")
    if dataset.is_multilabel:
        raise DataError(f"{dataset.name} has items with several labels, which labels.csv cannot hold.")
    if (out / "X.npy").exists() and not (out / "store").exists():
        raise DataError(f"{out} holds an X.npy that was not written by nearboost; give another folder.")
    out.mkdir(parents=True, exist_ok=True)
    images = [str(item) for item in dataset.items]
    if model is None:
        every = np.arange(len(dataset))
        train = every if dataset.part is None else np.flatnonzero(dataset.part == "train")
        found = describe(
            images, find_descriptor(features), out / "store",
            train=train, seed=seed, n_jobs=n_jobs, verbose=verbose,
        )  # fmt: skip
        numbers, failed, file = found.numbers, found.failed, found.file
    else:
        transformer = load_model(model).features
        if transformer is None:
            raise DataError(f"{model} takes rows of numbers and has no features of images.")
        store = extract(images, transformer, out / "store", n_jobs=n_jobs, verbose=verbose)
        numbers = np.array([entry.row for entry in store.table], dtype=np.int64)
        failed = {i: entry.message for i, entry in enumerate(store.table) if entry.status != OK}
        file = store.folder / "rows.npy"
    if len(failed) == len(images):
        raise DataError(f"No image could be described: {failed[0]}")
    return _write(dataset, out, file, numbers, failed)


def _write(dataset: Dataset, out: Path, file: Path, numbers: Any, failed: dict[int, str]) -> dict[str, Any]:
    kept = np.flatnonzero(numbers >= 0)
    rows = np.load(file, mmap_mode="r")
    with whole_file(out / "X.npy") as made:
        copied = np.lib.format.open_memmap(made, "w+", rows.dtype, (len(kept), rows.shape[1]))
        reserve(made)
        for start in range(0, len(kept), 1024):
            copied[start : start + 1024] = rows[numbers[kept[start : start + 1024]]]
        copied.flush()
    some = dataset.take(kept)
    columns = {"file_name": list(some.names), "label": some.labels.tolist()}
    if some.part is not None:
        columns["part"] = some.part.tolist()
    if some.groups is not None:
        columns["group"] = some.groups.tolist()
    write_table(out / "labels.csv", columns)
    return {
        "folder": str(out),
        "items": len(kept),
        "numbers": int(rows.shape[1]),
        "skipped": {dataset.names[i]: why for i, why in failed.items()},
    }
