"""The papers' features, as each states them, and how the items of a split get theirs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from nearboost.base.disk import read_arrays, write_arrays
from nearboost.catalogue.descriptors import Descriptor, describe
from nearboost.datasets import DataError, Dataset
from papers.cache import Cache, Key, settings_text

LONGEST_SIDE = 300  # of images for pyramids, as in ScSPM


class ItemFeatures(NamedTuple):
    """What describes the items: rows or sets of rows, and for each item the number of its own, -1 for none.

    ``mirrored`` are the numbers of the training items' mirror images, where these train as well.
    """

    X: Any
    numbers: NDArray[np.int64]
    mirrored: NDArray[np.int64] = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Features:
    """A way from items to what methods see.

    Attributes
    ----------
    about : what print says of it
    make : ``make(seed, n_jobs)`` gives the transformer, not fitted
    learned : whether it is fitted, to the training images of each split
    kind : "rows", one an image; "masked", one for the cell within its mask; "sets" of local descriptors;
        "mirrored sets", also of the mirror images of those to train; or "pixels", the rows as they are in the file
    """

    about: str
    make: Callable[[int, int | None], Any]
    learned: bool = False
    kind: str = "rows"

    def settings(self, seed: int) -> dict[str, Any]:
        """All that the numbers depend on, besides the images."""
        transformer = settings_text(self.make(seed if self.learned else 0, None))
        return {"transformer": transformer, "learned": self.learned, "kind": self.kind}


def describe_items(dataset: Dataset, name: str, train: NDArray[np.intp], cache: Cache, key: Key) -> ItemFeatures:
    """The items' features, from the cache where they lie there; what is learned is learned from ``train``."""
    features = FEATURES[name]
    if dataset.kind == "vectors":
        if features.kind != "pixels":
            raise DataError(f"{dataset.name} has no images to describe; {features.about} needs images.")
        return ItemFeatures(pixel_rows(dataset.items), np.arange(len(dataset)))
    file = cache.features(key)
    if not file.exists():  # described once for all lines
        write_arrays(file, **_describe(dataset, name, train, cache, key))
    table = read_arrays(file)
    if "ends" in table:
        sets = np.split(table["values"], table["ends"][:-1])
        return ItemFeatures(sets, table["numbers"], np.arange(len(dataset), len(sets)))
    rows = table["values"] if "values" in table else np.load(cache.folder / str(table["store"]), mmap_mode="r")
    return ItemFeatures(rows, table["numbers"])


def _describe(
    dataset: Dataset, name: str, train: NDArray[np.intp], cache: Cache, key: Key
) -> dict[str, NDArray[Any]]:
    """Rows or sets themselves, or where a store keeps the rows; and the number of each item's own."""
    features, images, numbers = FEATURES[name], list(dataset.items), np.arange(len(dataset))
    seed, n_jobs = key["seed"], key["threads"]
    if features.kind in ("rows", "pixels"):
        descriptor = Descriptor(name, name, features.make, features.about, learned=features.learned)
        found = describe(images, descriptor, cache.store(key), train=train, seed=seed, n_jobs=n_jobs)
        assert found.file is not None
        return {"store": np.array(str(found.file.relative_to(cache.folder))), "numbers": found.numbers}
    transformer = features.make(seed, n_jobs)
    if features.kind == "masked":
        masks = dataset.masks or ChangedImages(images, not_black)
        return {"values": transformer.transform(images, masks=masks), "numbers": numbers}
    learned_from = [images[i] for i in train]
    sets = [one.values for one in transformer.fit(learned_from).transform(images)]
    if features.kind == "mirrored sets":
        sets += [one.values for one in transformer.transform(ChangedImages(learned_from, mirror))]
    return {"values": np.concatenate(sets), "ends": np.cumsum([len(one) for one in sets]), "numbers": numbers}


def pixel_rows(items: Any) -> NDArray[Any]:
    """Rows of pixels, those of bytes scaled to [0, 1]."""
    rows = np.asarray(items).reshape(len(items), -1)
    return rows.astype(np.float32) / 255 if rows.dtype == np.uint8 else rows.astype(np.float32)


class ChangedImages(Sequence[NDArray[Any]]):
    """Images that are read, and changed, when they are asked for."""

    def __init__(self, images: Sequence[Any], change: Callable[[NDArray[Any]], NDArray[Any]]) -> None:
        self.images, self.change = images, change

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, i: Any) -> Any:
        from nearboost.base.images import pixels_of

        return self.change(pixels_of(self.images[i]))


def not_black(pixels: NDArray[Any]) -> NDArray[Any]:
    """The mask of a cell whose background is zero already."""
    return (pixels if pixels.ndim == 2 else pixels.max(axis=2)) > 0


def mirror(pixels: NDArray[Any]) -> NDArray[Any]:
    """Left and right exchanged."""
    return np.ascontiguousarray(pixels[:, ::-1])


class Resized(TransformerMixin, BaseEstimator):
    """Images whose longest side has so many pixels, resized when they are asked for."""

    def __init__(self, longest_side: int = LONGEST_SIDE) -> None:
        self.longest_side = longest_side

    def fit(self, X: Any, y: Any = None) -> "Resized":
        """Nothing is learned."""
        return self

    def transform(self, X: Any) -> ChangedImages:
        """A lazy list."""
        from nearboost.base.images import as_images

        return ChangedImages(as_images(X), self._resize)

    def _resize(self, pixels: NDArray[Any]) -> NDArray[Any]:
        from nearboost.base.images import needs

        cv2 = needs("cv2")
        factor = self.longest_side / max(pixels.shape[:2])
        method = cv2.INTER_AREA if factor < 1 else cv2.INTER_CUBIC
        return np.asarray(cv2.resize(pixels, None, fx=factor, fy=factor, interpolation=method))

    def __sklearn_is_fitted__(self) -> bool:
        return True


def _fisher(per_gaussian: bool = False) -> Callable[[int, int | None], Any]:
    def make(seed: int, n_jobs: int | None) -> Any:
        from nearboost.features.recipe import SIFTColorFisher

        return SIFTColorFisher(per_gaussian=per_gaussian, random_state=seed, n_jobs=n_jobs)

    return make


def _bag(n_words: int, scaling: str = "dtype") -> Callable[[int, int | None], Any]:
    def make(seed: int, n_jobs: int | None) -> Any:
        from sklearn.pipeline import make_pipeline

        from nearboost.features.bags import BagOfFeatures
        from nearboost.features.sift import DenseSIFT

        bags = BagOfFeatures(n_words, max_descriptors=100_000, random_state=seed, n_jobs=n_jobs)
        return make_pipeline(DenseSIFT(n_points=2500, scaling=scaling), bags)

    return make


def _gist(n_numbers: int) -> Callable[[int, int | None], Any]:
    def make(seed: int, n_jobs: int | None) -> Any:
        from nearboost.features.gist import Gist

        return Gist(n_numbers, n_jobs=n_jobs)

    return make


def _bif(seed: int, n_jobs: int | None) -> Any:
    from nearboost.features.bif import BioInspiredFeatures

    return BioInspiredFeatures((1, 2, 3, 4), 256, n_jobs=n_jobs)


def _pixels(seed: int, n_jobs: int | None) -> Any:
    from nearboost.features.pixels import SmallGrey

    return SmallGrey(24, n_jobs=n_jobs)


def _nimble(seed: int, n_jobs: int | None) -> Any:
    from nearboost.features.nimble import Nimble

    return Nimble(random_state=seed, n_jobs=n_jobs)


def _pyramid(coding: str) -> Callable[[int, int | None], Any]:
    def make(seed: int, n_jobs: int | None) -> Any:
        from sklearn.pipeline import make_pipeline

        from nearboost.features.pyramid import SpatialPyramid
        from nearboost.features.sift import DenseSIFT

        pyramid = SpatialPyramid(coding, random_state=seed, n_jobs=n_jobs)
        return make_pipeline(Resized(), DenseSIFT(step=8, bin_sizes=(4,)), pyramid)

    return make


FEATURES: dict[str, Features] = {
    "fisher": Features(
        "Fisher vectors of SIFT and colour, 16 Gaussians each, 4,096 numbers", _fisher(), learned=True
    ),
    "fisher-gaussian": Features(
        "Fisher vectors of SIFT and colour, each Gaussian of unit length", _fisher(per_gaussian=True), learned=True
    ),
    "bag-500": Features("bags of 500 words, 2,500 SIFT an image", _bag(500), learned=True),
    "bag-1024": Features("bags of 1,024 words of SIFT", _bag(1024, "image"), learned=True),
    "gist-320": Features("Gist, 320 numbers", _gist(320)),
    "gist-512": Features("Gist, 512 numbers", _gist(512)),
    "bif-whole": Features("bio-inspired features of the whole image, 4 scales of 256 bins", _bif),
    "bif-cell": Features("bio-inspired features of the cell, 4 scales of 256 bins", _bif, kind="masked"),
    "bif-regions": Features(
        "bio-inspired features of nucleus and outer region, scale 5, 32 bins each", _pixels, kind="pixels"
    ),
    "pixels": Features("grey pixels", _pixels, kind="pixels"),
    "nimble": Features("100 fixations an image, described by learned filters", _nimble, learned=True, kind="sets"),
    "nimble-mirrored": Features(
        "the same, and of the mirror images of those to train", _nimble, learned=True, kind="mirrored sets"
    ),
    "pyramid-inn": Features(
        "INN codes of SIFT over 1,024 words, pooled on 3 levels", _pyramid("inn"), learned=True
    ),
    "pyramid-sparse": Features("sparse codes of SIFT, pooled on 3 levels", _pyramid("sparse"), learned=True),
    "pyramid-llc": Features("LLC codes of SIFT, pooled on 3 levels", _pyramid("llc"), learned=True),
}
