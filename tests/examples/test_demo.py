"""The demonstration on fewer images, its cells run in this process."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from nearboost.cli.main import app


@pytest.fixture
def demo(tmp_path, monkeypatch):
    path = Path(__file__).resolve().parents[2] / "examples" / "demo.py"
    spec = spec_from_file_location("demo", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "EACH", 10)
    return module


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


def test_textures_are_the_same_each_time(demo):
    first, second = (demo.draw("clouds", np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert first.shape == (64, 64, 3)
