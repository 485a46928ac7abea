"""Files of users are not written over."""

import numpy as np
import pytest

from cli.calling import call, refused
from cli.made import image_folder
from nearboost.cli.common import Exit


def test_a_page_of_suspects_is_no_model(images):
    before = images.model.read_bytes()
    said = refused("suspects", images.model, "--out", images.model, code=Exit.USAGE)
    assert "give one that ends in .html" in said
    assert images.model.read_bytes() == before


def test_the_picture_that_is_explained(images, tmp_path):
    [first, *_] = sorted(images.data.rglob("*.png"))
    picture = tmp_path / "mine.png"
    picture.write_bytes(first.read_bytes())
    said = refused("explain", images.model, picture, "--out", picture, code=Exit.USAGE)
    assert "is the image to be explained" in said
    assert picture.read_bytes() == first.read_bytes()


@pytest.mark.parametrize("name", ["rows/X.npy", "rows/labels.csv", "rows.csv", "model.npy"])
def test_what_is_predicted(tmp_path, name):
    (tmp_path / "rows").mkdir()
    np.save(tmp_path / "rows/X.npy", np.arange(12.0)[:, np.newaxis])
    (tmp_path / "rows/labels.csv").write_text("label\n" + "few\n" * 6 + "many\n" * 6)
    (tmp_path / "rows.csv").write_text("a\n1\n2\n")
    assert call("fit", tmp_path / "rows", "--out", tmp_path / "model.npy", "--method", "knn").code == Exit.DONE
    before = (tmp_path / name).read_bytes()
    items = tmp_path / ("rows.csv" if name == "rows.csv" else "rows")
    said = refused("predict", tmp_path / "model.npy", items, "--out", tmp_path / name, code=Exit.USAGE)
    assert said == f"Error: {tmp_path / name} belongs to what is asked about; give another name with --out."
    assert (tmp_path / name).read_bytes() == before
    for _ in range(2):
        assert (
            call("predict", tmp_path / "model.npy", items, "--out", tmp_path / "rows/answers.csv").code
            == Exit.DONE
        )


def test_rows_from_elsewhere(images, tmp_path):
    np.save(tmp_path / "X.npy", np.eye(3))
    assert "was not written by nearboost" in refused("features", images.data, "--out", tmp_path)
    assert np.array_equal(np.load(tmp_path / "X.npy"), np.eye(3))


def test_a_table_beside_a_page_of_suspects(images, tmp_path):
    """A table or page of ours may be replaced, any other may not."""
    page, table = tmp_path / "mine.html", tmp_path / "mine.csv"
    table.write_text("name,label\n1,2\n")
    said = refused("suspects", images.model, "--out", page, code=Exit.USAGE)
    assert said == f"Error: {table} exists and was not written by nearboost; give another name with --out."
    assert table.read_text() == "name,label\n1,2\n"
    assert not page.exists()
    table.unlink()
    for _ in range(2):
        assert call("suspects", images.model, "--out", page).code == Exit.DONE
    page.write_text("<title>My own page</title>")
    assert f"{page} exists and was not" in refused("suspects", images.model, "--out", page, code=Exit.USAGE)


WRITERS = {
    "fit": ("{data}", "model.nb"),
    "predict": ("{model} {data}", "a.csv"),
    "explain": ("{model} {data}/test/dots/12.png", "a.png"),
    "prune": ("{model} --keep 20", "a.nb"),
    "add": ("{model} {data}", "a.nb"),
    "forget": ("{model} train/dots/00.png", "a.nb"),
    "suspects": ("{model}", "a.html"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_places_where_no_file_can_be_written(images, tmp_path, name):
    words, file = WRITERS[name]
    words = [name, *(word.format(data=images.data, model=images.model) for word in words.split())]
    said = refused(*words, "--out", tmp_path / "nowhere" / file, code=Exit.USAGE)
    assert said == f"Error: {tmp_path / 'nowhere'} is not a folder; make it first, or write {file} elsewhere."
    (tmp_path / file).write_bytes(b"mine")
    (tmp_path / file).chmod(0o444)
    assert "is read-only; make it writable" in refused(*words, "--out", tmp_path / file, code=Exit.USAGE)
    assert (tmp_path / file).read_bytes() == b"mine"


def test_the_target_is_tried_before_the_data_is_read(tmp_path):
    (tmp_path / "model.nb").touch()
    (tmp_path / "model.nb").chmod(0o444)
    words = ["fit", tmp_path / "no-data", "--out", tmp_path / "model.nb"]
    assert "model.nb is read-only" in refused(*words, code=Exit.USAGE)
    words = ["features", tmp_path / "no-data", "--out", tmp_path / "model.nb"]
    assert "model.nb is a file, where a folder is needed" in refused(*words, code=Exit.USAGE)
    words = ["fit", tmp_path / "no-data", "--store", tmp_path / "model.nb/store", "--out", tmp_path / "other.nb"]
    assert "model.nb is a file, where a folder is needed" in refused(*words, code=Exit.USAGE)


@pytest.mark.parametrize("command", ["fit", "add", "forget", "prune"])
def test_models_replace_models_only(images, tmp_path, command):
    mine = tmp_path / "diary.txt"
    mine.write_text("mine")
    words = {
        "fit": [images.data],
        "add": [images.model, images.data],
        "forget": [images.model, "train/dots/03.png"],
        "prune": [images.model, "--keep", 8],
    }
    said = refused(command, *words[command], "--out", mine, code=Exit.USAGE)
    assert said == f"Error: {mine} exists and is not a model file; give another name with --out."
    assert mine.read_text() == "mine"


@pytest.mark.parametrize("name", [*WRITERS, "features"])
def test_what_exists_is_replaced_by_force_only(images, tmp_path, name):
    words, file = WRITERS.get(name, ("{data}", "rows"))
    words = [name, *(word.format(data=images.data, model=images.model) for word in words.split())]
    if name in ("fit", "features"):
        words += ["--features", "gist"]
    if name == "add":
        words[2] = image_folder(tmp_path / "more", 3, divided=False, broken=False, first=40)
    out = tmp_path / file
    written = out / "X.npy" if name == "features" else out
    assert call(*words, "--out", out, force=False).code in (Exit.DONE, Exit.PARTLY)
    before = written.stat().st_mtime_ns
    said = refused(*words, "--out", out, code=Exit.USAGE, force=False)
    assert said == f"Error: {written} exists already; add --force to replace it, or give another name."
    assert written.stat().st_mtime_ns == before
    assert call(*words, "--out", out).code in (Exit.DONE, Exit.PARTLY)
    assert written.stat().st_mtime_ns > before
