"""Entries made of others: lists, alternatives, records, and objects of other classes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from nearboost.base.entries.arrays import Array, Csr
from nearboost.base.entries.kinds import Coded, Misfit, ModelFileError, Reader, Sizes, Spec, Writer, agree, damaged

MOST_LISTED = 100_000


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
        if type(value) not in (tuple, list) or len(value) > MOST_LISTED:
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


@dataclass(frozen=True)
class Fields(Spec):
    """A record that the schema knows: entries by name, as a dict. Older files may lack the ``optional`` ones."""

    specs: Mapping[str, Spec]
    optional: tuple[str, ...] = ()

    def check(self, value: Any, sizes: Sizes) -> None:
        if type(value) is not dict or not self._fits(value):
            raise Misfit(f"must have the entries {', '.join(self.specs)}")
        own: Sizes = {}  # lengths are those of one record
        for name, one in value.items():
            self.specs[name].check(one, own)

    def encode(self, value: Any, where: str, writer: Writer) -> Coded:
        return {name: self.specs[name].encode(one, f"{where}.{name}", writer) for name, one in value.items()}

    def decode(self, coded: Coded, where: str, reader: Reader) -> Any:
        if not isinstance(coded, Mapping) or not self._fits(coded):
            raise ModelFileError(damaged(where, f"must have the entries {', '.join(self.specs)}"))
        return {name: self.specs[name].decode(one, f"{where}.{name}", reader) for name, one in coded.items()}

    def _fits(self, entries: Mapping[str, Any]) -> bool:
        return set(self.specs) - set(self.optional) <= set(entries) <= set(self.specs)


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

    words: tuple[str, ...]

    def check(self, value: Any, sizes: Sizes) -> None:
        pair = type(value) in (tuple, list) and len(value) == 2
        if not pair or type(value[0]) is not str or "__" in value[0]:
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


def kind_of(part: Any) -> type:
    """The class of a part, made or only checked so far."""
    kind = getattr(part, "kind", None)
    return kind if isinstance(kind, type) else type(part)


def entry_of(part: Any, name: str) -> Any:
    """An entry or parameter of a part, made or only checked so far; None where there is none."""
    if kind_of(part) is type(part):
        return getattr(part, name, None)
    return part.state.get(name, part.parameters.get(name))
