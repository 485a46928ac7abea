"""The images of a data set as rows on disk, in a folder that is itself a data set of vectors."""

from pathlib import Path
from typing import Any

import numpy as np

from nearboost.base.disk import reserve, whole_file
from nearboost.base.tables import write_table
from nearboost.catalogue.descriptors import describe, find_descriptor
from nearboost.datasets import DataError, Dataset
from nearboost.features.extraction import ImageRows, images_to_rows
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
    found = _describe(dataset, out / "store", features, model, seed, n_jobs, verbose)
    if not len(found.places):
        raise DataError(f"No image could be described: {found.failed[0]}")
    return _write(dataset, out, found)


def _describe(
    dataset: Dataset,
    store: Path,
    features: str,
    model: Path | None,
    seed: int,
    n_jobs: int | None,
    verbose: int,
) -> ImageRows:
    if model is None:
        descriptor = find_descriptor(features)
        images = dataset.images(keep_pixels=descriptor.learned)
        train = np.arange(len(dataset)) if dataset.part is None else np.flatnonzero(dataset.part == "train")
        return describe(images, descriptor, store, train=train, seed=seed, n_jobs=n_jobs, verbose=verbose)
    transformer = load_model(model).features
    if transformer is None:
        raise DataError(f"{model} takes rows of numbers and has no features of images.")
    [found] = images_to_rows(dataset.images(), [transformer], store, n_jobs=n_jobs, verbose=verbose)
    return found


def _write(dataset: Dataset, out: Path, found: ImageRows) -> dict[str, Any]:
    rows, numbers, kept = found.rows, found.numbers, found.places
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
        "skipped": {dataset.names[i]: why for i, why in found.failed.items()},
    }
