"""Small experiments from files to results; most in this process, so that kernels are loaded once."""

import csv
import json
import re
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from papers.__main__ import app
from papers.cache import Cache
from papers.features import FEATURES, Features
from papers.plan import RunOptions, make_plan, make_task
from papers.registry import find
from typer.testing import CliRunner

from nearboost.cli.common import Exit
from nearboost.features.sift import DenseSIFT
from papers import run, worker


def quickly(name, root, folder):
    return run.reproduce(name, RunOptions(root, quick=True, threads=1), folder)


def cells_of(facts):
    return {
        (row["name"], column): cell
        for row in facts["rows"]
        for column, cell in zip(facts["columns"], row["cells"], strict=True)
    }


def test_single_cells_of_the_thesis(root, tmp_path, here):
    found = quickly("thesis-table-5.3", root, tmp_path)
    assert found.is_complete
    cells = cells_of(found.facts)
    for loss, paper in (("exp", 96.16), ("log", 95.46), ("mat", 94.72)):
        cell = cells[f"UNN, {loss}", "accuracy"]
        assert cell["paper"]["value"] == paper
        assert 60 < cell["ours"]["mean"] <= 100  # stripes of three directions are easily told
        assert 60 < cells[f"UNN, {loss}", "AUC"]["ours"]["mean"] <= 100


def test_a_second_call_runs_nothing_unless_fresh(root, tmp_path, here):
    first = quickly("thesis-table-5.3", root, tmp_path)
    n_tasks = len(here)
    assert n_tasks == 3
    second = quickly("thesis-table-5.3", root, tmp_path)
    assert len(here) == n_tasks
    assert second.facts["rows"] == first.facts["rows"]
    run.reproduce("thesis-table-5.3", RunOptions(root, quick=True, threads=1), tmp_path, fresh=True)
    assert len(here) == 2 * n_tasks


def test_tables_of_the_same_runs_share_them(root, tmp_path, here):
    quickly("thesis-figure-A.3", root, tmp_path)
    n_tasks = len(here)
    accuracy = quickly("thesis-figure-A.6", root, tmp_path)
    assert len(here) == n_tasks  # k-NN was there
    assert accuracy.facts["rows"][1]["name"] == "k-NN, deviation over 10 draws"


def test_sets_in_one_folder_keep_their_own_rows(root, tmp_path):
    """13-cat and 15-cat lie in the same files; what was learned on one is not taken for the other's."""
    options = RunOptions(root, quick=True, threads=1)
    plan = make_plan(find("mlnn-figure-4"), options)

    def rows(panel, folder):
        run = next(run for run in plan.runs if run.panel == panel)
        source = worker.PanelRows(make_task(plan, run, options, Cache(folder)), plan.experiment.panel(panel))
        return source.rows(plan.experiment.xs[0])

    thirteen, fifteen = (rows(panel, tmp_path / "both") for panel in ("13-cat", "15-cat"))
    alone = rows("15-cat", tmp_path / "alone")
    assert thirteen.classes != fifteen.classes
    np.testing.assert_array_equal(fifteen.queries, alone.queries)
    np.testing.assert_array_equal(fifteen.X, alone.X)


def test_mirror_images_train_as_well(root, tmp_path, monkeypatch):
    for kind in ("sets", "mirrored sets"):  # quicker than fixations
        name = "nimble-mirrored" if kind.startswith("mirrored") else "nimble"
        made = Features("SIFT", lambda seed, n_jobs: DenseSIFT(step=16, bin_sizes=(4,)), learned=True, kind=kind)
        monkeypatch.setitem(FEATURES, name, made)
    options = RunOptions(root, quick=True, threads=1)
    plan = make_plan(find("inn-table-3"), options)

    def rows(panel):
        run = next(run for run in plan.runs if run.panel == panel)
        task = make_task(plan, run, options, Cache(tmp_path))
        return worker.PanelRows(task, plan.experiment.panel(panel)).rows(None)

    plain, mirrored = rows("fixations"), rows("fixations, mirrored")
    assert len(mirrored.X) == len(mirrored.y) == 2 * len(plain.X)
    for one, other in zip(plain.X, mirrored.X, strict=False):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(mirrored.y[len(plain.y) :], plain.y)
    assert len(mirrored.queries) == len(plain.queries)
    assert not np.array_equal(mirrored.X[0], mirrored.X[len(plain.X)])


def test_faces_in_projections(root, tmp_path, here):
    found = quickly("inn-table-1", root, tmp_path)
    cells = cells_of(found.facts)
    assert cells["eigenfaces, INNC", "5"]["ours"]["mean"] > 60
    assert cells["eigenfaces, INNC", "5"]["paper"]["value"] == 24.1
    assert cells["eigenfaces, SRC (L1LS)", "300"]["ours"] is None
    assert cells["LDA, INNC", "300"]["ours"] is None
    assert "LDA" in {point["panel"] for point in found.facts["impossible"]}
    assert "Not possible: LDA" in (found.folder / "report.html").read_text()


def test_signs_by_all_classifiers(root, tmp_path, here):
    found = quickly("inn-table-2", root, tmp_path)
    assert found.is_complete, found.facts["failed"]
    assert found.facts["impossible"] == []
    ours = [row["name"] for row in found.facts["rows"] if row["cells"][0]["ours"]]
    codes = {"NN", "INNC", "INNC, nearest 100", "INNC, by residuals", "SRC", "CRC"}
    assert codes | {"intersection SVM", "polynomial SVM", "RBF SVM", "linear SVM"} == set(ours)


def test_components_of_gist(root, tmp_path, here):
    found = quickly("thesis-figure-A.2", root, tmp_path)
    assert found.is_complete
    assert found.facts["columns"] == ["4", "64", "512"]
    [claim] = found.facts["claims"]
    assert claim["paper"]["value"] == 16
    page = (found.folder / "report.html").read_text()
    assert "in brackets" not in page, "a figure has no printed numbers"
    assert "protocol half</li>" in page
    picture = (found.folder / "figure.svg").read_text()
    assert picture.startswith("<svg")
    assert picture.count('class="series"') == 4  # two curves, each with its sign in the legend


def test_terms_of_a_code_are_those_of_the_formula(root, tmp_path, here):
    found = quickly("inn-figure-1", root, tmp_path)
    cells = cells_of(found.facts)
    weights = [cells["weight", str(k)]["ours"]["mean"] for k in range(1, 9)]
    np.testing.assert_allclose(weights, [0.5 / 1.5**k for k in range(1, 9)])
    for k in range(1, 9):
        assert cells["weight", str(k)]["paper"]["value"] == pytest.approx(weights[k - 1], abs=6e-4)
    left = [cells["share of the face not rebuilt", str(k)]["ours"]["mean"] for k in range(1, 9)]
    assert left[-1] < left[0]


@pytest.mark.slow
def test_passes_of_linear_classifiers(root, tmp_path, here):
    found = quickly("thesis-figure-4.6", root, tmp_path)
    assert found.is_complete
    assert len(found.facts["rows"]) == 5
    assert all(cell["ours"] for row in found.facts["rows"] for cell in row["cells"])


@pytest.mark.slow
def test_several_labels_give_average_precision(root, tmp_path, here):
    found = quickly("inn-table-4", root, tmp_path)
    cells = cells_of(found.facts)
    for line in ("NBNN", "NBSR", "NBINN", "INN-SPM", "ScSPM", "LLC"):
        assert 50 < cells[line, "mean"]["ours"]["mean"] <= 100
    assert found.facts["impossible"] == []


def test_what_is_written(root, tmp_path, here):
    found = quickly("thesis-table-5.3", root, tmp_path)
    written = json.loads((found.folder / "results.json").read_text())
    assert written["facts"]["rows"] == found.facts["rows"]
    assert len(written["runs"]) == 3
    lines = list(csv.DictReader((found.folder / "results.csv").open()))
    assert [line["row"] for line in lines[::2]] == ["UNN, exp", "UNN, log", "UNN, mat"]
    assert lines[0]["paper"] == "96.16"
    assert lines[0]["place"] == "Table 5.3"
    page = (found.folder / "report.html").read_text()
    assert "QUICK, not to be compared" in page
    assert "Ours, and the paper's in brackets" in page.replace("&#39;", "'")
    made = datetime.strptime(re.search(r"Made by nearboost, ([^<]+ UTC)\.", page)[1], "%Y-%m-%d %H:%M UTC")
    assert abs(datetime.now(UTC) - made.replace(tzinfo=UTC)) < timedelta(minutes=5)
    assert "2D HeLa for HEp-2 cells" in page


def test_a_failed_run_stays_in_the_report(root, tmp_path, here, monkeypatch):
    real = worker.run

    def breaks(task):
        if task["identity"]["line"] == "UNN, log":
            raise MemoryError("too much")
        return real(task)

    monkeypatch.setattr(worker, "run", breaks)
    found = quickly("thesis-table-5.3", root, tmp_path)
    assert not found.is_complete
    [wrong] = found.facts["failed"]
    assert (wrong["line"], wrong["reason"]) == ("UNN, log", "Ran out of memory. too much")
    assert "Failed: BIF cell, UNN, log, split 0" in (found.folder / "report.html").read_text()


# ------------------------------------------------------------------------------------------ the command


def invoke(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments])


def test_the_command_makes_runs_in_processes(root, tmp_path):
    result = invoke(
        "inn-figure-1", "--data", root, "--quick", "--threads", "1", "--out", tmp_path / "out", "--json"
    )
    assert result.exit_code == Exit.DONE, result.output
    facts = json.loads(result.stdout)
    assert facts["quick"] is True
    assert facts["claims"][0]["ours"] == 8
    assert "QUICK" in result.stderr
    assert "1 of 1 run to make; this takes less than a minute." in result.stderr


def test_the_command_prints_ours_beside_the_papers(root, tmp_path, here):
    result = invoke("thesis-table-5.3", "--data", root, "--quick", "--out", tmp_path)
    assert result.exit_code == Exit.DONE, result.output
    assert "(96.16)" in result.stdout
    assert "QUICK" in result.stdout
    assert "thesis-table-5.3-quick/report.html" in result.stdout.replace("\n", "")


@pytest.mark.parametrize("name", ["thesis-table-5.1", "thesis-table-5.2"])
def test_cells_of_wells(root, tmp_path, here, monkeypatch, name):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    result = invoke(name, "--data", root, "--quick", "--out", tmp_path)
    assert result.exit_code == Exit.DONE, result.output
    assert "soft UNN, adaptive" in result.stdout
    assert "negative" in result.stdout


def test_mistakes_are_sentences(root, tmp_path):
    for arguments, said in (
        (["n3-table-44", "--data", root], "did you mean n3-table-4"),
        (["n3-table-4", "--data", tmp_path], "has no Caltech-256 at caltech256 or caltech101 (Caltech-101)"),
        (["n3-table-4", "--data", tmp_path / "nowhere"], "is not a folder"),
        ([], "No table or figure was given"),
    ):
        result = invoke(*arguments)
        assert result.exit_code == Exit.FAILED
        assert said in result.stderr
        assert result.stderr.count("\n") == 1


def test_the_list(root):
    result = invoke("--list", "--data", root)
    assert result.exit_code == Exit.DONE
    assert "thesis-figure-A.6" in result.stdout
    entries = json.loads(invoke("--list", "--data", root, "--json").stdout)
    assert {entry["name"]: entry["alias_of"] for entry in entries}["thesis-table-3.5"] == "n3-table-5"
