"""Where the sets come from, and smaller versions of them."""

import numpy as np
from papers.datasets import SOURCES, load, read, thinned


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
