"""The items that a model was fitted to, found again in data by their content."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearboost.base.words import counted
from nearboost.datasets import DataError, Dataset
from nearboost.models.items import check_kind, find_names, hashed, item_marks
from nearboost.models.model import Model


class TrainingItems(NamedTuple):
    """Training items of a model in its order and by its names; and what was left out of the data, by name."""

    dataset: Dataset
    left_out: dict[str, str]


def training_items(
    model: Model, dataset: Dataset, gone: Sequence[str] = (), *, n_jobs: int | None = None, verbose: int = 0
) -> TrainingItems:
    """The items of a model, all but those of the names ``gone``: data that lacks others is refused.

    They are looked for in the train part first, where the data is divided, and then in all of it.
    """
    check_kind(model, dataset.kind, dataset.name)
    if model.marks is None or len(model.marks) != model.n_training:
        raise DataError("The model's file does not say which items it was fitted to; fit a model to the data.")
    names = _known_names(model)
    needed, contents = ~np.isin(names, gone), dataset.contents
    for part in _parts(dataset):
        part = hashed(replace(part, contents=contents), n_jobs, verbose)
        contents = part.contents
        places = _places(model.marks, names, item_marks(part, n_jobs), part)
        missing = (places < 0) & needed
        if not missing.any():
            break
    else:
        such = [f", such as {names[row]!r}" for row in np.flatnonzero(missing) if names[row]][:1]
        raise DataError(
            f"{missing.sum():,} of the {counted(len(names), 'item')} of the model {_is(missing.sum())} not in "
            f"{dataset.name}{''.join(such)}; give all the data that it was fitted to, or fit a model to this."
        )
    called = [name or part.names[place] for name, place in zip(names, places.tolist(), strict=True)]
    for name in set(gone) & set(names):
        if called.count(name) > names.count(name):  # rows are called by their place in the file
            raise DataError(
                f"{name!r} is one item of the model and another one of {dataset.name}; give the data as it was."
            )
    stay = np.delete(np.arange(len(called)), find_names(gone, called))
    if not len(stay):
        raise DataError("Nothing would be left to learn from; forget fewer items.")
    others = np.setdiff1d(np.arange(len(part)), places)
    return TrainingItems(
        replace(part.take(places[stay]), names=[called[i] for i in stay]),
        {part.names[i]: "it is not in the model." for i in others},
    )


def _known_names(model: Model) -> list[str]:
    """The names of all training rows, "" where the file does not hold them."""
    names = [""] * model.n_training
    if model.origins is not None:
        for row, name in zip(model.origins.rows.tolist(), model.origins.names.tolist(), strict=True):
            if row < len(names):
                names[row] = name
    return names


def _parts(dataset: Dataset) -> list[Dataset]:
    return [dataset] if dataset.part is None else [dataset.take(dataset.part == "train"), dataset]


def _places(
    marks: NDArray[np.uint64], names: Sequence[str], found: NDArray[np.uint64], dataset: Dataset
) -> NDArray[np.int64]:
    """Where in the data each item of a model is, or -1; of items with the same content, the one of its name."""
    waiting: dict[int, list[int]] = {}
    for place, mark in enumerate(found.tolist()):
        waiting.setdefault(mark, []).append(place)
    places, rows = np.full(len(marks), -1, dtype=np.int64), list(enumerate(marks.tolist()))
    for row, mark in rows:
        named = [place for place in waiting.get(mark, ()) if dataset.names[place] == names[row]]
        if named:
            places[row] = named[0]
            waiting[mark].remove(named[0])
    others = [(row, mark) for row, mark in rows if places[row] < 0 and waiting.get(mark)]
    for row, mark in others:
        if waiting[mark]:
            places[row] = waiting[mark].pop(0)
    for row, mark in others:
        if waiting[mark]:  # the model may have been made to forget it
            raise DataError(
                f"{dataset.names[places[row]]!r} and {dataset.names[waiting[mark][0]]!r} are the same, and the "
                "model's file does not say which of them it was fitted to; take the other one out of the data."
            )
    return places


def _is(n: int) -> str:
    return "is" if n == 1 else "are"
