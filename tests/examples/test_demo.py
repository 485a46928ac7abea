"""The demonstration on fewer images, its cells run in this process."""

from functools import partial
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nearboost.cli.main import app

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def demo(tmp_path, monkeypatch):
    """The script as a module, in an empty folder; textures are fewer."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.chdir(tmp_path)
    demo = import_module("demo")
    monkeypatch.setattr(demo, "write_known", partial(demo.write_known, each=10))
    return demo


def test_reports_are_written_and_their_places_told(demo, tmp_path, monkeypatch, capsys, runs_here):
    told = []

    def run(command, check):
        assert command[1:3] == ["-m", "nearboost"]
        result = CliRunner().invoke(app, command[3:])
        assert result.exit_code == 0, result.stderr
        told.append(result.stdout.strip().splitlines()[-1])

    monkeypatch.setattr(demo.subprocess, "run", run)
    demo.main()
    reports = [Path("demo_output") / f"report-{name}" / "report.html" for name in ("digits", "textures")]
    assert told == [f"Report: {report}" for report in reports]
    assert all((tmp_path / report).stat().st_size > 10_000 for report in reports)
    assert "$ nearboost compare demo_output/digits.npz" in capsys.readouterr().out
