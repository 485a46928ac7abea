"""From images to rows of numbers: one way for all, in memory or into stores that can be resumed."""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline

from nearboost.base.image_set import Content, ImageSet, path_of
from nearboost.base.images import IMAGE_ENDINGS
from nearboost.base.progress import progress_bar
from nearboost.base.threads import map_in_threads, one_matrix_thread
from nearboost.features.base import FixedDescriptor
from nearboost.features.store import FILE, OK, FeatureStore, open_store, store_folder

IMAGES_AT_ONCE = 4096  # waiting for a thread
OURS = (ImportError, MemoryError, NotFittedError)  # not the fault of an image


@dataclass(frozen=True)
class ImageRows:
    """Rows of images.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_numbers)
        Rows in float32: one for each described image, or all rows of a store, memory-mapped.
    numbers : ndarray of shape (n_images,)
        Row of each image; -1 if it could not be described.
    failed : dict
        What was wrong with each image that could not be described, by position.
    transformer : transformer
        What made the rows.
    file : Path or None
        The npy file of the rows, if a store keeps them.
    """

    rows: NDArray[np.float32]
    numbers: NDArray[np.int64]
    failed: dict[int, str]
    transformer: Any
    file: Path | None = None

    @property
    def places(self) -> NDArray[np.int64]:
        """Positions of the described images."""
        return np.flatnonzero(self.numbers >= 0)

    @property
    def X(self) -> NDArray[np.float32]:
        """Rows of the described images, in memory."""
        return np.asarray(self.rows[self.numbers[self.places]])


def images_to_rows(
    images: ImageSet | Sequence[Any],
    transformers: Sequence[Any],
    into: str | os.PathLike[str] | None = None,
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> list[ImageRows]:
    """Describe images by fitted transformers, all at once: each image is decoded once.

    Parameters
    ----------
    images : ImageSet or sequence
        Images, or paths of files. One that cannot be described is left out, with a message that names its file.
        Where the set has masks, `BioInspiredFeatures` describes what lies inside of them.
    transformers : sequence of transformers
        Each makes one row of numbers from one image.
    into : str, path or None, default=None
        Folder of stores; None keeps rows in memory. What a store has is not made again.
    n_jobs : int or None, default=None
        Number of threads, each with one image; None uses all cores.
    verbose : int, default=0
        Shows progress bars on standard error when above 0.

    Returns
    -------
    list of ImageRows
        One for each transformer.
    """
    images = ImageSet.of(images)
    for transformer in transformers:
        check_settings(transformer)
    if into is None:
        in_memory = [MemoryWriter(images) for _ in transformers]
        describe_all(images, transformers, in_memory, n_jobs, verbose)
        return [writer.close(one) for writer, one in zip(in_memory, transformers, strict=True)]
    stores = _describe_into(images, transformers, Path(into), n_jobs, verbose)
    return [_stored_rows(store, one) for store, one in zip(stores, transformers, strict=True)]


def extract(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    descriptor: Any,
    into: str | os.PathLike[str],
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> FeatureStore:
    """Describe the images of a folder, or some files, as far as that has not been done yet.

    A file that gives no image is reported in the table and skipped. If killed at any moment, the next call
    continues where this one stopped. A store with other settings or another fit is another folder.

    Parameters
    ----------
    source : str, path or sequence of these
        A folder, searched with its subfolders for files named like images; or paths of files.
    descriptor : transformer or fitted pipeline
        Makes one row of numbers from ``[path]``.
    into : str or path
        Folder of all stores; the descriptor's own is named by its class and `fingerprint`.
    n_jobs : int or None, default=None
        Number of threads, each with one image; None uses all cores.
    verbose : int, default=0
        Shows a progress bar with the time left on standard error when above 0.

    Returns
    -------
    FeatureStore
        The rows, and a table of the files.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from PIL import Image
    >>> from nearboost.features import BioInspiredFeatures, extract
    >>> folder = Path(tempfile.mkdtemp())
    >>> for i in range(3):
    ...     Image.fromarray(np.full((20, 30), 40 * i, dtype=np.uint8)).save(folder / f"{i}.png")
    >>> _ = (folder / "broken.jpg").write_bytes(b"no image")
    >>> store = extract(folder, BioInspiredFeatures((1,), 8), folder / "stores")
    >>> store.X.shape, [entry.status for entry in store.table]
    ((3, 8), ['ok', 'ok', 'ok', 'failed'])
    """
    images = ImageSet([str(path) for path in find_files(source)], decode=False)
    check_settings(descriptor)
    [store] = _describe_into(images, [descriptor], Path(into), n_jobs, verbose)
    return store


def find_files(source: Any) -> list[Path]:
    """The files to describe; those of a folder in the order of their names."""
    if not isinstance(source, str | os.PathLike):
        return [Path(path_of(item)) for item in source]
    folder = Path(source)
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder; give one, or a list of files.")
    found = [path for path in folder.rglob("*") if path.suffix.lower() in IMAGE_ENDINGS and path.is_file()]
    return sorted(found, key=lambda path: path.relative_to(folder).parts)


def check_settings(descriptor: Any) -> None:
    """Wrong settings of what looks at the images, before files are blamed for them."""
    first = descriptor[0] if isinstance(descriptor, Pipeline) else descriptor
    if isinstance(first, FixedDescriptor):
        first.fit()


class Writer(Protocol):
    """Where the rows of one transformer go, from any thread; ``wanted`` are the images that it lacks."""

    wanted: dict[int, int]

    def write(self, i: int, values: NDArray[np.float32]) -> None: ...
    def write_failure(self, i: int, message: str, *, lasting: bool = True) -> None: ...


class MemoryWriter:
    """Keeps rows in memory."""

    def __init__(self, images: ImageSet) -> None:
        self._images, self.wanted = images, {i: i for i in range(len(images))}
        self._rows: dict[int, NDArray[np.float32]] = {}
        self._failed: dict[int, str] = {}

    def write(self, i: int, values: NDArray[np.float32]) -> None:
        self._rows[i] = values

    def write_failure(self, i: int, message: str, *, lasting: bool = True) -> None:
        self._failed[i] = message.replace(FILE, _name(self._images.item(i)))

    def close(self, transformer: Any) -> ImageRows:
        numbers, places = np.full(len(self._images), -1, dtype=np.int64), sorted(self._rows)
        numbers[places] = np.arange(len(places))
        rows = np.stack([self._rows[i] for i in places]) if places else np.empty((0, 0), dtype=np.float32)
        return ImageRows(rows, numbers, dict(sorted(self._failed.items())), transformer)


def _describe_into(
    images: ImageSet, transformers: Sequence[Any], into: Path, n_jobs: int | None, verbose: int
) -> list[FeatureStore]:
    """The stores of transformers; equal ones share theirs."""
    folders = [store_folder(one, into) for one in transformers]
    by_folder = dict(zip(folders, transformers, strict=True))
    with ExitStack() as stack:
        writers = {
            folder: stack.enter_context(
                open_store(one, folder, images, contents_for(one, images, n_jobs, verbose))
            )
            for folder, one in by_folder.items()
        }
        describe_all(images, list(by_folder.values()), list(writers.values()), n_jobs, verbose)
        stores = {folder: writer.close() for folder, writer in writers.items()}
    return [stores[folder] for folder in folders]


def _stored_rows(store: FeatureStore, transformer: Any) -> ImageRows:
    numbers = np.array([entry.row for entry in store.table], dtype=np.int64)
    failed = {i: entry.message for i, entry in enumerate(store.table) if entry.status != OK}
    rows = store.rows if (numbers >= 0).any() else np.empty((0, 0), dtype=np.float32)
    return ImageRows(rows, numbers, failed, transformer, store.folder / "rows.npy")


def describe_all(
    images: ImageSet, transformers: Sequence[Any], writers: Sequence[Writer], n_jobs: int | None, verbose: int
) -> None:
    """Decode each image that some writer wants, and describe it for all that want it."""
    waiting = sorted({i for writer in writers for i in writer.wanted})

    def describe(i: int) -> None:
        wanting = [(one, writer) for one, writer in zip(transformers, writers, strict=True) if i in writer.wanted]
        try:
            image = images[i]
        except OURS:
            raise
        except Exception as error:
            for _, writer in wanting:
                _write_error(writer, i, error, images)
            return
        for transformer, writer in wanting:
            _describe_one(image, i, transformer, writer, images)

    with one_matrix_thread(), progress_bar("Describing", len(waiting), verbose) as advance:
        for start in range(0, len(waiting), IMAGES_AT_ONCE):
            map_in_threads(describe, waiting[start : start + IMAGES_AT_ONCE], n_jobs, advance)


def looks_inside(transformer: Any, images: ImageSet) -> bool:
    """Whether a transformer describes the inside of masks, and the images have some."""
    return images.has_masks and takes_masks(transformer)


def takes_masks(transformer: Any) -> bool:
    return "masks" in signature(transformer.transform).parameters


def contents_for(transformer: Any, images: ImageSet, n_jobs: int | None, verbose: int) -> list[Content]:
    """What a row depends on: the image, with its mask where that is looked at."""
    if looks_inside(transformer, images):
        return images.masked_contents(n_jobs, verbose)
    return images.contents(n_jobs, verbose)


def _describe_one(image: Any, i: int, transformer: Any, writer: Writer, images: ImageSet) -> None:
    try:
        inside = {"masks": [images.mask(i)]} if looks_inside(transformer, images) else {}
        found = transformer.transform([image], **inside)
    except OURS:
        raise
    except Exception as error:  # whatever an image makes decoders and descriptors raise
        _write_error(writer, i, error, images)
        return
    row = as_row(found, transformer)
    if np.isfinite(row).all():
        writer.write(i, row)
    else:
        writer.write_failure(i, f"{FILE} gives NaN or infinite numbers.")


def _write_error(writer: Writer, i: int, error: Exception, images: ImageSet) -> None:
    """Pass on an error as one line that names the file; trouble of the system does not last."""
    said = str(error) if isinstance(error, ValueError) else repr(error)
    said = said.replace(_name(images.item(i)), FILE).partition("\n")[0]
    message = said if FILE in said else f"{FILE} cannot be described: {said}"
    writer.write_failure(i, message, lasting=getattr(error.__cause__, "errno", None) is None)


def _name(item: Any) -> str:
    return str(item) if isinstance(item, str | os.PathLike) else "The image"


def as_row(found: Any, descriptor: Any) -> NDArray[np.float32]:
    rows = np.asarray(found) if hasattr(found, "__array__") else None  # of data frames as well
    if rows is None or rows.ndim != 2 or len(rows) != 1:
        raise TypeError(
            f"{type(descriptor).__name__} gave {type(found).__name__} for one image and not one row of numbers; "
            "put an encoder such as SpatialPyramid after local descriptors."
        )
    return np.asarray(rows[0], dtype=np.float32)
