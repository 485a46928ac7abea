"""What linear classifiers learn from: rows of an array, a memory-mapped file or a sparse matrix, in blocks."""

import mmap
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, csr_matrix, issparse
from sklearn.utils.validation import check_X_y, validate_data

from nearboost.base.validation import check_map, validate_rows
from nearboost.problem.held_out import deal_parts
from nearboost.problem.targets import Coding, Labels, find_coding, unique_values

Block = Any  # dense or CSR rows


class RowSource:
    """Rows of an array in memory."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self.n_rows, self.n_features = X.shape
        self.dtype = np.dtype(X.dtype)

    def take(self, rows: NDArray[np.integer]) -> Block:
        """Some rows, given in rising order; without a copy where they follow one another."""
        check_map(self.X)
        if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
            return self.X[rows[0] : rows[-1] + 1]
        return self.X[rows]


class MappedRowSource(RowSource):
    """Rows of a memory-mapped file. What is read is copied, and its pages are given back at once.

    Mapped pages count as the process's own memory until then. Values are looked at as they are read, because a
    search for NaN beforehand would read the whole file once more.
    """

    def __init__(self, X: np.memmap) -> None:
        super().__init__(X)
        if X.dtype not in (np.float32, np.float64):
            self.dtype = np.dtype(np.float64)  # as rows in memory are taken
        # A private map ("c") keeps its changes in those pages: it must not lose them.
        self._releases = X.mode in ("r", "r+") and hasattr(mmap, "MADV_DONTNEED") and X.flags.c_contiguous
        self._row_bytes = X.itemsize * X.shape[1]
        self._offset = (
            X.ctypes.data - np.frombuffer(self.X._mmap, dtype=np.uint8).ctypes.data if self._releases else 0
        )

    def take(self, rows: NDArray[np.integer]) -> Block:
        block = np.array(super().take(rows), dtype=self.dtype, order="C")
        if self._releases and len(rows):
            start = (self._offset + int(rows[0]) * self._row_bytes) // mmap.PAGESIZE * mmap.PAGESIZE
            end = self._offset + int(rows[-1] + 1) * self._row_bytes
            self.X._mmap.madvise(mmap.MADV_DONTNEED, start, end - start)
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(block.sum(dtype=np.float64))
        if not finite and not np.isfinite(block).all():
            bad = rows[np.flatnonzero(~np.isfinite(block).all(axis=1))[0]]
            raise ValueError(f"Row {bad} of the mapped file contains NaN or infinity; remove or fill such rows.")
        return block


def open_rows(X: Any) -> RowSource:
    """The way to read rows of a validated X."""
    return MappedRowSource(X) if isinstance(X, np.memmap) else RowSource(X)


def check_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as it may be read in blocks: floats, dense or CSR; a memory-mapped file stays where it is."""
    if _is_mapped(X):
        check_map(X)
        validate_data(estimator, X, skip_check_array=True, reset=reset)
        if not X.shape[0]:
            raise ValueError(f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required.")
        return X
    return _plain(validate_rows(estimator, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset))


def check_rows_and_labels(estimator: Any, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
    """X as `check_rows` gives it, y as an array of one label for each row, or a matrix of several."""
    if _is_mapped(X):
        X = check_rows(estimator, X, reset=reset)
        _, y = check_X_y(np.zeros((len(X), 1), dtype=np.int8), y, multi_output=True)
    else:
        X, y = validate_rows(
            estimator,
            X,
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            multi_output=True,
            reset=reset,
        )
    return _plain(X), y.toarray() if issparse(y) else np.asarray(y)


def _is_mapped(X: Any) -> bool:
    return isinstance(X, np.memmap) and X.ndim == 2 and X.dtype.kind in "fiub" and X.shape[1] > 0


def _plain(X: Any) -> Any:
    """Sparse matrices as arrays, whose @ is the matrix product."""
    return csr_array(X) if isinstance(X, csr_matrix) else X


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
        """Rows that count, in parts that can be held out of learning, groups kept whole."""
        return [self.ids[part] for part in deal_parts(self.labels.take(self.ids), self.groups[self.ids], seed)]

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
