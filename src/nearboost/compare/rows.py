"""The rows of a split: vectors as they are, or images described once and kept in the output folder."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from nearboost.base.disk import reserve, whole_file, write_json
from nearboost.base.image_set import data_address, make_thumbnail
from nearboost.base.validation import check_map, float_type
from nearboost.catalogue.descriptors import Descriptor, describe
from nearboost.compare.protocols import Split
from nearboost.datasets import Dataset

BLOCK_BYTES = 2**26
VECTORS = "vectors"
SMALLEST_PICTURE = 64  # pixels


class SplitRows(NamedTuple):
    """Where the rows of a split are: a npy file, the row of each training and test item, and what has none."""

    file: Path
    train: NDArray[np.int64]  # -1 for an item without a row
    test: NDArray[np.int64]
    failed: dict[str, str]  # what was wrong, by the item's name
    masks: str = ""  # a hash of the masks that were looked at


class Source(Protocol):
    """Where splits get their rows from."""

    def content(self, split: Split) -> str:
        """A hash of all that the split's items hold."""
        ...

    def prepare(self, splits: Sequence[Split], descriptors: Sequence[Descriptor]) -> None:
        """Make what all splits share."""
        ...

    def rows(self, split: Split, descriptor: Descriptor | None) -> SplitRows:
        """The split's rows, made if need be."""
        ...

    def close(self) -> None:
        """All rows are made; memory is for the runs now."""
        ...

    def thumbnail(self, name: str) -> str | None:
        """The address of an item's small picture, if it has one."""
        ...


class VectorSource:
    """Rows that the data set has, copied once to where all processes can map them."""

    def __init__(self, dataset: Dataset, folder: Path) -> None:
        self._items = np.asarray(dataset.items) if not isinstance(dataset.items, np.ndarray) else dataset.items
        self._shape, self._names = dataset.image_shape, dataset.names
        self._hash = hash_rows(self._items)
        self._file = folder / f"{VECTORS}-{self._hash[:20]}.npy"

    def content(self, split: Split) -> str:
        return self._hash

    def prepare(self, splits: Sequence[Split], descriptors: Sequence[Descriptor]) -> None:
        if not self._file.exists():
            copy_rows(self._items, self._file)

    def rows(self, split: Split, descriptor: Descriptor | None) -> SplitRows:
        return SplitRows(self._file, split.train.astype(np.int64), split.test.astype(np.int64), {})

    def close(self) -> None:
        """Nothing was kept."""

    def thumbnail(self, name: str) -> str | None:
        if self._shape is None:
            return None
        low, high = self._range
        row = np.asarray(self._items[list(self._names).index(name)], dtype=np.float64).reshape(self._shape)
        grey = (255 * (row - low) / max(high - low, np.finfo(float).tiny)).round().astype(np.uint8)
        times = max(1, SMALLEST_PICTURE // max(self._shape[:2]))  # a pixel stays a square
        return data_address(make_thumbnail(np.squeeze(grey).repeat(times, axis=0).repeat(times, axis=1)))

    @cached_property
    def _range(self) -> tuple[float, float]:
        """The darkest and the brightest number of all."""
        blocks = [(float(block.min()), float(block.max())) for block in row_blocks(self._items)]
        return min(low for low, _ in blocks), max(high for _, high in blocks)


class ImageSource:
    """Images, hashed and decoded once for all splits, descriptors and thumbnails.

    An index says which rows belong to a split, so that a descriptor is fitted once for it.
    """

    def __init__(
        self, dataset: Dataset, folder: Path, looks_again: bool, n_jobs: int | None, verbose: int
    ) -> None:
        self.images = dataset.images(thumbnails=True, keep_pixels=looks_again)
        self._names, self._folder = [str(name) for name in dataset.names], folder
        self._n_jobs, self._verbose = n_jobs, verbose

    def content(self, split: Split) -> str:
        contents = self.images.take(split.items).contents(self._n_jobs, self._verbose)
        return hash_texts([content.digest for content in contents])

    def has_rows(self, split: Split, descriptor: Descriptor) -> bool:
        """Whether they are made already."""
        return self._read(self._index(split, descriptor)) is not None

    def prepare(self, splits: Sequence[Split], descriptors: Sequence[Descriptor]) -> None:
        from nearboost.features.extraction import images_to_rows

        fixed = [one for one in descriptors if not one.learned]
        missing = {one.name: [split for split in splits if not self.has_rows(split, one)] for one in fixed}
        transformers = [one.make(0, self._n_jobs) for one in fixed if missing[one.name]]
        items = {i for lacking in missing.values() for split in lacking for i in split.items}
        if items:
            some = self.images.take(sorted(items))
            images_to_rows(some, transformers, self._folder, n_jobs=self._n_jobs, verbose=self._verbose)

    def rows(self, split: Split, descriptor: Descriptor | None) -> SplitRows:
        assert descriptor is not None
        index = self._index(split, descriptor)
        known = self._read(index)
        if known is None:
            known = self._describe(split, descriptor)
            write_json(index, known)
        numbers, n_train = np.array(known["numbers"], dtype=np.int64), len(split.train)
        file, masks = self._folder / known["file"], self._masks(split, descriptor)
        return SplitRows(file, numbers[:n_train], numbers[n_train:], known["failed"], masks)

    def close(self) -> None:
        self.images.release_pixels()

    def thumbnail(self, name: str) -> str | None:
        picture = self.images.thumbnail(self._names.index(name))
        return data_address(picture) if picture else None

    def _describe(self, split: Split, descriptor: Descriptor) -> dict[str, Any]:
        found = describe(
            self.images.take(split.items),
            descriptor,
            self._folder,
            train=range(len(split.train)),
            seed=split.seed,
            n_jobs=self._n_jobs,
            verbose=self._verbose,
        )
        assert found.file is not None
        failed = {self._names[split.items[i]]: message for i, message in found.failed.items()}
        file = str(found.file.relative_to(self._folder))
        return {"file": file, "numbers": found.numbers.tolist(), "failed": failed}

    def _masks(self, split: Split, descriptor: Descriptor) -> str:
        """A hash of the masks that the descriptor looks at; nothing where it does not."""
        from nearboost.features.extraction import looks_inside

        if not looks_inside(descriptor.make(split.seed, 1), self.images):
            return ""
        contents = self.images.take(split.items).masked_contents(self._n_jobs, self._verbose)
        return hash_texts([content.digest for content in contents])

    def _read(self, index: Path) -> dict[str, Any] | None:
        try:
            known = json.loads(index.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return known if (self._folder / known["file"]).exists() else None

    def _index(self, split: Split, descriptor: Descriptor) -> Path:
        from nearboost.features.fingerprint import fingerprint

        names = [self._names[i] for i in split.items]
        parts = [self.content(split), fingerprint(descriptor.make(split.seed, 1)), str(len(split.train)), *names]
        parts += [masks] if (masks := self._masks(split, descriptor)) else []
        return self._folder / f"{descriptor.name.partition(':')[0]}-{hash_texts(parts)[:20]}.json"


def open_source(
    dataset: Dataset, folder: Path, descriptors: Sequence[Descriptor], n_jobs: int | None, verbose: int
) -> VectorSource | ImageSource:
    """Where the rows of a data set come from."""
    folder.mkdir(parents=True, exist_ok=True)
    if dataset.kind == "vectors":
        return VectorSource(dataset, folder)
    looks_again = any(one.learned or one.slow for one in descriptors)  # to learn, or for an estimate of the time
    return ImageSource(dataset, folder, looks_again, n_jobs, verbose)


def hash_texts(texts: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        raw = text.encode("utf-8", "surrogateescape")
        digest.update(len(raw).to_bytes(8, "little"))
        digest.update(raw)
    return digest.hexdigest()


def hash_rows(rows: NDArray[Any]) -> str:
    digest = hashlib.sha256(f"{rows.dtype.str} {rows.shape}".encode())
    for block in row_blocks(rows):
        digest.update(np.ascontiguousarray(block).tobytes())
    return digest.hexdigest()


def copy_rows(rows: NDArray[Any], file: Path) -> None:
    """A npy file of the rows as floats, some at a time."""
    with whole_file(file) as made:
        copy = np.lib.format.open_memmap(made, "w+", float_type(rows.dtype), rows.shape)
        reserve(made)
        start = 0
        for block in row_blocks(rows):
            copy[start : start + len(block)] = block
            start += len(block)
        copy.flush()


def row_blocks(rows: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Views of some rows each."""
    size = max(1, BLOCK_BYTES // max(1, rows.itemsize * rows.shape[1]))
    for start in range(0, len(rows), size):
        check_map(rows)
        yield rows[start : start + size]
