"""Labels as class problems: who is on the class's side, who on the rest's."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array


@dataclass(frozen=True)
class Labels:
    """One-versus-rest codes of all examples, as the sparse matrix of the +1 entries.

    ``members`` has one column per class problem; two classes are mirror images, so they make one
    column, in which the second class is +1. ``n_classes`` counts classes, not columns.
    """

    members: csr_array
    n_classes: int
    multilabel: bool

    @property
    def n_rows(self) -> int:
        """Number of examples."""
        return int(self.members.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of class problems."""
        return int(self.members.shape[1])

    @cached_property
    def by_column(self) -> Any:
        """The same matrix by columns."""
        return self.members.tocsc()

    @cached_property
    def positives_per_row(self) -> NDArray[np.int64]:
        """How many of the row's class codes are +1, n_i in the start weights of N3."""
        if not self.multilabel:
            return np.ones(self.n_rows, dtype=np.int64)
        return np.diff(self.members.indptr)

    def members_of(self, column: int) -> NDArray[np.int32]:
        """Rows on the class's side."""
        by_column = self.by_column
        return np.asarray(by_column.indices[by_column.indptr[column] : by_column.indptr[column + 1]])

    def codes(self, column: int) -> NDArray[np.int8]:
        """±1 of every row."""
        codes = np.full(self.n_rows, -1, dtype=np.int8)
        codes[self.members_of(column)] = 1
        return codes

    def classes(self) -> NDArray[np.int64]:
        """Class number of each row of a single-label problem."""
        if self.n_columns == 1:
            return (self.codes(0) > 0).astype(np.int64)
        return self.members.indices.astype(np.int64)

    def shares(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """The prior: the share of the weight on each column's side."""
        return np.asarray(self.members.T @ weight) / weight.sum()

    def take(self, rows: NDArray[np.integer] | slice) -> "Labels":
        """The labels of some rows."""
        return Labels(self.members[rows], self.n_classes, self.multilabel)


def labels_from_classes(encoded: NDArray[np.integer], n_classes: int) -> Labels:
    """Labels of a single-label problem from class numbers 0 … C−1."""
    n_rows = len(encoded)
    if n_classes == 2:
        members = csr_array((encoded == 1).astype(np.int8)[:, None])
    else:
        ones = np.ones(n_rows, dtype=np.int8)
        members = csr_array(
            (ones, encoded.astype(np.int32), np.arange(n_rows + 1, dtype=np.int32)), shape=(n_rows, n_classes)
        )
    return Labels(members, n_classes, multilabel=False)


def labels_from_indicator(indicator: NDArray[Any]) -> Labels:
    """Labels of a multilabel problem from a 0/1 matrix, one column per label."""
    members = csr_array(indicator)
    if not np.all((members.data == 0) | (members.data == 1)):
        raise ValueError("A label matrix must hold 0 and 1 only: 1 where the row has the label.")
    members = csr_array(members.astype(np.int8))
    members.eliminate_zeros()
    members.sort_indices()
    return Labels(members, indicator.shape[1], multilabel=True)
