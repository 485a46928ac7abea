"""Where the sets come from, and smaller versions of them."""

import numpy as np
import pytest
from papers.datasets import SOURCES, draw_classes, load, read, thinned

from nearboost.datasets import DataError, Dataset


def test_fewer_frames_of_each_track(root):
    [source] = SOURCES["gtsrb-small"]
    whole, fewer = read(SOURCES["gtsrb"][0], root), read(source, root)
    tracks = whole.groups[whole.part == "train"]
    assert set(fewer.groups[fewer.part == "train"]) == set(tracks)
    assert np.sum(fewer.part == "train") == len(set(tracks))  # the miniature has two frames a track
    assert np.sum(fewer.part == "test") == -(-np.sum(whole.part == "test") // 6)
    halves = thinned(whole, 2, 1)
    assert np.sum(halves.part == "test") == np.sum(whole.part == "test")


def test_digits_need_no_files(tmp_path):
    dataset = load(SOURCES["digits"][0], tmp_path, None)
    assert (len(dataset), len(dataset.classes), float(np.max(dataset.items))) == (1797, 10, 1.0)


def test_classes_drawn_with_a_seed():
    labels = np.repeat([f"class {i}" for i in range(12)], 4)
    names = [f"row {i}" for i in range(48)]
    data = Dataset("toy", "vectors", np.zeros((48, 2)), labels, tuple(np.unique(labels)), names)
    three, eight = draw_classes(data, 3, seed=2), draw_classes(data, 8, seed=2)
    assert len(three.classes) == 3
    assert set(three.classes) < set(eight.classes)
    assert set(three.labels) == set(three.classes)
    assert three.classes != draw_classes(data, 3, seed=3).classes
    with pytest.raises(DataError, match="toy has 12 classes; n_classes=13 is too many"):
        draw_classes(data, 13)
