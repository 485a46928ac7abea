"""Each published layout in miniature: recognised, read, its counts judged, and what is missing named."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from datasets import miniatures
from nearboost.datasets import DataError, open_dataset
from nearboost.datasets.layouts import LAYOUTS
from nearboost.datasets.published import PUBLISHED
from nearboost.datasets.scenes import SCENES

DISTRIBUTED = [
    *("MITcoast", "MITforest", "MIThighway", "MITinsidecity", "MITmountain", "MITopencountry", "MITstreet"),
    *("MITtallbuilding", "bedroom", "kitchen", "livingroom", "PARoffice", "CALsuburb", "industrial", "store"),
]


@pytest.mark.parametrize("n_classes", [8, 13, 15])
@pytest.mark.parametrize("names", [SCENES, DISTRIBUTED], ids=["plain", "distributed"])
def test_scenes(tmp_path, n_classes, names):
    found = open_dataset(miniatures.scenes(tmp_path, names[:n_classes]))
    assert found.name == f"scene-{n_classes}"
    assert found.classes == tuple(sorted(SCENES[:n_classes]))
    assert (found.part == "train").sum() == (found.part == "test").sum() == 2 * n_classes
    published = {8: "2,688", 13: "3,859", 15: "4,485"}[n_classes]
    assert f"These files hold {4 * n_classes} items" in found.notes[0]
    assert f"published were {published} of {n_classes} (" in found.notes[0]


def test_the_scene_sets_hold_one_another(tmp_path):
    miniatures.scenes(tmp_path, SCENES)
    eight = open_dataset(tmp_path, "scene-8")
    assert eight.classes == tuple(sorted(SCENES[:8]))
    assert "not classes of the set: Bedroom, Industrial, Kitchen" in eight.notes[1]
    assert "Store" not in open_dataset(tmp_path, "scene-13").classes


def test_eight_scenes_in_one_folder(tmp_path):
    for scene in SCENES[:8]:
        miniatures.write_image(tmp_path / f"{scene.lower()}_arnat59.jpg")
    found = open_dataset(tmp_path)
    assert (found.name, len(found)) == ("scene-8", 8)
    assert found.labels[found.names.index("opencountry_arnat59.jpg")] == "OpenCountry"
    (tmp_path / "coast_arnat59.jpg").unlink()
    with pytest.raises(DataError, match="has no folder 'Coast'"):
        open_dataset(tmp_path, "scene-8")


def test_a_missing_scene_is_named(tmp_path):
    miniatures.scenes(tmp_path, SCENES)
    shutil.rmtree(tmp_path / "train" / "Coast")
    with pytest.raises(
        DataError, match=r"train has no folder 'Coast'; expected Coast, Forest, Highway, .*Store\."
    ):
        open_dataset(tmp_path, "scene-15")
    shutil.rmtree(tmp_path / "train" / "Store")
    with pytest.raises(DataError, match="train has no folders 'Coast', 'Store'"):
        open_dataset(tmp_path, "scene-15")


def test_caltech_101(tmp_path):
    found = open_dataset(miniatures.caltech_101(tmp_path))
    assert (found.name, len(found), len(found.classes)) == ("caltech-101", 101, 101)
    assert any("not classes of the set: BACKGROUND_Google" in note for note in found.notes)
    assert "published were 8,677 of 101 (" in found.notes[0]
    assert open_dataset(tmp_path / "101_ObjectCategories").name == "caltech-101"
    shutil.rmtree(tmp_path / "101_ObjectCategories" / "okapi")
    with pytest.raises(DataError, match=r"has no folder 'okapi'; expected Faces, .* and 81 more"):
        open_dataset(tmp_path, "caltech-101")
    assert open_dataset(tmp_path / "101_ObjectCategories").name == "101_ObjectCategories"


def test_caltech_256(tmp_path):
    found = open_dataset(miniatures.caltech_256(tmp_path))
    assert (found.name, len(found), len(found.classes)) == ("caltech-256", 256, 256)
    assert found.classes[0] == "001.ak47"
    assert any("257.clutter" in note for note in found.notes)
    shutil.rmtree(tmp_path / "256_ObjectCategories" / "100.thing-100")
    with pytest.raises(DataError, match="has no folder '100'"):
        open_dataset(tmp_path)


def test_sun397(tmp_path):
    found = open_dataset(miniatures.sun397(tmp_path))
    assert found.name == "sun397"
    assert found.classes == ("abbey", "apartment_building/outdoor", "zen_garden")
    assert found.names[0] == "a/abbey/sun_a0001.jpg"
    assert "published were 108,754 of 397 (SUN397)" in found.notes[0]
    shutil.rmtree(tmp_path / "SUN397" / "z")
    with pytest.raises(DataError, match="has no folder 'zen_garden'"):
        open_dataset(tmp_path)
    (tmp_path / "SUN397" / "ClassName.txt").unlink()
    assert open_dataset(tmp_path, "sun397").classes == ("abbey", "apartment_building/outdoor")


@pytest.mark.parametrize("flat", [False, True])
def test_ilsvrc(tmp_path, flat):
    found = open_dataset(miniatures.ilsvrc(tmp_path, flat=flat))
    assert (found.name, len(found)) == ("ilsvrc", 6)
    assert found.classes == ("n01440764", "n01443537")
    tests = found.take(found.part == "test")
    assert tests.labels.tolist() == (["n01443537", "n01440764"] if flat else ["n01440764", "n01443537"])
    assert "published were 1,331,167 of 1,000 (" in found.notes[0]


def test_ilsvrc_without_labels_or_parts(tmp_path):
    miniatures.ilsvrc(tmp_path, flat=True)
    table = tmp_path / "LOC_val_solution.csv"
    table.write_text("ImageId,PredictionString\nILSVRC2012_val_00000002,n01440764 1 2 3 4\n")
    with pytest.raises(DataError, match="has no line for ILSVRC2012_val_00000001"):
        open_dataset(tmp_path)
    table.unlink()
    with pytest.raises(DataError, match=r"without class folders; expected LOC_val_solution\.csv"):
        open_dataset(tmp_path)
    shutil.rmtree(tmp_path / "ILSVRC" / "Data" / "CLS-LOC" / "val")
    with pytest.raises(DataError, match="has no folder 'val'"):
        open_dataset(tmp_path)


def test_traffic_signs(tmp_path):
    found = open_dataset(miniatures.gtsrb(tmp_path))
    assert (found.name, len(found), found.classes) == ("gtsrb", 15, ("00000", "00007"))
    assert found.labels[found.part == "test"].tolist() == ["00000", "00007", "00000"]
    assert sorted(set(found.groups[found.part == "train"])) == [
        "00000/00000",
        "00000/00001",
        "00007/00000",
        "00007/00001",
    ]
    assert len(set(found.groups[found.part == "test"])) == 3
    assert any("tracks of the test images" in note for note in found.notes)


def test_traffic_signs_that_are_not_whole(tmp_path):
    root = miniatures.gtsrb(tmp_path) / "GTSRB"
    test_table = root / "Final_Test" / "Images" / "GT-final_test.csv"
    moved = test_table.rename(tmp_path / test_table.name)
    assert len(open_dataset(tmp_path)) == 15
    moved.write_text("Filename;Width\n00000.ppm;6\n")
    with pytest.raises(DataError, match="has the columns filename, width; expected one called classid"):
        open_dataset(tmp_path)
    moved.unlink()
    with pytest.raises(DataError, match=r"has no GT-final_test\.csv"):
        open_dataset(tmp_path)
    (root / "Final_Training" / "Images" / "00007" / "00001_00001.ppm").unlink()
    with pytest.raises(DataError, match=r"names 1 file that does not exist: .*00007/00001_00001\.ppm"):
        open_dataset(tmp_path)
    with pytest.raises(DataError, match="has no folder 'Final_Training/Images'"):
        open_dataset(root / "Final_Test", "gtsrb")


def test_traffic_signs_as_arrays(tmp_path):
    found = open_dataset(miniatures.gtsrb_npz(tmp_path))
    assert (found.name, found.kind, found.items.shape) == ("gtsrb-npz", "vectors", (11, 16))
    assert found.classes == ("00000", "00012")
    assert found.groups.tolist()[4:9] == ["00012/00000", "00012/00000", "00012/00001", "00012/00001", "test/00000"]
    np.savez(tmp_path / "other.npz", x_train=np.eye(2))
    with pytest.raises(DataError, match=r"has no y_train; expected x_train, y_train, track_train"):
        open_dataset(tmp_path / "other.npz", "gtsrb-npz")
    two = {name: np.zeros(2) for name in ("x_train", "y_train", "x_test", "y_test")}
    np.savez(tmp_path / "tracks.npz", **two, track_train=np.zeros(3))
    with pytest.raises(DataError, match="track_train and y_train of different shapes"):
        open_dataset(tmp_path / "tracks.npz")


@pytest.mark.parametrize(("name", "layout"), [("YaleB_32x32", "yale-b"), ("ORL_32x32", "orl")])
def test_faces(tmp_path, name, layout):
    savemat(tmp_path / f"{name}.mat", {"fea": np.eye(6), "gnd": [[1], [1], [2], [2], [10], [10]]})
    found = open_dataset(tmp_path / f"{name}.mat")
    assert (found.name, found.classes, found.part) == (layout, ("1", "10", "2"), None)
    assert f"published were {PUBLISHED[layout].n_items:,} of" in found.notes[0]


def test_faces_of_two_sessions(tmp_path):
    session = {"X": np.arange(24.0).reshape(2, 3, 4), "y": [1, 1, 2, 2]}
    savemat(tmp_path / "AR_60x43.mat", {"TrainSet": session, "TestSet": session})
    found = open_dataset(tmp_path / "AR_60x43.mat")
    assert (found.name, found.items.shape) == ("ar", (8, 6))
    assert found.part.tolist() == ["train"] * 4 + ["test"] * 4
    savemat(tmp_path / "art.mat", {"fea": np.eye(4), "gnd": [1, 1, 2, 2]})
    assert open_dataset(tmp_path / "art.mat").name == "art"
    with pytest.raises(DataError, match="has no TrainSet and TestSet"):
        open_dataset(tmp_path / "art.mat", "ar")
    with pytest.raises(DataError, match=r"is not a \.mat file"):
        open_dataset(tmp_path, "orl")


def test_voc(tmp_path):
    found = open_dataset(miniatures.voc(tmp_path))
    assert (found.name, found.is_multilabel, len(found.classes)) == ("voc2007", True, 20)
    marks = [tuple(np.array(found.classes)[row == 1]) for row in found.labels]
    assert marks == list(miniatures.VOC_MARKS.values())
    assert found.part.tolist() == ["train", "train", "test", "test"]
    assert found.counts["person"] == 2
    assert "1 labels are marked difficult and count as absent." in found.notes
    lists = tmp_path / "VOCdevkit" / "VOC2007" / "ImageSets" / "Main"
    (lists / "cow_test.txt").write_text("000003 -1\n")
    with pytest.raises(DataError, match=r"cow_test\.txt lists different images"):
        open_dataset(tmp_path)
    (lists / "cow_test.txt").write_text("000003 maybe\n")
    with pytest.raises(DataError, match=r"'000003 maybe' in line 1; expected an image and -1, 0 or 1"):
        open_dataset(tmp_path)
    (lists / "cow_test.txt").unlink()
    with pytest.raises(DataError, match=r"has no cow_test\.txt"):
        open_dataset(tmp_path)
    with pytest.raises(DataError, match="has no folder 'ImageSets/Main'"):
        open_dataset(lists, "voc2007")


def test_cells(tmp_path):
    found = open_dataset(miniatures.hep2(tmp_path))
    assert (found.name, len(found), found.classes) == ("hep2", 6, ("fine_speckled", "homogeneous"))
    assert found.part.tolist() == ["train"] * 4 + ["test"] * 2
    for image, mask in zip(found.items, found.masks, strict=True):
        assert Path(mask).name == Path(image).name.replace(".png", "_mask.png")
        assert Path(mask).parent == Path(image).parent
    assert found.groups is not None
    (tmp_path / "training" / "002_mask.png").unlink()
    with pytest.raises(DataError, match=r"training lacks masks; expected 001_mask\.png beside 001\.png"):
        open_dataset(tmp_path)
    (tmp_path / "training" / "002.png").unlink()
    with pytest.raises(DataError, match="names cells without an image: 2;"):
        open_dataset(tmp_path)
    with pytest.raises(DataError, match=r"has no gt_training\.csv"):
        open_dataset(tmp_path / "test", "hep2")


def test_cells_to_train_alone(tmp_path):
    miniatures.hep2(tmp_path)
    shutil.rmtree(tmp_path / "test")
    assert open_dataset(tmp_path).part is None


def test_every_layout_is_written_down():
    text = (Path(__file__).parents[2] / "docs" / "data.md").read_text()
    for name in LAYOUTS:
        assert f"`{name}`" in text
    for known in PUBLISHED.values():
        assert f"{known.n_items:,}" in text
