"""What all entries share, and those that JSON can say: numbers, words, texts."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Sizes = dict[str, int]  # lengths by name, as the entries of one object have them
Coded = Any  # what JSON knows
NOT_FINITE = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
LARGEST = 2**63 - 1


class ModelFileError(ValueError):
    """What cannot be saved, or a file that cannot be loaded; the message is one sentence.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from nearboost.models import ModelFileError, load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "model.nb"
    ...     _ = file.write_text("no model")
    ...     try:
    ...         load(file)
    ...     except ModelFileError as error:
    ...         print(str(error).partition(" is ")[2])
    not a model file, or it is cut short or damaged (File is not a zip file); fetch it again.
    """


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

    def kept(self, value: Any) -> Any:
        """What is kept of a value when it is saved."""
        return value

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
        if not (value is None or isinstance(value, str)) or value not in self.words:
            raise Misfit(f"must be one of {', '.join(map(repr, self.words))}")

    def encode(self, value: Any, where: str, writer: Writer) -> Coded:
        return str(value) if isinstance(value, np.str_) else value


@dataclass(frozen=True)
class Text(Spec):
    """A text of bounded length, all of which fits a ``pattern`` where one is given."""

    longest: int = 100_000
    pattern: str = ""

    def check(self, value: Any, sizes: Sizes) -> None:
        if not isinstance(value, str) or len(value) > self.longest:
            raise Misfit(f"must be a text of at most {self.longest:,} characters")
        if "\0" in value:
            raise Misfit("must hold no NUL, which NumPy drops at the end of a text")
        if self.pattern and not re.fullmatch(self.pattern, value):
            raise Misfit("must be a text of another form")

    def encode(self, value: Any, where: str, writer: Writer) -> Coded:
        return str(value) if isinstance(value, np.str_) else value


class Constant(Spec):
    """What is always the same in files, and refused otherwise."""

    def __init__(self, value: bool | int | str | None) -> None:
        self.value = value

    def check(self, value: Any, sizes: Sizes) -> None:
        if type(value) is not type(self.value) or value != self.value:
            raise Misfit(f"must be {self.value!r}")


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
