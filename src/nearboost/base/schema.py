"""What a class keeps in a model file, declared once beside it.

Saving writes what the schema lists. Loading reads it, checks all of it, and only then makes the object.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np

from nearboost.base.entries import (
    LARGEST,
    NOT_FINITE,
    Coded,
    Either,
    Flag,
    Integer,
    Labels,
    Misfit,
    ModelFileError,
    Nullable,
    Reader,
    Size,
    Sizes,
    Spec,
    Writer,
    damaged,
)

PLAIN_DEPTH = 4


class Plain(Spec):
    """A parameter as people write it: numbers, texts, small lists and dicts of these, arrays, a random state."""

    def check(self, value: Any, sizes: Sizes) -> None:
        """The estimator's own checks follow."""

    def encode(self, value: Any, where: str, writer: Writer, depth: int = 0) -> Coded:
        value = value.item() if isinstance(value, np.generic) else value
        if type(value) is int and abs(value) > LARGEST:
            raise ModelFileError(f"{where} is a whole number that does not fit 64 bits; use a smaller one.")
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if isfinite(value) else {"float": str(value)}
        if type(value) in (np.ndarray, np.memmap) and value.dtype.kind in "biufU":
            return {"numbers": writer.array(np.asarray(value))}
        if type(value) is np.random.RandomState:
            _, keys, *rest = value.get_state(legacy=True)
            return {"random": [writer.array(np.asarray(keys)), *rest]}
        if depth > PLAIN_DEPTH:
            raise ModelFileError(f"{where} is nested too deeply for a model file, or holds itself.")
        if type(value) in (list, tuple):
            listed = [self.encode(one, f"{where}[{i}]", writer, depth + 1) for i, one in enumerate(value)]
            return listed if type(value) is list else {"tuple": listed}
        if type(value) is dict:
            pairs = [list(pair) for pair in value.items()]
            return {
                "dict": [
                    [self.encode(one, f"{where}[{k!r}]", writer, depth + 1) for one in (k, v)] for k, v in pairs
                ]
            }
        raise ModelFileError(refusal(value, where))

    def decode(self, coded: Coded, where: str, reader: Reader, depth: int = 0) -> Any:
        if coded is None or type(coded) in (bool, int, float, str):
            return coded
        if depth > PLAIN_DEPTH:
            raise ModelFileError(damaged(where, "is nested too deeply"))
        if isinstance(coded, list):
            return [self.decode(one, where, reader, depth + 1) for one in coded]
        if not isinstance(coded, Mapping) or len(coded) != 1:
            raise ModelFileError(damaged(where, "is of no known kind"))
        [(kind, content)] = coded.items()
        if kind == "float" and content in NOT_FINITE:
            return NOT_FINITE[content]
        if kind == "numbers":
            return reader.array(content)
        if kind == "tuple" and isinstance(content, list):
            return tuple(self.decode(content, where, reader, depth))
        if kind == "dict" and isinstance(content, list):
            return self._dict(content, where, reader, depth + 1)
        if kind == "random" and isinstance(content, list) and len(content) == 4:
            return random_state([reader.array(content[0]), *content[1:]], where)
        raise ModelFileError(damaged(where, f"is of kind {str(kind)[:40]!r}, which is not known"))

    def _dict(self, pairs: Sequence[Any], where: str, reader: Reader, depth: int) -> dict[Any, Any]:
        if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
            raise ModelFileError(damaged(where, "must hold pairs"))
        decoded = [[self.decode(one, where, reader, depth) for one in pair] for pair in pairs]
        if not all(type(key) in (bool, int, float, str) for key, _ in decoded):
            raise ModelFileError(damaged(where, "must have numbers or texts as keys"))
        return dict(decoded)


def random_state(state: Sequence[Any], where: str) -> np.random.RandomState:
    """A generator in a state of a file; NumPy itself would read beside its keys at any position."""
    keys, position, has_gauss, gauss = state
    plain = type(position) is int and 0 <= position <= 624 and has_gauss in (0, 1) and type(gauss) is float
    if type(keys) is not np.ndarray or keys.dtype != np.uint32 or keys.shape != (624,) or not plain:
        raise ModelFileError(damaged(where, "must be the state of a random generator"))
    generator = np.random.RandomState(0)
    generator.set_state(("MT19937", keys, position, has_gauss, gauss))
    return generator


class Quiet(Either):
    """Whether progress is shown, which whoever watches a fit decides: models in files show none."""

    def kept(self, value: Any) -> Any:
        return 0


PLAIN = Plain()
# What these parameters may be in all classes of ours; everything else is checked by the class itself.
COMMON: Mapping[str, Spec] = {
    "n_jobs": Nullable(Either(Integer(-1024, -1), Integer(1, 1024))),
    "verbose": Quiet(Flag(), Integer(0, 1000)),
}


def refusal(value: Any, where: str) -> str:
    """Why a value cannot be saved."""
    if callable(value) and not isinstance(value, type) and hasattr(value, "__name__"):
        return f"{where} is the function {value.__name__}, and a model file holds no functions; leave it out."
    kind = value.__name__ if isinstance(value, type) else f"{type(value).__module__}.{type(value).__qualname__}"
    return f"{where} is of class {kind}, which a model file cannot hold; the page on models lists what it can."


def no_further_checks(state: Mapping[str, Any]) -> None:
    """Kinds and lengths say all."""


def as_attributes(value: Any) -> Mapping[str, Any]:
    """The entries of an object are its attributes, unless it has `model_state`."""
    state: Mapping[str, Any] = value.model_state() if hasattr(value, "model_state") else vars(value)
    return state


def to_attributes(made: Any, state: Mapping[str, Any]) -> None:
    """Put entries back where `as_attributes` found them."""
    if hasattr(made, "restore_model_state"):
        made.restore_model_state(state)
    else:
        vars(made).update(state)


@dataclass(frozen=True)
class Schema:
    """What a class keeps.

    Parameters
    ----------
    state : the entries in the order in which they are checked; a length is met before it bounds values
    optional : entries that need not be there
    parameters : kinds of parameters that `Plain` does not cover, such as parts
    dropped : parameters that are not kept, because they name a place or suit one machine only
    check : called with all entries; raises `Misfit` on what kinds and lengths cannot say
    collect : the entries of an object
    restore : makes an object whole again: called with one that has its parameters, and with the entries
    """

    state: Mapping[str, Spec]
    optional: tuple[str, ...] = ()
    parameters: Mapping[str, Spec] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    check: Callable[[Mapping[str, Any]], None] = no_further_checks
    collect: Callable[[Any], Mapping[str, Any]] = as_attributes
    restore: Callable[[Any, Mapping[str, Any]], None] = to_attributes

    def kind_of(self, parameter: str) -> Spec:
        """What a parameter may be."""
        return self.parameters.get(parameter) or COMMON.get(parameter, PLAIN)

    def check_parameters(self, given: Mapping[str, Any], where: str, error: Callable[[str, str], str]) -> None:
        """Those with a kind of their own; the class checks the rest."""
        for name, value in given.items():
            if name in self.dropped:
                raise ModelFileError(error(f"{where}.{name}", "is not kept in model files"))
            try:
                self.kind_of(name).check(value, {})
            except Misfit as misfit:
                raise ModelFileError(error(f"{where}.{name}", str(misfit))) from None

    def check_state(
        self, state: Mapping[str, Any], where: str, error: Callable[[str, str], str], *, fitted: bool = True
    ) -> None:
        """All entries: kinds, lengths, values, and what ties them. What need not be fitted may have none."""
        if not state and self.state and not fitted:
            return
        if not state and self.missing(state):
            raise ModelFileError(error(where, "is not fitted"))
        for name in self.missing(state):
            raise ModelFileError(error(f"{where}.{name}", "is missing"))
        sizes: Sizes = {}
        name = ""
        try:
            for name, spec in self.state.items():
                if name in state:
                    spec.check(state[name], sizes)
            name = ""
            self.check(state)
        except Misfit as misfit:
            raise ModelFileError(error(f"{where}.{name}".rstrip("."), str(misfit))) from None

    def missing(self, state: Iterable[str]) -> list[str]:
        """Entries that should be there and are not."""
        return [name for name in self.state if name not in state and name not in self.optional]


CLASSES: Mapping[str, Spec] = {"classes_": Labels()}
FEATURES: Mapping[str, Spec] = {
    "n_features_in_": Size(1, name="n_features"),
    "feature_names_in_": Labels("n_features", distinct=False),
}


def set_fitted(made: Any, state: Mapping[str, Any]) -> None:
    """Put back the entries that are public attributes: those whose names end in an underscore."""
    for name, value in state.items():
        if name.endswith("_"):
            setattr(made, name, value)


def of_rows(entries: Mapping[str, Spec], optional: tuple[str, ...] = (), **more: Any) -> Schema:
    """A schema of something fitted on rows with features, which may have names."""
    return Schema({**FEATURES, **entries}, ("feature_names_in_", *optional), **more)
