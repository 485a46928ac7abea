"""From a data set, names of features and of a method to a model that can be kept in a file."""

from collections.abc import Callable
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from nearboost.base.errors import UsageError
from nearboost.catalogue.descriptors import DEFAULT, Descriptor, describe, find_descriptor
from nearboost.catalogue.methods import default_method, find_method
from nearboost.datasets import DataError, Dataset
from nearboost.models import Model, ModelFileError, origins_of
from nearboost.models.files import check_can_be_saved
from nearboost.models.items import LabelledRows, described_part
from nearboost.models.model import as_floats
from nearboost.models.novelty import learn_novelty

BY_GROUP = "by group"  # items of a group stayed together


class Fitted(NamedTuple):
    """A model, and what was wrong with the items that were left out, by name."""

    model: Model
    skipped: dict[str, str]


def check_names(features: str | None, method: str | None) -> None:
    """Report wrong names and settings, and methods that a file cannot hold, before any work."""
    if features is not None:
        find_descriptor(features)
    if method is None:
        return
    classifier = find_method(method, to_save=True).make()
    inner = getattr(classifier, "estimator", None)  # of a grid search
    try:
        check_can_be_saved(inner if hasattr(inner, "fit") else classifier, f"method {method}")
    except ModelFileError as error:
        raise UsageError(str(error)) from None


def fit_model(
    dataset: Dataset,
    *,
    features: str | None = None,
    method: str | None = None,
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
    features : a name of `find_descriptor`, for images; None means `DEFAULT`
    method : a name of `find_method`, perhaps with settings; None means `default_method`
    scale : whether features get mean 0 and deviation 1 first
    store : folder where rows of images are kept and found again; None keeps none
    thumbnails : whether voters keep a small picture
    seed, n_jobs, verbose : as in the estimators
    """
    if dataset.kind == "vectors" and features is not None:
        raise DataError(f"{dataset.name} has vectors, which need no features; leave out --features.")
    features = features or DEFAULT
    method = method or default_method(multilabel=dataset.is_multilabel)
    check_names(features, method)
    classifier = find_method(method).make(seed, n_jobs)
    if scale:
        classifier = Pipeline([("scale", StandardScaler()), ("classifier", classifier)])
    facts = {"data": dataset.name, "kind": dataset.kind, "method": method, "seed": seed}
    facts["features"] = features if dataset.kind == "images" else None
    if dataset.columns is not None:
        facts["columns"] = list(dataset.columns)
    return fit_parts(
        dataset,
        find_descriptor(features),
        classifier,
        facts,
        store=store,
        thumbnails=thumbnails,
        n_jobs=n_jobs,
        verbose=verbose,
    )


def fit_parts(
    dataset: Dataset,
    descriptor: Descriptor,
    classifier: Any,
    facts: dict[str, Any],
    *,
    store: Path | None = None,
    thumbnails: bool = True,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Fitted:
    """Fit what describes images, what scales rows, if a pipeline does, and the classifier, one after the other.

    ``facts`` are those that are known before; the number of items is added.
    """
    found, transformer = describe_training(
        dataset, descriptor, store, thumbnails=thumbnails, seed=facts["seed"], n_jobs=n_jobs, verbose=verbose
    )
    rows, kept = found.rows, found.dataset
    classes = kept.present_classes
    labels = kept.codes(classes)
    *before, (name, last) = classifier.steps if isinstance(classifier, Pipeline) else [("classifier", classifier)]
    for _, step in before:
        rows = step.fit(rows).transform(rows)
    if hasattr(last, "verbose"):
        last.set_params(verbose=verbose)
    groups = groups_for(last.fit, kept)
    fitted = last.fit(rows, labels, **groups)
    fitted = getattr(fitted, "best_estimator_", fitted)
    if hasattr(fitted, "verbose"):
        fitted.set_params(verbose=0)
    if before:
        fitted = Pipeline([*before, (name, fitted)])
    novelty = learn_novelty(rows, kept.groups)
    facts = facts | {"items": len(kept), "skipped": len(found.skipped), "folds": BY_GROUP if groups else None}
    model = Model(transformer, fitted, classes, None, facts, found.marks(n_jobs), novelty=novelty)
    return Fitted(with_origins(model, found, labels, thumbnails, n_jobs, verbose), found.skipped)


def with_origins(
    model: Model, found: LabelledRows, labels: NDArray[Any], thumbnails: bool, n_jobs: int | None, verbose: int
) -> Model:
    """The model with the origins of its voters."""
    voters = model.voters
    origins = origins_of(
        None if found.images is None else found.images.take(voters),
        [found.dataset.names[i] for i in voters],
        labels[voters],
        rows=voters,
        thumbnails=thumbnails,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    return replace(model, origins=origins)


def describe_training(
    dataset: Dataset,
    descriptor: Descriptor,
    store: Path | None,
    *,
    thumbnails: bool,
    seed: int,
    n_jobs: int | None,
    verbose: int,
) -> tuple[LabelledRows, Any]:
    """The items with their rows, and what made the rows; None for vectors."""
    if dataset.kind == "vectors":
        return LabelledRows(as_floats(np.asarray(dataset.items)), dataset, None, {}), None
    images = dataset.images(thumbnails=thumbnails, keep_pixels=descriptor.learned)
    every = range(len(dataset))
    found = describe(images, descriptor, store, train=every, seed=seed, n_jobs=n_jobs, verbose=verbose)
    return described_part(dataset, images, found.X, found.places, found.failed), found.transformer


def notes_on(model: Model) -> list[str]:
    """What a reader should know of a model that was just fitted."""
    if getattr(model.last_step, "n_rounds_", None) != 0:
        return []
    return ["the plain vote of neighbours answers held-out items best, so no weights were learned."]


def held_out_words(model: Model) -> str:
    """The held-out accuracy, with its standard error where that is known; nothing where there is none."""
    if model.held_out_accuracy is None:
        return ""
    error = getattr(model.last_step, "held_out_error_", None)
    margin = "" if error is None else f" ± {100 * error:.1f}"
    return f", held-out accuracy {model.held_out_accuracy:.1%}{margin}"


def groups_for(fit: Callable[..., Any], dataset: Dataset) -> dict[str, Any]:
    """Groups as an argument, where there are some and it is taken."""
    takes_them = dataset.groups is not None and "groups" in signature(fit).parameters
    return {"groups": dataset.groups} if takes_them else {}
