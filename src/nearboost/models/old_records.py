"""Objects of files of formats 1 and 2 as plain records; nothing that such a file names is imported."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearboost.base.entries import NOT_FINITE, Misfit, ModelFileError, as_objects, check_pointers
from nearboost.base.schema import random_state
from nearboost.models.archive import Archive
from nearboost.models.files import parameters_of
from nearboost.models.names import class_of, schema_of

MOST_NESTED, MOST_RECORDS = 180, 100_000
# What fields were called in format 1.
RENAMED = {"ExampleWeights": {"judge": "held_out"}, "State": {"way": "options"}}
SPARSE = ("csr_array", "csc_array", "csr_matrix", "csc_matrix")


@dataclass(frozen=True)
class Record:
    """An object of an old file: its class by name, its attributes, and whether it has more than parameters."""

    name: str
    attributes: dict[str, Any]
    fitted: bool = False

    def __getitem__(self, path: str) -> Any:
        """An attribute, or one of a record in it: ``record["_data.labels.members"]``."""
        found: Any = self
        for name in path.split("."):
            if not isinstance(found, Record) or name not in found.attributes:
                raise ModelFileError(f"lacks {path} of {self.name}; it was changed or damaged.")
            found = found.attributes[name]
        return found

    def get(self, path: str, default: Any = None) -> Any:
        """The same, or the default where it is not there."""
        try:
            return self[path]
        except ModelFileError:
            return default


Picked = tuple[dict[str, Any], dict[str, Any]]  # the parameters and entries of today's schema


def kept_parameters(record: Record) -> dict[str, Any]:
    """Parameters that the class still has and keeps."""
    dropped = schema_of(record.name).dropped
    known = parameters_of(class_of(record.name))
    return {name: one for name, one in record.attributes.items() if name in known and name not in dropped}


def same_attributes(record: Record) -> Picked:
    """Parameters and entries that have the names they had."""
    state = {name: record.attributes[name] for name in schema_of(record.name).state if name in record.attributes}
    return kept_parameters(record), state


class Decoder:
    """Turns the JSON of an old file into plain values and records."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._arrays: dict[int, NDArray[Any]] = {}
        self._records: dict[int, Record] = {}
        self._made: dict[tuple[Any, ...], Any] = {}  # of arrays, each once
        self._n_values = 0

    def decode(self, coded: Any, depth: int = 0) -> Any:
        """The value that JSON stands for."""
        self._n_values += 1
        if depth > MOST_NESTED or self._n_values > 100 * MOST_RECORDS:
            raise ModelFileError("is nested too deeply.")
        if isinstance(coded, list):
            return [self.decode(one, depth + 1) for one in coded]
        if not isinstance(coded, Mapping):
            return coded
        if "object" in coded:
            return self._record(coded, depth)
        if len(coded) != 1:
            raise ModelFileError("holds an entry of no known kind; it was changed or damaged.")
        [(kind, content)] = coded.items()
        if kind not in self._READERS:
            raise ModelFileError(f"holds an entry of kind {str(kind)[:40]!r}, which is not known.")
        return self._READERS[kind](self, content, depth + 1)

    def _record(self, coded: Mapping[str, Any], depth: int) -> Record:
        name, number = coded["object"], coded["number"]
        if type(name) is not str or type(number) is not int or len(self._records) > MOST_RECORDS:
            raise ModelFileError("holds an object without a name or number.")
        made = self._records[number] = Record(name, {}, bool(coded["state"]))
        for part in (coded["parameters"], coded["state"]):
            renamed = RENAMED.get(name, {})
            made.attributes.update(
                {renamed.get(key, key): self.decode(one, depth + 1) for key, one in part.items()}
            )
        return made

    def _array(self, content: Any, depth: int) -> NDArray[Any]:
        if content not in self._arrays:
            self._arrays[content] = self._archive.array(content)
        return self._arrays[content]

    def _sparse(self, content: Any, depth: int) -> Any:
        kind, shape, *parts = content
        if kind not in SPARSE or len(parts) != 3 or not all(type(n) is int and n >= 0 for n in shape):
            raise ModelFileError("holds a sparse matrix of no known kind.")
        numbers = [part["array"] for part in parts]
        return self._once((kind, *shape, *numbers), lambda: self._matrix(kind, shape, numbers))

    def _matrix(self, kind: str, shape: Sequence[int], numbers: Sequence[int]) -> Any:
        data, indices, indptr = (self._array(number, 0) for number in numbers)
        by_rows = kind.startswith("csr")
        try:
            check_pointers(indptr, indices, *(shape if by_rows else shape[::-1]))
        except Misfit as misfit:
            raise ModelFileError(f"holds a sparse matrix that {misfit}; it was changed or damaged.") from None
        return (sparse.csr_array if by_rows else sparse.csc_array)((data, indices, indptr), shape=tuple(shape))

    def _texts(self, content: Any, depth: int) -> NDArray[Any]:
        return self._once(("texts", content["array"]), lambda: as_objects(self._array(content["array"], 0)))

    def _bytes(self, content: Any, depth: int) -> bytes:
        number = content["array"]
        return self._once(("bytes", number), lambda: self._array(number, 0).astype(np.uint8).tobytes())

    def _once(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """What is made of arrays is made once, however often a file names it."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def _dict(self, content: Any, depth: int) -> dict[Any, Any]:
        return {self.decode(key, depth): self.decode(one, depth) for key, one in content}

    def _random_state(self, content: Any, depth: int) -> np.random.RandomState:
        _, keys, *rest = content["tuple"]

        def made() -> np.random.RandomState:
            return random_state([self._array(keys["array"], depth), *rest], "a random state")

        return self._once(("random", keys["array"]), made)

    def _same(self, content: Any, depth: int) -> Record:
        return self._records[content]

    _READERS: Mapping[str, Callable[["Decoder", Any, int], Any]] = {
        "float": lambda self, content, depth: NOT_FINITE[content],
        "array": _array,
        "texts": _texts,
        "scalar": lambda self, content, depth: self.decode(content, depth)[()],
        "bytes": _bytes,
        "tuple": lambda self, content, depth: tuple(self.decode(one, depth) for one in content),
        "dict": _dict,
        "slice": lambda self, content, depth: slice(*content),
        "sparse": _sparse,
        "random_state": _random_state,
        "method": lambda self, content, depth: self.decode(content[0], depth),
        "same": _same,
    }
