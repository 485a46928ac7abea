"""``nearboost predict`` of rows that are larger than memory: read, and written, in blocks."""

import csv
import io
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from cli.calling import answer, call, program, refused
from nearboost.cli.common import Exit
from nearboost.models import load_model, model


@pytest.fixture
def blocks(monkeypatch):
    """Eight rows at a time."""
    monkeypatch.setattr(model, "ROWS_AT_ONCE", 8)


@pytest.fixture(scope="module")
def rows(vectors):
    return np.load(vectors.data / "X.npy")[:50]


def saved(folder, rows):
    """The same rows in every form."""
    np.save(folder / "rows.npy", rows)
    (folder / "npy").mkdir()
    (folder / "parquet").mkdir()
    for part, some in enumerate(np.array_split(rows, 3)):
        np.save(folder / "npy" / f"part-{part}.npy", some)
        pq.write_table(pa.table({"e": list(some)}), folder / "parquet" / f"part-{part}.parquet")
    named = {f"f{i}": rows[:, i] for i in range(rows.shape[1])}
    pq.write_table(pa.table(named), folder / "rows.parquet")
    lines = [",".join(named), *(",".join(map(str, row)) for row in rows.tolist())]
    (folder / "rows.csv").write_text("\n".join(lines))
    return [folder / name for name in ("rows.npy", "npy", "parquet", "rows.parquet", "rows.csv")]


def test_all_forms_get_the_same_answers(vectors, rows, tmp_path, monkeypatch):
    whole = answer("predict", vectors.model, vectors.data)["predictions"][:50]
    monkeypatch.setattr(model, "ROWS_AT_ONCE", 8)
    for given in saved(tmp_path, rows):
        assert answer("predict", vectors.model, given)["predictions"] == whole
        printed = call("predict", vectors.model, given, "--top", 2).out
        lines = list(csv.DictReader(io.StringIO(printed)))
        assert [line["probability"] for line in lines] == [str(line["probability"]) for line in whole]
        assert [line["name"] for line in lines] == [f"row {i}" for i in range(50)]
        assert call("predict", vectors.model, given, "--top", 2, "--out", tmp_path / "a.csv", "--force").code == 0
        assert (tmp_path / "a.csv").read_text() == printed
        assert call("predict", vectors.model, given, "--out", tmp_path / "a.parquet", "--force").code == 0
        assert pq.read_table(tmp_path / "a.parquet").to_pylist() == whole
        assert call("predict", vectors.model, given, "--out", tmp_path / "a.npy", "--force").code == 0
        expected = load_model(vectors.model).predict(rows).probabilities
        np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), expected, strict=True)


def test_names_of_a_table(vectors, rows, tmp_path, blocks):
    names = [f"cell {i}" for i in range(50)]
    pq.write_table(pa.table({"e": list(rows), "file_name": names, "label": ["?"] * 50}), tmp_path / "a.parquet")
    found = answer("predict", vectors.model, tmp_path / "a.parquet")["predictions"]
    assert [line["name"] for line in found] == names
    assert answer("explain", vectors.model, tmp_path / "a.parquet", "--row", 33)["name"] == "cell 33"
    expected = answer("explain", vectors.model, vectors.data, "--row", 33)["voters"]
    assert answer("explain", vectors.model, tmp_path / "a.parquet", "--row", 33)["voters"] == expected


@pytest.mark.parametrize("ending", ["csv", "parquet", "npy"])
def test_a_mistake_in_a_later_block_leaves_no_file(vectors, rows, tmp_path, blocks, ending):
    bad = rows.copy()
    bad[37, 5] = np.nan
    np.save(tmp_path / "rows.npy", bad)
    (tmp_path / "out").mkdir()
    said = refused("predict", vectors.model, tmp_path / "rows.npy", "--out", tmp_path / f"out/a.{ending}")
    assert "rows.npy holds NaN or infinite values in row 37; fill or drop it." in said
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("ending", ["csv", "parquet", "npy"])
def test_a_full_disk_leaves_no_file(vectors, rows, tmp_path, blocks, ending, monkeypatch):
    np.save(tmp_path / "rows.npy", rows)
    (tmp_path / "out").mkdir()
    real, calls = model.Model.predict_rows, []

    def full(self, some, **options):
        calls.append(1)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        return real(self, some, **options)

    monkeypatch.setattr(model.Model, "predict_rows", full)
    said = refused("predict", vectors.model, tmp_path / "rows.npy", "--out", tmp_path / f"out/a.{ending}")
    assert said.startswith("Error: The disk is full; make room on it")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.alone
@pytest.mark.skipif(sys.platform == "win32", reason="no such limit")
@pytest.mark.parametrize("ending", ["csv", "parquet", "npy"])
def test_files_that_may_not_be_so_large(vectors, rows, tmp_path, blocks, ending):
    import resource

    np.save(tmp_path / "rows.npy", rows)
    (tmp_path / "out").mkdir()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        said = refused("predict", vectors.model, tmp_path / "rows.npy", "--out", tmp_path / f"out/a.{ending}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert said.startswith("Error: A file would be larger than may be here; raise its limit (ulimit -f)")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.alone
@pytest.mark.parametrize("ending", ["csv", "parquet", "npy"])
def test_a_kill_leaves_no_half_file_under_the_name(vectors, rows, tmp_path, ending):
    np.save(tmp_path / "rows.npy", np.tile(rows, (4000, 1)))
    (tmp_path / "out").mkdir()
    out = tmp_path / f"out/a.{ending}"
    running = subprocess.Popen(
        program("predict", vectors.model, tmp_path / "rows.npy", "--out", out),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    begun = time.monotonic()
    while not any(one.stat().st_size for one in (tmp_path / "out").iterdir()):
        assert running.poll() is None
        assert time.monotonic() - begun < 60
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert not out.exists()
    assert [one.suffix for one in (tmp_path / "out").iterdir()] == [".new"]


def test_probabilities_alone(vectors, images, rows, tmp_path, blocks):
    np.save(tmp_path / "rows.npy", rows)
    for option in (("--top", 2), ("--reject-below", 0.5)):
        said = refused(
            "predict", vectors.model, tmp_path / "rows.npy", "--out", tmp_path / "a.npy", *option, code=Exit.USAGE
        )
        assert "is for the probabilities of all classes; leave out --top and --reject-below" in said
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures/a.png").write_bytes(b"no picture")
    Image.fromarray(np.full((48, 48), 99, np.uint8)).save(tmp_path / "pictures/b.png")
    ended = call("predict", images.model, tmp_path / "pictures", "--out", tmp_path / "b.npy")
    assert ended.code == Exit.PARTLY
    found = np.load(tmp_path / "b.npy")
    assert np.isnan(found[0]).all()
    assert found[1].sum() == pytest.approx(1)


def test_folders_of_other_files(vectors, rows, tmp_path):
    (tmp_path / "empty").mkdir()
    refused("predict", vectors.model, tmp_path / "empty")
    saved(tmp_path, rows)
    os.rename(tmp_path / "npy/part-0.npy", tmp_path / "parquet/part-0.npy")
    assert "give a folder of one kind of files" in refused("predict", vectors.model, tmp_path / "parquet")
    few = rows[:, :10]
    np.save(tmp_path / "npy/part-3.npy", few)
    assert "part-3.npy has 10 numbers in row 0" in refused("predict", vectors.model, tmp_path / "npy")
    np.save(tmp_path / "few.npy", few)
    assert "takes rows of 64 numbers, and rows of 10 were given" in refused(
        "predict", vectors.model, tmp_path / "few.npy", "--out", tmp_path / "a.csv"
    )
