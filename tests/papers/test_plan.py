"""Every name builds its plan, and says what it needs."""

import re
import shutil
from pathlib import Path

import pytest
from papers.cache import hash_key
from papers.datasets import SOURCES, find_source
from papers.plan import RunOptions, make_plan
from papers.registry import ALIASES, data_text, experiments, find, listing

from nearboost.datasets import DataError

RUNNABLE = [name for name, experiment in experiments().items() if not experiment.missing]


@pytest.mark.parametrize("name", RUNNABLE)
def test_every_name_builds_its_plan(name, root):
    experiment = find(name)
    plan = make_plan(experiment, RunOptions(root, repeats=2))
    splits = 1 if all(panel.protocol == "fixed" for panel in experiment.panels) else 2
    pairs = [pair for pair in experiment.pairs() if pair[0].name in plan.panels]
    assert {(run.panel, run.line) for run in plan.runs} == {(p.name, line.name) for p, line in pairs}
    assert max(run.split for run in plan.runs) == splits - 1
    keys = [hash_key(run.key) for run in plan.runs]
    assert len(set(keys)) == len(keys)
    assert all(run.key["estimators"] for run in plan.runs)


def test_same_runs_for_accuracy_and_times(root):
    """Tables 2.3 to 2.5 are three views of the same runs."""
    plans = [make_plan(find(f"thesis-table-2.{n}"), RunOptions(root, repeats=1)) for n in (3, 4, 5)]
    keys = [{hash_key(run.key) for run in plan.runs} for plan in plans]
    assert keys[0] == keys[1] == keys[2]


def test_another_setting_is_another_run(root):
    one, other = (
        make_plan(find("mlnn-figure-3"), RunOptions(root, repeats=1, threads=threads)).runs[0].key
        for threads in (1, 2)
    )
    assert hash_key(one) != hash_key(other)


def test_the_repeats_of_print_are_the_default(root):
    plan = make_plan(find("thesis-table-5.3"), RunOptions(root))
    assert {run.split for run in plan.runs} == set(range(10))


def test_stand_ins_are_told(root):
    plan = make_plan(find("n3-table-5"), RunOptions(root))
    assert plan.notes == ["Scene-15 stands in for SUN397: compare ranks and gaps, not levels."]
    [data] = [panel.describe(root) for panel in plan.panels.values()]
    assert (data["used"], data["is_stand_in"], data["classes"]) == ("Scene-15", True, 15)


def test_more_classes_than_there_are_leave_panels_out(root):
    plan = make_plan(find("thesis-table-2.3"), RunOptions(root))
    assert list(plan.panels) == ["5 classes", "10 classes", "15 classes"]
    assert "20 classes: there are 15 here." in plan.notes
    fewer = make_plan(find("thesis-table-2.3"), RunOptions(root, classes=10))
    assert list(fewer.panels) == ["5 classes", "10 classes"]


def test_the_set_itself_goes_before_its_stand_in(tmp_path):
    for name in ("hela2d", "hep2"):
        (tmp_path / name).mkdir()
        assert find_source("hep2", tmp_path).path == name


def test_a_quick_plan_says_so_and_is_small(root):
    plan = make_plan(find("thesis-figure-A.2"), RunOptions(root, quick=True))
    assert plan.notes[0].startswith("QUICK")
    assert {tuple(run.key["xs"]) for run in plan.runs} == {("4", "64", "512")}
    [panel] = plan.panels.values()
    assert len(panel.dataset.classes) == 4


def test_missing_data_name_the_folders(tmp_path):
    with pytest.raises(DataError, match=r"has no Caltech-256 at caltech256 or caltech101 \(Caltech-101\); put"):
        make_plan(find("n3-table-4"), RunOptions(tmp_path))
    with pytest.raises(DataError, match="has no PASCAL VOC 2007 at VOC2007; put it there or"):
        make_plan(find("inn-table-4"), RunOptions(tmp_path))
    with pytest.raises(DataError, match="is not a folder"):
        make_plan(find("inn-table-4"), RunOptions(tmp_path / "nowhere"))


def test_panels_whose_set_is_not_there_are_left_out(root, tmp_path):
    shutil.copytree(root / "caltech101", tmp_path / "caltech101")
    plan = make_plan(find("thesis-figure-4.3"), RunOptions(tmp_path))
    assert list(plan.panels) == ["Caltech"]
    assert any(note.startswith("ImageNet is left out: ILSVRC 2010 is not at ilsvrc2010") for note in plan.notes)


@pytest.mark.parametrize(
    ("given", "meant"),
    [("n3-tabel-4", "n3-table-4"), ("thesis-table-5.6", "thesis-table-5.5"), ("inn-figure-3", "inn-figure-2")],
)
def test_an_unknown_name_lists_near_ones(given, meant):
    with pytest.raises(ValueError, match="did you mean .*" + meant.replace(".", r"\.")):
        find(given)


def test_near_names_are_listed_with_commas():
    with pytest.raises(ValueError, match=r"did you mean inn-figure-\d, inn-figure-\d or [\w.-]+\?$"):
        find("inn-figure-3")


def test_a_name_like_no_other_points_to_the_list():
    with pytest.raises(ValueError, match="--list has all names"):
        find("zzz")


def test_aliases_and_letter_case():
    assert find("thesis-table-3.4") is find("n3-table-4")
    assert find("Thesis-Figure-a.2").name == "thesis-figure-A.2"
    assert set(ALIASES.values()) <= set(experiments())


def test_listing_says_what_is_needed_where(root, tmp_path):
    entries = {entry["name"]: entry for entry in listing(root)}
    assert set(entries) == set(experiments()) | set(ALIASES)
    assert data_text(entries["n3-table-4"]) == "Caltech-256: caltech256; stand-in Caltech-101: caltech101 (there)"
    assert data_text(entries["inn-table-4"]) == "PASCAL VOC 2007: VOC2007; no stand-in (there)"
    assert data_text(entries["ours-table-metrics"]).startswith("digits (there)\n")
    assert "control wells of BBBC013: translocation (there)" in data_text(entries["thesis-table-5.1"])
    assert entries["thesis-figure-3.1"]["alias_of"] == "n3-figure-1"
    nothing = {entry["name"]: entry for entry in listing(tmp_path)}
    assert data_text(nothing["inn-table-4"]).endswith("(not there)")


def test_the_documentation_has_every_name_and_place():
    page = (Path(__file__).parents[2] / "docs" / "reproduce.md").read_text(encoding="utf-8")
    for name in (*experiments(), *ALIASES):
        assert f"`{name}`" in page
    for source in (source for sources in SOURCES.values() for source in sources):
        assert not source.path or f"`{source.path}`" in page


def test_the_page_has_the_minutes_of_the_registry():
    page = (Path(__file__).resolve().parents[2] / "docs" / "reproduce.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("| `") and line.count("|") == 6]
    rows = [line.strip("| ").split(" | ") for line in lines]
    minutes = {name: row[-1] for row in rows for name in re.findall("`([^`]+)`", row[0])}
    assert set(minutes) == {entry["name"] for entry in listing()}
    for entry in listing():
        assert minutes[entry["name"]] == ("cannot run yet" if entry["missing"] else f"{entry['minutes']:g}")
