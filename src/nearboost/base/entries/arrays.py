"""Arrays and sparse matrices, with checks that let kernels trust their indices."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearboost.base.entries.kinds import (
    Coded,
    Misfit,
    ModelFileError,
    Reader,
    Sizes,
    Spec,
    Writer,
    agree,
    damaged,
    length_of,
)
from nearboost.base.validation import check_map

DTYPES = {
    "float": ("<f4", "<f8"),
    "float32": ("<f4",),
    "float64": ("<f8",),
    "int8": ("|i1",),
    "int32": ("<i4",),
    "int64": ("<i8",),
    "index": ("<i4", "<i8"),
    "uint8": ("|u1",),
    "uint32": ("<u4",),
    "uint64": ("<u8",),
    "bool": ("|b1",),
}


MOST_TEXTS = 1_000_000  # as objects, which take twenty times the memory


@dataclass(frozen=True)
class Array(Spec):
    """An array of numbers.

    Parameters
    ----------
    dtype : a key of `DTYPES`
    shape : lengths, each a number or a name; None for any
    low, high, below, above : bounds of the values; ``below`` may be the name of a length
    finite : whether NaN and infinity are refused
    rising : whether the values must rise strictly along the first axis
    every : whether each number below ``below`` must occur
    by_rows : whether rows must lie one after the other in memory, as kernels want them
    least : least length of the first axis
    """

    dtype: str
    shape: tuple[int | str | None, ...]
    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: str | None = None
    finite: bool = True
    rising: bool = False
    every: bool = False
    by_rows: bool = False
    least: int = 0

    def check(self, value: Any, sizes: Sizes) -> None:
        if type(value) is not np.ndarray or value.dtype.newbyteorder("<").str not in DTYPES[self.dtype]:
            raise Misfit(f"must be an array of {self.dtype} numbers")
        if not value.dtype.isnative:
            raise Misfit("must have the byte order of this machine")
        if self.by_rows and not value.flags.c_contiguous:
            raise Misfit("must be stored row by row")
        if value.ndim != len(self.shape):
            raise Misfit(f"must have {len(self.shape)} dimensions")
        if self.least and len(value) < self.least:
            raise Misfit(f"must have a length of {self.least} at least")
        for expected, length in zip(self.shape, value.shape, strict=True):
            if expected is not None:
                agree(expected, length, sizes)
        self._check_values(value, sizes)

    def _check_values(self, value: NDArray[Any], sizes: Sizes) -> None:
        check_map(value)
        if self.finite and value.dtype.kind == "f" and not np.isfinite(value).all():
            raise Misfit("must hold finite numbers only")
        if self.every and len(np.unique(value)) != max(1, length_of(self.below or 0, sizes)):
            raise Misfit(f"must hold each number below {self.below}")
        known = value if self.finite else value[~np.isnan(value)]
        if not known.size:
            return
        least, most = known.min(), known.max()
        too_low = (self.low is not None and least < self.low) or (self.above is not None and least <= self.above)
        too_high = self.high is not None and most > self.high
        if too_low or too_high or (self.below is not None and most >= length_of(self.below, sizes)):
            raise Misfit("holds numbers out of range")
        if self.rising and not (value[1:] > value[:-1]).all():
            raise Misfit("must rise")

    def encode(self, value: Any, where: str, writer: Writer) -> Coded:
        return writer.array(np.asarray(value))

    def decode(self, coded: Coded, where: str, reader: Reader) -> Any:
        return reader.array(coded)


@dataclass(frozen=True)
class Labels(Spec):
    """Class labels as users gave them: numbers or texts, distinct and sorted."""

    length: str = "n_classes"
    distinct: bool = True

    def check(self, value: Any, sizes: Sizes) -> None:
        if type(value) is not np.ndarray or value.ndim != 1:
            raise Misfit("must be a list of labels")
        texts = value.dtype == object and all(type(one) is str for one in value)
        if not texts and value.dtype.kind not in "biufU":
            raise Misfit("must be numbers or texts")
        if value.dtype.kind == "f" and not (np.isfinite(value) & (value == np.floor(value))).all():
            raise Misfit("must hold labels that are whole numbers")  # no fit takes others
        if not value.dtype.isnative:
            raise Misfit("must have the byte order of this machine")
        if self.distinct and len(value) > 1 and not (value[1:] > value[:-1]).all():
            raise Misfit("must hold distinct labels in order")
        if self.distinct and not len(value):
            raise Misfit("must hold labels")
        agree(self.length, len(value), sizes)

    def encode(self, value: Any, where: str, writer: Writer) -> Coded:
        value = np.asarray(value)
        if value.dtype != object:
            return writer.array(value)
        if value.size > MOST_TEXTS:
            raise ModelFileError(f"{where} holds more than {MOST_TEXTS:,} texts; use numbers or fewer.")
        if not all(type(one) is str for one in value):
            raise ModelFileError(f"{where} holds labels that are neither numbers nor texts; use one of these.")
        return {"texts": writer.array(value.astype(str))}

    def decode(self, coded: Coded, where: str, reader: Reader) -> Any:
        if isinstance(coded, Mapping) and list(coded) == ["texts"]:
            return as_objects(reader.array(coded["texts"]))
        return reader.array(coded)


@dataclass(frozen=True)
class Texts(Spec):
    """An array of texts, such as names of files."""

    length: str

    def check(self, value: Any, sizes: Sizes) -> None:
        if type(value) is not np.ndarray or value.ndim != 1 or value.dtype.kind != "U" or not value.dtype.isnative:
            raise Misfit("must be a list of texts")
        agree(self.length, len(value), sizes)

    def encode(self, value: Any, where: str, writer: Writer) -> Coded:
        return writer.array(np.asarray(value))

    def decode(self, coded: Coded, where: str, reader: Reader) -> Any:
        return reader.array(coded)


@dataclass(frozen=True)
class Csr(Spec):
    """A sparse matrix by rows, with the checks that let kernels trust its indices.

    ``values`` says what its numbers may be; columns rise within each row unless ``sorted`` is False.
    """

    shape: tuple[int | str, int | str]
    dtype: str = "float64"
    low: float | None = None
    high: float | None = None
    sorted: bool = True

    def check(self, value: Any, sizes: Sizes) -> None:
        if type(value) is not sparse.csr_array:
            raise Misfit("must be a sparse matrix")
        rows, columns = value.shape
        agree(self.shape[0], rows, sizes)
        agree(self.shape[1], columns, sizes)
        check_pointers(value.indptr, value.indices, rows, columns)
        Array(self.dtype, (len(value.indices),), low=self.low, high=self.high).check(value.data, {})
        if self.sorted and not rises_within_rows(value.indptr, value.indices):
            raise Misfit("must list its columns in order, each once a row")

    def encode(self, value: Any, where: str, writer: Writer) -> Coded:
        parts = [writer.array(part) for part in (value.data, value.indices, value.indptr)]
        return {"csr": [list(map(int, value.shape)), *parts]}

    def decode(self, coded: Coded, where: str, reader: Reader) -> Any:
        if not isinstance(coded, Mapping) or list(coded) != ["csr"] or len(coded["csr"]) != 4:
            raise ModelFileError(damaged(where, "must be a sparse matrix"))
        shape, *parts = coded["csr"]
        data, indices, indptr = (reader.array(part) for part in parts)
        if not (isinstance(shape, list) and len(shape) == 2 and all(type(n) is int and n >= 0 for n in shape)):
            raise ModelFileError(damaged(where, "must have two lengths"))
        try:
            check_pointers(indptr, indices, *shape)  # before SciPy sees them
        except Misfit as error:
            raise ModelFileError(damaged(where, str(error))) from None
        if data.shape != indices.shape:
            raise ModelFileError(damaged(where, "must have a number for each index"))
        return sparse.csr_array((data, indices, indptr), shape=tuple(shape))


def as_objects(texts: NDArray[Any]) -> NDArray[Any]:
    """Texts of a file as objects of their own, if they are not too many."""
    if texts.size > MOST_TEXTS:
        raise ModelFileError(f"holds more than {MOST_TEXTS:,} texts in one entry.")
    return texts.astype(object)


def check_pointers(indptr: Any, indices: Any, rows: int, columns: int) -> None:
    """Row pointers rise from 0 to the number of indices, and indices stay below the columns."""
    for one in (indptr, indices):
        Array("index", (None,)).check(one, {})
    falling = indptr[1:] < indptr[:-1]  # a difference of neighbours could wrap around
    if len(indptr) != rows + 1 or indptr[0] != 0 or indptr[-1] != len(indices) or falling.any():
        raise Misfit("must have row pointers that rise from 0 to the number of its entries")
    if len(indices) and (indices.min() < 0 or indices.max() >= columns):
        raise Misfit("must have indices below its number of columns")


def rises_within_rows(indptr: NDArray[Any], indices: NDArray[Any]) -> bool:
    """Whether the columns of each row rise strictly."""
    rising = np.diff(indices) > 0
    first = np.asarray(indptr[1:-1])
    first = first[(first > 0) & (first < len(indices))]
    rising[first - 1] = True  # between two rows anything goes
    return bool(rising.all())
