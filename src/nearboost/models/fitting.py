"""From a data set, names of features and of a method to a model that can be kept in a file."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from nearboost.base.model_files import check_can_be_saved
from nearboost.base.validation import check_choice
from nearboost.catalogue import descriptors
from nearboost.catalogue.descriptors import describe, find_descriptor
from nearboost.catalogue.methods import find_method
from nearboost.datasets import DataError, Dataset
from nearboost.models import Model, origins_of
from nearboost.models.marks import marks_of
from nearboost.models.model import as_floats

PARTS = ("auto", "all", "train", "test")


class Fitted(NamedTuple):
    """A model, and what was wrong with the items that were left out, by name."""

    model: Model
    skipped: dict[str, str]


def check_part(part: str) -> None:
    """Mistakes are reported before any work."""
    check_choice("part", part, PARTS)


def check_names(features: str | None, method: str) -> None:
    """The same of names and settings, and of methods that a file cannot hold."""
    if features is not None:
        find_descriptor(features)
    classifier = find_method(method).make()
    check_can_be_saved(getattr(classifier, "estimator", classifier), f"method {method}")


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


def fit_model(
    dataset: Dataset,
    *,
    features: str | None = None,
    method: str = "n3",
    scale: bool = False,
    store: Path | None = None,
    thumbnails: bool = True,
    seed: int = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Fitted:
    """Describe the items, fit the method, and keep what is needed to use and to explain it.

    Parameters
    ----------
    dataset : all its items are fitted to
    features : a name of `find_descriptor`, for images; None means Gist
    method : a name of `find_method`, perhaps with settings
    scale : whether features get mean 0 and deviation 1 first
    store : folder where rows of images are kept and found again; None keeps none
    thumbnails : whether voters keep a small picture
    seed, n_jobs, verbose : as in the estimators
    """
    if dataset.kind == "vectors" and features is not None:
        raise DataError(f"{dataset.name} has vectors, which need no features; leave out --features.")
    features = features or descriptors.DEFAULT
    check_names(features, method)
    classifier = find_method(method).make(seed, n_jobs)
    rows, transformer, skipped = describe_training(dataset, features, store, seed, n_jobs, verbose)
    kept = dataset.take([i for i in range(len(dataset)) if i not in skipped])
    classes = kept.present_classes
    labels = kept.codes(classes)
    if hasattr(classifier, "verbose"):
        classifier.set_params(verbose=verbose)
    scaler = StandardScaler().fit(rows) if scale else None
    fitted = classifier.fit(scaler.transform(rows) if scaler else rows, labels, **groups_for(classifier, kept))
    fitted = getattr(fitted, "best_estimator_", fitted)
    if hasattr(fitted, "verbose"):
        fitted.set_params(verbose=0)
    if scaler:
        fitted = Pipeline([("scale", scaler), ("classifier", fitted)])
    facts = {"data": dataset.name, "kind": dataset.kind, "method": method, "items": len(kept), "seed": seed}
    facts |= {"features": features if transformer is not None else None, "skipped": len(skipped)}
    model = Model(transformer, fitted, classes, None, facts, marks_of(kept, n_jobs))
    return Fitted(
        with_origins(model, kept, labels, thumbnails, n_jobs, verbose),
        {dataset.names[i]: why for i, why in skipped.items()},
    )


def with_origins(
    model: Model, dataset: Dataset, labels: NDArray[Any], thumbnails: bool, n_jobs: int | None, verbose: int
) -> Model:
    """The model with the origins of its voters, the only ones that are looked at."""
    voters = model.voters
    some = dataset.take(voters)
    origins = origins_of(
        list(some.items) if dataset.kind == "images" else None,
        some.names,
        labels[voters],
        rows=voters,
        thumbnails=thumbnails,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    return replace(model, origins=origins)


def describe_training(
    dataset: Dataset, features: str, store: Path | None, seed: int, n_jobs: int | None, verbose: int
) -> tuple[NDArray[Any], Any, dict[int, str]]:
    """Rows, what made them (None for vectors), and what was wrong with items that have none."""
    if dataset.kind == "vectors":
        return as_floats(np.asarray(dataset.items)), None, {}
    with folder_for(store) as folder:
        found = describe(
            [str(item) for item in dataset.items],
            find_descriptor(features),
            folder,
            train=np.arange(len(dataset)),
            seed=seed,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        if len(found.failed) == len(dataset):
            raise DataError(f"No image could be described: {found.failed[0]}")
        return found.rows, found.transformer, found.failed


@contextmanager
def folder_for(store: Path | None) -> Iterator[Path]:
    """The folder given, or one that goes away again."""
    if store is not None:
        store.mkdir(parents=True, exist_ok=True)
        yield store
        return
    with tempfile.TemporaryDirectory(prefix="nearboost-") as folder:
        yield Path(folder)


def groups_for(classifier: Any, dataset: Dataset) -> dict[str, Any]:
    """Groups as an argument of ``fit``, where there are some and it takes them."""
    takes_them = dataset.groups is not None and "groups" in signature(classifier.fit).parameters
    return {"groups": dataset.groups} if takes_them else {}
