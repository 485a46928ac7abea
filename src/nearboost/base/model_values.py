"""Objects as JSON and arrays, and back, without ever running code that a file names.

An object is its name in the table of `nearboost.base.names`, its parameters and the rest of its attributes.
Loading makes it without calling it and puts the attributes back. Arrays stand beside the JSON by number.

A class may say what is kept of it with ``model_state``, and make itself from that with ``from_model_state``. What
a ``cached_property`` holds is not kept: it is rebuilt when needed.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cached_property
from inspect import Parameter, signature
from math import isfinite
from types import MethodType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearboost.base.names import METHODS, MODULES, NOT_KEPT, RENAMED, class_of, name_of

MOST_NESTED = 60
KINDS = "biufcU"  # of arrays: numbers and texts
SPARSE = ("csr_array", "csc_array", "csr_matrix", "csc_matrix")
NOT_FINITE = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
PARAMETERS, STATE = "parameters", "state"


class ModelFileError(ValueError):
    """What cannot be saved, or a file that cannot be loaded; the message is one sentence."""


class Encoder:
    """Turns values into JSON; ``arrays`` are those it has met, each once."""

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []
        self._seen: dict[int, Any] = {}  # by identity, how to point at an array or an object
        self._kept: list[Any] = []  # so that an identity stays one

    def encode(self, value: Any, where: str, depth: int = 0) -> Any:
        """The value as JSON; ``where`` is what a message calls it."""
        if depth > MOST_NESTED:
            raise ModelFileError(f"{where} is nested too deeply for a model file, or holds itself.")
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if isfinite(value) else {"float": str(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, np.generic):
            return {"scalar": self._array(np.asarray(value), where)}
        if type(value) is bytes:
            return {"bytes": self._array(np.frombuffer(value, np.uint8), where)}
        if type(value) is list:
            return self._each(value, where, depth)
        if type(value) is tuple:
            return {"tuple": self._each(value, where, depth)}
        if type(value) is dict:
            return {"dict": [self._each(pair, f"{where}[{pair[0]!r}]", depth) for pair in value.items()]}
        if type(value) is slice:
            return {"slice": self._each([value.start, value.stop, value.step], where, depth)}
        if sparse.issparse(value):
            return self._sparse(value, where, depth)
        if type(value) is np.random.RandomState:
            return {"random_state": self.encode(value.get_state(), where, depth + 1)}
        if isinstance(value, MethodType):
            return self._method(value, where, depth)
        return self._object(value, where, depth)

    def _each(self, values: Any, where: str, depth: int) -> list[Any]:
        return [self.encode(one, f"{where}[{i}]", depth + 1) for i, one in enumerate(values)]

    def _array(self, array: NDArray[Any], where: str) -> Any:
        if id(array) in self._seen:
            return self._seen[id(array)]
        are_texts = array.dtype == object and all(type(one) is str for one in array.flat)
        plain = array.astype(str) if are_texts else np.asarray(array)
        if plain.dtype.kind not in KINDS or type(array) not in (np.ndarray, np.memmap):
            kind = f"{type(array).__name__} of {array.dtype}"
            raise ModelFileError(f"{where} is a {kind}, which a model file cannot hold; use plain arrays.")
        number: dict[str, Any] = {"array": len(self.arrays)}
        self.arrays.append(plain)
        self._kept.append(array)
        self._seen[id(array)] = {"texts": number} if are_texts else number
        return self._seen[id(array)]

    def _sparse(self, matrix: Any, where: str, depth: int) -> Any:
        kind = type(matrix).__name__
        if kind not in SPARSE:
            raise ModelFileError(f"{where} is a {kind}, which a model file cannot hold; convert it with tocsr().")
        parts = [matrix.data, matrix.indices, matrix.indptr]
        return {"sparse": [kind, list(map(int, matrix.shape)), *self._each(parts, where, depth)]}

    def _method(self, method: MethodType, where: str, depth: int) -> Any:
        name = f"{type(method.__self__).__name__}.{method.__name__}"
        if name not in METHODS:
            raise ModelFileError(refusal(method, where))
        return {"method": [self.encode(method.__self__, where, depth + 1), method.__name__]}

    def _object(self, value: Any, where: str, depth: int) -> Any:
        name = name_of(type(value))
        if name is None:
            raise ModelFileError(refusal(value, where))
        if id(value) in self._seen:
            return self._seen[id(value)]
        number, state = len(self._kept), state_of(value)
        self._seen[id(value)] = {"same": number}
        self._kept += [value, state]
        encoded = {key: self.encode(one, f"{where}.{key}", depth + 1) for key, one in state.items()}
        settings = parameters_of(type(value))
        return {
            "object": name,
            "number": number,
            PARAMETERS: {key: one for key, one in encoded.items() if key in settings},
            STATE: {key: one for key, one in encoded.items() if key not in settings},
        }


def refusal(value: Any, where: str) -> str:
    """Why a value cannot be saved."""
    if callable(value) and not isinstance(value, type) and hasattr(value, "__name__"):
        return f"{where} is the function {value.__name__}, and a model file holds no functions; leave it out."
    kind = value.__name__ if isinstance(value, type) else f"{type(value).__module__}.{type(value).__qualname__}"
    return f"{where} is of class {kind}, which a model file cannot hold; the page on models lists what it can."


def state_of(value: Any) -> dict[str, Any]:
    """The attributes of an object that are kept."""
    if isinstance(value, tuple):
        return dict(value._asdict())  # type: ignore[attr-defined]
    state = value.model_state() if hasattr(value, "model_state") else value.__getstate__()
    kind = type(value)
    dropped = {name for name in state or {} if isinstance(getattr(kind, name, None), cached_property)}
    dropped |= {"_sklearn_version", *NOT_KEPT.get(name_of(kind) or "", ())}
    return {name: one for name, one in (state or {}).items() if name not in dropped}


def parameters_of(kind: type) -> dict[str, Any]:
    """The parameters of an estimator's class with their defaults; nothing for records."""
    if not hasattr(kind, "get_params"):
        return {}
    known = signature(kind.__init__).parameters.values()  # type: ignore[misc]
    return {one.name: one.default for one in known if one.name != "self" and one.kind != Parameter.VAR_KEYWORD}


class Decoder:
    """Turns JSON into values; ``get_array`` gives an array by its number."""

    def __init__(self, get_array: Callable[[int], NDArray[Any]]) -> None:
        self._get_array = get_array
        self._arrays: dict[int, NDArray[Any]] = {}
        self._objects: dict[int, Any] = {}

    def decode(self, coded: Any, depth: int = 0) -> Any:
        """The value that JSON stands for."""
        if depth > 3 * MOST_NESTED:
            raise ModelFileError("is nested too deeply.")
        if isinstance(coded, list):
            return [self.decode(one, depth + 1) for one in coded]
        if not isinstance(coded, Mapping):
            return coded
        if "object" in coded:
            return self._object(coded, depth)
        if len(coded) != 1:
            raise ModelFileError(f"holds an entry {', '.join(coded) or 'without a kind'}, which is not known.")
        [(kind, content)] = coded.items()
        if kind not in self._READERS:
            raise ModelFileError(f"holds an entry of kind {kind!r}, which is not known.")
        return self._READERS[kind](self, content, depth + 1)

    def _float(self, content: Any, depth: int) -> float:
        return NOT_FINITE[content]

    def _array(self, content: Any, depth: int) -> NDArray[Any]:
        if content not in self._arrays:
            self._arrays[content] = self._get_array(content)
        return self._arrays[content]

    def _texts(self, content: Any, depth: int) -> NDArray[Any]:
        return np.asarray(self.decode(content, depth)).astype(object)

    def _scalar(self, content: Any, depth: int) -> Any:
        return self.decode(content, depth)[()]

    def _bytes(self, content: Any, depth: int) -> bytes:
        array = self.decode(content, depth)
        if array.dtype != np.uint8:
            raise ModelFileError("holds bytes that cannot be decoded.")
        return bytes(array.tobytes())

    def _tuple(self, content: Any, depth: int) -> tuple[Any, ...]:
        return tuple(self.decode(one, depth) for one in content)

    def _dict(self, content: Any, depth: int) -> dict[Any, Any]:
        return {self.decode(key, depth): self.decode(one, depth) for key, one in content}

    def _slice(self, content: Any, depth: int) -> slice:
        start, stop, step = content
        return slice(start, stop, step)

    def _sparse(self, content: Any, depth: int) -> Any:
        kind, shape, *parts = content
        if kind not in SPARSE:
            raise ModelFileError(f"holds a sparse matrix of kind {kind!r}, which is not known.")
        data, indices, indptr = (self.decode(part, depth) for part in parts)
        matrix = getattr(sparse, kind)((data, indices, indptr), shape=tuple(shape))
        matrix.check_format(full_check=True)  # so that no index points beside the matrix
        return matrix

    def _random_state(self, content: Any, depth: int) -> np.random.RandomState:
        generator = np.random.RandomState(0)
        generator.set_state(self.decode(content, depth))
        return generator

    def _method(self, content: Any, depth: int) -> Any:
        coded, method = content
        owner = self.decode(coded, depth)
        if f"{type(owner).__name__}.{method}" not in METHODS:
            raise ModelFileError(f"asks for the method {method!r}, which is not in the table of names.")
        return getattr(owner, method)

    def _same(self, content: Any, depth: int) -> Any:
        return self._objects[content]

    def _object(self, coded: Mapping[str, Any], depth: int) -> Any:
        name, number = coded["object"], coded["number"]
        if not isinstance(name, str) or (name := RENAMED.get(name, name)) not in MODULES:
            raise ModelFileError(f"asks for the class {name!r}, which is not in the table of names.")
        kind = class_of(name)
        parts = [coded[PARAMETERS], coded[STATE]]
        if issubclass(kind, tuple) or hasattr(kind, "from_model_state"):
            state = self._attributes(parts, depth)
            made = kind(**state) if issubclass(kind, tuple) else kind.from_model_state(state)
            self._objects[number] = made
            return made
        self._objects[number] = made = object.__new__(kind)  # before its attributes, which may hold it
        settings, rest = (self._attributes([part], depth) for part in parts)
        check_names(kind, name, settings, rest)
        made.__dict__.update(self._settings(kind, name, settings) | rest)
        return made

    def _settings(self, kind: type, name: str, settings: dict[str, Any]) -> dict[str, Any]:
        known = parameters_of(kind)
        missing = [key for key, default in known.items() if key not in settings and default is Parameter.empty]
        if missing:
            raise ModelFileError(f"does not say what {missing[0]} of {name} is.")
        return known | settings

    def _attributes(self, parts: list[Mapping[str, Any]], depth: int) -> dict[str, Any]:
        return {key: self.decode(one, depth + 1) for part in parts for key, one in part.items()}

    _READERS: Mapping[str, Callable[["Decoder", Any, int], Any]] = {
        "float": _float,
        "array": _array,
        "texts": _texts,
        "scalar": _scalar,
        "bytes": _bytes,
        "tuple": _tuple,
        "dict": _dict,
        "slice": _slice,
        "sparse": _sparse,
        "random_state": _random_state,
        "method": _method,
        "same": _same,
    }


def check_names(kind: type, name: str, settings: dict[str, Any], rest: dict[str, Any]) -> None:
    """Another version of a class may have other parameters, or other fields."""
    unknown = [key for key in settings if key not in parameters_of(kind)]
    if is_dataclass(kind):  # a field with a default may have come later
        known = {field.name: field.default is MISSING for field in fields(kind)}
        missing = {key for key, is_needed in known.items() if is_needed} - set(rest)
        unknown = sorted(missing | (set(rest) - set(known)))
    if unknown:
        raise ModelFileError(
            f"holds a {name} of another version, which differs in {unknown[0]}; load it with the version of "
            "nearboost that wrote it (`nearboost info` says which), or fit the model again."
        )
