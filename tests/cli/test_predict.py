"""``nearboost predict``: tables of images and rows, skipped files, rejected answers."""

import csv
import io
import json
import subprocess

import numpy as np
import pytest
from PIL import Image

from cli.calling import answer, call, program, refused
from cli.made import row_folder
from nearboost.base.tables import format_columns
from nearboost.cli.common import Exit
from nearboost.models import load_model


def test_predict_images(images, tmp_path):
    found = answer("predict", images.model, images.data / "test", "--top", 2, "--reject-below", 0.99)
    lines = found["predictions"]
    assert len(lines) == 12
    assert [line["name"] for line in lines[:2]] == ["dots/12.png", "dots/13.png"]
    assert np.mean([line["label"] == line["name"].split("/")[0] for line in lines]) > 0.8
    assert all(line["rejected"] == (line["probability"] < 0.99) for line in lines)
    assert all(line["probability"] >= line["probability_2"] for line in lines)
    assert all(line["label"] != line["label_2"] for line in lines)
    model = load_model(images.model)
    said = model.predict([str(images.data / "test" / line["name"]) for line in lines])
    assert [line["probability"] for line in lines] == said.probabilities.max(axis=1).tolist()


def test_predict_tables(images, tmp_path):
    printed = call("predict", images.model, images.data / "test").out
    lines = list(csv.DictReader(io.StringIO(printed)))
    assert len(lines) == 12
    assert call("predict", images.model, images.data / "test", "--out", tmp_path / "a.csv").code == Exit.DONE
    assert (tmp_path / "a.csv").read_text() == printed
    parquet = pytest.importorskip("pyarrow.parquet")
    assert call("predict", images.model, images.data / "test", "--out", tmp_path / "a.parquet").code == Exit.DONE
    table = parquet.read_table(tmp_path / "a.parquet").to_pylist()
    assert [line["probability"] for line in table] == [float(line["probability"]) for line in lines]
    out = tmp_path / "a.txt"
    assert "use .csv, .parquet or .npy" in refused(
        "predict", images.model, images.data, "--out", out, code=Exit.USAGE
    )


def test_predict_skips_what_is_no_image(images):
    broken, whole = images.data / "train/dots/broken.png", images.data / "test/dots/12.png"
    ended = call("predict", images.model, broken, whole, "--json")
    assert ended.code == Exit.PARTLY
    found = json.loads(ended.out)
    assert list(found["skipped"]) == [str(broken)]
    printed = call("predict", images.model, broken, whole).out
    first, second = csv.DictReader(io.StringIO(printed))
    assert (first["name"], first["label"], first["probability"]) == (str(broken), "", "")
    assert first["note"].startswith("skipped: it ")
    assert (second["name"], second["note"]) == (str(whole), "")
    assert [line["name"] for line in found["predictions"]] == [str(whole)]
    assert "Nothing could be described" in refused("predict", images.model, broken)


def test_predict_rows(vectors, tmp_path):
    X = np.load(vectors.data / "X.npy")
    np.save(tmp_path / "rows.npy", X[:5])
    np.savez(tmp_path / "rows.npz", X=X[:5])
    found = [answer("predict", vectors.model, tmp_path / name)["predictions"] for name in ("rows.npy", "rows.npz")]
    assert found[0] == found[1] == answer("predict", vectors.model, vectors.data)["predictions"][:5]
    np.save(tmp_path / "few.npy", X[:5, :10])
    said = refused("predict", vectors.model, tmp_path / "few.npy")
    assert "This model takes rows of 64 numbers, and rows of 10 were given; describe the items" in said
    np.save(tmp_path / "flat.npy", X[0])
    assert "give a matrix" in refused("predict", vectors.model, tmp_path / "flat.npy")
    np.save(tmp_path / "gaps.npy", np.where(np.arange(5)[:, np.newaxis] == 3, np.nan, X[:5]))
    assert "holds NaN or infinite values in row 3" in refused("predict", vectors.model, tmp_path / "gaps.npy")
    assert "does not exist" in refused("predict", vectors.model, tmp_path / "nowhere.npy")


def write_columns(path, **columns):
    if path.suffix == ".csv":
        path.write_text(format_columns(columns))
    else:
        parquet, pyarrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
        parquet.write_table(pyarrow.table(columns), path)
    return path


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_columns_are_those_of_the_table_that_was_fitted(tmp_path, ending):
    """As many others, or the same in another order, would get wrong answers."""
    a, b, label = [0.0, 0.1, 0.9, 1.0] * 5, [3.0, 1.0, 2.0, 5.0] * 5, ["low", "low", "high", "high"] * 5
    data, model = write_columns(tmp_path / f"data{ending}", a=a, b=b, label=label), tmp_path / "model.nb"
    call("fit", data, "--out", model, "--method", "knn")
    right = answer("predict", model, data)
    assert answer("predict", model, write_columns(tmp_path / f"right{ending}", label=label, a=a, b=b)) == right
    np.save(tmp_path / "rows.npy", np.column_stack([a, b]))  # has no names
    assert answer("predict", model, tmp_path / "rows.npy") == right
    assert "columns         2: a, b" in call("info", model).out
    swapped = write_columns(tmp_path / f"swapped{ending}", b=b, a=a, label=label)
    for command in ("predict", "explain", "add", "evaluate"):
        said = refused(command, model, swapped, force=command != "evaluate")
        assert said.endswith(
            "in another order the columns that the model was fitted on; give these, in this order: a, b."
        )
    other = write_columns(tmp_path / f"other{ending}", id=b, a=a)
    assert "has no column 'b', which the model was fitted on; give these" in refused("predict", model, other)
    more = write_columns(tmp_path / f"more{ending}", a=a, b=b, c=b)
    assert "has the column 'c' too, which is none of those that the model" in refused("predict", model, more)


def test_rows_have_the_names_of_their_table(images, tmp_path):
    assert call("features", images.data, "--out", tmp_path / "rows").code == Exit.PARTLY
    assert call("fit", tmp_path / "rows", "--out", tmp_path / "rows.nb").code == Exit.DONE
    found = answer("predict", tmp_path / "rows.nb", tmp_path / "rows")["predictions"]
    with open(tmp_path / "rows/labels.csv", encoding="utf-8") as file:
        names = [line["file_name"] for line in csv.DictReader(file)]
    assert [line["name"] for line in found] == names
    assert answer("predict", tmp_path / "rows.nb", tmp_path / "rows/X.npy")["predictions"] == found
    assert answer("explain", tmp_path / "rows.nb", tmp_path / "rows", "--row", 7)["name"] == names[7]
    (tmp_path / "rows/labels.csv").write_text("file_name,label\nonly.png,one\n")  # of other rows
    assert answer("predict", tmp_path / "rows.nb", tmp_path / "rows")["predictions"][7]["name"] == "row 7"


def test_masks_are_left_out(images, tmp_path):
    for name in ("a.png", "a_mask.png", "b_MASK.PNG"):
        (tmp_path / name).write_bytes((images.data / "test/dots/12.png").read_bytes())
    ended = call("predict", images.model, tmp_path)
    assert [line["name"] for line in csv.DictReader(io.StringIO(ended.out))] == ["a.png"]
    assert ended.err == f"Note: Left out 2 masks, such as {tmp_path / 'a_mask.png'}.\n"


def test_items_of_the_wrong_kind(images, vectors, tmp_path):
    flat = images.data / "test/dots"  # no folder of classes
    for given in ([flat], [flat / "12.png"], [flat / "12.png", flat / "13.png"], [images.data]):
        said = refused("predict", vectors.model, *given)
        assert f"This model takes rows of 64 numbers, and {given[0]} holds images; give rows that" in said
    for given in (vectors.data, vectors.data / "X.npy"):
        said = refused("predict", images.model, given)
        assert f"This model takes images, and {given} holds rows of numbers; give image files" in said
        assert said == refused("explain", images.model, given, "--out", tmp_path / "v.png")
    assert "holds images; give rows" in refused("explain", vectors.model, flat / "12.png")
    assert "holds rows of numbers" in refused("suspects", images.model, "--data", vectors.data)
    assert "holds images" in refused("prune", vectors.model, "--data", images.data, "--out", tmp_path / "a.nb")


def test_several_labels(tmp_path):
    X = np.load(row_folder(tmp_path / "digits") / "X.npy")
    y = np.load(tmp_path / "digits/y.npy")
    np.save(tmp_path / "digits/y.npy", np.column_stack([y == "one", y != "two", y == "two"]).astype(int))
    model = tmp_path / "model.nb"
    assert call("fit", tmp_path / "digits", "--out", model).code == Exit.DONE
    assert answer("evaluate", model, tmp_path / "digits")["measures"]["mean_average_precision"] > 0.9
    np.save(tmp_path / "rows.npy", X[:3])
    line = answer("predict", model, tmp_path / "rows.npy")["predictions"][0]
    assert line["label"] == "1"  # neither one nor two
    assert line["probability of 1"] > 0.5 > line["probability of 0"]
    assert "several labels" in refused("predict", model, tmp_path / "rows.npy", "--top", 2)
    assert "several labels" in refused("suspects", model)
    vote = answer("explain", model, tmp_path / "rows.npy")
    assert vote["said"] == vote["about"] == "1"


def test_what_is_unlike_the_training_items(images, tmp_path):
    """A black image is of no class, whatever its probability; in the table, the JSON and the picture."""
    black = tmp_path / "black.png"
    Image.fromarray(np.zeros((48, 48), np.uint8)).save(black)
    ended = call("predict", images.model, black, images.data / "test")
    assert "Note: 1 of 13 items is unlike the training items; the notes say which" in ended.err
    notes = {line["name"]: line["note"] for line in csv.DictReader(io.StringIO(ended.out))}
    assert [name for name, note in notes.items() if note] == [str(black)]
    [line] = answer("predict", images.model, black)["predictions"]
    assert line["typicality"] < 0.01
    assert line["note"] == "unlike the training items"
    said = call("explain", images.model, black, "--out", tmp_path / "voters.png").out
    assert "; the item is unlike the training items" in said.splitlines()[1]
    assert call("fit", images.data, "--out", tmp_path / "few.nb", "--features", "gist", "--part", "test").code == 0
    assert "typicality" not in answer("predict", tmp_path / "few.nb", black)["predictions"][0]


def test_as_a_program(images, tmp_path):
    """Tables on standard output, sentences on standard error, and no traceback."""
    ended = subprocess.run(program("predict", images.model, images.data), capture_output=True, text=True)
    assert ended.returncode == Exit.PARTLY
    assert len(ended.stdout.splitlines()) == 1 + 49
    assert ended.stderr.startswith("Skipped train/dots/broken.png: ")
    assert len(ended.stderr.splitlines()) == 1
    reader = subprocess.Popen(program("info", images.model), stdout=subprocess.PIPE)
    reader.stdout.close()  # as head does
    assert reader.wait(timeout=60) == Exit.DONE
    ended = subprocess.run(program("info", tmp_path / "nowhere"), capture_output=True, text=True)
    assert ended.returncode == Exit.FAILED
    assert len(ended.stderr.splitlines()) == 1
