"""Nuclei and cells of pictures whose truth is known, and of real fields."""

import numpy as np
import pytest
from skimage.measure import label
from skimage.morphology import h_maxima

from cells.pictures import noisy, read, real, spots
from nearboost.base.errors import UsageError
from nearboost.base.threads import map_in_threads
from nearboost.cells import (
    SegmentationSettings,
    estimate_diameter,
    find_nuclei,
    pooled,
    score_labels,
    segment_field,
    stain_floor,
)
from nearboost.cells.nuclei import part
from nearboost.cells.regions import largest_pieces, pieces_of, without_holes
from nearboost.cells.settings import in_pixels

CENTRES = [(20, 20), (20, 44), (55, 30), (50, 80), (50, 97), (25, 90)]
NUCLEI = noisy(spots(CENTRES, 9))
STAIN = noisy(spots(CENTRES[:-1], 15, level=400), 1)


def test_spots_are_found_and_parted():
    found = segment_field(NUCLEI, STAIN, SegmentationSettings(18))
    assert found.numbers.tolist() == [1, 2, 3, 4, 5, 6]
    numbers = [int(found.nuclei[y, x]) for y, x in CENTRES]
    assert sorted(numbers) == [1, 2, 3, 4, 5, 6]
    assert [int(found.cells[y, x]) for y, x in CENTRES] == numbers
    sizes = np.bincount(found.nuclei.ravel())[numbers]
    np.testing.assert_allclose(sizes, np.pi * 81, rtol=0.25)


def test_a_cell_without_stain_gets_a_ring_and_a_flag():
    found = segment_field(NUCLEI, STAIN, SegmentationSettings(18))
    bare = found.nuclei[CENTRES[-1]]
    assert np.flatnonzero(found.unstained).tolist() == [bare]
    outer = np.count_nonzero(found.cells == bare) - np.count_nonzero(found.nuclei == bare)
    assert 0.3 < outer / np.count_nonzero(found.nuclei == bare) < 1.5


def test_nuclei_lie_in_their_cells():
    found = segment_field(NUCLEI, STAIN)
    inside = found.nuclei > 0
    np.testing.assert_array_equal(found.cells[inside], found.nuclei[inside])
    assert len(pieces_of(found.cells).owners) - 1 == len(found.numbers)


def test_one_channel_has_rings():
    found = segment_field(NUCLEI)
    assert found.numbers.tolist() == [1, 2, 3, 4, 5, 6]
    assert not found.unstained.any()
    assert np.count_nonzero(found.cells) > 1.3 * np.count_nonzero(found.nuclei)


def test_diameter_is_estimated():
    assert estimate_diameter(NUCLEI) == pytest.approx(18, rel=0.1)


@pytest.mark.parametrize("factor", [1, 1 / 65535, 7.5])
def test_brightness_does_not_count(factor):
    expected = segment_field(NUCLEI, STAIN)
    found = segment_field(NUCLEI * factor, STAIN * factor)
    assert score_labels(found.nuclei, expected.nuclei).mean_ap > 0.99
    assert score_labels(found.cells, expected.cells).mean_ap > 0.95


@pytest.mark.parametrize(
    "picture",
    [
        np.zeros((50, 60)),
        np.full((50, 60), 9, np.uint16),
        np.random.default_rng(0).normal(100, 10, (200, 200)),
        np.random.default_rng(0).poisson(3, (200, 200)),
    ],
    ids=["black", "even", "noise", "few photons"],
)
@pytest.mark.parametrize("diameter", [None, 20.0])
def test_a_field_without_nuclei_has_none(picture, diameter):
    found = segment_field(picture, picture, SegmentationSettings(diameter))
    assert not found.cells.any()
    assert found.numbers.size == 0


def test_border_cells_are_dropped_if_asked():
    nuclei, stain = (noisy(spots([(2, 40), (40, 40), (40, 117)], r)) for r in (9, 14))
    assert len(segment_field(nuclei, stain, SegmentationSettings(18)).numbers) == 3
    found = segment_field(nuclei, stain, SegmentationSettings(18, border="drop"))
    assert found.numbers.tolist() == [1]
    assert found.nuclei[40, 40] == found.cells[40, 40] == 1
    assert found.unstained.tolist() == [False, False]


def test_sizes_have_limits():
    two = noisy(spots([(20, 20)], 5) + spots([(40, 80)], 14))
    for settings, place in (({"smallest_nucleus": 16}, (40, 80)), ({"largest_nucleus": 20}, (20, 20))):
        found = find_nuclei(two, SegmentationSettings(20, **settings))
        assert found.max() == 1
        assert found[place] == 1


def test_cells_have_limits_of_size_too():
    nuclei = noisy(spots([(25, 25)], 9) + spots([(40, 85)], 9))
    stain = noisy(spots([(25, 25)], 12) + spots([(40, 85)], 18))
    settings = {"nucleus_diameter": 18, "reach": 2.0}
    widths = 2 * np.sqrt(
        np.bincount(segment_field(nuclei, stain, SegmentationSettings(**settings)).cells.ravel())[1:] / np.pi
    )
    assert widths[0] < 27 < widths[1]
    for limit, place in (({"smallest_cell": 27}, (40, 85)), ({"largest_cell": 27}, (25, 25))):
        found = segment_field(nuclei, stain, SegmentationSettings(**settings, **limit))
        assert found.numbers.tolist() == [found.cells[place]] == [found.nuclei[place]] == [1]
        assert found.unstained.tolist() == [False, False]


def test_settings_are_checked():
    for wrong in (
        {"nucleus_diameter": 1},
        {"nucleus_diameter": float("nan")},
        {"border": "cut"},
        {"reach": -1},
        {"smallest_cell": -2},
    ):
        with pytest.raises(UsageError, match=next(iter(wrong))):
            SegmentationSettings(**wrong)
    for what in ("nucleus", "cell"):
        with pytest.raises(UsageError, match=f"smallest_{what}=20 must be below largest_{what}=9"):
            SegmentationSettings(**{f"smallest_{what}": 20, f"largest_{what}": 9})
    with pytest.raises(UsageError, match=r"pipeline\.json has settings"):
        SegmentationSettings.of_json({"nonsense": 1}, "pipeline.json")
    assert SegmentationSettings.of_json(SegmentationSettings(20).as_json(), "a file") == SegmentationSettings(20)


def test_diameters_in_micrometres():
    assert in_pixels("13um", 0.5) == 26
    assert in_pixels("30px", None) == in_pixels(30, None) == 30
    with pytest.raises(UsageError, match="--pixel-size"):
        in_pixels("13um", None)
    with pytest.raises(UsageError, match="not understood"):
        in_pixels("wide", 0.5)


@pytest.mark.parametrize(
    ("nuclei", "stain", "match"),
    [
        (np.full((20, 20), np.nan), None, "NaN"),
        (NUCLEI, STAIN[:-1], "equal in size"),
        (NUCLEI[np.newaxis], None, "height, width"),
        (NUCLEI, np.where(STAIN > 300, np.inf, STAIN), "stain holds NaN or infinite"),
    ],
)
def test_bad_pictures_are_refused(nuclei, stain, match):
    with pytest.raises(ValueError, match=match):
        segment_field(nuclei, stain)


def test_basins_are_those_of_h_maxima():
    """Peaks that scikit-image keeps at this height are the basins', one each."""
    heights = np.random.default_rng(3).normal(size=(40, 50)).astype(np.float32)
    for drop in (0.5, 1.5, 3.0):
        found = part(heights, np.ones(heights.shape, bool), drop)
        peaks = label(h_maxima(heights.astype(np.float64), drop), connectivity=2)
        assert found.max() == peaks.max()
        assert all(len(np.unique(found[peaks == number])) == 1 for number in range(1, peaks.max() + 1))


def test_pieces_are_those_of_scikit_image():
    labels = np.random.default_rng(0).integers(0, 3, (30, 40)).astype(np.int32)
    for corners, connectivity in ((True, 2), (False, 1)):
        ours, theirs = pieces_of(labels, corners=corners).labels, label(labels, connectivity=connectivity)
        np.testing.assert_array_equal(ours, theirs)


def test_holes_and_pieces():
    labels = np.zeros((9, 14), np.int32)
    labels[1:8, 1:8], labels[3:5, 3:5] = 4, 0
    labels[1:8, 8:13], labels[2:4, 7:9] = 7, 0  # a hole between two regions stays
    filled = without_holes(labels)
    assert (filled[3:5, 3:5] == 4).all()
    assert (filled[2:4, 7:9] == 0).all()
    labels[0, 13] = 4
    assert largest_pieces(labels)[0, 13] == 0
    assert (largest_pieces(labels) > 0).sum() == (labels > 0).sum() - 1


@pytest.mark.alone
def test_threads_change_nothing():
    import cv2

    pictures = [(noisy(spots(CENTRES, 9), seed), noisy(spots(CENTRES, 15), seed + 50)) for seed in range(6)]
    before = cv2.getNumThreads()
    found = []
    try:
        for n in (1, 2):
            cv2.setNumThreads(n)
            found.append(map_in_threads(lambda two: segment_field(*two), pictures, n))
    finally:
        cv2.setNumThreads(before)
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one.nuclei, two.nuclei)
        np.testing.assert_array_equal(one.cells, two.cells)


@pytest.mark.data
def test_real_fields():
    """Nothing was told: nuclei as wide as in the median field, the plate's darkest background."""
    folder = real("fields_with_masks")
    sites = sorted(path.name.removesuffix("_Ch1.tif") for path in folder.glob("*_Ch1.tif"))
    nuclei, stains = ([read(folder / f"{site}_{kind}.tif") for site in sites] for kind in ("Ch1", "Ch4"))
    diameter = float(np.median([estimate_diameter(picture) for picture in nuclei]))
    floor = min(stain_floor(picture, diameter) for picture in stains)
    scores = {"nuclei": [], "cells": []}
    for site, nucleus, stain in zip(sites, nuclei, stains, strict=True):
        found = segment_field(nucleus, stain, SegmentationSettings(diameter), floor=floor)
        for kind, name in (("nuclei", "Ch1_nuclei"), ("cells", "Ch4_cells")):
            scores[kind].append(score_labels(getattr(found, kind), read(folder / f"{site}_{name}_mask.png")))
    all_nuclei, all_cells = pooled(scores["nuclei"]), pooled(scores["cells"])
    assert all_nuclei.f1 >= 0.95
    assert min(one.f1 for one in scores["nuclei"]) >= 0.92
    assert all_nuclei.mean_ap >= 0.80
    assert all_cells.f1 >= 0.79
    assert min(one.f1 for one in scores["cells"]) >= 0.66
