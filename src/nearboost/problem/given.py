"""What a fit was given, without some samples or with more, so that it can be repeated."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, column_or_1d

from nearboost.base.entries import Misfit
from nearboost.base.rows import row_source
from nearboost.problem.targets import GivenRows, Weights

Estimator = TypeVar("Estimator")


def without(given: GivenRows, rows: ArrayLike) -> tuple[GivenRows, NDArray[np.int64]]:
    """All but some samples, and which of the present rows stay."""
    stays = np.ones(len(given.y), dtype=bool)
    stays[check_rows(rows, len(given.y))] = False
    if not stays.any():
        raise ValueError("Nothing would be left to learn from; forget fewer rows.")
    of_rows = np.flatnonzero(stays[given.kept])
    weight = None if given.weight is None else given.weight[stays]
    groups = None if given.groups is None else given.groups[of_rows]
    return GivenRows(row_source(given.X).take(of_rows), given.y[stays], weight, groups), of_rows


def followed_by(given: GivenRows, more: GivenRows) -> GivenRows:
    """These samples and others after them."""
    if (given.groups is None) != (more.groups is None):
        raise ValueError(
            "The model was fitted with groups; give the group of each new sample."
            if more.groups is None
            else "The model was fitted without groups, each sample being one of its own; leave groups out."
        )
    if given.y.ndim == 2 and more.y.shape[1:] != given.y.shape[1:]:
        raise ValueError(
            f"y has shape {more.y.shape}; it must have one column for each of {given.y.shape[1]} labels."
        )
    weight = None
    if given.weight is not None or more.weight is not None:
        weights = [np.ones(len(one.y)) if one.weight is None else one.weight for one in (given, more)]
        weight = np.concatenate(weights)
    groups = None
    if given.groups is not None and more.groups is not None:
        groups = unlike_refused("groups", given.groups, more.groups)
    y = unlike_refused("y", given.y, more.y if given.y.ndim == 2 else column_or_1d(more.y))
    before = row_source(given.X).take(np.arange(len(given.X)))
    return GivenRows(np.concatenate([before, more.X]), y, weight, groups)


def check_kept(weight: Weights | None, kept: NDArray[np.int64]) -> None:
    """Refuse a model file whose rows are not those of a positive weight."""
    counting = np.arange(len(kept)) if weight is None else np.flatnonzero(weight > 0)
    if not np.array_equal(counting, kept):
        raise Misfit("must hold the rows that have a weight")


def check_rows(rows: ArrayLike, n_rows: int) -> NDArray[np.int64]:
    """Numbers of training rows."""
    numbers = np.atleast_1d(np.asarray(rows))
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise ValueError("rows must be a list of numbers of training rows, such as [3, 17].")
    outside = numbers[(numbers < 0) | (numbers >= n_rows)]
    if len(outside):
        raise ValueError(f"There is no training row {outside[0]}; they are numbered from 0 to {n_rows - 1}.")
    return numbers.astype(np.int64)


def unlike_refused(name: str, before: NDArray[Any], more: NDArray[Any]) -> NDArray[Any]:
    """Values after others of their kind: numbers would become texts beside texts."""
    are_numbers = [values.dtype.kind in "biuf" for values in (before, more)]
    if are_numbers[0] != are_numbers[1]:
        kinds = [("texts", "numbers")[one] for one in are_numbers]
        raise ValueError(f"{name} are {kinds[0]} in the model and {kinds[1]} here; give {kinds[0]}.")
    return np.concatenate([before, more])


def anew(estimator: Estimator, **parameters: Any) -> Estimator:
    """An estimator for rows of the same features that learned nothing yet, with other ``parameters`` if given."""
    check_is_fitted(estimator)
    fresh: Any = clone(estimator).set_params(**parameters)
    fresh.check_parameters()
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(estimator, name):
            setattr(fresh, name, getattr(estimator, name))
    return fresh
