"""What linear classifiers learn from: rows, their labels and weights."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from nearboost.base.device import is_tensor
from nearboost.base.rows import RowSource, check_rows
from nearboost.problem.held_out import FEW_ROWS, deal_parts, distinct, join_equal_rows, mark_rows
from nearboost.problem.targets import Coding, Labels, find_coding, unique_values

MARKED_AT_ONCE = 2**24  # bytes of rows that are marked at once


def check_rows_and_labels(estimator: Any, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
    """X as `check_rows` gives it, y as an array of one label for each row, or a matrix of several."""
    y = y.detach().cpu().numpy() if is_tensor(y) else y
    X, y = check_rows(estimator, X, y, reset=reset, multi_output=True)
    if estimator.device is not None and issparse(X):
        raise ValueError(f"device={estimator.device!r} takes dense rows; use device=None, or X.toarray().")
    return X, y.toarray() if issparse(y) else np.asarray(y)


@dataclass(frozen=True)
class Problem:
    """Rows, their labels, weights and groups; ``ids`` are the rows that count, rising.

    Weights are counted in ``unit``, so that those of a first block have mean 1.
    """

    rows: RowSource
    labels: Labels
    weights: NDArray[Any]
    groups: NDArray[np.int32]
    ids: NDArray[np.int64]
    unit: float = 1.0

    def deal_parts(self, seed: int) -> list[NDArray[np.int64]]:
        """Rows that count, in parts that can be held out of learning, groups kept whole, and equal rows together.

        Of more than 10,000 rows equal ones are not looked for: that would read a large file once more.
        """
        groups = self.groups[self.ids]
        if len(self.ids) <= FEW_ROWS:
            groups = self._with_equal_rows(groups)
        return [self.ids[part] for part in deal_parts(self.labels.take(self.ids), groups, seed)]

    def _with_equal_rows(self, groups: NDArray[np.int32]) -> NDArray[np.int32]:
        """The groups joined where they have equal rows; as they are where no row is there twice."""
        blocks = self.rows.only(self.ids).blocks(MARKED_AT_ONCE)
        marks = np.concatenate([mark_rows(block) for _, block in blocks])
        return groups if len(distinct(marks)) == len(marks) else join_equal_rows(marks, groups)

    def only(self, ids: NDArray[np.int64]) -> "Problem":
        """The problem of some of the rows."""
        return replace(self, ids=np.sort(ids))

    def without(self, held_out: NDArray[np.int64]) -> "Problem":
        """The problem of all rows but these."""
        return replace(self, ids=np.setdiff1d(self.ids, held_out, assume_unique=True))


def mean_weight(weights: NDArray[np.float64]) -> float:
    """The mean of the weights above zero, without overflow."""
    largest = weights.max()
    return float(largest * (weights[weights > 0] / largest).mean())


def announce_coding(y: NDArray[Any], classes: ArrayLike | None) -> Coding:
    """The labels of all blocks, of which y is the first."""
    coding = find_coding(y)
    if coding.multilabel:
        return coding
    if classes is None:
        raise ValueError("The first call of partial_fit needs all classes that will come; give them as classes=.")
    names = unique_values("classes", classes)[0]
    if len(names) < 2:
        raise ValueError(f"classes={names} is one class only; a classifier needs at least two.")
    return Coding(names, multilabel=False)
