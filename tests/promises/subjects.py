"""Every public estimator, with settings and data small enough for many checks."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nearboost as nb
from features.pictures import picture
from nearboost import features as nf

FOLDER = tempfile.TemporaryDirectory()  # goes when the tests end


@dataclass(frozen=True)
class Data:
    """Rows, images or sets of local descriptors to learn from, a label for each, and others to ask about."""

    X: Any
    y: NDArray[np.int64]
    queries: Any


@dataclass(frozen=True)
class Subject:
    """An estimator and what it is tried on; threads need more, or one of them would do all the work."""

    make: Callable[[], Any]
    data: Callable[[], Data]
    data_for_threads: Callable[[], Data]

    def fitted(self, **fit_params: Any) -> Any:
        """A new one, fitted to the data."""
        return self.make().fit(self.data().X, self.data().y, **fit_params)


def take(X: Any, places: Sequence[int] | NDArray[np.int64]) -> Any:
    """Some of the rows, images or sets."""
    return X[places] if isinstance(X, np.ndarray) else [X[place] for place in places]


@cache
def rows(n_rows: int = 150, n_queries: int = 50) -> Data:
    """Three classes that overlap; no two distances are equal."""
    rng = np.random.default_rng(0)
    y = np.arange(n_rows + n_queries) % 3
    X = rng.normal(size=(len(y), 6)) + 1.5 * np.eye(6)[y]
    return Data(X[:n_rows], y[:n_rows], X[n_rows:])


def many_rows() -> Data:
    """More than a thread takes at a time, of rows (1,024) and of queries (64)."""
    return rows(1100, 130)


@cache
def wide_rows() -> Data:
    """Products with these are large enough for threads."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 3
    X = rng.normal(size=(800, 150)) + 0.5 * rng.normal(size=(3, 150))[np.arange(800) % 3]
    return Data(X[:400], y, X[400:])


@cache
def images() -> Data:
    """Pictures in colour."""
    pictures = [picture(40, 48, seed, channels=3) for seed in range(14)]
    return Data(pictures[:10], np.arange(10) % 2, pictures[10:])


@cache
def descriptors() -> Data:
    """Local descriptors of the pictures."""
    local = nf.DenseSIFT(step=8)
    return Data(list(local.transform(images().X)), images().y, list(local.transform(images().queries)))


@cache
def network() -> Path:
    """A network of one convolution."""
    from features.test_embedding import convolution

    return convolution(Path(FOLDER.name) / "network.onnx")


OF_ROWS: dict[str, Callable[[], Any]] = {
    "NearBoostClassifier": lambda: nb.NearBoostClassifier(random_state=0),
    "KNNClassifier": nb.KNNClassifier,
    "N3Classifier": lambda: nb.N3Classifier(random_state=0),
    "UNNClassifier": lambda: nb.UNNClassifier(random_state=0),
    "MLNNClassifier": lambda: nb.MLNNClassifier(random_state=0),
    "MAPBoostClassifier": lambda: nb.MAPBoostClassifier(random_state=0),
    "INNClassifier": nb.INNClassifier,
    "SRCClassifier": nb.SRCClassifier,
    "CRCClassifier": nb.CRCClassifier,
    "SLNDClassifier": lambda: nb.SLNDClassifier(random_state=0),
    "LinearSGDClassifier": lambda: nb.LinearSGDClassifier(random_state=0),
    "SplitClassifier": lambda: nb.SplitClassifier(nb.N3Classifier(5, random_state=0), 2),
    "INNCoder": nb.INNCoder,
    "INNProjection": nb.INNProjection,
    "LPP": nb.LPP,
    "SRLP": nb.SRLP,
    "ITML": lambda: nb.ITML(random_state=0),
    "SoftDiscriminant": nb.SoftDiscriminant,
    "LandmarkMap": lambda: nb.LandmarkMap(40, random_state=0),
    "WhitenedPCA": lambda: nf.WhitenedPCA(4, random_state=0),
    "DiagonalGMM": lambda: nf.DiagonalGMM(3, random_state=0),
}
OF_DESCRIPTORS: dict[str, Callable[[], Any]] = {
    "NaiveBayesNN": nb.NaiveBayesNN,
    "BagOfFeatures": lambda: nf.BagOfFeatures(5, random_state=0),
    "FisherVector": lambda: nf.FisherVector(2, random_state=0),
    "SpatialPyramid": lambda: nf.SpatialPyramid(levels=(1, 2), n_words=8, random_state=0),
    "DescriptorPCA": lambda: nf.DescriptorPCA(8, random_state=0),
}
OF_IMAGES: dict[str, Callable[[], Any]] = {
    "DenseSIFT": lambda: nf.DenseSIFT(step=8),
    "LocalColor": lambda: nf.LocalColor(step=8),
    "SIFTColorFisher": lambda: nf.SIFTColorFisher(2, step=8, n_dimensions=8, random_state=0),
    "Gist": lambda: nf.Gist(side=32),
    "BioInspiredFeatures": lambda: nf.BioInspiredFeatures((1, 2), 8),
    "SmallGrey": nf.SmallGrey,
    "Nimble": lambda: nf.Nimble(10, 8, n_filters=8, n_patches=500, random_state=0),
    "Embedding": lambda: nf.Embedding(network()),
}
SUBJECTS = (
    {name: Subject(make, rows, many_rows) for name, make in OF_ROWS.items()}
    | {name: Subject(make, descriptors, descriptors) for name, make in OF_DESCRIPTORS.items()}
    | {name: Subject(make, images, images) for name, make in OF_IMAGES.items()}
)
