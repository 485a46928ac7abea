"""The kinds of entries that a model file may hold: numbers, words, arrays, matrices, parts.

Each kind checks what it is given. Lengths have names, and entries of one object that share a name must agree:
``Array("float", ("n_rows", "n_features"))`` beside ``Array("int64", ("n_rows",), low=0, below="n_classes")``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Sizes = dict[str, int]  # lengths by name, as the entries of one object have them
Coded = Any  # what JSON knows
NOT_FINITE = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
MOST_LISTED = 100_000
LARGEST = 2**63 - 1
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


class ModelFileError(ValueError):
    """What cannot be saved, or a file that cannot be loaded; the message is one sentence."""


class Misfit(ValueError):
    """A value that is not what its schema says; the message follows the entry's name."""


class Writer(Protocol):
    """Takes arrays and objects while a file is written, and gives what JSON says of them."""

    def array(self, array: NDArray[Any]) -> Coded: ...

    def object(self, value: Any, where: str, fitted: bool = True) -> Coded: ...


class Reader(Protocol):
    """Gives what JSON points at, each array and object once."""

    def array(self, coded: Coded) -> NDArray[Any]: ...

    def object(self, coded: Coded, where: str, kinds: tuple[str, ...], fitted: bool = True) -> Any: ...


class Spec:
    """One kind of entry. The default takes what JSON can say as it is."""

    def check(self, value: Any, sizes: Sizes) -> None:
        """Raise `Misfit` unless the value may stand here; lengths are compared with, or added to, ``sizes``."""
        raise NotImplementedError

    def encode(self, value: Any, where: str, writer: Writer) -> Coded:
        """The value for JSON."""
        return value

    def decode(self, coded: Coded, where: str, reader: Reader) -> Any:
        """The value that JSON stands for, not checked yet."""
        return coded


@dataclass(frozen=True)
class Integer(Spec):
    """A whole number from ``low`` to ``high``; either may be the name of a length, ``below`` excludes it."""

    low: int | str = 0
    high: int | str = LARGEST
    below: str | None = None

    def check(self, value: Any, sizes: Sizes) -> None:
        low, high = length_of(self.low, sizes), length_of(self.high, sizes)
        high = high if self.below is None else min(high, length_of(self.below, sizes) - 1)
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or not low <= value <= high:
            raise Misfit(f"must be a whole number from {low} to {high}")

    def encode(self, value: Any, where: str, writer: Writer) -> Coded:
        return int(value) if isinstance(value, np.integer) else value


@dataclass(frozen=True)
class Size(Integer):
    """A whole number that is itself a length with a name, such as ``n_features_in_``."""

    name: str = ""

    def check(self, value: Any, sizes: Sizes) -> None:
        super().check(value, sizes)
        agree(self.name, value, sizes)


@dataclass(frozen=True)
class Number(Spec):
    """A float between ``low`` and ``high``; not finite only where ``finite`` is False."""

    low: float = -np.inf
    high: float = np.inf
    above: float = -np.inf
    finite: bool = True

    def check(self, value: Any, sizes: Sizes) -> None:
        if not isinstance(value, float | np.floating) or (self.finite and not isfinite(value)):
            raise Misfit("must be a finite number" if self.finite else "must be a number")
        if isfinite(value) and not (self.low <= value <= self.high and value > self.above):
            raise Misfit("is a number out of range")

    def encode(self, value: Any, where: str, writer: Writer) -> Coded:
        value = float(value) if isinstance(value, np.floating) else value
        return value if isfinite(value) else {"float": str(value)}

    def decode(self, coded: Coded, where: str, reader: Reader) -> Any:
        if isinstance(coded, Mapping) and list(coded) == ["float"]:
            return NOT_FINITE.get(coded["float"])
        return coded


@dataclass(frozen=True)
class Flag(Spec):
    """True or False."""

    def check(self, value: Any, sizes: Sizes) -> None:
        if not isinstance(value, bool | np.bool_):
            raise Misfit("must be true or false")

    def encode(self, value: Any, where: str, writer: Writer) -> Coded:
        return bool(value) if isinstance(value, np.bool_) else value


class Choice(Spec):
    """One of some words (or None)."""

    def __init__(self, *words: str | None) -> None:
        self.words = words

    def check(self, value: Any, sizes: Sizes) -> None:
        if not (value is None or type(value) is str) or value not in self.words:
            raise Misfit(f"must be one of {', '.join(map(repr, self.words))}")


@dataclass(frozen=True)
class Text(Spec):
    """A text of bounded length, all of which fits a ``pattern`` where one is given."""

    longest: int = 100_000
    pattern: str = ""

    def check(self, value: Any, sizes: Sizes) -> None:
        if type(value) is not str or len(value) > self.longest:
            raise Misfit(f"must be a text of at most {self.longest:,} characters")
        if self.pattern and not re.fullmatch(self.pattern, value):
            raise Misfit("must be a text of another form")


@dataclass(frozen=True)
class Nullable(Spec):
    """None, or what another kind allows."""

    spec: Spec

    def check(self, value: Any, sizes: Sizes) -> None:
        if value is not None:
            self.spec.check(value, sizes)

    def encode(self, value: Any, where: str, writer: Writer) -> Coded:
        return None if value is None else self.spec.encode(value, where, writer)

    def decode(self, coded: Coded, where: str, reader: Reader) -> Any:
        return None if coded is None else self.spec.decode(coded, where, reader)


@dataclass(frozen=True)
class ListOf(Spec):
    """A list (or tuple) whose entries are all of one kind; ``length`` may be the name of a length."""

    spec: Spec
    length: str | int | None = None
    as_tuple: bool = False

    def check(self, value: Any, sizes: Sizes) -> None:
        if type(value) is not (tuple if self.as_tuple else list) or len(value) > MOST_LISTED:
            raise Misfit(f"must be a list of at most {MOST_LISTED:,} entries")
        if self.length is not None:
            agree(self.length, len(value), sizes)
        for one in value:
            self.spec.check(one, sizes)

    def encode(self, value: Any, where: str, writer: Writer) -> Coded:
        return [self.spec.encode(one, f"{where}[{i}]", writer) for i, one in enumerate(value)]

    def decode(self, coded: Coded, where: str, reader: Reader) -> Any:
        if not isinstance(coded, list) or len(coded) > MOST_LISTED:
            raise ModelFileError(damaged(where, "must be a list"))
        decoded = [self.spec.decode(one, f"{where}[{i}]", reader) for i, one in enumerate(coded)]
        return tuple(decoded) if self.as_tuple else decoded


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
        if self.finite and value.dtype.kind == "f" and not np.isfinite(value).all():
            raise Misfit("must hold finite numbers only")
        if self.every and len(np.unique(value)) != max(1, length_of(self.below or 0, sizes)):
            raise Misfit(f"must hold each number below {self.below}")
        if not value.size:
            return
        least, most = (np.nanmin(value), np.nanmax(value)) if not self.finite else (value.min(), value.max())
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
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            raise Misfit("must hold finite labels")
        if not value.dtype.isnative:
            raise Misfit("must have the byte order of this machine")
        if self.distinct and len(value) > 1 and not (value[1:] > value[:-1]).all():
            raise Misfit("must hold distinct labels in order")
        agree(self.length, len(value), sizes)

    def encode(self, value: Any, where: str, writer: Writer) -> Coded:
        value = np.asarray(value)
        if value.dtype != object:
            return writer.array(value)
        if not all(type(one) is str for one in value):
            raise ModelFileError(f"{where} holds labels that are neither numbers nor texts; use one of these.")
        return {"texts": writer.array(value.astype(str))}

    def decode(self, coded: Coded, where: str, reader: Reader) -> Any:
        if isinstance(coded, Mapping) and list(coded) == ["texts"]:
            return reader.array(coded["texts"]).astype(object)
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


class Either(Spec):
    """One of several kinds: numbers or words first, arrays after them."""

    def __init__(self, *specs: Spec) -> None:
        self.specs = specs

    def check(self, value: Any, sizes: Sizes) -> None:
        said = []
        for spec in self.specs:
            try:
                return spec.check(value, sizes)
            except Misfit as misfit:
                said.append(str(misfit))
        raise Misfit(", or ".join(dict.fromkeys(said)))

    def encode(self, value: Any, where: str, writer: Writer) -> Coded:
        kind = Array if isinstance(value, np.ndarray) else Csr if sparse.issparse(value) else None
        return self._one(kind).encode(value, where, writer)

    def decode(self, coded: Coded, where: str, reader: Reader) -> Any:
        keys = list(coded) if isinstance(coded, Mapping) else []
        return self._one({"array": Array, "csr": Csr}.get(keys[0]) if keys else None).decode(coded, where, reader)

    def _one(self, kind: type[Spec] | None) -> Spec:
        """The first of a kind; None stands for those that are neither arrays nor matrices."""
        fits = (one for one in self.specs if (type(one) if isinstance(one, Array | Csr) else None) is kind)
        return next(fits, self.specs[0])


class Constant(Spec):
    """What is always the same in files, and refused otherwise."""

    def __init__(self, value: bool | int | str | None) -> None:
        self.value = value

    def check(self, value: Any, sizes: Sizes) -> None:
        if type(value) is not type(self.value) or value != self.value:
            raise Misfit(f"must be {self.value!r}")


@dataclass(frozen=True)
class Fields(Spec):
    """A record that the schema knows: entries by name, as a dict."""

    specs: Mapping[str, Spec]

    def check(self, value: Any, sizes: Sizes) -> None:
        if type(value) is not dict or set(value) != set(self.specs):
            raise Misfit(f"must have the entries {', '.join(self.specs)}")
        own: Sizes = {}  # lengths are those of one record
        for name, spec in self.specs.items():
            spec.check(value[name], own)

    def encode(self, value: Any, where: str, writer: Writer) -> Coded:
        return {name: spec.encode(value[name], f"{where}.{name}", writer) for name, spec in self.specs.items()}

    def decode(self, coded: Coded, where: str, reader: Reader) -> Any:
        if not isinstance(coded, Mapping) or set(coded) != set(self.specs):
            raise ModelFileError(damaged(where, f"must have the entries {', '.join(self.specs)}"))
        return {name: spec.decode(coded[name], f"{where}.{name}", reader) for name, spec in self.specs.items()}


@dataclass(frozen=True)
class Part(Spec):
    """Another object of a class that can be saved: one of ``kinds`` where these are given, with a method ``can``.

    It must be fitted, unless ``fitted`` is False or it is part of something that need not be.
    """

    kinds: tuple[str, ...] = ()
    can: str = ""
    fitted: bool = True

    def check(self, value: Any, sizes: Sizes) -> None:
        """Its own schema has checked the rest."""
        if self.can and not hasattr(getattr(value, "kind", value), self.can):
            raise Misfit(f"must be an object that can {self.can}")
        if self.kinds and kind_of(value).__name__ not in [name.rpartition(".")[2] for name in self.kinds]:
            raise Misfit(f"must be one of {', '.join(self.kinds)}")

    def encode(self, value: Any, where: str, writer: Writer) -> Coded:
        return writer.object(value, where, self.fitted)

    def decode(self, coded: Coded, where: str, reader: Reader) -> Any:
        return reader.object(coded, where, self.kinds, self.fitted)


@dataclass(frozen=True)
class Step(Spec):
    """A name and a part, or a word instead of the part that says that nothing happens."""

    words: tuple[str, ...] = ("passthrough", "drop")

    def check(self, value: Any, sizes: Sizes) -> None:
        if type(value) is not tuple or len(value) != 2 or type(value[0]) is not str or "__" in value[0]:
            raise Misfit("must be a pair of a name and a step")
        if value[1] not in self.words and not hasattr(kind_of(value[1]), "get_params"):
            raise Misfit("must have an estimator in each step")

    def encode(self, value: Any, where: str, writer: Writer) -> Coded:
        name, part = value
        return [name, part if part in self.words else writer.object(part, f"{where}.{name}")]

    def decode(self, coded: Coded, where: str, reader: Reader) -> Any:
        if not isinstance(coded, list) or len(coded) != 2 or not isinstance(coded[0], str):
            raise ModelFileError(damaged(where, "must be a pair of a name and a step"))
        name, part = coded
        if isinstance(part, str):
            if part not in self.words:
                raise ModelFileError(damaged(where, "must be a step"))
            return name, part
        return name, reader.object(part, f"{where}.{name[:100]}", ())


def check_pointers(indptr: Any, indices: Any, rows: int, columns: int) -> None:
    """Row pointers rise from 0 to the number of indices, and indices stay below the columns."""
    for one in (indptr, indices):
        Array("index", (None,)).check(one, {})
    if len(indptr) != rows + 1 or indptr[0] != 0 or indptr[-1] != len(indices) or (np.diff(indptr) < 0).any():
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


def kind_of(part: Any) -> type:
    """The class of a part, made or only checked so far."""
    kind = getattr(part, "kind", None)
    return kind if isinstance(kind, type) else type(part)


def entry_of(part: Any, name: str) -> Any:
    """An entry or parameter of a part, made or only checked so far; None where there is none."""
    if kind_of(part) is type(part):
        return getattr(part, name, None)
    return part.state.get(name, part.parameters.get(name))


def length_of(length: int | str, sizes: Sizes) -> int:
    """A length by its number or its name."""
    return length if isinstance(length, int) else sizes[length]


def agree(length: int | str, found: int, sizes: Sizes) -> None:
    """Lengths of one name are equal."""
    expected = length if isinstance(length, int) else sizes.setdefault(length, found)
    if expected != found:
        name = "" if isinstance(length, int) else f" ({length})"
        raise Misfit(f"must have a length of {expected}{name}, and has {found}")


def damaged(where: str, what: str) -> str:
    """What `ModelFileError` says of an entry, after the name of the file."""
    return f"holds {where}, which {what}; it was changed or damaged."
