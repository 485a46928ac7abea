"""Kept results are of the present code, or say that they are older."""

import re
import sys
from pathlib import Path

import pytest

from benchmarks import freshness, machine

KEPT = {path.stem: record for path, record in freshness.kept_results()}
PAGE = (freshness.ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", KEPT)
def test_results_are_of_the_present_code_or_say_that_they_are_older(name):
    changed = freshness.changes_since(KEPT[name])
    assert not changed or KEPT[name].get("older"), (
        f"{name}.json is older than {', '.join(changed)}: run its command anew, "
        f'or say so: python -m benchmarks.freshness {name} --older "why"'
    )


def test_readers_are_told_which_results_are_older():
    section = PAGE.split("## Older than the code\n")[1].split("\n## ")[0]
    assert set(re.findall(r"`([\w-]+)`", section)) == {name for name in KEPT if "older" in KEPT[name]}


def test_names_of_the_package_lead_to_their_files():
    reached = freshness.reached_from("benchmarks.prototypes")
    assert {"nearboost.boosting.n3", "nearboost.boosting.engine", "nearboost.kernels.newton"} <= reached
    assert not any(name.startswith("nearboost.linear") for name in reached)
    assert {"boosting", "kernels", "benchmarks.prototypes"} <= freshness.measured_code(
        "benchmarks.prototypes"
    ).keys()


@pytest.fixture
def copy_of_the_code(tmp_path, monkeypatch):
    """A benchmark and a room of its own, to change."""
    (tmp_path / "nearboost" / "boosting").mkdir(parents=True)
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "nearboost" / "boosting" / "steps.py").write_text('"""Steps."""\n\nSTEP = 1  # safe\n')
    (tmp_path / "benchmarks" / "one.py").write_text("def run():\n    from nearboost.boosting.steps import STEP\n")
    places = {"nearboost": tmp_path / "nearboost", "benchmarks": tmp_path / "benchmarks"}
    monkeypatch.setattr(freshness, "PLACES", places)
    clear()
    yield tmp_path
    clear()


def clear() -> None:
    for cached in (freshness.parse, freshness.digest, freshness.imports_of):
        cached.cache_clear()


def rewritten(folder: Path, text: str) -> dict[str, str]:
    (folder / "nearboost" / "boosting" / "steps.py").write_text(text)
    clear()
    return freshness.measured_code("benchmarks.one")


def test_words_do_not_make_results_older_but_statements_do(copy_of_the_code):
    before = freshness.measured_code("benchmarks.one")
    assert before.keys() == {"boosting", "benchmarks.one"}
    assert rewritten(copy_of_the_code, '"""Other words."""\nSTEP   =  1\n') == before
    after = rewritten(copy_of_the_code, '"""Steps."""\n\nSTEP = 2\n')
    record = {"runs": [{"module": "benchmarks.one", "code": before}]}
    assert freshness.changes_since(record) == ["boosting"]
    assert after["benchmarks.one"] == before["benchmarks.one"]


def test_merged_results_name_all_their_runs(copy_of_the_code, monkeypatch):
    monkeypatch.setattr(machine, "RESULTS", copy_of_the_code / "results")
    monkeypatch.setattr(machine, "_module", lambda: "benchmarks.one")

    def write(*words: str, merged: bool) -> list[str]:
        monkeypatch.setattr(sys, "argv", ["one", *words])
        path = machine.write_results("one", {"rows": []}, merged=merged)
        return [
            run["command"].split("one", 1)[1].strip() for run in freshness.json.loads(path.read_text())["runs"]
        ]

    assert write(merged=False) == [""]
    assert write("--part", "a", merged=True) == ["", "--part a"]
    assert write("--part", "a", merged=True) == ["", "--part a"]
    assert write("--part", "b", merged=True) == ["", "--part a", "--part b"]
    rewritten(copy_of_the_code, "STEP = 3\n")
    write("--part", "b", merged=True)
    record = freshness.json.loads((copy_of_the_code / "results" / "one.json").read_text())
    assert freshness.changes_since(record) == ["boosting"]  # of the rows that were kept
    assert write(merged=False) == [""]
