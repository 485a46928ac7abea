"""Folders of images: what is a class, what is left out and told, and one sentence for every mistake."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from datasets.miniatures import write_classes, write_image
from nearboost.datasets import DataError, open_dataset
from nearboost.datasets.files import find_images
from nearboost.features.extraction import find_files


def test_a_class_for_each_subfolder(tmp_path):
    write_classes(tmp_path, ["dog", "Cat"], n=2)
    write_image(tmp_path / "dog" / "Z.JPG")
    write_image(tmp_path / "dog" / "inner" / "a.PnG")
    found = open_dataset(tmp_path)
    assert (found.name, found.kind, found.classes) == (tmp_path.name, "images", ("Cat", "dog"))
    assert found.names == [
        *("Cat/image_0001.jpg", "Cat/image_0002.jpg"),
        *("dog/Z.JPG", "dog/image_0001.jpg", "dog/image_0002.jpg", "dog/inner/a.PnG"),
    ]
    assert found.items == [str(tmp_path / name) for name in found.names]
    assert found.labels.tolist() == ["Cat"] * 2 + ["dog"] * 4
    assert found.part is found.groups is found.masks is None
    assert found.notes == ()
    assert found.counts == {"Cat": 2, "dog": 4}


@pytest.mark.parametrize("names", [("train", "test"), ("Training", "VAL")])
def test_parts_above_the_classes(tmp_path, names):
    for folder in names:
        write_classes(tmp_path / folder, ["a", "b"])
    write_classes(tmp_path / "unlabelled", ["x"])
    found = open_dataset(tmp_path)
    assert sorted(found.part.tolist()) == ["test"] * 4 + ["train"] * 4
    assert found.classes == ("a", "b")
    for name, part in zip(found.names, found.part, strict=True):
        assert name.partition("/")[0] == dict(zip(("train", "test"), names, strict=True))[part]
    assert found.notes == ("Left out unlabelled, beside train and test.",)


def test_from_within_the_folder(tmp_path, monkeypatch):
    write_classes(tmp_path, ["dog", "cat"])
    monkeypatch.chdir(tmp_path)
    found = open_dataset(".")
    assert (found.name, found.names[0]) == (tmp_path.name, "cat/image_0001.jpg")
    assert os.path.isabs(found.items[0])
    assert repr(found) == f"Dataset({tmp_path.name}: 4 images of 2 classes)"


def test_one_part_alone(tmp_path):
    write_classes(tmp_path / "train", ["a", "b"])
    with pytest.raises(DataError, match=r"has train/ but no test/; add it, or open .*train itself"):
        open_dataset(tmp_path)


def test_what_is_left_out_is_told(tmp_path):
    write_classes(tmp_path, ["a", "b"])
    (tmp_path / "empty").mkdir()
    (tmp_path / ".hidden").mkdir()
    write_image(tmp_path / "a" / ".hidden.jpg")
    write_image(tmp_path / "stray.png")
    (tmp_path / "a" / "notes.txt").write_text("x")
    (tmp_path / "a" / "Thumbs.db").write_text("x")
    (tmp_path / "b" / "README").write_text("x")
    found = open_dataset(tmp_path)
    assert len(found) == 4
    assert found.notes == (
        "The folder empty holds no images and makes no class.",
        f"Left out 1 image in {tmp_path.name}/ itself, outside of the class folders.",
        "Skipped files that are not images: 1 .db, 1 .txt, 1 files without suffix.",
    )


def test_a_link_to_itself_is_one_file_passed_over(tmp_path):
    write_classes(tmp_path, ["a", "b"])
    (tmp_path / "a" / "x.png").symlink_to(tmp_path / "a" / "x.png")
    (tmp_path / "itself").symlink_to(tmp_path / "itself")
    data = open_dataset(tmp_path)
    assert data.classes == ("a", "b")
    assert any("1 broken links or devices" in note for note in data.notes)


def test_links_to_folders_above_are_not_followed(tmp_path):
    """They hold the other classes, and whatever lies around the set."""
    root = tmp_path / "around" / "set"
    write_classes(root, ["a", "b"])
    write_image(tmp_path / "around" / "other" / "1.png")
    expected = open_dataset(root).names
    for where, to in (("a/up", root), ("b/top", tmp_path), ("around", root.parent), ("b/own", root / "b")):
        (root / where).symlink_to(to, target_is_directory=True)
    data = open_dataset(root)
    assert data.names == expected
    assert any("4 links to a folder above" in note for note in data.notes)


def test_links_to_other_folders_are_followed_once(tmp_path):
    root, store = tmp_path / "set", tmp_path / "store"
    write_classes(root, ["a", "b"])
    write_image(store / "deep" / "1.png")
    (store / "deep" / "back").symlink_to(store, target_is_directory=True)  # above what was linked to
    for name in ("more", "again"):
        (root / "a" / name).symlink_to(store, target_is_directory=True)
    (root / "c").symlink_to(store, target_is_directory=True)
    data = open_dataset(root, duplicates=False)
    assert [name for name in data.names if "deep" in name] == ["a/again/deep/1.png", "c/deep/1.png"]
    notes = "\n".join(data.notes)
    assert "2 links to a folder above" in notes
    assert "1 links to a folder seen before" in notes


def test_folders_that_all_link_to_each_other_are_walked_at_once(tmp_path):
    write_classes(tmp_path, ["a", "b"])
    rooms = [tmp_path / "a" / f"{i}" for i in range(12)]
    for room in rooms:
        write_image(room / "1.png")
        for other in rooms:
            (room / f"to {other.name}").symlink_to(other, target_is_directory=True)
    names = open_dataset(tmp_path, duplicates=False).names
    assert len([name for name in names if name.endswith("/1.png")]) == 12


def test_links_that_run_in_circles_and_names_that_are_no_text(tmp_path):
    write_classes(tmp_path, ["a", "b"])
    (tmp_path / "a" / "up").symlink_to(tmp_path / "a", target_is_directory=True)
    (tmp_path / "a" / "gone.jpg").symlink_to(tmp_path / "nowhere.jpg")
    with open(os.fsencode(tmp_path / "b") + b"/\xff.jpg", "wb"):
        pass
    found = open_dataset(tmp_path)
    assert len(found) == 4
    kinds = "1 broken links or devices, 1 files with unreadable names, 1 links to a folder above"
    assert found.notes == (f"Skipped files that are not images: {kinds}.",)


def test_masks_beside_the_images(tmp_path):
    images = write_classes(tmp_path, ["a", "b"], name="cell{}.png")
    for image in images:
        write_image(image.with_name(f"{image.stem}_Mask.tif"))
    found = open_dataset(tmp_path)
    assert len(found) == 4
    assert [os.path.basename(mask) for mask in found.masks] == ["cell1_Mask.tif", "cell2_Mask.tif"] * 2
    os.unlink(found.masks[0])
    assert open_dataset(tmp_path).masks is None


def test_duplicates_are_reported(tmp_path):
    for part in ("train", "test"):
        write_classes(tmp_path / part, ["a", "b"], 3)
    first = tmp_path / "train" / "a" / "image_0001.jpg"
    write_image(tmp_path / "test" / "a" / "image_0001.jpg", same_as=first)
    write_image(tmp_path / "train" / "b" / "image_0002.jpg", same_as=tmp_path / "train" / "a" / "image_0002.jpg")
    [note] = open_dataset(tmp_path).notes
    assert note.startswith(
        "2 files come more than once, byte for byte: 1 of them in train and in test, 1 with two labels"
    )
    assert "train/a/image_0001.jpg = test/a/image_0001.jpg" in note


def test_duplicates_are_looked_for_on_request(tmp_path, monkeypatch, capsys):
    images = write_classes(tmp_path, ["a", "b"])
    write_image(tmp_path / "b" / "copy.jpg", same_as=images[0])
    assert open_dataset(tmp_path, duplicates=False).notes == ()
    assert "1 file comes more than once" in open_dataset(tmp_path, verbose=1).notes[0]
    assert "Looking for duplicates" in capsys.readouterr().err
    monkeypatch.setattr("nearboost.datasets.duplicates.MOST_FILES", 4)
    assert open_dataset(tmp_path).notes == ("Duplicates were not looked for among 5 items.",)


def test_nothing_is_decoded(tmp_path, monkeypatch):
    for label in ("a", "b"):
        (tmp_path / label).mkdir()
        (tmp_path / label / "1.png").write_text(f"no image at all, {label}")
    monkeypatch.setitem(sys.modules, "PIL", None)  # importing it would fail
    assert len(open_dataset(tmp_path)) == 2


def test_same_size_and_same_end_are_not_enough(tmp_path):
    write_classes(tmp_path, ["a", "b"])
    (tmp_path / "a" / "long1.bmp").write_bytes(b"1" + b"0" * 5000)
    (tmp_path / "a" / "long2.bmp").write_bytes(b"2" + b"0" * 5000)
    assert open_dataset(tmp_path).notes == ()


@pytest.mark.parametrize("header", ["file_name,label", "split;LABEL;File_Name"])
def test_a_table_of_labels(tmp_path, header):
    write_image(tmp_path / "images" / "b.png")
    write_image(tmp_path / "images" / "a, b.png")
    if ";" in header:
        text = f"{header}\nTEST;cat;images/b.png\ntrain;dog;images/a, b.png\n"
    else:
        text = f'\ufeff{header}\n"images/b.png",cat\n"images/a, b.png",dog\n\n'
    (tmp_path / "metadata.csv").write_text(text, encoding="utf-8")
    found = open_dataset(tmp_path)
    assert found.names == ["images/a, b.png", "images/b.png"]
    assert found.labels.tolist() == ["dog", "cat"]
    assert (None if found.part is None else found.part.tolist()) == (["train", "test"] if ";" in header else None)


def test_tables_in_both_parts_with_groups_and_masks(tmp_path):
    for part in ("train", "test"):
        for i in (1, 2):
            write_image(tmp_path / part / f"{i}.png")
            write_image(tmp_path / part / f"m{i}.png")
        text = "file_name,species,plate,mask\n1.png,oak,P1,m1.png\n2.png,elm,P2,m2.png\n"
        (tmp_path / part / "metadata.csv").write_text(text)
    found = open_dataset(tmp_path)
    assert found.names == ["test/1.png", "test/2.png", "train/1.png", "train/2.png"]
    assert found.part.tolist() == ["test", "test", "train", "train"]
    assert found.groups.tolist() == ["P1", "P2"] * 2
    assert found.masks[1] == str(tmp_path / "test" / "m2.png")
    (tmp_path / "test" / "metadata.csv").unlink()
    with pytest.raises(DataError, match=r"test has no metadata\.csv; expected one in"):
        open_dataset(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("name_of_file,label\na.png,x\n", "expected one called file_name or filename"),
        (
            "file_name,colour,size\na.png,red,3\n",
            "has the columns file_name, colour, size; expected one called label",
        ),
        ("file_name,label\na.png\n", "has 1 values in line 2; expected 2: file_name, label"),
        ("file_name,label\na.png,\n", "has no label in line 2"),
        ("file_name,label\nb.png,x\n", r"names 1 file that does not exist: b\.png"),
        ("file_name,label\n../../b.png,x\n", "lies outside of"),
        ("file_name,label\n/etc/passwd,x\n", "lies outside of"),
        ("file_name,label\na.png,x\n./a.png,y\n", "names 1 file more than once"),
        ("file_name,label\na.png,x\na.png,y\n", "names 1 file more than once"),
        ("file_name,label,split\na.png,x,holdout\n", "calls a part 'holdout'; use train or test"),
        ("file_name,label,plate\na.png,x,\n", "has no plate in line 2; fill or delete the line"),
        ("file_name,label\na.png,x\n", "one class only, 'x'"),
        ('file_name,label\n"a.png,x\n', "not a readable CSV file"),
    ],
)
def test_mistakes_in_a_table(tmp_path, text, message):
    write_image(tmp_path / "a.png")
    (tmp_path / "metadata.csv").write_text(text)
    with pytest.raises(DataError, match=message):
        open_dataset(tmp_path)


def test_tables_that_are_no_text(tmp_path):
    (tmp_path / "metadata.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="cannot be read as UTF-8 text"):
        open_dataset(tmp_path)


def test_folders_that_make_no_set(tmp_path):
    with pytest.raises(DataError, match="holds neither images nor subfolders; expected a subfolder of images"):
        open_dataset(tmp_path)
    with pytest.raises(DataError, match="does not exist"):
        open_dataset(tmp_path / "none")
    with pytest.raises(DataError, match="does not exist"):
        open_dataset(tmp_path / "none", "images")
    (tmp_path / "a").mkdir()
    with pytest.raises(DataError, match="holds no images in its subfolders"):
        open_dataset(tmp_path)
    write_image(tmp_path / "a" / "1.png")
    with pytest.raises(DataError, match="holds one class only, 'a'"):
        open_dataset(tmp_path)
    with pytest.raises(DataError, match="holds 1 image but no subfolders"):
        open_dataset(tmp_path / "a")
    with pytest.raises(DataError, match="is a file; give the path of a folder"):
        open_dataset(tmp_path / "a" / "1.png", "images")
    with pytest.raises(ValueError, match="layout='imagez' is not known; use one of 'auto', 'metadata'"):
        open_dataset(tmp_path, "imagez")


def test_some_items_and_some_classes(tmp_path):
    write_classes(tmp_path, ["a", "b", "c"], n=3)
    found = open_dataset(tmp_path)
    few = found.take([8, 0, 3])
    assert few.labels.tolist() == ["c", "a", "b"]
    assert few.items == [found.items[i] for i in (8, 0, 3)]
    assert few.names == [found.names[i] for i in (8, 0, 3)]
    assert found.take(found.labels == "b").names == found.names[3:6]
    two = found.with_classes(["c", "a"])
    assert (two.classes, len(two)) == (("a", "c"), 6)
    assert set(two.labels) == {"a", "c"}
    with pytest.raises(DataError, match="has no class 'z'; choose among a, b, c"):
        found.with_classes(["a", "z"])
    assert len(np.unique(found.names)) == 9


def test_class_folders_whose_names_are_no_text(tmp_path):
    for name in (b"caf\xe9", b"tea"):
        os.makedirs(os.fsencode(tmp_path) + b"/" + name)
    with pytest.raises(DataError, match=r"holds the folder b'caf\\xe9', which is not UTF-8; rename it"):
        open_dataset(tmp_path)


def test_all_endings_of_images_count_everywhere(tmp_path):
    """A data set and a store of features find the same files in a folder."""
    for ending in (".j2k", ".jpe", ".JPG", ".pnm"):
        (tmp_path / f"a{ending}").touch()
    (tmp_path / "notes.txt").touch()
    found = find_images(tmp_path)
    assert len(found) == 4
    assert {Path(path) for path in found} == set(find_files(tmp_path))


@pytest.mark.parametrize("names", [("faces.mat",), ("a.npz", "b.MAT", "c.parquet")])
def test_a_folder_of_row_files_names_them(tmp_path, names):
    for name in names:
        (tmp_path / name).write_bytes(b"rows")
    (tmp_path / "README.txt").write_text("about")
    with pytest.raises(DataError, match=f"holds files of rows, {', '.join(names)}; give .*{names[0]}"):
        open_dataset(tmp_path)
    (tmp_path / "notes").mkdir()
    with pytest.raises(DataError, match=f"holds files of rows, {names[0]}"):
        open_dataset(tmp_path)
