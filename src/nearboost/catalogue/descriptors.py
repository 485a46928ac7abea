"""The descriptors of images that can be asked for by name, and how the images of a split get their rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.errors import UsageError
from nearboost.base.image_set import ImageSet

if TYPE_CHECKING:
    from nearboost.features.extraction import ImageRows

DEFAULT = "fisher"
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


def find_descriptor(name: str) -> Descriptor:
    """The descriptor of this name; ``embedding:FILE`` is the network in an ONNX file."""
    if name.startswith(EMBEDDING):
        return _embedding(name)
    if name not in DESCRIPTORS:
        raise UsageError(f"Unknown features {name!r}; use {', '.join(DESCRIPTORS)} or {EMBEDDING}FILE.onnx.")
    return DESCRIPTORS[name]


def describe(
    images: ImageSet | Sequence[Any],
    descriptor: Descriptor,
    into: Path | None = None,
    *,
    train: Sequence[int] | NDArray[np.integer],
    seed: int = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> "ImageRows":
    """Rows of all images; a learned descriptor is fitted to the images numbered ``train`` only.

    An image that cannot be read is left out of the fit, and has no row. Rows are kept in stores below ``into``, if
    it is given, so that an image is described once by the same transformer.
    """
    from nearboost.features.extraction import images_to_rows

    images = ImageSet.of(images, keep_pixels=descriptor.learned)
    transformer = descriptor.make(seed, n_jobs)
    if descriptor.learned:
        learning = images.take(train)
        transformer.fit(learning.take(learning.readable(n_jobs, verbose)))
    [found] = images_to_rows(images, [transformer], into, n_jobs=n_jobs, verbose=verbose)
    return found


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

    return _with_patches(BagOfFeatures(random_state=seed, n_jobs=n_jobs))


def _pyramid(seed: int, n_jobs: int | None) -> Any:
    from nearboost.features.pyramid import SpatialPyramid

    return _with_patches(SpatialPyramid(random_state=seed, n_jobs=n_jobs))


def _fisher(seed: int, n_jobs: int | None) -> Any:
    from nearboost.features.recipe import SIFTColorFisher

    # A Gaussian that outweighs the others would decide who is near; a few large images would take all the time.
    return SIFTColorFisher(
        32, step=6, longest_side=300, scaling="auto", per_gaussian=True, random_state=seed, n_jobs=n_jobs
    )


def _with_patches(encoder: Any) -> Any:
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
        "Fisher vectors of SIFT and local colour, at most 300 pixels wide: 8,192 numbers.",
        learned=True,
        slow=True,
    ),
)
DESCRIPTORS: dict[str, Descriptor] = {descriptor.name: descriptor for descriptor in _TABLE}
