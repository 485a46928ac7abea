"""Files that tools read: they agree with ``pyproject.toml``, the Makefile and the package."""

import re
import tomllib

import pytest
import yaml

import nearboost
from docs.building import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def read(path):
    return yaml.safe_load((ROOT / path).read_text())


def test_citation_is_of_this_version():
    citation = read("CITATION.cff")
    assert citation["title"] == PROJECT["name"]
    assert citation["version"] == PROJECT["version"] == nearboost.__version__
    assert citation["license"] == PROJECT["license"]
    assert citation["keywords"] == PROJECT["keywords"]


def test_citation_names_the_papers():
    papers = read("CITATION.cff")["references"]
    assert len(papers) == 5
    for paper in papers:
        assert paper["authors"]
        assert 2010 <= paper["year"] <= 2013
        assert ("conference" in paper) != ("institution" in paper)


@pytest.mark.parametrize(
    ("job", "systems", "command"),
    [
        ("unix", ["ubuntu-latest", "macos-latest"], "make test"),
        ("windows", ["windows-latest"], "python -m pytest"),
    ],
)
def test_workflow_runs_all_tests_on_all_supported_versions(job, systems, command):
    found = read(".github/workflows/tests.yml")["jobs"][job]
    matrix = found["strategy"]["matrix"]
    named = (re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", one) for one in PROJECT["classifiers"])
    assert matrix["python"] == [version[1] for version in named if version]
    assert matrix.get("os", [found["runs-on"]]) == systems
    assert found["steps"][-1]["run"] == command


def test_hooks_are_the_checks_of_the_makefile():
    hooks = [hook["entry"] for repo in read(".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]]
    makefile = (ROOT / "Makefile").read_text()
    checks = re.search(r"^check:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)[1]
    tools = re.findall(r"\$\(BIN\)/(\S+)(?: (check|format))?", checks)
    assert [hook.removeprefix(".venv/bin/").split(" --")[0] for hook in hooks] == [
        " ".join(t).strip() for t in tools
    ]


@pytest.mark.parametrize("form", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda p: p.stem)
def test_forms_ask_questions_that_can_be_answered(form):
    asked = read(form)
    assert asked["name"]
    assert asked["description"]
    names = [question["id"] for question in asked["body"]]
    assert len(names) == len(set(names)) > 0
    assert all(question["attributes"]["label"] for question in asked["body"])
