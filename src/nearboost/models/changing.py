"""A model with more items, or without some: from what its file holds, or fitted anew to the data."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import get_tags

from nearboost.base.disk import check_target
from nearboost.catalogue.descriptors import Descriptor
from nearboost.datasets import DataError, Dataset, open_dataset
from nearboost.models import save
from nearboost.models.fitting import Fitted, fit_parts, groups_for
from nearboost.models.items import LabelledRows, choose_part, described_rows
from nearboost.models.model import Model, load_model
from nearboost.models.origins import Origins, origins_of
from nearboost.models.pruning import with_last_step


def learned_steps(step: Any) -> list[str]:
    """What a transformer has in it that learned from the items, by class."""
    if isinstance(step, Pipeline | FeatureUnion):
        parts = step.steps if isinstance(step, Pipeline) else step.transformer_list
        return [name for _, part in parts for name in learned_steps(part)]
    if step is None or isinstance(step, str):  # "passthrough" and "drop"
        return []
    return [type(step).__name__] if get_tags(step).requires_fit else []


def check_changeable(model: Model, cure: str) -> Origins:
    """The origins of all items of a model that learned nothing from them but what its classifier did.

    Others cannot be changed exactly; ``cure`` says what to do then.
    """
    before = model.classifier[:-1] if isinstance(model.classifier, Pipeline) else None
    learned = learned_steps(model.features) + learned_steps(before)
    name = type(model.last_step).__name__
    if not hasattr(model.last_step, "forget"):
        learned.append(name)
    if learned:
        raise ValueError(f"{' and '.join(learned)} learned from all items and must be fitted anew; {cure}.")
    if len(model.voters) < model.n_training:  # a file holds the rows that vote
        raise ValueError(f"The training rows are not in the model's file, so {name} must be fitted anew; {cure}.")
    n_marks = model.n_training if model.marks is None else len(model.marks)
    if model.origins is None or not len(model.origins.rows) == n_marks == model.n_training:
        raise ValueError(f"The model does not know the names of its items and must be fitted anew; {cure}.")
    return model.origins


def forget_items(model: Model, names: Sequence[str], *, n_jobs: int | None = None, verbose: int = 0) -> Model:
    """The model without some items, equal to one fitted to the others; nothing of them stays in it."""
    known = check_changeable(model, "give the training data with --data")
    gone = find_names(names, known.names)
    classifier = changed(model.last_step, lambda fitted: fitted.forget(gone), n_jobs, verbose)
    stay = np.delete(np.arange(model.n_training), gone)
    origins = renumbered(known.take(stay), stay)
    classes = model.classes
    if origins.labels.ndim == 1:
        present = classifier.classes_
        classes = tuple(model.classes[code] for code in present)
        classifier = classifier._renamed(np.arange(len(present)))
        origins = replace(origins, labels=np.searchsorted(present, origins.labels))
    return with_last_step(
        model,
        classifier,
        classes=classes,
        origins=origins,
        facts=model.facts | {"items": len(stay)},
        marks=None if model.marks is None else np.delete(model.marks, gone),
    )


def add_items(model: Model, found: LabelledRows, *, n_jobs: int | None = None, verbose: int = 0) -> Model:
    """The model with more items, equal to one fitted to all."""
    known, dataset = check_changeable(model, "fit a model to all the data"), found.dataset
    before, classes = model.last_step, all_classes(model, known, dataset)
    if not dataset.is_multilabel:
        number = np.array([classes.index(name) for name in model.classes])
        before, known = before._renamed(number[before.classes_]), replace(known, labels=number[known.labels])
    labels, rows = dataset.codes(classes), model.before_last_step(found.rows)
    groups = groups_for(before.add, dataset)
    names = new_names(dataset.name, dataset.names, known.names)
    classifier = changed(before, lambda fitted: fitted.add(rows, labels, **groups), n_jobs, verbose)
    origins = origins_of(
        found.images,
        names,
        labels,
        rows=model.n_training + np.arange(len(labels)),
        thumbnails=known.pictures is not None,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    facts = model.facts | {
        "items": model.n_training + len(labels),
        "data": " and ".join(dict.fromkeys([str(model.facts.get("data", "rows")), dataset.name])),
        "skipped": model.facts.get("skipped", 0) + len(found.skipped),
    }
    return with_last_step(
        model,
        classifier,
        classes=classes,
        origins=known.followed_by(origins),
        facts=facts,
        marks=None if model.marks is None else np.concatenate([model.marks, found.marks(n_jobs)]),
    )


def all_classes(model: Model, known: Origins, dataset: Dataset) -> tuple[str, ...]:
    """The classes of a model and those of more data, in the order that a fit would number them by."""
    if dataset.is_multilabel != (known.labels.ndim == 2):
        kinds = ("several labels", "one label")
        had, has = kinds if dataset.is_multilabel is False else kinds[::-1]
        raise DataError(f"Items of the model have {had} each and those of {dataset.name} {has}; give {had}.")
    new = sorted(set(dataset.present_classes) - set(model.classes))
    if new and dataset.is_multilabel:
        raise DataError(f"{dataset.name} has the label {new[0]!r}, which is new; fit a model to all the data.")
    in_order = list(model.classes) == sorted(model.classes)
    return tuple(sorted([*model.classes, *new])) if in_order else (*model.classes, *new)


def changed(classifier: Any, change: Callable[[Any], Any], n_jobs: int | None, verbose: int) -> Any:
    """What a change makes of a classifier that shows its progress and uses so many threads meanwhile."""
    known = classifier.get_params(deep=False)
    settings = {"verbose": verbose} | ({} if n_jobs is None else {"n_jobs": n_jobs})
    started = copy(classifier).set_params(**{name: value for name, value in settings.items() if name in known})
    return change(started).set_params(**{name: known[name] for name in settings if name in known})


def find_names(names: Sequence[str], known: NDArray[np.str_] | Sequence[str]) -> NDArray[np.intp]:
    """Where items of these names are."""
    for name in names:
        if name not in known:
            near = get_close_matches(name, list(known), n=3) or [str(known[0])]
            alike = ", ".join(map(repr, map(str, near)))
            raise DataError(f"No item is called {name!r}; names are such as {alike}.")
    return np.flatnonzero(np.isin(known, names))


def new_names(data: str, names: Sequence[str], known: NDArray[np.str_]) -> list[str]:
    """Names of items that come to others: behind that of their data, where one is taken."""
    taken = set(known.tolist())
    if taken & set(names):
        names = [f"{data}/{name}" for name in names]
    if taken & set(names):
        raise DataError(f"The model has {sorted(taken & set(names))[0]!r} already; give items of other names.")
    return list(names)


def renumbered(origins: Origins, stay: NDArray[np.integer]) -> Origins:
    """Origins of the rows that stay, by their new numbers; no text is longer than it needs to be."""
    names, hashes = (np.array(texts.tolist(), dtype=np.str_) for texts in (origins.names, origins.hashes))
    return replace(origins, rows=np.searchsorted(stay, origins.rows), names=names, hashes=hashes)


def refit_without(
    model: Model,
    data: str,
    names: Sequence[str],
    *,
    layout: str = "auto",
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Fitted:
    """All parts of the model fitted anew to the data, except for some items."""
    dataset = choose_part(open_dataset(data, layout), "auto", "train")
    rest = dataset.take(np.delete(np.arange(len(dataset)), find_names(names, dataset.names)))
    kind = "images" if model.features is not None else "vectors"
    if rest.kind != kind:
        raise DataError(f"This model was fitted to {kind}, and {dataset.name} has {rest.kind}; give its own data.")
    learned = bool(learned_steps(model.features))
    features = clone(model.features) if learned else model.features
    descriptor = Descriptor("", "", lambda seed, n_jobs: features, "", learned=learned)
    return fit_parts(
        rest,
        descriptor,
        clone(model.classifier),
        {"method": None, "seed": 0, "features": None} | model.facts | {"data": dataset.name, "kind": kind},
        thumbnails=model.origins is not None and model.origins.pictures is not None,
        n_jobs=n_jobs,
        verbose=verbose,
    )


def forget_in_file(
    path: Path,
    names: Sequence[str],
    out: Path,
    *,
    data: str | None = None,
    layout: str = "auto",
    n_jobs: int | None = None,
    verbose: int = 0,
) -> dict[str, Any]:
    """Write a model without some items; what it was and is, and what was skipped."""
    check_target(out)
    model = load_model(path)
    skipped: dict[str, str] = {}
    if data is None:
        after = forget_items(model, names, n_jobs=n_jobs, verbose=verbose)
    else:
        after, skipped = refit_without(model, data, names, layout=layout, n_jobs=n_jobs, verbose=verbose)
    save(after, out)
    return {"model": str(out), **compare_models(model, after), "skipped": skipped}


def add_to_file(
    path: Path,
    data: str,
    out: Path,
    *,
    layout: str = "auto",
    part: str = "auto",
    n_jobs: int | None = None,
    verbose: int = 0,
) -> dict[str, Any]:
    """Write a model with more items; what it was and is, and what was skipped."""
    check_target(out)
    model = load_model(path)
    check_changeable(model, "fit a model to all the data")
    dataset = choose_part(open_dataset(data, layout, min_classes=1), part, "train")
    found = described_rows(model, dataset, thumbnails=True, n_jobs=n_jobs, verbose=verbose)
    after = add_items(model, found, n_jobs=n_jobs, verbose=verbose)
    save(after, out)
    return {"model": str(out), **compare_models(model, after), "skipped": found.skipped}


def compare_models(before: Model, after: Model) -> dict[str, Any]:
    """What a change did: both sides, and how many prototypes were gained and lost."""
    old, new = prototype_names(before), prototype_names(after)
    sides = {name: describe_model(model) for name, model in (("before", before), ("after", after))}
    return {**sides, "gained": len(new - old), "lost": len(old - new)}


def describe_model(model: Model) -> dict[str, Any]:
    return {
        "items": model.n_training,
        "classes": list(model.classes),
        "prototypes": len(prototypes_of(model)),
        "held_out_accuracy": getattr(model.last_step, "held_out_accuracy_", None),
    }


def prototypes_of(model: Model) -> NDArray[np.int64]:
    """The rows that have a weight, or all that vote."""
    return np.asarray(getattr(model.last_step, "prototypes_", model.voters))


def prototype_names(model: Model) -> set[str]:
    if model.origins is None:
        return set()
    return set(model.origins.names[np.isin(model.origins.rows, prototypes_of(model))].tolist())
