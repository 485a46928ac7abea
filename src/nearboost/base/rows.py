"""Rows of an array, a memory-mapped file or a sparse matrix, read in blocks.

Who reads this way never holds a mapped file in memory as a whole, and takes float16 rows as they are: what is read
comes as float32, which holds them exactly.
"""

import sys
from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix, issparse

from nearboost.base.device import Tensor, import_torch, is_tensor, place_tensor, to_device
from nearboost.base.maps import BYTES_AT_ONCE, in_memory, read_map
from nearboost.base.validation import (
    check_labels,
    check_map,
    first_not_finite,
    follow_one_another,
    is_mapped,
    validate_rows,
)

Block = Any  # dense or CSR rows


class RowSource:
    """Rows of an array in memory.

    Attributes
    ----------
    X : the array, of any type
    stored : the type they have
    dtype : that of what is read: float16 comes as float32, other types that are neither float32 nor float64 as
        float64
    """

    def __init__(self, X: Any) -> None:
        self.X = X
        self.n_rows, self.n_features = X.shape
        self.stored = X.dtype
        self.dtype = read_type(X.dtype)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of features."""
        return self.n_rows, self.n_features

    def __len__(self) -> int:
        return self.n_rows

    def in_any_order(self) -> Any:
        """The rows as an array or a map, of which any can be taken."""
        return self.X

    @property
    def lie_in_memory(self) -> bool:
        """Whether rows lie in memory as they are read."""
        return bool(self.stored == self.dtype)

    def take(self, rows: NDArray[np.integer]) -> Block:
        """Some rows, given in rising order; without a copy where they follow one another and need none."""
        check_map(self.X)
        block = self.X[rows[0] : rows[-1] + 1] if follow_one_another(rows) else self.X[rows]
        return block.astype(self.dtype, copy=False)

    def part(self, rows: slice) -> Block:
        """Some rows that follow one another.

        Parameters
        ----------
        rows : slice
            The first of them, and the one after the last.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            The rows.
        """
        if self.lie_in_memory:
            return self.X[rows]
        return self.take(np.arange(rows.start, rows.stop))

    def on(self, device: Any, rows: NDArray[np.integer]) -> Tensor:
        """Some rows on a device of PyTorch.

        Parameters
        ----------
        device : torch.device
            Where to.
        rows : ndarray of int
            The rows, in rising order.

        Returns
        -------
        Tensor
            The rows.
        """
        return to_device(self.take(rows), device)

    def as_stored(self) -> "RowSource":
        """The same rows, of which float16 ones are read as such.

        Returns
        -------
        RowSource
            The rows.
        """
        as_stored = copy(self)
        if self.stored == np.float16:
            as_stored.dtype = self.stored
        return as_stored

    def only(self, numbers: NDArray[np.integer]) -> "RowSource":
        """Some rows alone; none is read yet.

        Parameters
        ----------
        numbers : ndarray of int
            The rows, each once.

        Returns
        -------
        RowSource
            These rows, numbered anew.
        """
        return SomeRows(self, numbers)

    def projected(self, coordinates: Any, numbers: NDArray[np.integer]) -> Block | None:
        """Coordinates of some rows, where others than this process make them.

        Parameters
        ----------
        coordinates : Coordinates
            The map, of `nearboost.linear`.
        numbers : ndarray of int
            The rows, in rising order.

        Returns
        -------
        ndarray or None
            None: whoever wants them makes them.
        """
        return None

    def fitting(self, room: float) -> int:
        """How many rows there is room for.

        Parameters
        ----------
        room : float
            Bytes.

        Returns
        -------
        int
            A number of rows, one at least.
        """
        return max(1, int(min(room / (self.dtype.itemsize * max(1, self.n_features)), sys.maxsize)))

    def blocks(self, room: float, most: int | None = None) -> Iterator[tuple[int, Block]]:
        """All rows in order, as many at a time as there is room for (or ``most``), and the number of the first."""
        step = self.fitting(room) if most is None else max(1, min(most, self.fitting(room)))
        for start in range(0, self.n_rows, step):
            yield start, self.part(slice(start, min(start + step, self.n_rows)))


class SomeRows(RowSource):
    """Some rows of a source, numbered anew."""

    lie_in_memory = False

    def __init__(self, source: RowSource, numbers: NDArray[np.integer]) -> None:
        self.source, self.numbers = source, numbers
        self.n_rows, self.n_features = len(numbers), source.n_features
        self.stored, self.dtype = source.stored, source.dtype

    def take(self, rows: NDArray[np.integer]) -> Block:
        """See `RowSource`."""
        numbers = self.numbers[rows]
        if (np.diff(numbers) > 0).all():
            return self.source.take(numbers)
        order = np.argsort(numbers)
        return self.source.take(numbers[order])[np.argsort(order)]

    def as_stored(self) -> RowSource:
        """See `RowSource`."""
        return SomeRows(self.source.as_stored(), self.numbers)


class TensorSource(RowSource):
    """Rows of a tensor, which stay on its device unless they are taken."""

    lie_in_memory = False

    def __init__(self, X: Tensor) -> None:
        self.X = X
        self.n_rows, self.n_features = X.shape
        self.stored = np.dtype(str(X.dtype).removeprefix("torch."))
        self.dtype = read_type(self.stored)

    def take(self, rows: NDArray[np.integer]) -> Block:
        """A copy of some rows on the CPU."""
        return self.on(self.X.device, rows).cpu().numpy()

    def on(self, device: Any, rows: NDArray[np.integer]) -> Tensor:
        """Some rows where they are; without a copy where they follow one another and need none."""
        if follow_one_another(rows):
            block = self.X[int(rows[0]) : int(rows[-1]) + 1]
        else:
            block = self.X[to_device(rows, device)]
        return block.to(getattr(import_torch(), self.dtype.name))


class MappedRowSource(RowSource):
    """Rows of a memory-mapped file. What is read is copied, and no page of the map stays in memory.

    Values are looked at as they are read, because a search for NaN beforehand would read the whole file once more.
    """

    lie_in_memory = False

    def take(self, rows: NDArray[np.integer]) -> Block:
        """A copy of some rows, given in rising order."""
        block = np.empty((len(rows), self.n_features), dtype=self.dtype)
        read_map(self.X, rows, block)
        self._check_finite(block, rows)
        return block

    def _check_finite(self, block: Block, rows: NDArray[np.integer]) -> None:
        place = first_not_finite(block)
        if place is not None:
            cure = overflown(self.X, block[place]) or "remove or fill such rows"
            raise ValueError(f"Row {rows[place]} of the mapped file contains NaN or infinity; {cure}.")


def check_matrix(X: Any) -> None:
    """Refuse what is no matrix of rows."""
    if X.ndim != 2:
        raise ValueError(
            f"Rows must form a matrix, not an array of {X.ndim} dimensions; use X.reshape(n_rows, -1)."
        )


def check_tensor_rows(X: Tensor) -> Tensor:
    """A tensor, which must be a matrix of finite numbers."""
    check_matrix(X)
    step = max(1, BYTES_AT_ONCE // max(1, X.shape[1]))
    for start in range(0, len(X), step):
        finite = X[start : start + step].isfinite().all(1)
        if not finite.all():
            row = start + int(finite.int().argmin())
            refuse_row(row, X[row].cpu().numpy())
    return X


def refuse_row(number: int, row: NDArray[Any]) -> None:
    """Say what is wrong with a row that is not finite, as it was given."""
    cure = overflown(row, row) or "drop it or fill in numbers"
    raise ValueError(f"Row {number} holds NaN or infinity; {cure}.")


def overflown(X: NDArray[Any], row: NDArray[Any]) -> str:
    """What to do about infinity in a row of X, if it comes from half precision."""
    if X.dtype != np.float16 or not np.isinf(row).any():
        return ""
    return "half values overflow beyond 65,504, so divide rows before they become float16"


def read_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type that rows are read as."""
    if dtype in (np.float32, np.float64):
        return np.dtype(dtype)
    return np.dtype(np.float32 if dtype == np.float16 else np.float64)


def row_source(X: Any) -> RowSource:
    """The way to read rows of a validated X."""
    if isinstance(X, RowSource):
        return X
    if is_tensor(X):
        return TensorSource(X)
    return MappedRowSource(X) if is_mapped(X) else RowSource(X)


def check_rows(
    estimator: Any, X: Any, *y: Any, reset: bool, accept_sparse: str | bool = "csr", **checks: Any
) -> Any:
    """X as `row_source` takes it: numbers, dense or CSR; a mapped file stays where it is, float16 stays float16.

    With ``y``, a pair of both. Opened files to learn from are taken as maps, because learning takes rows in any
    order; to answer, they are read in their own.
    """
    if isinstance(X, RowSource) and reset:
        X = X.in_any_order()
    y = tuple(in_memory(labels) if is_mapped(labels) else labels for labels in y)
    X = place_tensor(X, getattr(estimator, "device", None))
    if is_tensor(X):
        check_tensor_rows(X)
    if isinstance(X, RowSource) or is_readable_map(X) or is_tensor(X):
        return _check_mapped(estimator, X, *y, reset=reset, **checks)
    types = [np.float64, np.float32] + [np.float16] * (not issparse(X))
    checked = validate_rows(estimator, X, *y, accept_sparse=accept_sparse, dtype=types, reset=reset, **checks)
    return (plain_sparse(checked[0]), checked[1]) if y else plain_sparse(checked)


def _check_mapped(estimator: Any, X: Any, *y: Any, reset: bool, **checks: Any) -> Any:
    from sklearn.utils.validation import check_X_y, validate_data  # takes most of a second

    check_map(X)
    validate_data(estimator, X, skip_check_array=True, reset=reset)
    least = checks.pop("ensure_min_samples", 1)
    if X.shape[0] < least:
        raise ValueError(
            f"Found array with {X.shape[0]} sample(s) (shape={X.shape}) while a minimum of {least} is required; "
            "give more rows."
        )
    if not y:
        return X
    check_labels(*y)
    of_labels = {name: value for name, value in checks.items() if name not in ("keep", "order")}
    return X, check_X_y(np.zeros((len(X), 1), dtype=np.int8), *y, **of_labels)[1]


def is_readable_map(X: Any) -> bool:
    """Whether X is a mapped file of rows of numbers."""
    return is_mapped(X) and X.ndim == 2 and X.dtype.kind in "fiub" and X.shape[1] > 0


def plain_sparse(X: Any) -> Any:
    """Sparse matrices as arrays, whose @ is the matrix product."""
    return csr_array(X) if isinstance(X, csr_matrix) else X
