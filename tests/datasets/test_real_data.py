"""The real sets, where they lie: recognised, with the counts of their files."""

import numpy as np
import pytest
from benchmarks.data import data_folder

from nearboost.datasets import open_dataset
from nearboost.datasets.duplicates import same_items

pytestmark = pytest.mark.data


def opened(path, layout="auto"):
    place = data_folder() / path
    if not place.exists():
        pytest.skip(f"{path} is not here; set NEARBOOST_DATA to the folder that holds it")
    return open_dataset(place, layout)


def differs(dataset):
    return any("These files hold" in note for note in dataset.notes)


@pytest.mark.parametrize(
    ("layout", "n", "n_train"), [("auto", 4485, 1500), ("scene-13", 3859, 1300), ("scene-8", 2688, 800)]
)
def test_scenes(layout, n, n_train):
    found = opened("scene15", layout)
    assert len(found) == n
    assert (found.part == "train").sum() == n_train
    assert not differs(found)


def test_scenes_that_come_twice():
    found = opened("scene15")
    assert found.name == "scene-15"
    pairs = same_items(found)
    assert len(pairs) == 18
    assert all(len(pair) == 2 for pair in pairs)
    assert (
        "18 files come more than once, byte for byte: 11 of them in train and in test, 1 with" in found.notes[-1]
    )


def test_objects():
    found = opened("caltech101")
    assert (found.name, len(found), len(found.classes)) == ("caltech-101", 8677, 101)
    assert not differs(found)


def test_signs():
    found = opened("gtsrb/gtsrb_roi_gray24.npz")
    assert (found.name, found.items.shape, len(found.classes)) == ("gtsrb-npz", (51839, 576), 43)
    assert (found.part == "train").sum() == 39209
    assert len(np.unique(found.groups[found.part == "train"])) == 1307
    assert not differs(found)
    assert "8 rows come more than once, byte for byte: 8 of them in train and in test" in found.notes[-1]


@pytest.mark.parametrize(
    ("file", "name", "n", "n_people"), [("YaleB", "yale-b", 2414, 38), ("ORL", "orl", 400, 40)]
)
def test_faces(file, name, n, n_people):
    found = opened(f"faces/{file}_32x32.mat")
    assert (found.name, len(found), len(found.classes), found.items.shape[1]) == (name, n, n_people, 1024)
    assert not differs(found)


def test_cells():
    found = opened("hela2d")
    assert (found.name, len(found), len(found.classes)) == ("hela2d", 862, 10)
    assert found.notes == ()
