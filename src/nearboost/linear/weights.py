"""What rows count: their own weights times those of their classes."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight

from nearboost.base.validation import check_choice, check_weights
from nearboost.linear.targets import Coding, Targets

Array = NDArray[np.float64]


def weigh_rows(
    sample_weight: ArrayLike | None, class_weight: Any, y: NDArray[Any], coding: Coding, targets: Targets
) -> Array:
    """One weight for each row, not all of them zero."""
    weights = check_weights(sample_weight, len(y))
    if class_weight is not None:
        weights = weights * weigh_classes(class_weight, y, coding, targets)
    if not np.any(weights > 0):
        raise ValueError("sample_weight and class_weight leave no sample that counts; give some a weight above 0.")
    return weights


def weigh_classes(class_weight: Any, y: NDArray[Any], coding: Coding, targets: Targets) -> Array:
    """For each row what its class counts; classes of the coding need not occur, and are 1 unless named."""
    if isinstance(class_weight, str):
        check_choice("class_weight", class_weight, ("balanced", None))
    elif not isinstance(class_weight, dict):
        raise ValueError(f'class_weight={class_weight!r} must be a dict of numbers, "balanced" or None.')
    if coding.multilabel:
        if class_weight != "balanced":
            raise ValueError('With a matrix of labels class_weight must be "balanced" or None; use sample_weight.')
        return np.asarray(compute_sample_weight(class_weight, y), dtype=np.float64)
    of_class = compute_class_weight(class_weight, classes=coding.classes, y=y.ravel())
    if not np.all(np.isfinite(of_class)) or np.any(of_class < 0):
        raise ValueError("class_weight must hold finite numbers of at least 0.")
    return of_class[targets.classes(np.arange(len(y)))]


def mean_weight(weights: Array) -> float:
    """Of those that count, without overflow."""
    largest = weights.max()
    return float(largest * (weights[weights > 0] / largest).mean())
