"""What a fit was given, so that it can be repeated without some samples or with more."""

from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, column_or_1d

from nearboost.base.entries import Misfit
from nearboost.base.mapping import check_map
from nearboost.problem.targets import (
    Coding,
    ExampleWeights,
    TrainingSet,
    Weights,
    as_weights,
    check_some_count,
    check_two_classes,
    check_weights,
    number_groups,
    weigh_classes,
)

Estimator = TypeVar("Estimator")


@dataclass(frozen=True)
class GivenRows:
    """Labels and weights of all samples; rows and groups of those alone that count, which are ``kept``.

    Without ``weight`` all count alike; without ``groups`` each sample is a group of its own.
    """

    X: NDArray[np.floating]
    y: NDArray[Any]
    weight: Weights | None
    groups: NDArray[Any] | None

    @classmethod
    def of(
        cls, X: NDArray[np.floating], y: NDArray[Any], sample_weight: ArrayLike | None, groups: ArrayLike | None
    ) -> Self:
        """What users give, checked; ``X`` and ``y`` are arrays already."""
        y = column_or_1d(y, warn=True) if y.ndim == 2 and y.shape[1] == 1 else y
        weight = None if sample_weight is None else as_weights(sample_weight, len(X))
        names = None if groups is None else np.asarray(groups)
        if names is not None and names.shape != (len(X),):
            raise ValueError(
                f"groups has shape {names.shape} but there are {len(X)} samples; give one per sample."
            )
        if weight is None or weight.all():
            return cls(X, y, weight, names)
        return cls(X[weight > 0], y, weight, None if names is None else names[weight > 0])

    @property
    def kept(self) -> NDArray[np.int64]:
        """The samples that count."""
        return np.arange(len(self.y)) if self.weight is None else np.flatnonzero(self.weight > 0)

    def without(self, rows: ArrayLike) -> tuple["GivenRows", NDArray[np.int64]]:
        """All but some samples, and which of the present rows stay."""
        check_map(self.X)
        stays = np.ones(len(self.y), dtype=bool)
        stays[check_rows(rows, len(self.y))] = False
        if not stays.any():
            raise ValueError("Nothing would be left to learn from; forget fewer rows.")
        of_rows = np.flatnonzero(stays[self.kept])
        weight = None if self.weight is None else self.weight[stays]
        groups = None if self.groups is None else self.groups[of_rows]
        return GivenRows(self.X[of_rows], self.y[stays], weight, groups), of_rows

    def followed_by(self, more: "GivenRows") -> "GivenRows":
        """These samples and others after them."""
        check_map(self.X)
        if (self.groups is None) != (more.groups is None):
            raise ValueError(
                "The model was fitted with groups; give the group of each new sample."
                if more.groups is None
                else "The model was fitted without groups, each sample being one of its own; leave groups out."
            )
        if self.y.ndim == 2 and more.y.shape[1:] != self.y.shape[1:]:
            raise ValueError(
                f"y has shape {more.y.shape}; it must have one column for each of {self.y.shape[1]} labels."
            )
        weight = None
        if self.weight is not None or more.weight is not None:
            weights = [np.ones(len(one.y)) if one.weight is None else one.weight for one in (self, more)]
            weight = np.concatenate(weights)
        groups = None
        if self.groups is not None and more.groups is not None:
            groups = unlike_refused("groups", self.groups, more.groups)
        y = unlike_refused("y", self.y, more.y if self.y.ndim == 2 else column_or_1d(more.y))
        return GivenRows(np.concatenate([self.X, more.X]), y, weight, groups)


def pose_problem(given: GivenRows, coding: Coding, class_weight: Any) -> TrainingSet:
    """The samples that count, with their labels, weights and groups."""
    kept, sample = given.kept, check_weights(given.weight, len(given.y))
    labels, y = coding.encode(given.y), given.y
    if len(kept) < len(y):
        labels, y, sample = labels.take(kept), y[kept], sample[kept]
    present = coding.classes if coding.multilabel else np.unique(y)
    by_class = weigh_classes(class_weight, y, present, coding.multilabel)
    check_some_count(sample * by_class)
    if not coding.multilabel:
        check_two_classes(labels.classes())
    sample = sample / sample.max()
    sample = sample / sample.mean()  # only ratios count: the oracle's tie window is absolute
    groups = number_groups(given.groups, len(kept))
    return TrainingSet(given.X, labels, ExampleWeights(sample, by_class, np.zeros(len(kept))), groups)


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
