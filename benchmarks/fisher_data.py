"""Fisher vectors of Scene-15 and Caltech-101, split by split: ``python -m benchmarks.fisher_data``.

A split draws so many images of each class to learn from and tests on the rest. Principal components and mixture
are fitted on a split's training images alone; descriptors of patches are made image by image, never kept. What is
kept, in ``benchmarks/cache``, are the gradients after the square root and before any unit length, from which both
normalisations follow. 18 images of Scene-15 occur twice, some on both sides of a split; all are left in.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.data import CACHE, SCENES, data_folder, scene_paths
from nearboost.features.encoding import unit
from nearboost.features.recipe import SIFTColorFisher

SEEDS = (0, 1, 2)
N_DIMENSIONS = 64  # of a patch after the principal components
SETS = {"caltech101": ("caltech101", 30), "scene15-30": ("scene15", 30), "scene15-100": ("scene15", 100)}

Rows = NDArray[np.float32]
Labels = NDArray[np.int64]


@dataclass(frozen=True)
class FisherSplit:
    """Rows and labels of one split in one normalisation, and the seconds to describe all images."""

    X_train: Rows
    y_train: Labels
    X_test: Rows
    y_test: Labels
    seconds: float


def load_fisher(name: str, seed: int, *, per_gaussian: bool = False) -> FisherSplit:
    """Unit length per channel, or per Gaussian and then per channel."""
    paths, y = images_of(name)
    train = drawn(y, SETS[name][1], seed)
    gradients, seconds = described(name, seed, paths, train)
    X = by_gaussian(gradients) if per_gaussian else by_channel(gradients)
    return FisherSplit(X[train], y[train], X[~train], y[~train], seconds)


def images_of(name: str) -> tuple[list[Path], Labels]:
    """All images, class by class, and their classes."""
    if SETS[name][0] == "scene15":
        paths, classes = scene_paths(len(SCENES)), list(SCENES)
    else:
        paths = sorted((data_folder() / "caltech101").glob("*/*.jpg"))
        classes = sorted({path.parent.name for path in paths})
    return paths, np.array([classes.index(path.parent.name) for path in paths])


def drawn(y: Labels, per_class: int, seed: int) -> NDArray[np.bool_]:
    """Which images to learn from: so many of each class, at random."""
    rng = np.random.default_rng(seed)
    train = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        train[rng.permutation(np.flatnonzero(y == label))[:per_class]] = True
    return train


def described(name: str, seed: int, paths: list[Path], train: NDArray[np.bool_]) -> tuple[NDArray[Any], float]:
    """Gradients of shape (images, channels, 2, Gaussians, dimensions), made once."""
    file = CACHE / f"fisher-{name}-{seed}.npz"
    if not file.exists():
        start = process_time()
        recipe = SIFTColorFisher(color=SETS[name][0] != "scene15", norm=None, n_jobs=1, random_state=seed)
        recipe.fit([path for path, learn in zip(paths, train, strict=True) if learn])
        rows = recipe.transform(paths).reshape(len(paths), len(recipe.channels_), 2, -1, N_DIMENSIONS)
        CACHE.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_suffix(f".{os.getpid()}.npz")
        np.savez(unfinished, rows=rows, seconds=process_time() - start)
        unfinished.replace(file)
    with np.load(file) as kept:
        return kept["rows"], float(kept["seconds"])


def by_channel(gradients: NDArray[Any]) -> Rows:
    """Each channel of unit length, as in the paper."""
    lengths = np.linalg.norm(gradients.reshape(*gradients.shape[:2], -1), axis=2)
    return unit(gradients, lengths[:, :, None, None, None]).reshape(len(gradients), -1)


def by_gaussian(gradients: NDArray[Any]) -> Rows:
    """Each Gaussian of unit length, then each channel.

    As `FisherVector` does it, but for Gaussians so far from all patches of an image that float32 holds nothing of
    their gradients: these stay zero, and `FisherVector` scales them up as well.
    """
    return by_channel(unit(gradients, np.linalg.norm(gradients, axis=(2, 4), keepdims=True)))


def main() -> None:
    """Describe all sets."""
    with threadpool_limits(1):
        for seed in SEEDS:
            for name in SETS:
                split = load_fisher(name, seed)
                print(name, seed, split.X_train.shape, split.X_test.shape, f"{split.seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
