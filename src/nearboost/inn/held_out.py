"""How good and how sure decisions by residuals are, from rows that are coded by the samples of other groups."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from nearboost.base.progress import silent
from nearboost.codes.dictionary import Dictionary, residuals
from nearboost.problem.calibration import fit_temperature, keep_leader
from nearboost.problem.held_out import LARGE, MOST_HELD_OUT, join_equal_rows, mark_rows, number_folds
from nearboost.problem.targets import labels_from_classes

LEAST = 1e-12  # of a row's largest residual: a class that explains the row exactly is sure to be its own
UNKNOWN_TEMPERATURE = 1 / 6  # where no class has two groups to tell; others have .06 to .4


class HeldOut(NamedTuple):
    """The temperature with the least log-loss, and the accuracy, NaN where no class has two groups."""

    temperature: float
    accuracy: float

    def probabilities(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Proportional to a power of each class's residual; the smallest one's is the largest."""
        if distances.shape[1] == 1:
            return np.ones_like(distances)
        return keep_leader(softmax(closeness(distances) / self.temperature, axis=1), -distances)


def cross_fit(dictionary: Dictionary, classes: NDArray[np.int64], groups: NDArray[np.int32]) -> HeldOut:
    """Of samples that stand class by class, each coded by unequal ones of other groups; a thousand of many."""
    marks = mark_rows(dictionary.samples)
    order = np.argsort(marks, kind="stable")  # in which rows are drawn and summed up, whatever theirs is
    joined = join_equal_rows(marks[order], groups[order])
    groups = np.empty_like(joined)
    groups[order] = joined
    held = order[hold_out_some(classes[order], joined)]
    rows, truth = dictionary.samples[held], classes[held]
    codes = dictionary.codes(rows, groups[held], groups, silent)
    distances = residuals(dictionary.samples, rows, codes, dictionary.n_parts)
    empty = np.diff(codes.indptr).reshape(distances.shape) == 0
    known = ~empty[np.arange(len(held)), truth]
    if dictionary.n_parts < 2 or not known.any():
        return HeldOut(UNKNOWN_TEMPERATURE, np.nan)
    farthest = np.where(empty, 0.0, distances).max(axis=1, keepdims=True)
    distances = np.where(empty, farthest, distances)
    scores = closeness(distances[known])
    temperature = fit_temperature(scores, truth[known], np.ones(len(scores)))
    return HeldOut(temperature, float((distances.argmin(axis=1) == truth).mean()))


def hold_out_some(classes: NDArray[np.int64], groups: NDArray[np.int32]) -> NDArray[np.int64]:
    """All rows, or of many one fold of at most a thousand."""
    if len(classes) <= LARGE:
        return np.arange(len(classes))
    labels, n_parts = labels_from_classes(classes, int(classes.max()) + 1), -(-len(classes) // MOST_HELD_OUT)
    fold_of_row = number_folds(labels, groups, n_parts, np.random.default_rng(0).random)
    return np.flatnonzero(fold_of_row == 0)


def closeness(distances: NDArray[np.float64]) -> NDArray[Any]:
    """−log of each residual, in units of the row's largest."""
    distances = np.minimum(distances, np.finfo(np.float64).max)
    largest = distances.max(axis=1, keepdims=True)
    shares = np.divide(distances, largest, out=np.ones_like(distances), where=largest > 0)
    return -np.log(np.maximum(shares, LEAST))
