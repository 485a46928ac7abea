"""The descriptors of images that can be asked for by name, and how the images of a split get their rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearboost.base.errors import UsageError

DEFAULT = "gist"
EMBEDDING = "embedding:"


@dataclass(frozen=True)
class Descriptor:
    """A named way from images to rows.

    Attributes
    ----------
    name : as on the command line
    title : as in tables
    make : ``make(seed, n_jobs)`` gives the transformer, not fitted
    about : what it is, in a sentence
    learned : whether it is fitted, which is done on the training images of each split alone
    slow : whether it takes long enough for an estimate of the time before it starts
    """

    name: str
    title: str
    make: Callable[[int, int | None], Any]
    about: str
    learned: bool = False
    slow: bool = False


class ImageRows(NamedTuple):
    """Rows of some images.

    Attributes
    ----------
    file : npy file of float32 rows, to be memory-mapped
    numbers : for each image its row in the file; -1 where the image could not be described
    failed : what was wrong, by image
    transformer : what made the rows, fitted
    """

    file: Path
    numbers: NDArray[np.int64]
    failed: dict[int, str]
    transformer: Any

    @property
    def rows(self) -> NDArray[np.float32]:
        """The rows of the images that have one, in memory."""
        return np.asarray(np.load(self.file, mmap_mode="r")[self.numbers[self.numbers >= 0]])


def find_descriptor(name: str) -> Descriptor:
    """The descriptor of this name; ``embedding:FILE`` is the network in an ONNX file."""
    if name.startswith(EMBEDDING):
        return _embedding(name)
    if name not in DESCRIPTORS:
        raise UsageError(f"Unknown features {name!r}; use {', '.join(DESCRIPTORS)} or {EMBEDDING}FILE.onnx.")
    return DESCRIPTORS[name]


def describe(
    images: Sequence[str],
    descriptor: Descriptor,
    folder: Path,
    *,
    train: Sequence[int] | NDArray[np.int64],
    seed: int = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> ImageRows:
    """Rows of all ``images``; a learned descriptor is fitted to the images numbered ``train`` only.

    Rows are kept in ``folder`` (see `extract`), so that an image is described once by the same transformer. An
    image that cannot be read is left out of the fit, and has no row.
    """
    from nearboost.features.store import OK, extract

    transformer = descriptor.make(seed, n_jobs)
    if descriptor.learned:
        transformer.fit(readable([images[i] for i in train], n_jobs, verbose))
    store = extract(images, transformer, folder, n_jobs=n_jobs, verbose=verbose)
    numbers = np.array([entry.row for entry in store.table], dtype=np.int64)
    failed = {i: entry.message for i, entry in enumerate(store.table) if entry.status != OK}
    return ImageRows(store.folder / "rows.npy", numbers, failed, transformer)


def readable(images: Sequence[str], n_jobs: int | None = None, verbose: int = 0) -> list[str]:
    """The images that can be decoded: a step that learns would stop at a broken one."""
    from nearboost.base.images import ImageError, read_image
    from nearboost.base.progress import progress_bar
    from nearboost.base.threads import map_in_threads

    def can_be_read(path: str) -> bool:
        try:
            read_image(path)
        except ImageError:
            return False
        return True

    with progress_bar("Reading images", len(images), verbose) as advance:
        sound = map_in_threads(can_be_read, images, n_jobs, advance)
    return [path for path, is_sound in zip(images, sound, strict=True) if is_sound]


def _gist(seed: int, n_jobs: int | None) -> Any:
    from nearboost.features.gist import Gist

    return Gist(n_jobs=n_jobs)


def _pixels(seed: int, n_jobs: int | None) -> Any:
    from nearboost.features.pixels import SmallGrey

    return SmallGrey(n_jobs=n_jobs)


def _bif(seed: int, n_jobs: int | None) -> Any:
    from nearboost.features.bif import BioInspiredFeatures

    return BioInspiredFeatures(root=True, n_jobs=n_jobs)


def _bag(seed: int, n_jobs: int | None) -> Any:
    from nearboost.features.bags import BagOfFeatures

    return _of_patches(BagOfFeatures(random_state=seed, n_jobs=n_jobs))


def _pyramid(seed: int, n_jobs: int | None) -> Any:
    from nearboost.features.pyramid import SpatialPyramid

    return _of_patches(SpatialPyramid(random_state=seed, n_jobs=n_jobs))


def _fisher(seed: int, n_jobs: int | None) -> Any:
    from nearboost.features.recipe import SIFTColorFisher

    return SIFTColorFisher(random_state=seed, n_jobs=n_jobs)


def _of_patches(encoder: Any) -> Any:
    from sklearn.pipeline import make_pipeline

    from nearboost.features.sift import DenseSIFT

    return make_pipeline(DenseSIFT(), encoder)


def _embedding(name: str) -> Descriptor:
    file = Path(name.removeprefix(EMBEDDING))
    if not file.is_file():
        raise UsageError(f"{name} names no file; give the path of a network, {EMBEDDING}FILE.onnx.")

    def make(seed: int, n_jobs: int | None) -> Any:
        from nearboost.features.embedding import Embedding

        return Embedding(file, n_jobs=n_jobs)

    return Descriptor(name, file.stem, make, f"The network in {file.name}.", slow=True)


_TABLE = (
    Descriptor("gist", "Gist", _gist, "Energies of oriented filters on a coarse grid: 512 numbers."),
    Descriptor("pixels", "pixels", _pixels, "A grey copy of 16 x 16 pixels: 256 numbers."),
    Descriptor("bif", "BIF", _bif, "Histograms of local contrasts at four scales: 1,024 numbers."),
    Descriptor("bag", "bag of SIFT", _bag, "A histogram of 500 visual words.", learned=True, slow=True),
    Descriptor(
        "pyramid",
        "INN pyramid",
        _pyramid,
        "INN codes of SIFT, pooled on three levels: 21,504 numbers.",
        learned=True,
        slow=True,
    ),
    Descriptor(
        "fisher",
        "Fisher vectors",
        _fisher,
        "Fisher vectors of SIFT and local colour: 4,096 numbers.",
        learned=True,
        slow=True,
    ),
)
DESCRIPTORS: dict[str, Descriptor] = {descriptor.name: descriptor for descriptor in _TABLE}
