"""The made-up fields are what they are said to be."""

import numpy as np
import pytest

from nearboost.cells import pooled, score_labels, segment_field
from nearboost.cells.demo import TOUCHING, demo_field, write_demo
from nearboost.cells.masks import read_labels
from nearboost.cells.scoring import Score

FIELDS = [demo_field(seed) for seed in range(8)]
BACKGROUND = 160  # of the stain: photons and the camera's offset


def touching(labels):
    """Numbers of regions that have another one beside them."""
    found = set()
    for a, b in ((labels[:, :-1], labels[:, 1:]), (labels[:-1], labels[1:])):
        meet = (a != b) & (a > 0) & (b > 0)
        found |= set(a[meet].tolist()) | set(b[meet].tolist())
    return found


def test_a_fifth_of_the_nuclei_touch():
    share = sum(len(touching(one.nucleus_labels)) for one in FIELDS) / sum(len(one.classes) for one in FIELDS)
    assert share == pytest.approx(TOUCHING, abs=0.02)


def test_the_ratio_alone_is_not_enough():
    ratios, granular = [], []
    for one in FIELDS:
        for number, kind in enumerate(one.classes, start=1):
            nucleus = one.nucleus_labels == number
            outer = (one.cell_labels == number) & ~nucleus
            ratios.append((one.stain[nucleus].mean() - BACKGROUND) / (one.stain[outer].mean() - BACKGROUND))
            granular.append(kind == "granular")
    ratios, granular = np.array(ratios), np.array(granular)
    best = max(np.mean((ratios > threshold) == granular) for threshold in ratios)
    assert 0.6 < best <= 0.80


def test_seeds_decide():
    np.testing.assert_array_equal(demo_field(3).stain, FIELDS[3].stain)
    assert not np.array_equal(demo_field(4).stain, FIELDS[3].stain)


def test_segmentation_finds_them():
    found = [segment_field(one.nuclei, one.stain) for one in FIELDS]
    nuclei: Score = pooled(score_labels(a.nuclei, b.nucleus_labels) for a, b in zip(found, FIELDS, strict=True))
    cells = pooled(score_labels(a.cells, b.cell_labels) for a, b in zip(found, FIELDS, strict=True))
    assert nuclei.f1 > 0.98
    assert cells.f1 > 0.9


def test_files(tmp_path):
    assert write_demo(tmp_path, repeats=1, size=128, n_cells=6)["wells"] == 8
    assert len(list((tmp_path / "images").glob("*.tif"))) == 16
    mask = read_labels(tmp_path / "truth" / "demo_A01_s1_nuclei_mask.tif", (128, 128))
    lines = (tmp_path / "truth.csv").read_text().splitlines()
    assert lines[0] == "plate,well,site,x,y,class"
    first = [line.split(",") for line in lines[1:] if line.startswith("demo,A01,")]
    assert [int(mask[int(y), int(x)]) for *_, x, y, _ in first] == list(range(1, len(first) + 1))
