"""Small pictures of cells whose truth is known."""

import numpy as np
import pytest
from benchmarks.data import data_folder

from nearboost.base.planes import read_planes


def spots(centres, radius, shape=(80, 120), level=1000.0):
    """Discs of one brightness."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    return sum(level * ((y - a) ** 2 + (x - b) ** 2 < radius**2) for a, b in centres)


def noisy(picture, seed=0, deviation=10.0):
    return picture + np.random.default_rng(seed).normal(100, deviation, picture.shape)


def read(path):
    return read_planes(path).flat()[0]


def real(name):
    """A folder of the real data."""
    folder = data_folder() / name
    if not folder.is_dir():
        pytest.skip(f"the real data for {name!r} is not here; set NEARBOOST_DATA to its folder")
    return folder
