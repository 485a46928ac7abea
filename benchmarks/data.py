"""The data sets of the benchmarks: ``load(name, seed)`` gives one split into training and test rows.

The files lie in the folder named by ``NEARBOOST_DATA``, else in ``../shared/data`` beside the repository.

=============  ======  =====  ====  =======  ==========================================================
name            train   test  dims  classes  what
=============  ======  =====  ====  =======  ==========================================================
digits            898    899    64       10  scikit-learn's digits, pixels over 16; random halves
gtsrb           39209  12630    42       43  German traffic signs; the benchmark's own split
gtsrb-small      5228   2105    42       43  every 8th frame of each track, every 6th test row
yaleb            1205   1209   150       38  Extended Yale B faces; a random half of each person
gtsrb-24x24     39209  12630   576       43  all traffic signs, grey pixels of unit length
scene8           2000    688   128        8  outdoor scenes of Oliva and Torralba; random, stratified
scene15          2250   2235   128       15  and seven others of Fei-Fei and Lazebnik; 150 of each to train
=============  ======  =====  ====  =======  ==========================================================

Every projection is fitted on the training rows alone. That of the traffic signs is supervised: it has
seen the labels of the rows it projects, so training rows lie closer to their own class than test rows do,
and what a method reads off its training rows (a leave-one-out error, say) is better than the truth.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize

from nearboost.datasets import read_mat
from nearboost.datasets.scenes import SCENES  # the first 8, 13 and 15 are the three sets
from nearboost.features import Gist
from nearboost.features.extraction import extract

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / "benchmarks" / "cache"

GTSRB_FILE = "gtsrb/gtsrb_roi_gray24.npz"
YALEB_FILE = "faces/YaleB_32x32.mat"
SCENE_FOLDER = "scene15"

Projection = PCA | LinearDiscriminantAnalysis | None


@dataclass(frozen=True)
class Split:
    """One data set, cut into training and test rows; labels are integers.

    ``groups_train`` names rows that are not independent (frames of one track) and must not be divided
    between the folds of a cross-validation; ``None`` where every row stands for itself.
    """

    name: str
    X_train: NDArray[np.float32]
    y_train: NDArray[np.int64]
    X_test: NDArray[np.float32]
    y_test: NDArray[np.int64]
    groups_train: NDArray[np.int64] | None = None


def load(name: str, seed: int = 0) -> Split:
    """The split ``name``; ``seed`` draws the training rows where the data set leaves that open."""
    source = _source(name)
    if not available(name):
        raise FileNotFoundError(
            f"{name} needs {data_folder() / source.needs}, which is not there; "
            "set NEARBOOST_DATA to the folder that holds it."
        )
    return source.load(seed)


def available(name: str) -> bool:
    """Whether the files of ``name`` are on this machine."""
    needs = _source(name).needs
    return needs is None or (data_folder() / needs).exists()


def data_folder() -> Path:
    """Where the files are looked for."""
    return Path(os.environ.get("NEARBOOST_DATA") or ROOT.parent / "shared" / "data")


def digits(seed: int) -> Split:
    """1,797 digits of 8x8 pixels, stratified halves."""
    X, y = load_digits(return_X_y=True)
    train, test = train_test_split(np.arange(len(y)), train_size=0.5, stratify=y, random_state=seed)
    return _split("digits", X / 16, y, train, test)


def gtsrb(seed: int) -> Split:
    """51,839 traffic signs of 24x24 grey pixels in 42 discriminant directions; ``seed`` has no effect.

    8 test images are also, pixel for pixel, training images; the benchmark's split is kept as it is.
    """
    return _signs("gtsrb", every_frame=1, every_test_row=1, projection=_discriminants())


def gtsrb_small(seed: int) -> Split:
    """A quick trial of ``gtsrb``: every 8th frame of every track, every 6th test row."""
    return _signs("gtsrb-small", every_frame=8, every_test_row=6, projection=_discriminants())


def signs(seed: int, every: int, n_components: int | None) -> Split:
    """Some frames from an offset that depends on the seed, every fourth test frame; tracks are groups."""
    with np.load(data_folder() / GTSRB_FILE) as file:
        pairs = np.stack([file["y_train"], file["track_train"]], axis=1)
        tracks = np.unique(pairs, axis=0, return_inverse=True)[1].ravel()
        kept, test = np.arange(len(tracks))[3 * seed % every :: every], np.arange(len(file["y_test"]))[seed::4]
        pixels = np.concatenate([file["x_train"][kept], file["x_test"][test]])
        y = np.concatenate([file["y_train"][kept], file["y_test"][test]])
    X = normalize(pixels.reshape(len(y), -1) / 255.0)
    train, rest = np.split(np.arange(len(y)), [len(kept)])
    projection = None if n_components is None else PCA(n_components, svd_solver="full")
    return _split("signs", X, y, train, rest, projection, tracks[kept])


def gtsrb_24x24(seed: int) -> Split:
    """The rows of ``gtsrb`` before their projection."""
    return _signs("gtsrb-24x24", every_frame=1, every_test_row=1, projection=None)


def yaleb(seed: int) -> Split:
    """2,414 faces of 38 people under many lights; rows of unit length, 150 principal components."""
    faces = read_mat(data_folder() / YALEB_FILE)
    X, y = normalize(faces.X.astype(np.float64)), faces.y.astype(np.int64) - 1
    order = np.random.default_rng(seed).permutation(len(y))
    in_training = _rank_within(y[order]) < np.bincount(y)[y[order]] // 2
    train, test = np.sort(order[in_training]), np.sort(order[~in_training])
    return _split("yaleb", X, y, train, test, PCA(150, svd_solver="full"))


def scene8(seed: int) -> Split:
    """2,688 outdoor scenes: square roots of `Gist`, rows of unit length, 128 principal components.

    Two images occur twice in the files, one of them under two labels (a tall building inside a city);
    all are kept.
    """
    X, y = _described_scenes(8)
    train, test = train_test_split(np.arange(len(y)), train_size=2000, stratify=y, random_state=seed)
    return _split("scene8", X, y, train, test, PCA(128, svd_solver="full"))


def scene15(seed: int) -> Split:
    """All fifteen classes; 150 random images of each class to train."""
    X, y = _described_scenes(15)
    order = np.random.default_rng(seed).permutation(len(y))
    in_training = _rank_within(y[order]) < 150
    train, test = np.sort(order[in_training]), np.sort(order[~in_training])
    return _split("scene15", X, y, train, test, PCA(128, svd_solver="full"))


def _described_scenes(n_classes: int) -> tuple[NDArray, NDArray]:
    paths = scene_paths(n_classes)
    gists = extract(paths, Gist(), CACHE).X  # described once, about half a minute
    X = normalize(np.sqrt(gists.astype(np.float64)))
    return X, np.array([SCENES.index(path.parent.name) for path in paths])


def scene_paths(n_classes: int) -> list[Path]:
    """The images of the first classes, both parts of Scene-15 pooled, class by class."""
    folder = data_folder() / SCENE_FOLDER
    return [
        path
        for scene in SCENES[:n_classes]
        for part in ("train", "test")
        for path in sorted((folder / part / scene).glob("*.jpg"))
    ]


def _discriminants() -> LinearDiscriminantAnalysis:
    """With the within-class scatter S_w shrunk by a tenth towards tr(S_w)/d."""
    return LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1)


def _signs(name: str, every_frame: int, every_test_row: int, projection: Projection) -> Split:
    """Rows of unit length and then projected; groups are tracks, pairs of label and track number."""
    with np.load(data_folder() / GTSRB_FILE) as file:
        pairs = np.stack([file["y_train"], file["track_train"]], axis=1)
        tracks = np.unique(pairs, axis=0, return_inverse=True)[1].ravel()
        kept = _rank_within(tracks) % every_frame == 0
        pixels = np.concatenate([file["x_train"][kept], file["x_test"][::every_test_row]])
        y = np.concatenate([file["y_train"][kept], file["y_test"][::every_test_row]])
    X = normalize(pixels.reshape(len(y), -1) / 255.0)
    train, test = np.split(np.arange(len(y)), [kept.sum()])
    return _split(name, X, y, train, test, projection, tracks[kept])


def _rank_within(groups: NDArray) -> NDArray[np.int64]:
    """How many earlier rows belong to the same group, for each row."""
    order = np.argsort(groups, kind="stable")
    _, starts, sizes = np.unique(groups[order], return_index=True, return_counts=True)
    rank = np.empty(len(groups), dtype=np.int64)
    rank[order] = np.arange(len(groups)) - np.repeat(starts, sizes)
    return rank


def _split(
    name: str,
    X: NDArray,
    y: NDArray,
    train: NDArray,
    test: NDArray,
    projection: Projection = None,
    groups_train: NDArray | None = None,
) -> Split:
    """The rows ``train`` and ``test``, in the directions ``projection`` learns from the former."""
    X_train, X_test = X[train], X[test]
    if projection is not None:
        projection.fit(X_train, y[train])
        X_train, X_test = projection.transform(X_train), projection.transform(X_test)
    y = y.astype(np.int64)
    return Split(name, X_train.astype(np.float32), y[train], X_test.astype(np.float32), y[test], groups_train)


class _Source(NamedTuple):
    load: Callable[[int], Split]
    needs: str | None


_SOURCES = {
    "digits": _Source(digits, None),
    "gtsrb": _Source(gtsrb, GTSRB_FILE),
    "gtsrb-small": _Source(gtsrb_small, GTSRB_FILE),
    "gtsrb-24x24": _Source(gtsrb_24x24, GTSRB_FILE),
    "yaleb": _Source(yaleb, YALEB_FILE),
    "scene8": _Source(scene8, SCENE_FOLDER),
    "scene15": _Source(scene15, SCENE_FOLDER),
}
NAMES = tuple(_SOURCES)


def _source(name: str) -> _Source:
    if name not in _SOURCES:
        raise ValueError(f"No data set is called {name!r}; use one of {', '.join(NAMES)}.")
    return _SOURCES[name]
