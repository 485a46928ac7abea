"""How good and how sure decisions are, from training rows that are decided by those of other groups."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearboost.base.entries import Number
from nearboost.problem.calibration import Calibration, doubt_of, fit_calibration, keep_leader, warn_uncalibrated
from nearboost.problem.held_out import LARGE, MOST_HELD_OUT, distinct, have_others, join_equal_rows, number_folds
from nearboost.problem.targets import labels_from_classes

Scores = NDArray[np.float64]
MOST_FOLDS = 40
UNKNOWN_TEMPERATURE = 1 / 6  # where no class has two groups to tell; others have .06 to .4
ENTRIES = {
    "held_out_temperature": Number(above=0),
    "held_out_share": Number(low=0, high=1),
    "held_out_accuracy": Number(low=0, high=1, finite=False),
}


class HeldOut(NamedTuple):
    """How evidence becomes probabilities, and the accuracy, NaN where no class has two groups."""

    calibration: Calibration
    accuracy: float

    def probabilities(self, evidence: Scores, scores: Scores) -> Scores:
        """Of rows whose evidence stands in the order of their scores, up to rounding."""
        if scores.shape[1] == 1:
            return np.ones_like(scores)
        self.known_accuracy()
        return keep_leader(self.calibration.probabilities(evidence), scores)

    def known_accuracy(self) -> float:
        """The accuracy, with a warning where it is unknown."""
        if np.isnan(self.accuracy):
            warn_uncalibrated()
        return self.accuracy

    def entries(self) -> dict[str, float]:
        """What a model file keeps."""
        numbers = (self.calibration.temperature, self.calibration.uniform_share, self.accuracy)
        return dict(zip(ENTRIES, numbers, strict=True))

    @classmethod
    def of_entries(cls, state: Mapping[str, Any]) -> "HeldOut":
        """What a model file has kept; older ones mixed nothing in."""
        calibration = Calibration(state["held_out_temperature"], state.get("held_out_share", 0.0))
        return cls(calibration, state.get("held_out_accuracy", np.nan))


UNKNOWN = HeldOut(Calibration(UNKNOWN_TEMPERATURE, doubt_of(0)), np.nan)


class HeldOutOnce:
    """What probabilities need to know, found when it is first asked for: `fit` only keeps samples."""

    def __init__(self, find: Callable[[], HeldOut]) -> None:
        self._find = find

    @cached_property
    def found(self) -> HeldOut:
        return self._find()


def cross_fit(
    marks: NDArray[np.uint64],
    classes: NDArray[np.int64],
    groups: NDArray[np.int32],
    evidence_by_others: Callable[[NDArray[np.int64], NDArray[np.int32]], Scores],
    most: int | None = None,
) -> HeldOut:
    """Of rows, each decided by those of other folds; of more than 3,000 or ``most``, of one fold.

    What others do not know the class of tells nothing, as it can only be wrong.

    ``evidence_by_others`` is given the numbers of some rows, in whole folds, and the fold of every row.
    """
    fold_of_row, held = deal(marks, classes, groups, LARGE if most is None else most)
    known, truth = have_others(classes, fold_of_row)[held], classes[held]
    if not known.any() or classes.max() == 0:
        return UNKNOWN
    evidence = evidence_by_others(held, fold_of_row)
    calibration = fit_calibration(evidence[known], truth[known])
    return HeldOut(calibration, float((evidence.argmax(axis=1) == truth)[known].mean()))


def deal(
    marks: NDArray[np.uint64], classes: NDArray[np.int64], groups: NDArray[np.int32], most: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The fold of every row, and which rows are held out, in an order that depends on their contents alone.

    Equal rows and groups stay whole. There are as many folds as classes have groups, so that each leaves a row or
    so out of every class: if its own alone had one row less, a row would be decided against its class.
    """
    order = np.lexsort((classes, marks))
    joined = join_equal_rows(marks[order], groups[order])
    labels, n_groups = labels_from_classes(classes[order], int(classes.max()) + 1), len(distinct(joined))
    few, many = len(classes) <= most, -(-len(classes) // min(most, MOST_HELD_OUT))
    n_folds = min(n_groups // labels.n_classes, MOST_FOLDS) if few else many
    dealt = number_folds(labels, joined, max(n_folds, 2), np.random.default_rng(0).random)
    if not have_others(classes[order], dealt).any():  # groups of several classes
        dealt = joined.astype(np.int64)
    fold_of_row = np.empty(len(classes), dtype=np.int32)
    fold_of_row[order] = dealt
    return fold_of_row, order if few else order[dealt == dealt[0]]
