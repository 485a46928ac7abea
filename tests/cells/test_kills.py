"""A process is killed while it segments, describes or writes tables; the same call again yields the same bytes."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from cli.calling import call
from nearboost.cli.common import Exit

SECONDS = 60  # that a child may take


def contents(project):
    """All files but the store of rows, whose order is that of its making, and hidden ones, which a kill left."""
    files = (path for path in project.rglob("[!.]*") if path.is_file() and "features" not in path.parts)
    return {str(path.relative_to(project)): path.read_bytes() for path in files}


def kill_when(reached, *words):
    """Start a command and kill it as soon as something has been reached; whether that was before its end."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "nearboost", "cells", *map(str, words), "--threads", "1"]
    child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + SECONDS
    while child.poll() is None and not reached() and time.monotonic() < deadline:
        time.sleep(0.001)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    return child.returncode == -signal.SIGKILL


@pytest.mark.alone
def test_the_same_bytes_after_kills(plate, tmp_path):
    projects = [tmp_path / name for name in ("whole", "killed")]
    for project in projects:
        assert call("cells", "new", project, plate / "images").code == Exit.DONE
    whole, killed = projects
    for step in ("segment", "features"):
        assert call("cells", step, whole).code == Exit.DONE

    masks, n_killed = killed / "masks", 0
    for n_files in (1, 6, 9, 30, 55):  # of four for each field: masks, outlines, record
        n_killed += kill_when(lambda n=n_files: len(list(masks.iterdir())) >= n, "segment", killed)
    assert n_killed > 2
    assert call("cells", "segment", killed).code == Exit.DONE
    assert contents(killed / "masks") == contents(whole / "masks")

    n_killed = 0
    for written in ("features/*/rows.npy", "features/*/table.csv", "tables/*cells.csv*"):
        shutil.rmtree(killed / "features")
        n_killed += kill_when(lambda path=written: any(killed.glob(path)), "features", killed)
    assert n_killed > 1
    assert call("cells", "features", killed).code == Exit.DONE
    assert contents(killed) == contents(whole)
