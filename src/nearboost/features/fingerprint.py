"""A short text that changes whenever the numbers of a descriptor may change."""

import hashlib
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

# Settings that change no number; of a network the content counts, not the path.
WITHOUT_EFFECT = ("n_jobs", "verbose", "memory", "gram_memory", "path_to_onnx")


def fingerprint(estimator: Any) -> str:
    """Hash of a transformer's settings, fitted arrays and version; pipelines and nested ones included.

    Two transformers of one class share it where all settings and all attributes that end with ``_`` are equal. A
    class may count its own changes in ``descriptor_version``, and name more that matters, such as the content of
    a file, in ``more_for_fingerprint``.
    """
    digest = hashlib.sha256()
    for piece in _pieces(estimator):
        digest.update(len(piece).to_bytes(8, "little"))  # so that no two sequences of pieces read the same
        digest.update(piece)
    return digest.hexdigest()


def _pieces(value: Any) -> Iterator[bytes]:
    if isinstance(value, BaseEstimator):
        yield from _of_estimator(value)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield f"array {value.dtype.str} {value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif isinstance(value, np.generic):
        yield from _pieces(value.item())
    elif value is None or isinstance(value, str | bytes | bool | int | float):
        yield f"{type(value).__name__} {value!r}".encode()
    elif isinstance(value, Mapping):
        yield f"mapping {len(value)}".encode()
        for key in sorted(value, key=repr):
            yield from _pieces(key)
            yield from _pieces(value[key])
    elif isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim):
        yield f"sequence {len(value)}".encode()
        for one in value:
            yield from _pieces(one)
    elif issparse(value):
        rows = value.tocsr()
        yield from _pieces(["sparse", list(rows.shape), rows.indptr, rows.indices, rows.data])
    elif isinstance(value, np.random.RandomState):
        yield from _pieces(["random state", *value.get_state()])
    elif callable(value) and "<" not in getattr(value, "__qualname__", "<"):
        yield f"{value.__module__}.{value.__qualname__}".encode()
    elif hasattr(value, "__fspath__"):
        yield from _pieces(str(value))
    else:
        raise ValueError(
            f"A setting or fitted attribute is {value!r}, of which no fingerprint can be taken; use numbers, "
            "texts, arrays, named functions and estimators."
        )


def _of_estimator(estimator: Any) -> Iterator[bytes]:
    kind = type(estimator)
    yield f"{kind.__module__}.{kind.__qualname__} {_version(kind)}".encode()
    settings = estimator.get_params(deep=False)
    yield from _pieces({name: value for name, value in settings.items() if name not in WITHOUT_EFFECT})
    fitted = {name: value for name, value in vars(estimator).items() if name.endswith("_") and name[0] != "_"}
    yield from _pieces(fitted)
    if hasattr(estimator, "more_for_fingerprint"):
        yield from _pieces(estimator.more_for_fingerprint())


def _version(kind: type) -> str:
    """As the class counts it; else that of the package it comes from, and 1 for our own."""
    package = kind.__module__.partition(".")[0]
    version = getattr(kind, "descriptor_version", None)
    if version is None:
        version = "1" if package == "nearboost" else getattr(import_module(package), "__version__", "")
    return str(version)
