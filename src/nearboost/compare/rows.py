"""The rows of a split: vectors as they are, or images described once and kept in the output folder."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from nearboost.base.disk import reserve, whole_file, write_json
from nearboost.base.progress import progress_bar
from nearboost.base.threads import map_in_threads
from nearboost.base.validation import float_type
from nearboost.catalogue.descriptors import Descriptor, describe
from nearboost.compare.protocols import Split
from nearboost.datasets import Dataset

BLOCK_BYTES = 2**26
VECTORS = "vectors"


class SplitRows(NamedTuple):
    """Where the rows of a split lie: a npy file, the row of each training and test item, and what has none."""

    file: Path
    train: NDArray[np.int64]  # -1 for an item without a row
    test: NDArray[np.int64]
    failed: dict[str, str]  # what was wrong, by the item's name


class Source(Protocol):
    """What gives rows to splits."""

    def content(self, split: Split) -> str:
        """A hash of all that the split's items hold."""
        ...

    def has_rows(self, split: Split, descriptor: Descriptor | None) -> bool:
        """Whether they are made already."""
        ...

    def rows(self, split: Split, descriptor: Descriptor | None) -> SplitRows:
        """The split's rows, made if need be."""
        ...


class Vectors:
    """Rows that the data set has, copied once to where all processes can map them."""

    def __init__(self, dataset: Dataset, folder: Path) -> None:
        self._items = np.asarray(dataset.items) if not isinstance(dataset.items, np.ndarray) else dataset.items
        self._hash = hash_of_rows(self._items)
        self._file = folder / f"{VECTORS}-{self._hash[:20]}.npy"

    def content(self, split: Split) -> str:
        return self._hash

    def has_rows(self, split: Split, descriptor: Descriptor | None) -> bool:
        return True

    def rows(self, split: Split, descriptor: Descriptor | None) -> SplitRows:
        if not self._file.exists():
            copy_rows(self._items, self._file)
        return SplitRows(self._file, split.train.astype(np.int64), split.test.astype(np.int64), {})


class Images:
    """Images and their descriptors; an index says which rows belong to a split, so that it is fitted once."""

    def __init__(self, dataset: Dataset, folder: Path, n_jobs: int | None, verbose: int) -> None:
        self._dataset, self._folder = dataset, folder
        self._n_jobs, self._verbose = n_jobs, verbose
        self._hashes: dict[str, str] = {}

    def content(self, split: Split) -> str:
        from nearboost.features.store import content_of

        paths = self._paths(split)
        unknown = [path for path in dict.fromkeys(paths) if path not in self._hashes]
        with progress_bar("Reading files", len(unknown), self._verbose if unknown else 0) as advance:
            found = map_in_threads(lambda path: content_of(Path(path))[0], unknown, self._n_jobs, advance)
        self._hashes.update(zip(unknown, found, strict=True))
        return hash_of_texts([self._hashes[path] for path in paths])

    def has_rows(self, split: Split, descriptor: Descriptor | None) -> bool:
        return self._read(self._index(split, descriptor)) is not None

    def rows(self, split: Split, descriptor: Descriptor | None) -> SplitRows:
        assert descriptor is not None
        index = self._index(split, descriptor)
        known = self._read(index)
        if known is None:
            known = self._describe(split, descriptor)
            write_json(index, known)
        numbers, n_train = np.array(known["numbers"], dtype=np.int64), len(split.train)
        return SplitRows(self._folder / known["file"], numbers[:n_train], numbers[n_train:], known["failed"])

    def _describe(self, split: Split, descriptor: Descriptor) -> dict[str, Any]:
        names = [self._dataset.names[i] for i in [*split.train.tolist(), *split.test.tolist()]]
        found = describe(
            self._paths(split),
            descriptor,
            self._folder,
            train=np.arange(len(split.train)),
            seed=split.seed,
            n_jobs=self._n_jobs,
            verbose=self._verbose,
        )
        failed = {names[i]: message for i, message in found.failed.items()}
        file = str(found.file.relative_to(self._folder))
        return {"file": file, "numbers": found.numbers.tolist(), "failed": failed}

    def _read(self, index: Path) -> dict[str, Any] | None:
        try:
            known = json.loads(index.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return known if (self._folder / known["file"]).exists() else None

    def _index(self, split: Split, descriptor: Descriptor | None) -> Path:
        from nearboost.features.fingerprint import fingerprint

        assert descriptor is not None
        names = [self._dataset.names[i] for i in [*split.train.tolist(), *split.test.tolist()]]
        parts = [self.content(split), fingerprint(descriptor.make(split.seed, 1)), str(len(split.train)), *names]
        return self._folder / f"{descriptor.name.partition(':')[0]}-{hash_of_texts(parts)[:20]}.json"

    def _paths(self, split: Split) -> list[str]:
        return [str(self._dataset.items[i]) for i in [*split.train.tolist(), *split.test.tolist()]]


def open_source(dataset: Dataset, folder: Path, n_jobs: int | None, verbose: int) -> Source:
    """Where the rows of a data set come from."""
    folder.mkdir(parents=True, exist_ok=True)
    if dataset.kind == "vectors":
        return Vectors(dataset, folder)
    return Images(dataset, folder, n_jobs, verbose)


def hash_of_texts(texts: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        raw = text.encode("utf-8", "surrogateescape")
        digest.update(len(raw).to_bytes(8, "little"))
        digest.update(raw)
    return digest.hexdigest()


def hash_of_rows(rows: NDArray[Any]) -> str:
    digest = hashlib.sha256(f"{rows.dtype.str} {rows.shape}".encode())
    for block in blocks_of(rows):
        digest.update(np.ascontiguousarray(block).tobytes())
    return digest.hexdigest()


def copy_rows(rows: NDArray[Any], file: Path) -> None:
    """A npy file of the rows as floats, some at a time."""
    with whole_file(file) as made:
        copy = np.lib.format.open_memmap(made, "w+", float_type(rows.dtype), rows.shape)
        reserve(made)
        start = 0
        for block in blocks_of(rows):
            copy[start : start + len(block)] = block
            start += len(block)
        copy.flush()


def blocks_of(rows: NDArray[Any]) -> list[NDArray[Any]]:
    """Views of some rows each."""
    size = max(1, BLOCK_BYTES // max(1, rows.itemsize * rows.shape[1]))
    return [rows[start : start + size] for start in range(0, len(rows), size)]
