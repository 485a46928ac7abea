"""The commands of the page about cells run as they stand there."""

import re
import shlex
from pathlib import Path

import pytest

from cli.calling import call
from nearboost.cli.common import Exit

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "cells.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^nearboost (cells .+?)(?:  +#.*)?$", PAGE, re.MULTILINE)


@pytest.mark.slow
def test_commands_run_one_after_the_other(tmp_path, monkeypatch):
    assert len(COMMANDS) >= 10
    monkeypatch.chdir(tmp_path)
    for command in COMMANDS:
        ended = call(*shlex.split(command))
        assert ended.code == Exit.DONE, ended.err
    for name in ("pipeline.json", "tables/cells.csv", "tables/counts.csv", "models/cells.nb"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "screen" / name).read_bytes()
