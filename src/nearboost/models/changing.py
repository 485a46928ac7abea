"""A model with more items or without some, equal to one fitted to these; what its file holds is enough for it."""

from collections import Counter
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from nearboost.base.words import counted
from nearboost.datasets import DataError, Dataset, open_dataset
from nearboost.datasets.dataset import join_names
from nearboost.models import save
from nearboost.models.archive import check_model_target
from nearboost.models.fitting import BY_GROUP, groups_for, notes_on
from nearboost.models.items import (
    LabelledRows,
    check_kind,
    choose_part,
    described_rows,
    find_names,
    hashed,
    item_marks,
    known_marks,
)
from nearboost.models.model import Model, load_model
from nearboost.models.novelty import Novelty, learn_novelty
from nearboost.models.origins import Origins, origins_of
from nearboost.models.pruning import with_last_step
from nearboost.models.refitting import learned_steps, refit_without, tuner_of, weighing
from nearboost.models.sources import sources_left, sources_of, with_sources

RELABEL = "to correct a label, forget the item first"


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
        depend = "depends" if len(learned) == 1 else "depend"
        raise ValueError(f"{' and '.join(learned)} {depend} on all items and must be refitted; {cure}.")
    n_items = len(model.voters)
    if n_items < model.n_training:  # a file holds the rows that vote
        raise ValueError(f"The training rows are not in the model's file, so {name} must be refitted; {cure}.")
    n_marks = n_items if model.marks is None else len(model.marks)
    numbered = model.origins is not None and np.array_equal(model.origins.rows, np.arange(n_items))
    if model.origins is None or not numbered or not n_marks == n_items == model.n_training:
        raise ValueError(f"The model does not know the names of its items and must be refitted; {cure}.")
    if tuner_of(model, model.last_step) is not None and model.facts.get("folds") == BY_GROUP:
        raise ValueError(f"The settings of {name} were chosen by groups, which are not in the file; {cure}.")
    return model.origins


def forget_items(model: Model, names: Sequence[str], *, n_jobs: int | None = None, verbose: int = 0) -> Model:
    """The model without some items, equal to one fitted to the others; nothing of them stays in it."""
    known = check_changeable(model, "give the training data with --data")
    gone = find_names(names, known.names)
    stay = np.delete(np.arange(model.n_training), gone)
    origins = renumbered(known.take(stay), stay)
    several = origins.labels.ndim == 2
    present = np.arange(len(model.classes)) if several else np.unique(origins.labels)
    before = weighing(model.last_step, {code: code for code in present.tolist()})
    classifier = changed(model, before, lambda fitted: fitted.forget(gone), n_jobs, verbose)
    if len(present) < 2 and not several:  # of which `fit` would make no model
        raise DataError(f"Only items of {model.classes[present[0]]!r} would be left; forget fewer.")
    if not several:
        classifier = classifier._renamed(np.arange(len(present)))
        origins = replace(origins, labels=np.searchsorted(present, origins.labels))
    return with_last_step(
        model,
        classifier,
        classes=tuple(model.classes[code] for code in present),
        origins=origins,
        facts=with_sources(model.facts, sources_left(model, stay)),
        marks=None if model.marks is None else np.delete(model.marks, gone),
        novelty=novelty_of(model, classifier),
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
    classifier = changed(model, before, lambda fitted: fitted.add(rows, labels, **groups), n_jobs, verbose)
    origins = origins_of(
        found.images,
        names,
        labels,
        rows=model.n_training + np.arange(len(labels)),
        thumbnails=known.pictures is not None,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    sources = [*sources_of(model), [dataset.name, len(labels)]]
    return with_last_step(
        model,
        classifier,
        classes=classes,
        origins=known.followed_by(origins),
        facts=with_sources(model.facts, sources) | {"skipped": model.facts.get("skipped", 0) + len(found.skipped)},
        marks=None if model.marks is None else np.concatenate([model.marks, found.marks(n_jobs)]),
        novelty=novelty_of(model, classifier),
    )


def novelty_of(before: Model, classifier: Any) -> Novelty | None:
    """Learned again from the rows of a changed classifier; None where it has not all that a fit would have."""
    given = classifier._given()
    scaled = getattr(classifier, "normalize", False)  # rows are kept as they are after that
    if scaled or (before.novelty is not None and before.novelty.by_group and given.groups is None):
        return None
    return learn_novelty(given.X, given.groups)


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


def changed(model: Model, classifier: Any, change: Callable[[Any], Any], n_jobs: int | None, verbose: int) -> Any:
    """What a change makes of a model's classifier; settings that were chosen by folds are chosen again."""
    tuner = tuner_of(model, classifier, n_jobs)
    if tuner is not None:
        smallest = {name: values[0] for name, values in tuner.grid.items()}  # suit any number of rows
        given = change(copy(classifier).set_params(**smallest))._given()
        return tuner.fit(given.X, given.y).best_estimator_
    known = classifier.get_params(deep=False)
    settings = {"verbose": verbose} | ({} if n_jobs is None else {"n_jobs": n_jobs})
    started = copy(classifier).set_params(**{name: value for name, value in settings.items() if name in known})
    return change(started).set_params(**{name: known[name] for name in settings if name in known})


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
    """Write a model without some items; what it was and is, what looks the same and stays, what was skipped."""
    check_model_target(out)
    model = load_model(path)
    skipped: dict[str, str] = {}
    if data is None:
        after = forget_items(model, names, n_jobs=n_jobs, verbose=verbose)
        rest: Sequence[str] = [] if after.origins is None else after.origins.names.tolist()
    else:
        after, found = refit_without(model, data, names, layout=layout, n_jobs=n_jobs, verbose=verbose)
        rest, skipped = found.dataset.names, found.left_out
    save(after, out)
    twins = same_as_gone(model, after, rest)
    notes = [] if notes_on(model) else notes_on(after)
    if twins:
        notes.append(f"{join_names(twins)} stayed, though byte for byte the same as what was forgotten.")
    return {"model": str(out), **compare_models(model, after), "twins": twins, "notes": notes, "skipped": skipped}


def same_as_gone(before: Model, after: Model, names: Sequence[str]) -> list[str]:
    """Which of the items that stay, by their names, have the content of one that is gone."""
    if before.marks is None or after.marks is None:
        return []
    gone = Counter(before.marks.tolist()) - Counter(after.marks.tolist())
    return [name for name, mark in zip(names, after.marks.tolist(), strict=True) if mark in gone]


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
    check_model_target(out)
    model = load_model(path)
    check_changeable(model, "fit a model to all the data")
    dataset = choose_part(open_dataset(data, layout, min_classes=1), part, "train")
    check_kind(model, dataset.kind, dataset.name)
    new = without_known(model, hashed(dataset, n_jobs, verbose), n_jobs)
    found = described_rows(model, new, thumbnails=True, n_jobs=n_jobs, verbose=verbose)
    after = add_items(model, found, n_jobs=n_jobs, verbose=verbose)
    save(after, out)
    notes = [*dataset.notes, *notes_on(after)]
    if len(new) < len(dataset):
        known = f"{len(dataset) - len(new):,} of {counted(len(dataset), 'item')} of {dataset.name}"
        notes.append(f"{known} were in the model already and were left out; {RELABEL}.")
    return {"model": str(out), **compare_models(model, after), "notes": notes, "skipped": found.skipped}


def without_known(model: Model, dataset: Dataset, n_jobs: int | None) -> Dataset:
    """The items of the data whose content the model does not have."""
    known = np.isin(item_marks(dataset, n_jobs), known_marks(model))
    if known.all():
        raise DataError(f"All items of {dataset.name} are in the model already; {RELABEL}.")
    return dataset.take(~known)


def compare_models(before: Model, after: Model) -> dict[str, Any]:
    """What a change did: both sides, and how many prototypes were gained and lost, where there are any."""
    sides = {name: describe_model(model) for name, model in (("before", before), ("after", after))}
    if sides["after"]["prototypes"] is None:
        return sides
    old, new = prototype_names(before), prototype_names(after)
    return {**sides, "gained": len(new - old), "lost": len(old - new)}


def describe_model(model: Model) -> dict[str, Any]:
    prototypes = getattr(model.last_step, "prototypes_", None)
    return {
        "items": model.n_training,
        "classes": list(model.classes),
        "prototypes": None if prototypes is None else len(prototypes),
        "held_out_accuracy": model.held_out_accuracy,
    }


def prototype_names(model: Model) -> set[str]:
    if model.origins is None:
        return set()
    return set(model.origins.names[np.isin(model.origins.rows, model.last_step.prototypes_)].tolist())
