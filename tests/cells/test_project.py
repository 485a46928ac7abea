"""Projects: numbers that stay, images that move, masks of others, fields that are broken."""

import json
import os
import shutil
import sys

import numpy as np
import pytest
import tifffile
from PIL import Image

from nearboost.base.disk import write_arrays
from nearboost.base.errors import UsageError
from nearboost.cells import score_labels
from nearboost.cells.creating import create_project, relink
from nearboost.cells.describing import describe_project
from nearboost.cells.judging import score_project
from nearboost.cells.masks import assigned_nuclei, match_masks, read_labels
from nearboost.cells.project import open_project
from nearboost.cells.saved_masks import mask_path, read_segmentation
from nearboost.cells.scoring import pooled
from nearboost.cells.segmenting import GivenMasks, segment_project
from nearboost.cells.settings import SegmentationSettings
from nearboost.cells.tables import write_cells
from nearboost.datasets import DataError

SETTINGS = SegmentationSettings(20.0)


def images_of(plate, folder):
    return shutil.copytree(plate / "images", folder / "images")


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def test_a_project_knows_its_fields(plate, tmp_path):
    made = create_project(tmp_path / "p", [plate / "images"], layout=plate / "layout.csv")
    again = open_project(tmp_path / "p")
    assert [one.number for one in again.fields] == list(range(1, 17))
    assert again.fields[0].place == ("demo", "A01", "1")
    assert again.layout.of("demo", "A08")["control"] == "positive"
    assert [one.content for one in again.fields] == [one.content for one in made.project.fields]
    with pytest.raises(DataError, match="not empty"):
        create_project(tmp_path / "p", [plate / "images"])
    with pytest.raises(UsageError, match="is not a project"):
        open_project(tmp_path)


def test_moved_images_are_found_by_content(plate, tmp_path):
    images = images_of(plate, tmp_path)
    project = create_project(tmp_path / "p", [images]).project
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for number, file in enumerate(sorted(images.iterdir())):
        file.rename(moved / f"renamed-{number}.tif")
    with pytest.raises(DataError, match="relink"):
        project.read(project.fields[0])
    (moved / "renamed-0.tif").unlink()
    found = relink(project, moved)
    assert list(found.skipped) == ["image 1 (demo A01 site 1)"]
    again = open_project(tmp_path / "p")
    assert [one.number for one in again.fields] == [one.number for one in project.fields]
    again.read(again.fields[1])


def test_images_that_have_changed_are_told(plate, segmented, tmp_path):
    """Numbers, masks and rows belong to the images that the project was made of, not to others by their name."""
    images = images_of(plate, tmp_path)
    project = relink(open_project(segmented), images).project
    describe_project(project)
    tifffile.imwrite(images / "demo_A02_s1_stain.tif", tifffile.imread(images / "demo_A02_s1_stain.tif") + 1)
    for skipped in (
        segment_project(project, SegmentationSettings()).skipped,  # masks of before
        segment_project(project, SegmentationSettings(border="drop")).skipped,
        describe_project(project).skipped,
        relink(project, images).skipped,
    ):
        assert list(skipped) == ["image 2 (demo A02 site 1)"]
    told = describe_project(project).skipped["image 2 (demo A02 site 1)"]
    assert "demo_A02_s1_stain.tif has changed since the project was made; bring the old image back" in told
    with pytest.raises(DataError, match="has changed since"):
        project.read(project.fields[1])


def test_rows_outlive_images(plate, segmented, tmp_path):
    """What was made of images that are gone now is still there to count."""
    images = images_of(plate, tmp_path)
    project = relink(open_project(segmented), images).project
    before = describe_project(project).rows
    shutil.rmtree(images)
    after = describe_project(project)
    assert not after.skipped
    np.testing.assert_array_equal(after.rows.features, before.features)


def test_a_channel_that_no_file_has_is_told_at_once(tmp_path):
    for name in "ab":
        tifffile.imwrite(
            tmp_path / f"{name}.tif", np.zeros((3, 9, 9), np.uint8), photometric="minisblack", metadata=None
        )
    for roles, match in (
        ({"nuclei": "1", "stain": "4"}, "no channel '4'"),
        ({"nuclei": "1"}, "--project .*--plane"),
    ):
        with pytest.raises(DataError, match=match):
            create_project(tmp_path / "p", [tmp_path], roles=roles)
        assert not (tmp_path / "p").exists()


def test_the_same_twice_is_told(plate, tmp_path):
    images = images_of(plate, tmp_path)
    for kind in ("nuclei", "stain"):
        shutil.copy(images / f"demo_A01_s1_{kind}.tif", images / f"demo_H12_s1_{kind}.tif")
    made = create_project(tmp_path / "p", [images])
    assert made.skipped == {"demo H12 site 1": "it is the same as demo A01 site 1; take one of them away."}


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.update(format="99"),
        lambda c: c.pop("fields"),
        lambda c: c["fields"][0]["files"]["nuclei"].update(folder=7),
        lambda c: c["fields"][0]["files"]["nuclei"].update(path="../../secret.tif"),
        lambda c: c["fields"][0].update(number=2),
        lambda c: c["fields"][0]["files"].pop("stain"),
        lambda c: c.update(channels=3),
        lambda c: [c["channels"].pop("nuclei"), [one["files"].pop("nuclei") for one in c["fields"]]],
        lambda c: c["fields"][0].update(number=-7),
        lambda c: c.update(plane="x"),
        lambda c: c.update(pixel_size="big"),
        lambda c: c.update(pixel_size=0),
        lambda c: c.update(project="median"),
        lambda c: c.update(pattern=5),
        lambda c: c["fields"][0].update(number=2**70),
        lambda c: c["fields"][0].update(number=float("inf")),
        lambda c: c["fields"][0]["files"]["nuclei"].update(path="a\0b"),
        lambda c: [
            c["channels"].update({"a b": "x"}),
            [one["files"].update({"a b": one["files"]["stain"]}) for one in c["fields"]],
        ],
    ],
)
def test_damaged_files_are_refused(plate, tmp_path, change):
    create_project(tmp_path / "p", [plate / "images"])
    path = tmp_path / "p" / "project.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match=r"project\.json"):
        open_project(tmp_path / "p")
    path.write_text("[" * 100_000)
    with pytest.raises(DataError, match="no JSON"):
        open_project(tmp_path / "p")


@pytest.mark.parametrize(
    "name", ["masks/00001_cells.tif", "features/more/rows.npy", "tables", "backups", "labels.csv"]
)
def test_links_among_own_files_are_refused(segmented, tmp_path, name):
    """What a stranger's project leads to is not overwritten."""
    target = tmp_path / "precious"
    target.write_text("mine") if "." in name else target.mkdir()
    link = segmented / name
    link.parent.mkdir(exist_ok=True)
    shutil.rmtree(link, ignore_errors=True)
    link.unlink(missing_ok=True)
    link.symlink_to(target)
    with pytest.raises(DataError, match=f"{link.name} is a link"):
        open_project(segmented)
    link.unlink()
    (segmented / "pictures").symlink_to(tmp_path)  # a folder that is not the project's own
    open_project(segmented)


def test_masks_are_the_same_bytes_and_made_once(plate, segmented, tmp_path):
    project = create_project(tmp_path / "again", [plate / "images"], layout=plate / "layout.csv").project
    found = segment_project(project, SegmentationSettings(), n_jobs=1)
    ours, theirs = contents(tmp_path / "again" / "masks"), contents(segmented / "masks")
    assert ours == theirs
    assert len(ours) == 4 * 16
    assert contents(tmp_path / "again")["pipeline.json"] == contents(segmented)["pipeline.json"]
    before = mask_path(project, project.fields[0], "cells.tif").stat().st_mtime_ns
    again = segment_project(project, SegmentationSettings())
    assert again.n_cells == found.n_cells
    assert mask_path(project, project.fields[0], "cells.tif").stat().st_mtime_ns == before
    segment_project(project, SegmentationSettings(found.settings.nucleus_diameter, border="drop"))
    assert mask_path(project, project.fields[0], "cells.tif").stat().st_mtime_ns != before


def test_a_broken_field_is_skipped(plate, tmp_path):
    images = images_of(plate, tmp_path)
    (images / "demo_A02_s1_stain.tif").write_bytes(b"II*\0 no image")
    tifffile.imwrite(images / "demo_A03_s1_stain.tif", np.zeros((50, 60), np.uint16))
    project = create_project(tmp_path / "p", [images]).project
    found = segment_project(project, SETTINGS)
    assert (found.n_fields, sorted(found.skipped)) == (
        14,
        ["image 2 (demo A02 site 1)", "image 3 (demo A03 site 1)"],
    )
    assert "differ in size" in found.skipped["image 3 (demo A03 site 1)"]
    with pytest.raises(DataError, match="not segmented"):
        read_segmentation(project, project.fields[1])


def test_damaged_records_are_made_anew(segmented):
    project = open_project(segmented)
    record = mask_path(project, project.fields[2], "record.json")
    before = record.read_bytes()
    changes = ({"unstained": 3}, {"unstained": ["x"]}, {"cells": -1}, {"cells": 1e308}, {"floor": "x"}, {"key": 5})
    changes += ({"key": "\udcff"},)
    for damaged in ("{", *(json.dumps(json.loads(before) | one) for one in changes)):
        record.write_text(damaged)
        assert not segment_project(project, SegmentationSettings()).skipped
        assert record.read_bytes() == before


def test_damaged_masks_are_told_and_made_anew(segmented):
    project = open_project(segmented)
    one = project.fields[2]
    nuclei, cells = (mask_path(project, one, f"{kind}.tif") for kind in ("nuclei", "cells"))
    before = nuclei.read_bytes(), cells.read_bytes()
    small, outside = tifffile.imread(nuclei)[:-1], tifffile.imread(nuclei)
    outside[0, 0] = 60000  # a number that no cell has must not lead beyond what is kept of cells
    for damaged in (b"II*\0", small, outside):
        if isinstance(damaged, bytes):
            nuclei.write_bytes(damaged)
        else:
            tifffile.imwrite(nuclei, damaged)
        told = describe_project(project).skipped[one.name]
        assert told.startswith(f"{one.name} has damaged masks (")
        assert told.endswith(f"; run nearboost cells segment {segmented} again.")
        assert not segment_project(project, SegmentationSettings()).skipped
        assert (nuclei.read_bytes(), cells.read_bytes()) == before


@pytest.mark.parametrize("light", [b"PK", np.zeros((64, 64), np.float32), np.ones((2, 2)), np.ones(3, np.float32)])
def test_damaged_light_is_told(segmented, light):
    path = segmented / "masks" / "illumination.npz"
    path.write_bytes(light) if isinstance(light, bytes) else write_arrays(path, **{"stain demo": light})
    with pytest.raises(DataError, match=r"illumination.npz is damaged; run nearboost cells segment .* again"):
        describe_project(open_project(segmented))


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are texts here")
def test_names_of_files_that_are_no_text(plate, tmp_path):
    images = tmp_path / "images"
    images.mkdir()
    for kind in ("nuclei", "stain"):
        shutil.copy(
            plate / "images" / f"demo_A01_s1_{kind}.tif",
            os.fsencode(images) + b"/\xff_A01_s1_%s.tif" % kind.encode(),
        )
    project = create_project(tmp_path / "p", [images]).project
    assert open_project(tmp_path / "p").fields[0].place.plate == r"\udcff"
    segment_project(project, SETTINGS)
    files = write_cells(project, describe_project(project).rows, h5ad=True)
    assert all(file.stat().st_size for file in files)


def test_given_masks_keep_their_numbers(plate, tmp_path):
    truth = tmp_path / "truth"
    truth.mkdir()
    for path in (plate / "truth").glob("*_stain_mask.tif"):
        labels = tifffile.imread(path).astype(np.float32) * 5
        labels[0, 0] = labels.max()  # a piece far from its cell belongs to it all the same
        tifffile.imwrite(truth / path.name, labels)
    project = create_project(tmp_path / "p", [plate / "images"]).project
    segment_project(project, SETTINGS, GivenMasks(cells=truth))
    one = project.fields[0]
    found, given = read_segmentation(project, one), tifffile.imread(truth / "demo_A01_s1_stain_mask.tif")
    np.testing.assert_array_equal(found.cells, given.astype(int))
    true_nuclei = tifffile.imread(plate / "truth" / "demo_A01_s1_nuclei_mask.tif").astype(int)
    assert score_labels(found.nuclei, true_nuclei).f1 > 0.9
    inside = found.nuclei > 0
    np.testing.assert_array_equal(found.nuclei[inside], found.cells[inside])


def test_given_masks_have_limits_if_asked(plate, tmp_path):
    project = create_project(tmp_path / "p", [plate / "images"]).project
    given, kept = GivenMasks(plate / "truth", plate / "truth"), {}
    for name, limits in {"all": {}, "inner": {"border": "drop"}, "large": {"smallest_cell": 36.0}}.items():
        segment_project(project, SegmentationSettings(20.0, **limits), given)
        kept[name] = read_segmentation(project, project.fields[0])
    cells = kept["all"].cells
    edge = set(np.concatenate([cells[0], cells[-1], cells[:, 0], cells[:, -1]]).tolist())
    assert kept["inner"].numbers.tolist() == sorted(set(kept["all"].numbers.tolist()) - edge)
    wide = np.flatnonzero(np.bincount(cells.ravel())[1:] >= np.pi * 18**2) + 1
    assert 0 < len(wide) < len(kept["all"].numbers)
    assert kept["large"].numbers.tolist() == wide.tolist()
    for found in kept.values():
        assert set(np.unique(found.nuclei)) <= {0, *found.numbers}


def test_given_nuclei_grow(plate, tmp_path):
    nuclei = tmp_path / "nuclei"
    nuclei.mkdir()
    for path in (plate / "truth").glob("*_nuclei_mask.tif"):
        shutil.copy(path, nuclei / path.name.replace("_mask.tif", "_cp_masks.tif"))
    project = create_project(tmp_path / "p", [plate / "images"]).project
    segment_project(project, SETTINGS, GivenMasks(nuclei=nuclei))
    found = read_segmentation(project, project.fields[0])
    true = tifffile.imread(plate / "truth" / "demo_A01_s1_stain_mask.tif")
    assert score_labels(found.cells, true).f1 > 0.85
    (nuclei / "demo_A01_s1_nuclei_cp_masks.tif").unlink()
    found = segment_project(project, SETTINGS, GivenMasks(nuclei=nuclei))
    assert "no mask of its nuclei" in found.skipped["image 1 (demo A01 site 1)"]


def test_masks_may_lie_beside_the_images(plate, tmp_path):
    images = images_of(plate, tmp_path)
    project = create_project(tmp_path / "p", [images]).project
    for path in (plate / "truth").glob("*_mask.tif"):
        shutil.copy(path, images)
    found = segment_project(project, SETTINGS, GivenMasks(images, images))
    assert not found.skipped
    judged = score_project(project, images, images)
    assert not judged.skipped
    assert pooled(judged.scores["cells"].values()).f1 == 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_masks_that_cannot_be_written_are_told_at_once(plate, tmp_path):
    project = create_project(tmp_path / "p", [plate / "images"]).project
    (tmp_path / "p" / "masks").chmod(0o500)
    with pytest.raises(UsageError, match="cannot be written to"):
        segment_project(project, SETTINGS)


def test_a_project_whose_masks_are_no_folder(plate, tmp_path):
    project = create_project(tmp_path / "p", [plate / "images"]).project
    (tmp_path / "p" / "masks").rmdir()
    (tmp_path / "p" / "masks").write_text("")
    with pytest.raises(UsageError, match="masks"):
        segment_project(project, SETTINGS)


def test_a_channel_that_no_name_has(plate, tmp_path):
    """The channels that there are get named, not a file that has nothing to do with it."""
    images = images_of(plate, tmp_path)
    shutil.copy(images / "demo_A01_s1_stain.tif", images / "a.tif")
    with pytest.raises(DataError, match=r"no file of channel Ch1 \(nuclei\), but of nuclei, stain;"):
        create_project(tmp_path / "p", [images], pattern="plain", roles={"nuclei": "Ch1", "stain": "stain"})


def test_a_layout_of_another_plate_is_told(plate, tmp_path):
    layout = tmp_path / "layout.csv"
    layout.write_text("plate,well\nother,A01\n")
    (note,) = create_project(tmp_path / "p", [plate / "images"], layout=layout).notes
    assert "no line for 16 wells, such as demo A01; its first line is of other A01" in note
    layout.replace(tmp_path / "p" / "layout.csv").write_text("well,dose\nA1,3\n")
    assert open_project(tmp_path / "p").layout.of("demo", "A01") == {"dose": "3"}


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        (np.zeros((5, 6), np.uint8), r"is 6 x 5 pixels and its image 8 x 6"),
        (np.full((6, 8), 0.5, np.float32), "not whole"),
        (np.full((6, 8), np.nan, np.float32), "not whole"),
        (np.full((6, 8), -1, np.int16), "from -1 to -1"),
        (np.full((6, 8), 2**31, np.uint32), "labels are whole numbers"),
    ],
)
def test_wrong_masks(tmp_path, labels, match):
    tifffile.imwrite(tmp_path / "mask.tif", labels)
    with pytest.raises(ValueError, match=match):
        read_labels(tmp_path / "mask.tif", (6, 8))


def test_masks_of_several_planes_are_refused(tmp_path):
    tifffile.imwrite(tmp_path / "mask.tif", np.zeros((4, 6, 8), np.uint8), photometric="minisblack", metadata=None)
    with pytest.raises(ValueError, match=r"mask\.tif has several planes; save"):
        read_labels(tmp_path / "mask.tif")


def test_masks_in_colours_are_refused(tmp_path):
    Image.fromarray(np.zeros((6, 8, 3), np.uint8)).save(tmp_path / "mask.png")
    with pytest.raises(ValueError, match="3 channels"):
        read_labels(tmp_path / "mask.png")


def test_masks_are_matched_by_name():
    files = {"nuclei": "a/x_1_w2.tif", "stain": "a/x_1_w1.tif"}
    masks = ["m/x_1_w1_cp_masks.png", "m/x_1_w2_Object Identities.tif", "m/x_1_w22.tif"]
    assert match_masks(files, masks, "nuclei") == masks[1]
    assert match_masks(files, masks, "cells") == masks[0]
    assert match_masks(files, masks[1:], "cells") == masks[1]  # named after another channel
    assert match_masks(files, masks[2:], "cells") is None
    with pytest.raises(ValueError, match="both masks of x_1_w1"):
        match_masks(files, [*masks, "n/x_1_w1.tif"], "cells")


def test_nuclei_belong_to_the_cell_that_most_of_them_lie_in():
    cells = np.array([[7, 7, 7, 9, 9, 0, 0]])
    nuclei = np.array([[0, 2, 2, 2, 0, 5, 5]])
    assert assigned_nuclei(nuclei, cells).tolist() == [[0, 7, 7, 0, 0, 0, 0]]


def test_light_is_corrected_from_twenty_fields_on(plate, tmp_path):
    project = create_project(tmp_path / "p", [plate / "images"]).project
    found = segment_project(project, SegmentationSettings(20.0, illumination=True))
    assert "16 fields, and 20 are needed" in found.notes[0]


def test_common_light():
    from nearboost.cells.illumination import common_light, corrected, small_copy

    light = np.linspace(0.5, 1.5, 128)[np.newaxis] * np.ones((96, 1))
    random = np.random.default_rng(0)
    fields = [light * random.uniform(50, 150) + random.normal(0, 5, light.shape) for _ in range(25)]
    found = common_light([small_copy(one) for one in fields])
    even = corrected(fields[0], found)
    assert even[:, 10:-10].std() < 0.25 * fields[0][:, 10:-10].std()
    with pytest.raises(ValueError, match="20 are needed"):
        common_light([small_copy(one) for one in fields[:3]])
