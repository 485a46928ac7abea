"""Cells as rows: measures against scikit-image, features against crops, and a store that resumes."""

import numpy as np
import pytest
from skimage.measure import perimeter_crofton, regionprops

from nearboost.cells.demo import demo_field
from nearboost.cells.describing import describe_project
from nearboost.cells.features import PRESETS, FeatureSettings, describe_cells, find_preset
from nearboost.cells.measures import measure_cells
from nearboost.cells.pipeline import read_pipeline
from nearboost.cells.project import open_project
from nearboost.cells.saved_masks import mask_path
from nearboost.cells.segmentation import Segmentation
from nearboost.cells.segmenting import segment_project
from nearboost.cells.settings import SegmentationSettings
from nearboost.datasets import DataError
from nearboost.features import BioInspiredFeatures
from nearboost.features.bif import region_histograms

FIELD = demo_field(1, n_cells=12, shape=(160, 150))
LABELS = np.where(FIELD.cell_labels == 3, 40, FIELD.cell_labels).astype(np.int32)  # numbers with gaps
NUCLEI = np.where(FIELD.nucleus_labels == 3, 40, FIELD.nucleus_labels).astype(np.int32)
FOUND = Segmentation(NUCLEI, LABELS, np.zeros(41, bool))
PICTURES = {"nuclei": FIELD.nuclei, "stain": FIELD.stain}


def test_shapes_are_those_of_scikit_image():
    columns = measure_cells(PICTURES, FOUND)
    theirs = regionprops(LABELS, FIELD.stain)
    assert columns["ObjectNumber"].tolist() == [one.label for one in theirs]
    for name, attribute in (
        ("Cells_AreaShape_Area", "area"),
        ("Cells_AreaShape_Eccentricity", "eccentricity"),
        ("Cells_AreaShape_MajorAxisLength", "axis_major_length"),
        ("Cells_AreaShape_MinorAxisLength", "axis_minor_length"),
        ("Cells_AreaShape_Extent", "extent"),
        ("Cells_Intensity_MeanIntensity_stain", "intensity_mean"),
        ("Cells_Intensity_MaxIntensity_stain", "intensity_max"),
        ("Cells_Intensity_MinIntensity_stain", "intensity_min"),
        ("Cells_Intensity_StdIntensity_stain", "intensity_std"),
    ):
        exact = "Axis" not in name and "Eccentricity" not in name  # there pixels are points, here squares
        expected = [getattr(one, attribute) for one in theirs]
        np.testing.assert_allclose(columns[name], expected, rtol=1e-6 if exact else 2e-3)
    centres = np.array([one.centroid for one in theirs])
    np.testing.assert_allclose(
        np.column_stack([columns["Location_Center_Y"], columns["Location_Center_X"]]), centres
    )
    around = [perimeter_crofton(np.pad(one.label == LABELS, 1), directions=4) for one in theirs]
    np.testing.assert_allclose(columns["Cells_AreaShape_Perimeter"], around, rtol=0.01)


def test_regions_and_ratios():
    columns = measure_cells(PICTURES, FOUND, floor=160.0)
    nucleus = NUCLEI == 40
    outer = (LABELS == 40) & ~nucleus
    at = columns["ObjectNumber"].tolist().index(40)
    assert columns["Cytoplasm_Intensity_IntegratedIntensity_stain"][at] == FIELD.stain[outer].sum()
    ratio = (FIELD.stain[nucleus].mean() - 160) / (FIELD.stain[outer].mean() - 160)
    assert columns["Math_RatioNucleiCytoplasm_stain"][at] == pytest.approx(ratio)


def test_flags():
    nuclei, unstained = np.where(NUCLEI == 40, 0, NUCLEI), np.zeros(41, bool)
    unstained[2] = True
    columns = measure_cells(PICTURES, Segmentation(nuclei, LABELS, unstained))
    numbers = columns["ObjectNumber"]
    assert numbers[columns["Flag_Unstained"] > 0].tolist() == [2]
    assert numbers[columns["Flag_NoNucleus"] > 0].tolist() == [40]
    border = {int(n) for edge in (LABELS[0], LABELS[-1], LABELS[:, 0], LABELS[:, -1]) for n in edge} - {0}
    assert set(numbers[columns["Flag_Border"] > 0].astype(int)) == border
    assert all(np.isfinite(column).all() for column in columns.values())


@pytest.mark.parametrize("preset", PRESETS)
def test_features_are_those_of_the_field_scaled_by_the_cell(preset):
    """One filtering of the field, against one for each cell whose largest pixel is 1."""
    settings = find_preset(preset)
    rows = describe_cells(FIELD.stain, FOUND, settings)
    assert rows.shape == (len(FOUND.numbers), settings.n_numbers) == (len(FOUND.numbers), len(settings.names()))
    for place, number in list(enumerate(FOUND.numbers))[:3]:
        inside = number == LABELS
        mask = np.where(inside, 2 - (NUCLEI > 0) if settings.regions == 2 else 1, 0)
        scaled = (FIELD.stain / FIELD.stain[inside].max()).astype(np.float32)
        shares = region_histograms(
            scaled, mask.astype(np.int32), np.ones(settings.regions), settings.scales, settings.bins
        )
        expected = np.sqrt(shares.ravel())
        assert np.abs(rows[place] - expected).max() < 0.05  # a pixel at the edge of a bin
        assert np.abs(rows[place] ** 2 - expected**2).sum() < 0.02 * len(settings.scales) * settings.regions


def test_a_cell_alone_is_its_crop():
    """Without neighbours, a field's cell is described as the transformer describes its picture and mask."""
    alone = Segmentation(np.where(NUCLEI == 2, 2, 0), np.where(LABELS == 2, 2, 0), np.zeros(3, bool))
    picture = np.where(LABELS == 2, FIELD.stain, 0)
    mask = np.where(LABELS == 2, 2 - (NUCLEI > 0), 0)
    expected = BioInspiredFeatures((1, 2, 3, 4, 5), 32, 2, root=True).transform(picture, mask)
    np.testing.assert_allclose(describe_cells(picture, alone), expected, atol=0.04)


def test_an_empty_field_has_no_rows():
    empty = Segmentation(np.zeros((20, 30), np.int32), np.zeros((20, 30), np.int32), np.zeros(1, bool))
    assert describe_cells(np.ones((20, 30)), empty).shape == (0, 320)
    assert measure_cells({"nuclei": np.ones((20, 30))}, empty)["ObjectNumber"].shape == (0,)


def test_wrong_features():
    for wrong in ({"scales": (0,)}, {"bins": 0}, {"regions": 3}, {"root": 1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            FeatureSettings(**wrong)
    with pytest.raises(ValueError, match="localisation, thesis-thyroid, hep2"):
        find_preset("sift")
    for preset in PRESETS.values():
        assert FeatureSettings.of_json(preset.as_json(), "a file") == preset


def test_rows_are_kept_and_follow_masks(segmented, monkeypatch):
    project = open_project(segmented)
    first = describe_project(project)
    assert len(first.rows) == len(first.rows.features) == len(first.rows.objects)
    assert read_pipeline(segmented)["features"]["bins"] == 32
    order = np.lexsort((first.rows.objects, first.rows.images))
    np.testing.assert_array_equal(order, np.arange(len(order)))

    calls = []
    import nearboost.cells.describing as module

    real = module.describe_cells
    monkeypatch.setattr(module, "describe_cells", lambda *a: calls.append(1) or real(*a))
    again = describe_project(open_project(segmented), n_jobs=1)
    np.testing.assert_array_equal(again.rows.features, first.rows.features)
    assert calls == []
    segment_project(project, SegmentationSettings(20.0, border="drop"))
    fewer = describe_project(project)
    assert len(calls) > 0
    assert len(fewer.rows) < len(first.rows)
    describe_project(project, PRESETS["thesis-thyroid"])
    assert describe_project(project).rows.settings == PRESETS["thesis-thyroid"]


def test_an_interruption_costs_little(segmented, monkeypatch):
    """Rows that were finished are there after a kill: nothing else is computed again."""
    import nearboost.cells.describing as module

    project = open_project(segmented)
    real, done = module.describe_cells, []

    def stops(*given):
        if len(done) == 5:
            raise KeyboardInterrupt
        done.append(1)
        return real(*given)

    monkeypatch.setattr(module, "describe_cells", stops)
    with pytest.raises(KeyboardInterrupt):
        describe_project(project, n_jobs=1)
    monkeypatch.setattr(module, "describe_cells", lambda *given: done.append(1) or real(*given))
    found = describe_project(project, n_jobs=1)
    assert len(done) == len(project.fields)
    assert np.isfinite(found.rows.features).all()
    sums = found.rows.features.astype(float) ** 2
    np.testing.assert_allclose(sums.sum(axis=1), 10, atol=1e-3)  # five scales of two regions


def test_a_damaged_store_is_made_anew(segmented):
    project = open_project(segmented)
    first = describe_project(project)
    (rows,) = (segmented / "features").glob("*/rows.npy")
    whole = rows.read_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:50], b""):
        rows.write_bytes(damaged)
        np.testing.assert_array_equal(describe_project(project).rows.features, first.rows.features)
    np.save(rows, np.ones((len(first.rows), 7), np.float32))  # of another length
    np.testing.assert_array_equal(describe_project(project).rows.features, first.rows.features)
    stored = np.load(rows)
    stored.view(np.uint32)[0, 0] = 0x7F800001  # in place of a cell's number, a NaN that signals
    np.save(rows, stored)
    with pytest.raises(DataError, match=r"features.cells-\w+ is damaged; remove it"):
        describe_project(project)


def test_fields_without_masks_are_told(segmented):
    project = open_project(segmented)
    mask_path(project, project.fields[2], "cells.tif").unlink()
    found = describe_project(project)
    assert "not segmented" in found.skipped["image 3 (demo A03 site 1)"]
    assert 3 not in found.rows.images
    for one in project.fields:
        mask_path(project, one, "cells.tif").unlink(missing_ok=True)
    with pytest.raises(DataError, match="No field could be described"):
        describe_project(project)
