"""``nearboost compare`` as people call it: output, exit codes, interruption."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from cli.calling import interruptible
from compare.problems import write_blobs, write_stripes
from nearboost.catalogue.descriptors import DEFAULT as DEFAULT_FEATURES
from nearboost.catalogue.methods import DEFAULT
from nearboost.cli.common import Exit
from nearboost.cli.main import app
from nearboost.compare.processes import _environment

PROGRAM = (sys.executable, "-c", "from nearboost.cli.main import main; main()")


@pytest.fixture(scope="module")
def blobs(tmp_path_factory):
    return str(write_blobs(tmp_path_factory.mktemp("data") / "blobs.npz"))


def call(*args):
    return CliRunner().invoke(app, ["compare", *map(str, args)])


def test_help_has_an_example():
    result = call("--help")
    assert result.exit_code == Exit.DONE
    assert "nearboost compare pictures" in result.stdout


def test_json_is_parseable_and_the_report_is_there(blobs, tmp_path):
    done = subprocess.run(
        [
            *PROGRAM,
            "compare",
            blobs,
            "--methods",
            "crc",
            "--threads",
            "1",
            "--json",
            "--out",
            str(tmp_path / "out"),
        ],
        env=_environment(1),
        capture_output=True,
        check=False,
    )
    assert done.returncode == Exit.DONE, done.stderr
    printed = json.loads(done.stdout)
    assert printed["best"] == "crc"
    assert printed["report"] == str(tmp_path / "out" / "report.html")
    assert (tmp_path / "out" / "report.html").exists()
    assert b"1/1  crc, vectors, split 1: accuracy" in done.stderr
    assert printed["command"].startswith("nearboost compare ")


def test_place_of_the_report_is_printed(blobs, tmp_path, runs_here):
    result = call(blobs, "--methods", "crc", "--threads", 1, "--out", tmp_path / "out")
    assert result.exit_code == Exit.DONE
    *_, sentence, last = result.stdout.splitlines()
    assert sentence.startswith("crc gets ")
    assert last == f"Report: {tmp_path / 'out' / 'report.html'}"


def test_the_leaderboard_is_printed(blobs, tmp_path, runs_here):
    words = (blobs, "--methods", "crc,linear-svm", "--repeats", 2, "--threads", 1, "--out", tmp_path / "out")
    result = call(*words)
    facts = json.loads((tmp_path / "out" / "results.json").read_text())["facts"]
    lines = [re.split(r"\s*[│┃]\s*", line)[1:-1] for line in result.stdout.splitlines()]
    header, *rows = [cells for cells in lines if len(cells) > 1]
    assert header == ["Method", "Accuracy, %", "Held out, %", "Fit, s", "Query, ms", "Prototypes"]
    assert [row[0] for row in rows] == [row["method"] for row in facts["leaderboard"]]
    accuracy = facts["leaderboard"][0]["accuracy"]
    low, high = accuracy["interval"]
    assert rows[0][1] == f"{100 * accuracy['mean']:.1f} ({100 * low:.1f}–{100 * high:.1f})"
    assert {row[0]: row[5] for row in rows} == {"crc": "30", "linear-svm": "–"}
    assert json.loads(call(*words, "--json").stdout)["best"] == facts["best"], "nothing but JSON"


def test_it_says_at_once_what_it_does(blobs, tmp_path, runs_here):
    result = call(blobs, "--methods", "crc", "--threads", 1, "--out", tmp_path / "out")
    first, second, *_ = result.stderr.splitlines()
    assert first == f"Reading {blobs}."
    assert second == "blobs: 60 vectors of 3 classes; protocol half, 1 split, 1 method."


def test_defaults_are_shown(monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    shown = " ".join(call("--help").stdout.split())
    for option, default in {
        "features": f"({DEFAULT_FEATURES}; none for vectors)",
        "methods": f"({','.join(DEFAULT)})",
        "protocol": "(fixed where the data has train and test, else half)",
        "repeats": "1",
        "seed": "0",
        "classes": "(all)",
        "out": "(compare- and the name of the data)",
        "threads": "(all cores)",
        "run-timeout": "(no limit)",
        "image-shape": "(as the data says)",
    }.items():
        of_option = shown.partition(f"│ --{option} ")[2].partition("│ --")[0]
        assert f"[default: {default}]" in of_option, (option, of_option)


@pytest.mark.parametrize(
    ("args", "said", "code"),
    [
        (["--protocol", "most"], "protocol='most' is not known", Exit.USAGE),
        (["--layout", "heap"], "layout='heap' is not known", Exit.USAGE),
        (["--classes", "A,Z"], "has no class 'Z'", Exit.FAILED),
        (["--classes", "A"], "--classes names 'A' alone; name at least two of A, B, C.", Exit.FAILED),
        (["--features", "gist"], "need no features", Exit.FAILED),
    ],
)
def test_mistakes_are_one_sentence(blobs, tmp_path, args, said, code):
    result = call(blobs, *args, "--out", tmp_path / "out")
    assert result.exit_code == code
    reading, error = result.stderr.splitlines()
    assert reading.startswith("Reading ")
    assert error.startswith("Error: ")
    assert said in error


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--methods", "forest"], "There is no method 'forest'"),
        (["--methods", "n3:loss"], "'n3:loss' is not understood"),
        (["--image-shape", "8by8"], "--image-shape 8by8 is not understood; give height and width as in 32x32"),
        (["--out", "{data}"], "is a file, where a folder is needed"),
        (["--out", "{others}"], "features holds other files; give another output folder"),
    ],
)
def test_mistakes_are_said_before_anything_is_read(blobs, tmp_path, args, said):
    (tmp_path / "features").mkdir()
    (tmp_path / "features" / "mine.txt").write_text("mine")
    result = call(blobs, *(word.format(data=blobs, others=tmp_path) for word in args))
    assert result.exit_code == Exit.USAGE
    [error] = result.stderr.splitlines()
    assert error.startswith("Error: ")
    assert said in error


def test_no_data(tmp_path):
    result = call(tmp_path / "nowhere")
    assert result.exit_code == Exit.FAILED
    assert "nowhere" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("args", [["--repeats", 0], ["--nonsense"], ["--threads", "two"]])
def test_wrong_options_are_usage_errors(blobs, args):
    assert call(blobs, *args).exit_code == Exit.USAGE
    assert call().exit_code == Exit.USAGE


def test_failed_runs_are_partly_done(blobs, tmp_path):
    result = call(blobs, "--methods", "crc", "--cell-timeout", 0.001, "--out", tmp_path / "late")
    assert result.exit_code == Exit.PARTLY


def test_skipped_images_are_partly_done(tmp_path, runs_here):
    data = write_stripes(tmp_path / "stripes", per_class=4)
    (data / "a" / "broken.png").write_bytes(b"no image")
    result = call(data, "--features", "pixels", "--methods", "crc", "--threads", 1, "--out", tmp_path / "out")
    assert result.exit_code == Exit.PARTLY
    assert "Skipped a/broken.png: it " in result.stderr
    assert result.stderr.count("broken.png") == 1


@pytest.mark.alone
def test_an_interruption_keeps_what_is_done(blobs, tmp_path):
    methods = "crc," + ",".join(f"adaboost:n_estimators={n}" for n in (4000, 4001))
    child = interruptible("compare", blobs, "--methods", methods, "--threads", 1, "--out", tmp_path / "out")
    cells = tmp_path / "out" / "cells"
    try:
        until = time.monotonic() + 60
        while not list(cells.glob("*.json")) and time.monotonic() < until:
            time.sleep(0.05)
        os.kill(child.pid, signal.SIGINT)
        said = child.communicate(timeout=30)[1]
    finally:
        child.kill()
    assert child.returncode == Exit.INTERRUPTED
    assert said.endswith("Interrupted; what was finished is kept, and nothing half done was written.\n")
    [done] = cells.glob("*.json")
    assert json.loads(done.read_text())["method"] == "crc"


def test_a_comma_in_a_name_is_written_twice(tmp_path, runs_here):
    data = write_blobs(tmp_path / "blobs.npz", names=["a, b", "c", "d"])
    result = call(data, "--classes", "a,, b,c", "--methods", "crc", "--threads", 1, "--out", tmp_path / "out")
    assert result.exit_code == Exit.DONE
    assert json.loads((tmp_path / "out" / "results.json").read_text())["facts"]["data"]["classes"] == ["a, b", "c"]


def test_fit_takes_the_best_of_a_comparison(blobs, tmp_path, runs_here, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call(
        blobs,
        "--methods",
        "crc,linear-svm,adaboost:n_estimators=2",
        "--threads",
        1,
        "--classes",
        "A,C",
        "--out",
        "out",
    )
    facts = json.loads((tmp_path / "out" / "results.json").read_text())["facts"]
    assert facts["fit"]["command"] == "nearboost fit out", "which knows the classes"
    ended = CliRunner().invoke(app, ["fit", "out", "--out", "model.nb", "--json"])
    assert ended.exit_code == Exit.DONE, ended.stderr
    made = json.loads(ended.stdout)
    assert made["facts"]["method"] == facts["fit"]["method"]
    assert made["classes"] == ["A", "C"]
    assert f"Fitting {facts['fit']['method']} to {blobs}, as the comparison found best." in ended.stderr
    ended = CliRunner().invoke(app, ["fit", "out", "--method", "knn", "--out", "other.nb", "--json"])
    assert json.loads(ended.stdout)["facts"]["method"] == "knn"


def test_a_comparison_that_does_not_say_what_to_fit(blobs, tmp_path, runs_here):
    call(blobs, "--methods", "adaboost:n_estimators=2", "--threads", 1, "--out", tmp_path / "out")
    ended = CliRunner().invoke(app, ["fit", str(tmp_path / "out"), "--out", str(tmp_path / "model.nb")])
    assert ended.exit_code == Exit.USAGE
    assert "holds a comparison that does not say what to fit" in ended.stderr
    assert not (tmp_path / "model.nb").exists()


def test_the_command_of_the_report_fits_the_best(blobs, tmp_path, runs_here, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call(blobs, "--methods", "crc,linear-svm", "--scale", "--threads", 1, "--out", "out")
    facts = json.loads((tmp_path / "out" / "results.json").read_text())["facts"]
    words = shlex.split(facts["fit"]["command"])
    assert words[:3] == ["nearboost", "fit", str(blobs)]
    assert "--scale" in words
    ended = CliRunner().invoke(app, words[1:])
    assert ended.exit_code == Exit.DONE, ended.stderr
    assert (tmp_path / "model.nb").exists()
