"""The commands of cells, as people call them: exit codes, JSON, sentences, and the same bytes again."""

import json
import shutil
import subprocess

import numpy as np
import pytest
import tifffile

from cli.calling import answer, call, program, refused
from nearboost.cells.writing import opened_for_writing
from nearboost.cli.common import Exit


@pytest.fixture(scope="module")
def screen(plate, tmp_path_factory):
    """A project after all steps."""
    folder = tmp_path_factory.mktemp("screen") / "project"
    for words in (
        ("new", folder, plate / "images", "--layout", plate / "layout.csv"),
        ("segment", folder),
        ("features", folder),
        ("train", folder, "--labels", plate / "truth.csv"),
        ("predict", folder),
        ("count", folder),
    ):
        ended = call("cells", *words)
        assert ended.code == Exit.DONE, ended.err
    return folder


def test_a_pipeline_repeats_to_the_same_bytes(screen, plate, tmp_path):
    ended = call("cells", "run", screen / "pipeline.json", plate / "images", "--out", tmp_path / "again")
    assert ended.code == Exit.DONE, ended.err
    files = ["pipeline.json", "labels.csv", "models/cells.nb"]
    files += [
        f"tables/{name}" for name in ("cells.csv", "cells.parquet", "counts.csv", "wells.csv", "responses.csv")
    ]
    files += [f"masks/{path.name}" for path in (screen / "masks").iterdir()]
    for name in files:
        assert (tmp_path / "again" / name).read_bytes() == (screen / name).read_bytes(), name


def test_other_images_get_the_model_as_it_is(screen, plate, tmp_path):
    images = tmp_path / "images"
    images.mkdir()
    for path in (plate / "images").glob("*_A0*"):
        shutil.copy(path, images)
    made = answer("cells", "run", screen / "pipeline.json", images, "--out", tmp_path / "new")
    assert made["skipped"] == {}
    assert (tmp_path / "new" / "models" / "cells.nb").read_bytes() == (screen / "models" / "cells.nb").read_bytes()
    assert not (tmp_path / "new" / "labels.csv").exists()


def test_a_pipeline_whose_model_was_changed_is_refused(screen, plate, tmp_path):
    copy = shutil.copytree(screen, tmp_path / "copy")
    (copy / "labels.csv").write_text("ImageNumber,ObjectNumber,class\n1,1,a\n")
    said = refused("cells", "run", copy / "pipeline.json", plate / "images", "--out", tmp_path / "a")
    assert "labels.csv has changed" in said
    (copy / "labels.csv").unlink()
    (copy / "models" / "cells.nb").write_bytes(b"another")
    said = refused("cells", "run", copy / "pipeline.json", plate / "images", "--out", tmp_path / "b")
    assert "not the model" in said


def test_answers_as_json(screen, plate, tmp_path):
    counted = answer("cells", "count", screen)
    assert {line["level"] for line in counted["counts"]} == {"image", "well", "plate"}
    assert len(counted["responses"]) == 3
    scores = answer("cells", "score-segmentation", screen, "--nuclei-masks", plate / "truth")
    assert scores["nuclei"]["f1"] > 0.95
    assert len(scores["nuclei"]["fields"]) == 16
    exported = answer("cells", "labels", "export", screen, tmp_path / "labels.csv")
    assert exported["labels"] == len((tmp_path / "labels.csv").read_text().splitlines()) - 1
    assert answer("cells", "features", screen)["numbers"] == 320
    assert answer("cells", "predict", screen)["cells"] > 100


def test_a_broken_field_is_told_and_the_code_is_three(plate, tmp_path):
    images = shutil.copytree(plate / "images", tmp_path / "images")
    content = (images / "demo_A02_s1_stain.tif").read_bytes()
    (images / "demo_A02_s1_stain.tif").write_bytes(content[: len(content) // 2])
    tifffile.imwrite(images / "demo_A03_s1_stain.tif", np.full((128, 128), np.nan, np.float32))
    (images / "demo_A04_s1_stain.tif").unlink()
    ended = call("cells", "new", tmp_path / "p", images)
    assert ended.code == Exit.PARTLY
    assert "Skipped demo A04 site 1: it has no file of channel stain" in ended.err
    ended = call("cells", "segment", tmp_path / "p")
    assert ended.code == Exit.PARTLY
    assert "demo_A02_s1_stain.tif is broken or cut short" in ended.err
    assert "demo_A03_s1_stain.tif holds NaN" in ended.err
    assert call("cells", "features", tmp_path / "p").code == Exit.PARTLY


def test_what_libraries_log_of_broken_files_is_not_printed(screen, plate, tmp_path):
    images = tmp_path / "images"
    images.mkdir()
    content = bytearray((plate / "images" / "demo_A01_s1_nuclei.tif").read_bytes())
    content[12:14] = b"\xff\xff"  # the first tag is of no known type
    (images / "a.tif").write_bytes(content)
    words = program("cells", "new", tmp_path / "p", images, "--channel", "nuclei=1")
    said = subprocess.run(words, capture_output=True, text=True, check=False).stderr
    assert all(line.startswith(("Error: ", "Skipped ")) for line in said.splitlines())


@pytest.mark.parametrize("value", ["1e999", "NaN", r'"\ud800"'])
def test_settings_can_be_written_again(screen, tmp_path, value):
    project = shutil.copytree(screen, tmp_path / "p")
    path = project / "pipeline.json"
    path.write_text(path.read_text().replace('"reach": 0.8', f'"reach": {value}'))
    assert refused("cells", "count", project) == f"Error: {path} is no JSON file; restore it from a copy."


@pytest.mark.parametrize(
    ("section", "values", "told"),
    [
        ("channels", {"roles": 5}, "channels that no project has"),
        ("channels", {"roles": {"stain": "stain"}}, "channels that no project has"),
        ("channels", {"pixel_size": -1}, "channels that no project has"),
        ("channels", {"pattern": ["plain"]}, "channels that no project has"),
        ("training", {"seed": "x"}, "settings of training that no model has"),
        ("training", {"name": 5}, "settings of training that no model has"),
        ("segmentation", {"masks": [["nuclei"]]}, "masks of no known kind"),
    ],
)
def test_odd_pipelines_are_not_repeated(screen, plate, tmp_path, section, values, told):
    project = shutil.copytree(screen, tmp_path / "p")
    path = project / "pipeline.json"
    content = json.loads(path.read_text())
    content[section] |= values
    path.write_text(json.dumps(content))
    said = refused("cells", "run", path, plate / "images", "--out", tmp_path / "again")
    assert said == f"Error: {path} {'was made with' if 'kind' in told else 'has'} {told}; restore it from a copy."
    assert not (tmp_path / "again").exists()


def test_a_damaged_mask_keeps_no_other_label_out(screen, plate, tmp_path):
    project = shutil.copytree(screen, tmp_path / "p")
    (project / "masks" / "00003_cells.tif").write_bytes(b"II*\0")
    ended = call("cells", "labels", "import", project, plate / "truth.csv")
    assert ended.code == Exit.PARTLY
    assert "its image is not segmented." in ended.err


def test_mistakes_are_one_sentence(screen, plate, tmp_path):
    assert "is not a project" in refused("cells", "segment", tmp_path, code=Exit.USAGE)
    images = plate / "images"
    for words, match in (
        (("--channel", "nuclei"), "ROLE=NAME"),
        (("--channel", "stain=stain"), "--channel nuclei=NAME"),
        (("--pattern", "(?P<well>"), "regular expression"),
        (("--project", "sum"), "max or mean"),
    ):
        assert match in refused("cells", "new", tmp_path / "p", images, *words, code=Exit.USAGE)
    assert not (tmp_path / "p").exists()
    assert "not empty" in refused("cells", "new", screen, images)
    assert "not understood" in refused("cells", "segment", screen, "--nucleus-diameter", "wide", code=Exit.USAGE)
    assert "--pixel-size" in refused("cells", "segment", screen, "--nucleus-diameter", "12um", code=Exit.USAGE)
    assert "keep or drop" in refused("cells", "segment", screen, "--border", "cut", code=Exit.USAGE)
    assert "localisation" in refused("cells", "features", screen, "--preset", "sift", code=Exit.USAGE)
    assert "no method" in refused("cells", "train", screen, "--method", "magic", code=Exit.USAGE)
    assert "no name of a file" in refused("cells", "train", screen, "--name", "../x", code=Exit.USAGE)
    assert "Nothing to compare" in refused("cells", "score-segmentation", screen)
    assert "not empty" in refused("cells", "demo", screen)
    assert "does not exist" in refused("cells", "run", "no.json", images, "--out", tmp_path / "q", code=Exit.USAGE)


def test_a_table_that_is_not_there(screen, plate, tmp_path):
    gone = tmp_path / "gone.csv"
    for words in (
        ("new", tmp_path / "p", plate / "images", "--layout", gone),
        ("train", screen, "--labels", gone),
    ):
        assert "gone.csv does not exist" in refused("cells", *words, code=Exit.USAGE)


def test_a_well_without_cells_counts_none(screen, plate, tmp_path):
    images = shutil.copytree(plate / "images", tmp_path / "images")
    for kind in ("nuclei", "stain"):
        tifffile.imwrite(images / f"demo_A04_s1_{kind}.tif", np.zeros((128, 128), np.uint16))
    project = tmp_path / "p"
    for words in (
        ("new", project, images),
        ("segment", project),
        ("train", project, "--labels", plate / "truth.csv"),
    ):
        assert call("cells", *words).code in (Exit.DONE, Exit.PARTLY)
    ended = call("cells", "count", project)
    assert ended.code == Exit.DONE, ended.err
    assert "0 negative; the layout has no doses of these wells." in ended.out
    assert "Note: " not in ended.err
    lines = (project / "tables" / "wells.csv").read_text().splitlines()
    assert len(lines) == 1 + 16
    assert "demo,A04,0,," in lines[4]
    counts = (project / "tables" / "counts.csv").read_text()
    assert "image,demo,A04,4,diffuse,0,0,,,,0" in counts
    assert "well,demo,A04,,diffuse,0,0,,,,0" in counts
    (project / "layout.csv").write_text("plate,well,dose\nother,A01,1\n")
    assert "no line for 16 wells, such as demo A01" in call("cells", "count", project).err
    (note,) = json.loads(call("cells", "count", project, "--json").out)["notes"]
    assert "no line for 16 wells" in note


def test_labels_that_fit_no_cell_are_told_when_counting(screen, tmp_path):
    copy = shutil.copytree(screen, tmp_path / "copy")
    (copy / "annotations.db").unlink()  # as an older version left it
    with open(copy / "labels.csv", "a") as file:
        file.write("1,1,0,0,diffuse,,,0\n")
    for step in ("predict", "count"):
        ended = call("cells", step, copy)
        assert ended.code == Exit.PARTLY
        assert "no cell is at x = 0, y = 0 of image 1; place or discard it in the app" in ended.err


def test_labels_of_an_image_without_masks_outlive_an_import(screen, tmp_path):
    copy = shutil.copytree(screen, tmp_path / "copy")
    before = sorted((copy / "labels.csv").read_text().splitlines())
    record = copy / "masks" / "00003_record.json"
    kept = record.rename(tmp_path / "kept.json")
    given = tmp_path / "given.csv"
    header = "ImageNumber,ObjectNumber,x,y,class,who,when,excluded"
    given.write_text("\n".join([header, *(line for line in before if line.startswith("1,"))]))
    assert call("cells", "labels", "import", copy, given).code == Exit.DONE
    assert sorted((copy / "labels.csv").read_text().splitlines()) == before
    kept.rename(record)
    assert call("cells", "count", copy).code == Exit.DONE


def test_prediction_never_trains(screen, tmp_path):
    """Another preset in the project: the model's settings and the project's are both named."""
    copy = shutil.copytree(screen, tmp_path / "copy")
    assert call("cells", "features", copy, "--preset", "thesis-thyroid").code == Exit.DONE
    said = refused("cells", "predict", copy, "--model", screen / "models" / "cells.nb")
    assert "features scales = [1, 2, 3, 4, 5]" in said
    assert "scales = [5]" in said


def test_moved_images(screen, plate, tmp_path):
    copy = shutil.copytree(screen, tmp_path / "copy")
    images = shutil.copytree(plate / "images", tmp_path / "elsewhere")
    content = json.loads((copy / "project.json").read_text())
    content["image_folders"] = [str(tmp_path / "gone")]
    (copy / "project.json").write_text(json.dumps(content))
    assert "relink" in refused("cells", "segment", copy, "--border", "drop")
    assert call("cells", "relink", copy, images).code == Exit.DONE
    assert call("cells", "segment", copy, "--border", "drop").code == Exit.DONE


def test_hostile_names_stay_names(plate, tmp_path):
    """Names that a spreadsheet or a terminal would act upon."""
    images = tmp_path / "images"
    images.mkdir()
    for kind in ("nuclei", "stain"):
        shutil.copy(plate / "images" / f"demo_A08_s1_{kind}.tif", images / f"=cmd()_A01_s1_{kind}.tif")
        shutil.copy(plate / "images" / f"demo_A07_s1_{kind}.tif", images / f"\x1b[31mred_A02_s1_{kind}.tif")
    project = tmp_path / "p"
    for words in (("new", project, images), ("segment", project), ("features", project)):
        ended = call("cells", *words)
        assert ended.code == Exit.DONE, ended.err
        assert "\x1b" not in ended.err
    assert ",'=cmd()," in (project / "tables" / "cells.csv").read_text()


def test_one_process_writes_at_a_time(screen, plate, tmp_path):
    copy = shutil.copytree(screen, tmp_path / "copy")
    commands = [(step,) for step in ("segment", "features", "train", "predict", "count")]
    with opened_for_writing(copy):
        for step, *others in (*commands, ("relink", plate / "images")):
            said = refused("cells", step, copy, *others, code=Exit.USAGE)
            assert "copy is open for writing in process" in said
            assert "close it there" in said
        said = refused("cells", "labels", "import", copy, plate / "truth.csv", code=Exit.USAGE)
        assert "is open for writing in process" in said
        assert call("cells", "labels", "export", copy, tmp_path / "labels.csv").code == Exit.DONE
    assert call("cells", "count", copy).code == Exit.DONE
