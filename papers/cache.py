"""One cache of features and results, keyed by all that they depend on: content of the data, settings, versions.

Names and paths of files do not count, so a set may be moved and its files renamed. Its folder holds

- ``results``: what a line gave on a split, one JSON file each;
- ``features``: what describes the items of a set, and ``rows``: the same after a panel's transformers;
- ``stores``: the rows of single images, which sets that overlap share (see `nearboost.features.store`).
"""

import hashlib
import json
import shutil
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.image_set import hash_file
from nearboost.base.machine import describe_versions
from nearboost.base.threads import map_in_threads
from nearboost.datasets import Dataset

LIBRARIES = (
    *("nearboost", "numpy", "scipy", "scikit-learn", "numba"),
    *("opencv-python-headless", "pillow", "tifffile"),
)
N_DIGITS = 24

Key = dict[str, Any]


@cache
def library_versions() -> dict[str, str | None]:
    """Versions of everything that may change a number."""
    return describe_versions(LIBRARIES)


def settings_text(estimator: Any) -> str:
    """All settings of an estimator that are not defaults, in full."""
    return repr(estimator) if not hasattr(estimator, "get_params") else estimator.__repr__(N_CHAR_MAX=10**6)


def hash_key(key: Key) -> str:
    """Equal for equal keys, other for any change."""
    return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:N_DIGITS]


class ContentHasher:
    """Hashes of data sets; a file that several sets share is read once."""

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs
        self._files: dict[str, str] = {}

    def hash(self, dataset: Dataset) -> str:
        """The items in their order, with masks, labels, parts and groups, whatever their files are called."""
        digest = hashlib.sha256(json.dumps([dataset.kind, dataset.classes]).encode())
        if dataset.kind == "images":
            digest.update("".join(self._hash_files([*dataset.items, *(dataset.masks or ())])).encode())
        else:
            _update(digest, np.asarray(dataset.items))
        for column in (dataset.labels, dataset.part):
            if column is not None:
                _update(digest, np.asarray(column))
        if dataset.groups is not None:  # only who belongs together counts
            _, first, codes = np.unique(np.asarray(dataset.groups), return_index=True, return_inverse=True)
            _update(digest, first[codes])
        return digest.hexdigest()[:N_DIGITS]

    def _hash_files(self, paths: Iterable[Any]) -> list[str]:
        names = [str(path) for path in paths]
        unknown = [name for name in dict.fromkeys(names) if name not in self._files]
        found = map_in_threads(lambda name: hash_file(name).digest, unknown, self.n_jobs)
        self._files.update(zip(unknown, found, strict=True))
        return [self._files[name] for name in names]


def _update(digest: Any, array: NDArray[Any]) -> None:
    digest.update(f"{array.dtype.str} {array.shape}".encode())
    digest.update(np.ascontiguousarray(array).tobytes())


class Cache:
    """Where the files of a key lie. A key is that of a result, of which features and rows depend on a part."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def result(self, key: Key) -> Path:
        """The JSON file of a result."""
        return self._path("results", key, ".json")

    def features(self, key: Key) -> Path:
        """What describes the items; what is learned depends on the split."""
        names = ["content", "features", "versions"]
        if key["features"]["learned"]:
            names += ["protocol", "seed"]
        return self._path("features", {name: key[name] for name in names}, ".npz")

    def rows(self, key: Key, transformer: str) -> Path:
        """The rows of a split after a transformer with these settings."""
        part = {name: key[name] for name in ("content", "features", "protocol", "seed", "versions")}
        return self._path("rows", {**part, "transformer": transformer}, ".npz")

    def store(self, key: Key) -> Path:
        """The folder for the rows of single images."""
        return self._path("stores", {name: key[name] for name in ("features", "versions")}, "")

    def forget(self, keys: Iterable[Key]) -> None:
        """Remove the results of these keys, and the features and rows they were made from."""
        for key in keys:
            rows = [self.rows(key, transformer) for transformer in key["transformers"]]
            for file in (self.result(key), self.features(key), *rows):
                file.unlink(missing_ok=True)
            shutil.rmtree(self.store(key), ignore_errors=True)

    def _path(self, kind: str, key: Key, suffix: str) -> Path:
        path = self.folder / kind / f"{hash_key(key)}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path
