"""Objects in files that cannot run code: a zip of a JSON header and npy arrays."""

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from nearboost.base.disk import check_target
from nearboost.base.model_archive import MOST_BYTES, open_archive, write_archive
from nearboost.base.model_values import Decoder, Encoder, ModelFileError
from nearboost.base.names import RENAMED_FIELDS, SKLEARN

__all__ = [
    "FORMAT",
    "ModelFileError",
    "check_can_be_saved",
    "load",
    "objects_in",
    "read_header",
    "save",
]

FORMAT = 2


def _from_format_1(header: dict[str, Any]) -> dict[str, Any]:
    """A search came to keep the name of its method, and l1 codes have one solver left.

    NaiveBayesNN came to keep its voters, which older files do not tell.
    """
    for one in objects_in(header["root"]):
        for old, new in RENAMED_FIELDS.get(one["object"], {}).items():
            if old in one["state"]:
                one["state"][new] = one["state"].pop(old)
        if one["object"] == "NeighborSearch":
            one["state"]["method"] = "exact" if one["state"].pop("hnsw", None) is None else "hnsw"
        elif one["object"] == "LeastSquares":
            one["state"].pop("solver", None)
        elif one["object"] == "SRCClassifier":
            one["parameters"]["solver"] = "lasso"
    return header | {"format": 2}


# What turns a header of an older format into one of the next.
UPGRADES: Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]] = {1: _from_format_1}


def save(value: Any, path: str | os.PathLike[str], name: str = "model") -> None:
    """Write an estimator or a model to a file that cannot run code.

    Parameters
    ----------
    value : object
        An estimator of nearboost, a supported one of scikit-learn, or a `Model`.
    path : str or path
        The file.
    name : str, default="model"
        What error messages call the object.
    """
    check_target(path)
    encoder = Encoder()
    header = {
        "format": FORMAT,
        "versions": {package: version(package) for package in ("nearboost", "numpy", "scikit-learn")},
        "root": encoder.encode(value, name),
    }
    write_archive(Path(path), header, encoder.arrays)


def check_can_be_saved(value: Any, name: str = "model") -> None:
    """Refuse at once what `save` would refuse later, after a long fit."""
    Encoder().encode(value, name)


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
        If the file is missing, damaged, of another kind, or asks for a class that is not in the table of names.
    """
    with open_archive(Path(path), max_bytes) as archive:
        header = _upgrade(archive.header)
        loaded = Decoder(archive.array).decode(header["root"])
        _warn_of_version(Path(path), header)
    return loaded


def read_header(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a file says of itself; no array is read and no class imported."""
    with open_archive(Path(path), MOST_BYTES) as archive:
        return _upgrade(archive.header) | {"format": archive.header["format"], "bytes": archive.n_bytes}


def _upgrade(header: dict[str, Any]) -> dict[str, Any]:
    found, writer = header["format"], header["versions"]["nearboost"]
    if found > FORMAT:
        raise ModelFileError(
            f"is of format {found}, written by nearboost {writer}, and this one knows formats up to {FORMAT}; "
            "upgrade nearboost."
        )
    for step in range(found, FORMAT):
        if step not in UPGRADES:
            raise ModelFileError(
                f"is of format {found}, which is no longer read; load it with nearboost {writer}, which wrote it, "
                "or fit the model again."
            )
        header = UPGRADES[step](header)
    return header


def _warn_of_version(path: Path, header: dict[str, Any]) -> None:
    """scikit-learn promises nothing about attributes from one version to the next."""
    written, here = header["versions"]["scikit-learn"], version("scikit-learn")
    if written.split(".")[:2] != here.split(".")[:2] and any(map(_is_theirs, objects_in(header["root"]))):
        warnings.warn(
            f"{path} holds objects of scikit-learn {written}, and this is {here}; compare some predictions, "
            "or fit the model again.",
            UserWarning,
            stacklevel=3,
        )


def _is_theirs(coded: Mapping[str, Any]) -> bool:
    return str(coded["object"]).startswith(SKLEARN)


def objects_in(coded: Any) -> Iterator[Mapping[str, Any]]:
    """The objects of a header, outer ones first."""
    if isinstance(coded, Mapping):
        if "object" in coded:
            yield coded
        for part in coded.values():
            yield from objects_in(part)
    elif isinstance(coded, list):
        for part in coded:
            yield from objects_in(part)
