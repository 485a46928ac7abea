"""The commands of the page about comparisons, on small data."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from compare.problems import write_blobs, write_stripes
from nearboost.catalogue.methods import METHODS
from nearboost.cli.common import Exit
from nearboost.cli.main import app

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "compare.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ nearboost (.+)$", PAGE, re.MULTILINE)


def test_there_are_commands():
    assert len(COMMANDS) >= 5


@pytest.mark.parametrize("command", COMMANDS)
def test_command_runs(command, tmp_path, monkeypatch, runs_here):
    write_stripes(tmp_path / "pictures", per_class=10)
    write_blobs(tmp_path / "rows.npz")
    monkeypatch.chdir(tmp_path)
    if "rows-report" in command and not command.startswith("compare"):
        CliRunner().invoke(app, ["compare", "rows.npz", "--methods", "crc,linear-svm", "--out", "rows-report"])
    result = CliRunner().invoke(app, shlex.split(command))
    assert result.exit_code == Exit.DONE, result.stderr
    [report] = tmp_path.glob("*/report.html")
    assert report.stat().st_size > 10_000


def test_all_methods_are_on_the_page():
    listed = re.findall(r"^\| (`.+?) \|", PAGE, re.MULTILINE)
    names = {name for line in listed for name in re.findall(r"`([\w-]+)`", line)}
    assert names >= set(METHODS)
