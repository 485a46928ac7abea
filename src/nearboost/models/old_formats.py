"""Files of formats 1 and 2, which held objects attribute by attribute: made into entries and checked like others.

Their objects are plain records, out of which a function for each class that has changed picks the entries of
today's schema.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from nearboost.base.entries import ModelFileError, Part, Spec
from nearboost.models.archive import MOST_VALUES, Archive
from nearboost.models.files import MOST_NESTED, MOST_OBJECTS, Checked, checked_object
from nearboost.models.names import MODULES, schema_of
from nearboost.models.old_boosting import BOOSTING
from nearboost.models.old_features import FEATURES
from nearboost.models.old_inn import INN
from nearboost.models.old_linear import LINEAR
from nearboost.models.old_records import Decoder, Picked, Record, kept_parameters, same_attributes


def _of_neighbors(record: Record) -> Picked:
    parameters, state = same_attributes(record)
    codes = np.asarray(record["_y"]).astype(np.int64)
    return parameters, state | {"rows": record["_fit_X"], "codes": codes}


SHARED_FREELY = 2**20  # bytes, of arrays that objects had in common, such as labels
# For each class whose entries are not simply its old attributes.
CONVERTERS: dict[str, Callable[[Record], Picked]] = {
    "sklearn.KNeighborsClassifier": _of_neighbors,
    **BOOSTING,
    **FEATURES,
    **INN,
    **LINEAR,
}


def read_checked(archive: Archive) -> Checked:
    """The object of an old file, after all checks of today's schemas."""
    root = Decoder(archive).decode(archive.header["root"])
    if not isinstance(root, Record):
        raise ModelFileError("holds no object; it was changed or damaged.")
    checked = Conversion().object(root, "model")
    arrays = list(arrays_in(checked))
    distinct = {id(array): array.nbytes for array in arrays}
    if sum(array.nbytes for array in arrays) > SHARED_FREELY + 2 * sum(distinct.values()):
        raise ModelFileError("uses its arrays again and again; it was changed or damaged.")
    return checked


def arrays_in(value: Any) -> Iterator[NDArray[Any]]:
    """The arrays of an object and its parts, as often as they are used."""
    if isinstance(value, np.ndarray):
        yield value
    elif issparse(value):
        yield value.data
    elif isinstance(value, Checked):
        yield from arrays_in([*value.parameters.values(), *value.state.values()])
    elif type(value) in (list, tuple, dict):
        for one in value.values() if type(value) is dict else value:
            yield from arrays_in(one)


class Conversion:
    """Records as objects of today; one that was met in several places becomes several, so they are counted."""

    def __init__(self) -> None:
        self._n_objects = self._n_listed = 0

    def object(self, record: Record, where: str, fitted: bool = True) -> Checked:
        """A record with all records in it."""
        self._n_objects += 1
        if self._n_objects > MOST_OBJECTS or where.count(".") > MOST_NESTED:
            raise ModelFileError("is nested too deeply, or holds too many objects.")
        if record.name not in MODULES:
            raise ModelFileError(f"asks for the class {record.name!r}, which is not in the table of names.")
        pick = CONVERTERS.get(record.name, same_attributes)
        parameters, state = pick(record) if record.fitted else (kept_parameters(record), {})
        schema = schema_of(record.name)
        parameters = {
            name: self._parts(one, f"{where}.{name}", fitted and needs_fit(schema.kind_of(name)))
            for name, one in parameters.items()
        }
        state = {
            name: self._parts(one, f"{where}.{name}", fitted and needs_fit(schema.state[name]))
            for name, one in state.items()
        }
        return checked_object(record.name, parameters, state, where, fitted=fitted)

    def _parts(self, value: Any, where: str, fitted: bool) -> Any:
        if isinstance(value, Record):
            return self.object(value, where, fitted)
        if type(value) in (list, tuple):
            self._n_listed += len(value)
            if self._n_listed > MOST_VALUES:
                raise ModelFileError("uses its lists again and again; it was changed or damaged.")
            return type(value)(self._parts(one, where, fitted) for one in value)
        return value


def needs_fit(spec: Spec) -> bool:
    """Whether a part must be fitted."""
    return not isinstance(spec, Part) or spec.fitted
