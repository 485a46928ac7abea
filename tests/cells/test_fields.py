"""Files by their names, and pictures by their channels; what does not fit is told."""

import numpy as np
import pytest
import tifffile

from cells.pictures import real
from nearboost.base.errors import UsageError
from nearboost.base.images import ImageError, read_image
from nearboost.cells.fields import Reading, check_roles, list_images, read_field, sort_files
from nearboost.cells.layout import as_well, read_layout
from nearboost.cells.patterns import PRESETS, Place, find_pattern
from nearboost.datasets import DataError

TWO = np.arange(2 * 6 * 8, dtype=np.uint16).reshape(2, 6, 8)
ROLES = {"nuclei": "1", "stain": "2"}


@pytest.mark.parametrize(
    ("preset", "name", "place", "channel"),
    [
        ("bbbc013", "BBBC013_E02_s1_w2.tif", ("BBBC013", "E02", "1"), "2"),
        ("bbbc013", "images/Channel1-25-C-04.tif", ("", "C04", ""), "1"),
        ("bbbc022", "plate1_A14_site2_Ch4.tif", ("plate1", "A14", "2"), "4"),
        ("bbbc022", "BBBC022_v1_images_20585w1/IXMtest_B13_s3_w19A2F.tif", ("20585", "B13", "3"), "1"),
        ("plain", "x/p7_H12_s1_gfp.png", ("p7", "H12", "1"), "gfp"),
    ],
)
def test_presets(preset, name, place, channel):
    said = PRESETS[preset].read(name)
    assert (said.get("plate", ""), said["well"], said.get("site", "")) == place
    assert said["channel"] == channel


def test_the_preset_is_found():
    assert find_pattern(None, ["plate1_A14_site2_Ch4.tif", "readme.png"]).name == "bbbc022"
    assert find_pattern(None, ["one.tif"]) is None


@pytest.mark.parametrize("pattern", ["(?P<well>", "(?P<colour>.)", "plain.*"])
def test_wrong_patterns(pattern):
    with pytest.raises(UsageError, match="pattern"):
        find_pattern(pattern, [])


def test_own_pattern():
    pattern = find_pattern(r"r(?P<row>[A-H])c(?P<column>\d+)-ch(?P<channel>\d)", [])
    found = sort_files(["rBc3-ch1.tif", "rBc3-ch2.tif", "rAc1-ch2.tif", "rAc1-ch1.tif"], pattern, ROLES)
    assert [field.place for field in found.fields] == [Place("", "A01", ""), Place("", "B03", "")]
    assert found.fields[1].files == {"nuclei": "rBc3-ch1.tif", "stain": "rBc3-ch2.tif"}


def test_what_is_missing_or_twice_is_told():
    names = ["p_A01_s1_1.tif", "p_A02_s1_1.tif", "p_A02_s1_2.tif", "x/p_A02_s1_2.tif", "odd.tif"]
    names += ["p_A03_s1_1.tif", "p_A03_s1_2.tif", "p_A03_s1_9.tif"]  # another channel is no mistake
    names += ["p_A03_s1_1_cp_masks.png", "masks/p_A03_s1_2 Object Identities.tif"]  # masks are no mistakes either
    found = sort_files(names, PRESETS["plain"], ROLES)
    assert [field.place.well for field in found.fields] == ["A03"]
    assert len(found.skipped) == 3
    assert "no file of channel 2 (stain)" in found.skipped["p A01 site 1"]
    assert "p_A02_s1_2.tif and x/p_A02_s1_2.tif are both" in found.skipped["p A02 site 1"]
    assert "does not fit the pattern plain" in found.skipped["odd.tif"]


def write(path, pixels, **more):
    tifffile.imwrite(path, pixels, **more)
    return path


def test_channels_of_one_file_by_number_or_name(tmp_path):
    file = write(tmp_path / "a.ome.tif", TWO, metadata={"axes": "CYX", "Channel": {"Name": ["DAPI", "GFP"]}})
    for roles in (ROLES, {"nuclei": "DAPI", "stain": "GFP"}):
        pictures = read_field(dict.fromkeys(roles, file), Reading(roles)).by_role
        np.testing.assert_array_equal(pictures["stain"], TWO[1])
        np.testing.assert_array_equal(pictures["nuclei"], TWO[0])
    with pytest.raises(ImageError, match=r"no channel 'RFP'; it has DAPI, GFP"):
        read_field({"nuclei": file}, Reading({"nuclei": "RFP"}))


def test_plain_pages_are_channels_where_one_file_holds_all(tmp_path):
    """Of them the file says nothing; of focal planes and times it does, and one plane was perhaps asked for."""
    for name, more in {"plain": {"metadata": None}, "shaped": {}}.items():
        file = write(tmp_path / f"{name}.tif", TWO, **more)
        pictures = read_field(dict.fromkeys(ROLES, file), Reading(ROLES)).by_role
        np.testing.assert_array_equal(pictures["nuclei"], TWO[0])
        np.testing.assert_array_equal(pictures["stain"], TWO[1])
        with pytest.raises(ImageError, match="no channel '2'"):
            read_field(dict.fromkeys(ROLES, file), Reading(ROLES, plane=0))
    for axes, match in (("ZYX", "2 focal planes"), ("TYX", "2 times")):
        file = write(tmp_path / "stack.tif", TWO, imagej=True, metadata={"axes": axes})
        with pytest.raises(ImageError, match=f"{match} .*--project max .*--plane N"):
            read_field(dict.fromkeys(ROLES, file), Reading(ROLES))


def test_interleaved_channels(tmp_path):
    file = write(tmp_path / "a.tif", np.moveaxis(TWO, 0, -1), planarconfig="contig", photometric="minisblack")
    np.testing.assert_array_equal(read_field(dict.fromkeys(ROLES, file), Reading(ROLES)).by_role["stain"], TWO[1])


def test_frames_in_a_file_for_each_channel():
    """../shared/data/two_channel: nuclei.tif and cells.tif, four frames each."""
    folder = real("two_channel")
    pattern = find_pattern("(?P<channel>nuclei|cells)", [])
    roles = {"nuclei": "nuclei", "stain": "cells"}
    (field,) = sort_files(list_images(folder), pattern, roles).fields
    files = {role: folder / name for role, name in field.files.items()}
    with pytest.raises(ImageError, match=r"nuclei\.tif has 4 pages .*--project max .*--plane N"):
        read_field(files, Reading(roles))
    frames = [read_field(files, Reading(roles, plane=n)).by_role for n in range(4)]
    assert {one["stain"].shape for one in frames} == {(510, 510)}
    for role, name in roles.items():
        for number, one in enumerate(frames):
            np.testing.assert_array_equal(one[role], read_image(folder / f"{name}.tif", page=number))


def test_bad_fields_are_one_sentence(tmp_path):
    good = write(tmp_path / "good.tif", TWO[0])
    for name, pixels, match in (
        ("small.tif", TWO[1][:4], "differ in size, good.tif 8 x 6 and small.tif 8 x 4"),
        ("nan.tif", np.full((6, 8), np.nan, np.float32), "nan.tif holds NaN"),
        ("huge.tif", np.full((6, 8), -1e30, np.float32), r"huge.tif holds pixels beyond 1e\+12"),
        ("two.tif", TWO, "two.tif has 2 pages .*--plane N"),
        ("short.tif", None, "short.tif is broken or cut short"),
    ):
        if pixels is None:
            (tmp_path / name).write_bytes(good.read_bytes()[:-40])
        else:
            write(tmp_path / name, pixels, metadata=None)
        with pytest.raises(ValueError, match=match):
            read_field({"nuclei": good, "stain": tmp_path / name}, Reading(ROLES))


def test_planes_are_chosen(tmp_path):
    file = write(tmp_path / "z.tif", TWO, metadata=None)
    assert read_field({"nuclei": file}, Reading({"nuclei": "1"}, plane=1)).by_role["nuclei"][0, 0] == TWO[1, 0, 0]
    assert read_field({"nuclei": file}, Reading({"nuclei": "1"}, project="max")).by_role["nuclei"].max() == 95


def test_roles():
    assert check_roles({}, PRESETS["bbbc013"]) == {"nuclei": "2", "stain": "1"}
    assert list(check_roles({"er": "3", "stain": "2", "nuclei": "1"}, None)) == ["nuclei", "stain", "er"]
    for roles in ({}, {"stain": "1"}, {"nuclei": "1", "stain": "1"}, {"nuclei": "1", "a b": "2"}):
        with pytest.raises(UsageError):
            check_roles(roles, None)


def test_folders(tmp_path):
    with pytest.raises(DataError, match="holds no TIFF or PNG"):
        list_images(tmp_path)
    with pytest.raises(DataError, match="is not a folder"):
        list_images(tmp_path / "no")


def layout(tmp_path, text):
    (tmp_path / "layout.csv").write_text(text, encoding="utf-8")
    return read_layout(tmp_path / "layout.csv")


def test_layouts(tmp_path):
    read = layout(tmp_path, "Plate;Well;Dose;Control;Compound\np;a1;2.5;;x\np;B12;0;Negative;\n")
    assert read.of("p", "A01") == {"dose": "2.5", "control": "", "compound": "x"}
    assert read.of("p", "B12")["control"] == "negative"
    assert read.of("p", "C03") == {"dose": "", "control": "", "compound": ""}
    assert not read.knows("q", "A01")
    assert layout(tmp_path, "well,dose\nA01,1\n").of("any", "A01") == {"dose": "1"}
    assert as_well("h7") == "H07"


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("dose\n1\n", "expected one called well"),
        ("well,dose\nA01,1\na1,2\n", "second line for well A01"),
        ("well,dose\nA01,much\n", "dose 'much' in line 2"),
        ("well,dose\nA01,-1\n", "dose '-1' in line 2"),
        ("well,control\nA01,maybe\n", "control 'maybe' in line 2"),
        ("well,=cmd()\nA01,1\n", "a column called '=cmd"),
    ],
)
def test_wrong_layouts(tmp_path, text, match):
    with pytest.raises(DataError, match=match):
        layout(tmp_path, text)
