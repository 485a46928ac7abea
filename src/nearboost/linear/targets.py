"""Labels as kernels read them: for each row, the columns whose code is +1."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from nearboost.base.validation import plain


@dataclass(frozen=True)
class Targets:
    """Codes of all rows. Two classes are mirror images and make one column, in which the second is +1.

    Parameters
    ----------
    starts : where the columns of each row begin in ``members``, and the end
    members : columns whose code is +1, rising within a row; the others are −1
    n_columns : number of columns
    multilabel : whether a row may have several labels, or none
    """

    starts: NDArray[np.int64]
    members: NDArray[np.int32]
    n_columns: int
    multilabel: bool

    @property
    def n_rows(self) -> int:
        return len(self.starts) - 1

    @property
    def indicator(self) -> csr_array:
        """1 where the code is +1."""
        ones = np.ones(len(self.members), dtype=np.int8)
        return csr_array((ones, self.members, self.starts), shape=(self.n_rows, self.n_columns))

    def classes(self, rows: NDArray[np.integer]) -> NDArray[np.integer]:
        """The class of each row, its first label where it may have several, −1 where it has none."""
        count = self.starts[rows + 1] - self.starts[rows]
        if self.n_columns == 1 and not self.multilabel:
            return count
        padded = np.append(self.members, -1)  # rows without a label at the end would look beyond
        return np.where(count > 0, padded[self.starts[rows]], -1)

    def signs(self, rows: NDArray[np.integer]) -> NDArray[np.float64]:
        """Codes ±1 as a matrix."""
        return np.where(self.indicator[rows].toarray() > 0, 1.0, -1.0)

    def accuracy(self, scores: NDArray[Any], rows: NDArray[np.integer], weights: NDArray[np.floating]) -> float:
        """The share of rows, by weight, that get their class; of labels, where a row may have several."""
        if self.multilabel:
            right = ((scores > 0) == (self.signs(rows) > 0)).mean(axis=1)
        elif self.n_columns == 1:
            right = (scores[:, 0] > 0) == (self.classes(rows) > 0)
        else:
            right = scores.argmax(axis=1) == self.classes(rows)
        return float(np.average(right, weights=weights))


def targets_from_classes(encoded: NDArray[np.integer], n_classes: int) -> Targets:
    """Targets of rows with one label each, from class numbers 0 … C−1."""
    if n_classes == 2:
        starts = np.concatenate([[0], np.cumsum(encoded == 1)])
        return Targets(starts, np.zeros(starts[-1], dtype=np.int32), 1, multilabel=False)
    return Targets(np.arange(len(encoded) + 1), encoded.astype(np.int32), n_classes, multilabel=False)


def targets_from_indicator(indicator: NDArray[Any]) -> Targets:
    """Targets of rows with several labels each, from a 0/1 matrix."""
    if not np.all((indicator == 0) | (indicator == 1)):
        raise ValueError("A label matrix must hold 0 and 1 only: 1 where the row has the label.")
    rows, columns = np.nonzero(indicator)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(indicator)))])
    return Targets(starts, columns.astype(np.int32), indicator.shape[1], multilabel=True)


@dataclass(frozen=True)
class Coding:
    """Which labels there are: classes of which a row has one, or columns of a 0/1 matrix."""

    classes: NDArray[Any]
    multilabel: bool

    @property
    def n_columns(self) -> int:
        """Columns of the codes."""
        return 1 if len(self.classes) == 2 and not self.multilabel else len(self.classes)

    def encode(self, y: NDArray[Any]) -> Targets:
        """Codes of labels, all of which must be known."""
        check_classification_targets(y)
        if self.multilabel:
            if y.ndim != 2 or y.shape[1] != len(self.classes):
                raise ValueError(
                    f"y has shape {y.shape}; it must have one column for each of {len(self.classes)} labels."
                )
            return targets_from_indicator(y)
        y = column_or_1d(y, warn=True)
        unknown = np.setdiff1d(y, self.classes)
        if len(unknown):
            raise ValueError(
                f"y holds {plain(unknown[0])}, which is not among the classes given to the first partial_fit; "
                "list all classes there."
            )
        return targets_from_classes(np.searchsorted(self.classes, y), len(self.classes))


def coding_of(y: NDArray[Any]) -> Coding:
    """The labels that occur in y."""
    check_classification_targets(y)
    if type_of_target(y) == "multilabel-indicator":
        return Coding(np.arange(y.shape[1]), multilabel=True)
    if y.ndim == 2 and y.shape[1] > 1:
        raise ValueError("y has several columns that are not 0/1; fit one classifier per column.")
    return Coding(np.unique(column_or_1d(y, warn=True)), multilabel=False)


def announced(y: NDArray[Any], classes: ArrayLike | None) -> Coding:
    """The labels of all blocks, of which y is the first."""
    coding = coding_of(y)
    if coding.multilabel:
        return coding
    if classes is None:
        raise ValueError("The first call of partial_fit needs all classes that will come; give them as classes=.")
    names = names_and_numbers("classes", classes)[0]
    if len(names) < 2:
        raise ValueError(f"classes={names} is one class only; a classifier needs at least two.")
    return Coding(names, multilabel=False)


def names_and_numbers(what: str, values: ArrayLike) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The different values, rising, and for each the number of its own."""
    try:
        names, numbers = np.unique(np.asarray(values), return_inverse=True)
    except TypeError:
        raise ValueError(f"{what} cannot be sorted; give numbers or texts, all of one kind.") from None
    return names, numbers
