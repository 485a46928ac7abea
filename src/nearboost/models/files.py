"""Model files: a zip of a JSON header and npy arrays, read and written by the schemas of the classes in it.

Loading reads all entries, checks them against their schemas, and only then makes objects, each by calling its
class with checked parameters and handing it checked entries. Nothing that a file names is imported or called
unless it is in the table of names, and every array is used once.
"""

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from nearboost.base.disk import check_target
from nearboost.base.entries import Coded, ModelFileError, damaged
from nearboost.base.schema import refusal
from nearboost.models.archive import KINDS, MOST_BYTES, Archive, one_line, open_archive, write_archive
from nearboost.models.names import MODULES, SKLEARN, class_of, name_of, schema_of

FORMAT = 3
MOST_OBJECTS, MOST_NESTED = 10_000, 20
MOST_DESCRIPTORS = 50  # of images, each of which may take a good part of a second
MOST_THEIRS = 1000  # objects of scikit-learn, each of which is tried
MOST_TRIED, MOST_TRIED_IN_ALL = 2**22, 2**24  # features of the row that one of them, and all, are tried on
COMPOSITE = (SKLEARN + "Pipeline", SKLEARN + "FeatureUnion")
PARTS = ("class", "parameters", "state")


def save(value: Any, path: str | os.PathLike[str], name: str = "model") -> None:
    """Write a fitted estimator or a model to a file that cannot run code.

    Parameters
    ----------
    value : object
        An estimator of nearboost, a supported one of scikit-learn, or a `Model`.
    path : str or path
        The file.
    name : str, default="model"
        What error messages call the object.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from nearboost import KNNClassifier, load, save
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KNNClassifier().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder) / "iris.nb")
    ...     again = load(Path(folder) / "iris.nb")
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    check_target(path)
    writer = FileWriter()
    header = {
        "format": FORMAT,
        "versions": {package: version(package) for package in ("nearboost", "numpy", "scikit-learn")},
        "root": writer.object(value, name),
    }
    check_work(writer.objects)
    write_archive(Path(path), header, writer.arrays)


def check_can_be_saved(value: Any, name: str = "model") -> None:
    """Refuse at once what `save` would refuse later, after a long fit."""
    FileWriter().object(value, name, fitted=False)


def load(path: str | os.PathLike[str], *, max_bytes: int = MOST_BYTES) -> Any:
    """Read an object that `save` wrote.

    Parameters
    ----------
    path : str or path
        The file.
    max_bytes : int, default=68719476736
        A file that declares more than this (64 GiB), unpacked, is refused before anything is read.

    Returns
    -------
    object
        The estimator or model.

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, of another kind, or holds what does not fit the schema of its class.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from nearboost import INNCoder, load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(INNCoder(0.5).fit([[0.0, 1.0], [2.0, 3.0]]), Path(folder) / "coder.nb")
    ...     again = load(Path(folder) / "coder.nb")
    >>> again.samples_.tolist(), again.regularization
    ([[0.0, 1.0], [2.0, 3.0]], 0.5)
    """
    with open_archive(Path(path), max_bytes) as archive:
        checked = read_checked(archive)
        _check_versions(Path(path), archive.header, checked)
        check_work([(one.kind, one.state) for one in objects_in(checked)])
        return checked.build()


def check_work(objects: Sequence[tuple[type, Mapping[str, Any]]]) -> None:
    """Refuse a file of few bytes that would describe an image, or try rows, thousands of times.

    ``objects`` are classes with entries.
    """
    if sum(getattr(kind, "takes", "rows") != "rows" for kind, _ in objects) > MOST_DESCRIPTORS:
        raise ModelFileError(f"holds more than {MOST_DESCRIPTORS} descriptors of images.")
    theirs = [state.get("n_features_in_", 0) for kind, state in objects if kind.__module__.startswith(SKLEARN)]
    if len(theirs) > MOST_THEIRS or sum(n for n in theirs if n < MOST_TRIED) > MOST_TRIED_IN_ALL:
        raise ModelFileError(
            f"holds more than {MOST_THEIRS:,} objects of scikit-learn, or these take more than "
            f"{MOST_TRIED_IN_ALL:,} features in all."
        )


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a file says of itself; no array is read and no class imported."""
    with open_archive(Path(path), MOST_BYTES) as archive:
        check_format(archive.header)
        return archive.header | {"bytes": archive.n_bytes}


def check_format(header: Mapping[str, Any]) -> int:
    """The format of a file, if it is one that can be read."""
    found, writer = header["format"], header["versions"]["nearboost"]
    if found > FORMAT:
        raise ModelFileError(
            f"is of format {found}, written by nearboost {writer}, and this one knows formats up to {FORMAT}; "
            "upgrade nearboost."
        )
    if found < 1:
        raise ModelFileError(
            f"is of format {found}, which is no longer read; load it with nearboost {writer}, which wrote it, "
            "or fit the model again."
        )
    return int(found)


@dataclass(frozen=True)
class Checked:
    """An object of a file whose entries have been checked, before it is made."""

    kind: type
    name: str
    parameters: Mapping[str, Any]
    state: Mapping[str, Any]

    def build(self) -> Any:
        """The object, its parts first."""
        parameters, state = built(self.parameters), built(self.state)
        if not hasattr(self.kind, "get_params"):
            return self.kind(**state)
        made = self.kind(**parameters)
        check_parameters(made)
        if state:
            schema_of(self.name).restore(made, state)
            check_answers(made, self.name)
        return made


def check_parameters(estimator: Any) -> None:
    """Each class checks its own parameters; of scikit-learn's, those that state their constraints."""
    if hasattr(estimator, "check_parameters"):
        estimator.check_parameters()
    elif hasattr(estimator, "_parameter_constraints"):
        estimator._validate_params()
    if name_of(type(estimator)) in COMPOSITE:
        from nearboost.models.steps import check_steps  # scikit-learn is not needed to look into a file

        check_steps(estimator)


def check_answers(fitted: Any, name: str) -> None:
    """Classes of ours answer where their entries fit; those of scikit-learn are tried."""
    if name.startswith(SKLEARN):
        from nearboost.models import steps

        steps.check_answers(fitted)


def built(value: Any) -> Any:
    """Entries with their parts made."""
    if isinstance(value, Checked):
        return value.build()
    if isinstance(value, Mapping):
        return {key: built(one) for key, one in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(built, value))
    return value


class FileWriter:
    """Turns objects into JSON; ``arrays`` and ``objects``, with class and entries, are those it has met."""

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []
        self.objects: list[tuple[type, Mapping[str, Any]]] = []
        self._inside: list[int] = []  # the objects that are being written, by identity
        self._fitted = True  # whether what is written must be

    def array(self, array: NDArray[Any]) -> Coded:
        """An array by its number."""
        if array.dtype.kind not in KINDS:
            raise ModelFileError(f"An array of {array.dtype} cannot be saved; use plain numbers.")
        self.arrays.append(array)
        return {"array": len(self.arrays) - 1}

    def object(self, value: Any, where: str, fitted: bool = True) -> Coded:
        """An object by its class, parameters and entries."""
        name = name_of(type(value))
        if name is None:
            raise ModelFileError(refusal(value, where))
        if id(value) in self._inside or len(self._inside) > MOST_NESTED:
            raise ModelFileError(f"{where} is nested too deeply for a model file, or holds itself.")
        self._inside.append(id(value))
        outside, self._fitted = self._fitted, self._fitted and fitted
        schema = schema_of(name)
        keys = [key for key in parameters_of(type(value)) if key not in schema.dropped]
        given = {key: schema.kind_of(key).kept(getattr(value, key)) for key in keys}
        schema.check_parameters(given, where, cannot_be_saved)
        parameters = {key: schema.kind_of(key).encode(one, f"{where}.{key}", self) for key, one in given.items()}
        check_parameters(value)
        state = schema.collect(value)
        state = {key: state[key] for key in schema.state if key in state}
        self.objects.append((type(value), state))
        schema.check_state(state, where, cannot_be_saved, fitted=self._fitted)
        if state:
            check_answers(value, name)
        entries = {key: schema.state[key].encode(one, f"{where}.{key}", self) for key, one in state.items()}
        coded = {"class": name, "parameters": parameters, "state": entries}
        self._inside.pop()
        self._fitted = outside
        return coded


def cannot_be_saved(where: str, what: str) -> str:
    return f"{where} cannot be saved: it {what}."


def parameters_of(kind: type) -> dict[str, Any]:
    """The parameters of an estimator's class with their defaults; nothing for records."""
    if not hasattr(kind, "get_params"):
        return {}
    known = signature(kind.__init__).parameters.values()  # type: ignore[misc]
    return {one.name: one.default for one in known if one.name != "self" and one.kind != Parameter.VAR_KEYWORD}


class FileReader:
    """Reads and checks the objects of a file."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._used: set[int] = set()
        self._n_objects = 0
        self._depth = 0
        self._fitted = True  # whether what is read must be

    def array(self, coded: Coded) -> NDArray[Any]:
        """An array, which no other entry has."""
        if not isinstance(coded, Mapping) or list(coded) != ["array"] or type(coded["array"]) is not int:
            raise ModelFileError("holds an entry that should be an array and is none; it was changed or damaged.")
        number = coded["array"]
        if number in self._used:
            raise ModelFileError(f"uses its array {number} twice; it was changed or damaged.")
        self._used.add(number)
        return self._archive.array(number)

    def object(self, coded: Coded, where: str, kinds: tuple[str, ...], fitted: bool = True) -> Checked:
        """An object with all that it holds."""
        self._n_objects += 1
        if self._depth > MOST_NESTED or self._n_objects > MOST_OBJECTS:
            raise ModelFileError("is nested too deeply, or holds too many objects.")
        if not isinstance(coded, Mapping) or tuple(coded) != PARTS:
            raise ModelFileError(damaged(where, "is no object"))
        name, parameters, state = (coded[part] for part in PARTS)
        if not isinstance(name, str) or name not in MODULES:
            raise ModelFileError(f"asks for the class {name!r}, which is not in the table of names.")
        if kinds and name not in kinds:
            raise ModelFileError(damaged(where, f"must be one of {', '.join(kinds)}"))
        self._depth += 1
        outside, self._fitted = self._fitted, self._fitted and fitted
        kind, schema = class_of(name), schema_of(name)
        decoded = {
            key: schema.kind_of(key).decode(one, f"{where}.{key}", self)
            for key, one in known_only(parameters, parameters_of(kind), where).items()
        }
        entries = {
            key: schema.state[key].decode(one, f"{where}.{key}", self)
            for key, one in known_only(state, schema.state, where).items()
        }
        found = checked_object(name, decoded, entries, where, fitted=self._fitted)
        self._depth, self._fitted = self._depth - 1, outside
        return found


def known_only(given: Any, known: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """Entries under names that the class has."""
    if not isinstance(given, Mapping):
        raise ModelFileError(damaged(where, "has no entries"))
    for name in given:
        if name not in known:
            raise ModelFileError(
                f"holds {where}.{name[:100]}, which this version does not know; load it with the version of "
                "nearboost that wrote it (`nearboost info` tells which), or fit the model again."
            )
    return given


def checked_object(
    name: str, parameters: Mapping[str, Any], state: Mapping[str, Any], where: str, *, fitted: bool = True
) -> Checked:
    """Entries of one object after all checks; parameters that a file does not know get their defaults."""
    kind = class_of(name)
    missing = [
        key for key, default in parameters_of(kind).items() if default is Parameter.empty and key not in parameters
    ]
    if missing:
        raise ModelFileError(damaged(f"{where}.{missing[0]}", "is missing"))
    schema = schema_of(name)
    schema.check_parameters(parameters, where, damaged)
    schema.check_state(state, where, damaged, fitted=fitted)
    return Checked(kind, name, parameters, state)


def read_checked(archive: Archive) -> Checked:
    """The object of a file of any format, read and checked."""
    if check_format(archive.header) < FORMAT:
        from nearboost.models import old_formats

        return old_formats.read_checked(archive)
    return FileReader(archive).object(archive.header["root"], "model", ())


def _check_versions(path: Path, header: Mapping[str, Any], checked: Checked) -> None:
    """scikit-learn promises nothing about attributes from one version to the next, least of all private ones."""
    written, here = header["versions"]["scikit-learn"], version("scikit-learn")
    written, names = one_line(written), {one.name for one in objects_in(checked)}
    if written.split(".")[:2] == here.split(".")[:2]:
        return
    if SKLEARN + "SVC" in names:
        raise ModelFileError(
            f"holds an SVC of scikit-learn {written}, whose private arrays {here} may read otherwise; "
            f"install scikit-learn {written}, or fit the model again."
        )
    if any(name.startswith(SKLEARN) for name in names):
        warnings.warn(
            f"{path} holds objects of scikit-learn {written}, and this is {here}; compare some predictions, "
            "or fit the model again.",
            UserWarning,
            stacklevel=3,
        )


def objects_in(value: Any) -> list[Checked]:
    """All objects, outer ones first."""
    if isinstance(value, Checked):
        return [value, *objects_in(value.parameters), *objects_in(value.state)]
    if isinstance(value, Mapping):
        return [one for part in value.values() for one in objects_in(part)]
    if type(value) in (list, tuple):
        return [one for part in value for one in objects_in(part)]
    return []
