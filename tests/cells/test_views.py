"""What pages show: wells, fields, cells, pictures with limits of the project, and labels given there."""

import shutil
from dataclasses import replace

import cv2
import numpy as np
import pytest

from nearboost.base.errors import UsageError
from nearboost.base.image_set import hash_file
from nearboost.base.images import ImageError
from nearboost.cells.annotation_records import Cell, ConflictError
from nearboost.cells.browsing import plate_measures, view_plate
from nearboost.cells.describing import describe_project
from nearboost.cells.display import FILE, read_display, save_display, usual_display
from nearboost.cells.field_views import view_field
from nearboost.cells.labelling import exclude_cells, label_cells, settle_label
from nearboost.cells.project import open_project
from nearboost.cells.project_labels import import_labels, open_store
from nearboost.cells.saved_masks import read_segmentation
from nearboost.cells.saying import rows_of, said_of
from nearboost.cells.segmenting import segment_project
from nearboost.cells.settings import SegmentationSettings
from nearboost.cells.tables import predict_project
from nearboost.cells.tiles import crop_png, tile_png
from nearboost.cells.training import train_cells
from nearboost.datasets import DataError


@pytest.fixture(scope="module")
def trained_once(segmented_once, plate, tmp_path_factory):
    folder = shutil.copytree(segmented_once, tmp_path_factory.mktemp("views") / "project")
    import_labels(open_project(folder), plate / "truth.csv")
    train_cells(open_project(folder))
    return folder


@pytest.fixture
def project(trained_once, tmp_path):
    return open_project(shutil.copytree(trained_once, tmp_path / "project"))


@pytest.fixture
def store(project):
    with open_store(project) as opened:
        yield opened


def decoded(png):
    return cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_UNCHANGED)


def test_wells_have_values(project, store):
    plate = view_plate(project, store)
    assert [one.well for one in plate.wells[:3]] == ["A01", "A02", "A03"]
    assert (plate.wells[-1].row, plate.wells[-1].column, plate.wells[-1].layout["control"]) == (1, 7, "positive")
    assert plate.wells[0].value == plate.fields[0].cells == plate.fields[0].labels > 0
    shares = view_plate(project, store, "Share_granular").wells
    assert shares[0].value < 0.4 < 0.6 < shares[-1].value
    rows = rows_of(project)
    means = view_plate(project, store, "Mean_Cells_AreaShape_Area").wells
    assert means[0].value == pytest.approx(rows.measures["Cells_AreaShape_Area"][rows.images == 1].mean())
    with pytest.raises(UsageError, match="no 'nonsense'"):
        view_plate(project, store, "nonsense")


def test_before_anything_is_known(segmented):
    project = open_project(segmented)
    with open_store(project) as store:
        assert plate_measures(project) == ["cells", "labels"]
        view = view_field(project, store, 1)
    assert view.cells[0].said is None
    assert view.cells[0].label is None
    assert rows_of(project) is said_of(project) is None
    describe_project(project)
    assert len(rows_of(project)) > 100
    assert not (segmented / "models").exists() or said_of(project) is None


def test_a_field_with_its_cells(project, store):
    view = view_field(project, store, 3)
    cells = read_segmentation(project, project.field_of(3)).cells
    assert (view.width, view.height, view.levels, view.roles) == (128, 128, 1, ("nuclei", "stain"))
    assert [one.object for one in view.cells] == np.unique(cells)[1:].tolist()
    names = {one.id: one.name for one in store.classes()}
    agreed = [names[one.label.class_id] == one.said for one in view.cells if one.label]
    assert np.mean(agreed) > 0.8
    predicted = predict_project(project)
    first = (predicted.rows.images == 3).nonzero()[0][0]
    assert view.cells[0].said == predicted.prediction.labels[first]
    assert view.cells[0].probability == pytest.approx(predicted.prediction.probabilities[first].max())
    assert any("Flag_Border" in one.flags for one in view.cells)


def test_images_that_are_gone_are_told(project, store):
    gone = replace(project, image_folders=("/nowhere",))
    plate = view_plate(gone, store)
    assert plate.fields[0].missing == ("demo_A01_s1_nuclei.tif", "demo_A01_s1_stain.tif")
    view = view_field(gone, store, 1)
    assert view.cells
    assert (view.width, view.height) == (128, 128)
    with pytest.raises(DataError, match="relink"):
        tile_png(gone, gone.field_of(1), "nuclei", 0, 0, 0, 0, 100)


def test_labels_need_a_cell_and_keep_its_point(project, store):
    store.add_class("Ada", "odd")
    number = next(one.id for one in store.classes() if one.name == "odd")
    with pytest.raises(DataError, match="no cell numbered 999"):
        label_cells(project, store, "Ada", [Cell(1, 999)], number)
    seen = next(one for one in store.labels(1) if one.object == 1)
    with pytest.raises(ConflictError):
        label_cells(project, store, "Ada", [Cell(1, 1)], number)
    [made] = label_cells(project, store, "Ada", [Cell(1, 1, seen.event)], number)
    shown = view_field(project, store, 1).cells[0]
    assert (made.class_id, shown.label) == (number, made)
    [left_out] = exclude_cells(project, store, "Ada", [Cell(1, 1, made.event)])
    assert left_out.excluded
    label_cells(project, store, "Ada", [Cell(1, 1, left_out.event)], None)
    label = view_field(project, store, 1).cells[0].label
    assert (label.class_id, label.excluded) == (None, True)
    store.delete_class("Ada", number)


def test_a_first_label_knows_its_masks(segmented):
    project = open_project(segmented)
    with open_store(project) as store:
        made = store.add_class("Ada", "round")
        [label] = label_cells(project, store, "Ada", [Cell(2, 3)], made.id)
        cells = read_segmentation(project, project.field_of(2)).cells
        assert cells[int(label.y), int(label.x)] == 3
        assert store.generation(2) != ""
        assert store.undo("Ada") == "label"
        assert store.labels() == []


def test_waiting_labels_are_placed_and_discarded(project):
    segment_project(project, SegmentationSettings(20.0, border="drop"))
    with open_store(project) as store:
        number = next(one.label.image for one in store.unplaced())
        view = view_field(project, store, number)
        first = view.waiting[0]
        assert first.polygons[0][0]
        other = next(one for one in project.fields if one.number != number)
        with pytest.raises(UsageError, match="in the image that it was given in"):
            settle_label(project, store, "Ada", first.id, Cell(other.number, 1))
        target = view.cells[0]
        cell = Cell(number, target.object, target.label.event if target.label else 0)
        settle_label(project, store, "Ada", first.id, cell)
        now = view_field(project, store, number)
        assert now.cells[0].label.class_id == first.label.class_id
        assert first.id not in {one.id for one in now.waiting}
        with pytest.raises(UsageError, match="in the meantime"):
            settle_label(project, store, "Ada", first.id, None)


def test_tiles_have_the_limits_that_are_given(project):
    picture = project.read(project.field_of(1)).by_role["stain"].astype(float)
    tile = decoded(tile_png(project, project.field_of(1), "stain", 0, 0, 0, 100, 500))
    assert tile.dtype == np.uint8
    assert np.abs(tile - np.clip((picture - 100) / 400 * 255, 0, 255)).max() <= 0.51
    half = decoded(tile_png(project, project.field_of(1), "stain", 1, 0, 0, 100, 500))
    assert half.shape == (64, 64)
    for wrong in (("dapi", 0, 0, 0), ("stain", 0, 1, 0), ("stain", 99, 0, 0), ("stain", 0, -1, 0)):
        with pytest.raises(UsageError, match="no tile"):
            tile_png(project, project.field_of(1), *wrong, 100, 500)


def test_large_fields_come_in_tiles(tmp_path):
    """Tiles put together are the picture, at each level."""
    import tifffile

    from nearboost.cells.creating import create_project

    picture = np.random.default_rng(0).integers(0, 255, (1300, 1100)).astype(np.uint16)
    (tmp_path / "images").mkdir()
    tifffile.imwrite(tmp_path / "images" / "p_A01_s1_nuclei.tif", picture)
    project = create_project(tmp_path / "p", [tmp_path / "images"], roles={"nuclei": "nuclei"}).project
    with open_store(project) as store:
        assert view_field(project, store, 1).levels == 3
    rows = [
        [decoded(tile_png(project, project.fields[0], "nuclei", 0, r, c, 0, 255)) for c in range(3)]
        for r in range(3)
    ]
    assert np.array_equal(np.vstack([np.hstack(row) for row in rows]), picture)
    assert decoded(tile_png(project, project.fields[0], "nuclei", 2, 0, 0, 0, 255)).shape == (325, 275)


def test_bombs_are_refused_before_they_are_decoded(project, tmp_path):
    import tifffile

    images = tmp_path / "images"
    images.mkdir()
    for role in ("nuclei", "stain"):
        place = images / f"demo_A01_s1_{role}.tif"
        tifffile.imwrite(place, np.zeros((1, 1), np.uint16))
        with tifffile.TiffFile(place, mode="r+b") as file:
            file.pages[0].tags["ImageWidth"].overwrite(100_000)
            file.pages[0].tags["ImageLength"].overwrite(100_000)
    one = project.field_of(1)
    files = {role: file._replace(sha256=hash_file(images / file.path).digest) for role, file in one.files.items()}
    bombed = replace(project, image_folders=(str(images),), fields=(replace(one, files=files),))
    with pytest.raises(ImageError, match="more than the"):
        tile_png(bombed, bombed.field_of(1), "nuclei", 0, 0, 0, 0, 1)


def test_crops_show_the_cell_in_the_middle(project):
    display = read_display(project)
    crop = decoded(crop_png(project, 1, 1, display, 64))
    assert crop.shape == (64, 64, 3)
    assert crop[32, 32].sum() > np.median(crop.sum(axis=2))


def test_the_display_is_kept_for_the_project(project):
    usual = read_display(project)
    assert set(usual.channels) == {"nuclei", "stain"}
    assert not (project.folder / FILE).exists()
    save_display(project, {"channels": {"stain": {"high": 999.5, "shown": False}}, "line_width": 3})
    kept = read_display(open_project(project.folder))
    assert (kept.channels["stain"].high, kept.channels["stain"].shown, kept.line_width) == (999.5, False, 3)
    assert kept.channels["nuclei"] == usual.channels["nuclei"]
    (project.folder / FILE).write_text('{"channels": {"stain": {"colour": "red;"}}}')
    assert read_display(project) == usual


def test_limits_are_not_of_images_elsewhere(segmented, tmp_path):
    """Fields that are not shown themselves tell how bright channels are; none of them is read through a link."""
    project = open_project(segmented)
    for number, file in enumerate(file for one in project.fields for file in one.files.values()):
        (tmp_path / f"{number}.tif").write_bytes(project.path_of(file).read_bytes())
    images = tmp_path / "images"
    images.mkdir()
    for number, file in enumerate(file for one in project.fields for file in one.files.values()):
        (images / file.path).symlink_to(tmp_path / f"{number}.tif")
    linked = replace(project, image_folders=(str(images),))
    assert usual_display(linked).channels["stain"].high == 65535.0


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"channels": {"dapi": {}}}, "no channel 'dapi'"),
        ({"channels": {"stain": {"colour": "url(x)"}}}, "#4da6ff"),
        ({"channels": {"stain": {"low": 5, "high": 5}}}, "below"),
        ({"channels": {"stain": {"low": float("nan")}}}, "below"),
        ({"channels": {"stain": {"high": 10**400}}}, "below"),
        ({"line_width": 10**400}, "0.5 to 8"),
        ({"channels": {"stain": {"shown": 1}}}, "true or false"),
        ({"channels": {"stain": {"other": 1}}}, "shown, colour"),
        ({"channels": 3}, "A display has"),
        ({"other": 3}, "A display has"),
        ({"outlines": "yes"}, "true or false"),
        ({"line_width": 99}, "0.5 to 8"),
    ],
)
def test_a_wrong_display_is_refused(project, given, match):
    with pytest.raises(UsageError, match=match):
        save_display(project, given)
