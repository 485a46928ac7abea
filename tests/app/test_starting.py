"""How the app starts, refuses to, and ends."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from app.talking import App, free_port, running
from cli.calling import call, program, refused
from nearboost.app import starting
from nearboost.app.door import Address
from nearboost.cells.creating import create_project
from nearboost.cells.demo import write_demo
from nearboost.cells.project import open_project
from nearboost.cells.segmenting import segment_project
from nearboost.cells.settings import SegmentationSettings
from nearboost.cli.common import Exit

SOON = 5  # seconds, on a machine with other work; about one where there is none


def test_no_project(tmp_path):
    said = refused("cells", "app", tmp_path, "--no-browser", code=Exit.USAGE)
    assert "nearboost cells new" in said


@pytest.mark.parametrize("asked", [True, False])
def test_nothing_is_looked_at_before_somebody_agrees(monkeypatch, asked):
    looked = []
    monkeypatch.setattr(starting, "view_plate", lambda *given: looked.append(given))
    starting.warm_up(SimpleNamespace(project=None, annotations=None, may_read_images=asked))
    assert bool(looked) == asked


def test_a_project_of_a_newer_version(screen):
    content = json.loads((screen / "project.json").read_text())
    (screen / "project.json").write_text(json.dumps(content | {"format": 2}))
    assert "newer version" in refused("cells", "app", screen, "--no-browser", code=Exit.USAGE)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")
def test_a_project_that_another_process_has_open(screen):
    holding = "from nearboost.cells.writing import opened_for_writing; from pathlib import Path; import sys\n"
    holding += "with opened_for_writing(Path(sys.argv[1])): print('held', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", holding, screen], stdin=-1, stdout=-1) as other:
        other.stdout.readline()
        assert "open for writing in process" in refused("cells", "app", screen, "--no-browser", code=Exit.USAGE)
        other.communicate(b"\n")


def test_a_taken_port(screen):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        said = refused("cells", "app", screen, "--no-browser", "--port", port, code=Exit.USAGE)
    assert f"Port {port}" in said
    assert "--port N" in said


@pytest.mark.parametrize("lacking", ["starlette", "uvicorn"])
def test_a_missing_extra(screen, lacking):
    hidden = f"import sys; sys.modules['{lacking}'] = None; from nearboost.cli.main import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", hidden, "cells", "app", screen], capture_output=True, text=True, check=False
    )
    assert ended.returncode == Exit.USAGE
    assert ended.stderr.startswith("Error: ")
    assert 'pip install "nearboost[app]"' in ended.stderr
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_host_that_is_all_hosts(screen, host):
    assert "no single place" in refused("cells", "app", screen, "--no-browser", "--host", host, code=Exit.USAGE)


def test_the_package_loads_nothing_of_the_web():
    asked = "import sys, nearboost, nearboost.cells, nearboost.cli.main; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"starlette", "uvicorn", "anyio", "h11", "nearboost.app"} & set(loaded)


@contextmanager
def started(*words):
    process = subprocess.Popen(
        program("cells", "app", *words), stdout=-1, stderr=-1, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def until_it_answers(address):
    for _ in range(100):
        try:
            return urllib.request.urlopen(address).status
        except OSError:
            time.sleep(0.05)
    return None


@pytest.mark.alone
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_it_starts_and_ends(screen):
    with started(screen, "--no-browser", "--port", free_port()) as (process, address):
        assert address.startswith("http://127.0.0.1:")
        assert until_it_answers(address) == 200
        process.send_signal(signal.SIGINT)
        begun = time.monotonic()
        out, err = process.communicate(timeout=10)
        assert time.monotonic() - begun < SOON
    assert process.returncode == 0
    assert out == ""
    assert err.count("\n") == 1, "no traceback, and nothing of requests"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_it_ends_while_a_job_runs(tmp_path):
    """The job is cancelled, and the fields that it has finished are kept."""
    write_demo(tmp_path / "plate", repeats=1, size=512, n_cells=60)
    made = create_project(tmp_path / "screen", [tmp_path / "plate" / "images"])
    segment_project(made.project, SegmentationSettings())
    with started(tmp_path / "screen", "--no-browser", "--port", free_port()) as (process, address):
        origin, _, token = address.partition("/open#")
        app = App(Address("127.0.0.1", int(origin.rpartition(":")[2])), SimpleNamespace(token=token), None)
        app.enter().be("Ada").write("/api/job/describe", {})
        while app.read("/api/job")["taken"] < 2:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        begun = time.monotonic()
        process.communicate(timeout=20)
        assert time.monotonic() - begun < SOON
    assert process.returncode == 0
    assert len(list((tmp_path / "screen" / "features").rglob("*"))) > 1


@pytest.mark.skipif(sys.platform == "win32", reason="a script as a browser")
def test_the_token_is_in_no_argument(screen, tmp_path):
    """The browser gets a file that only the user reads, which leads to the address."""
    seen = tmp_path / "seen"
    fake = tmp_path / "browser"
    fake.write_text(
        f'#!/bin/sh\nfile=$(echo "$1" | sed s,file://,,)\n'
        f'(echo "$@"; ls -l "$file"; cat "$file"; echo; echo done) > {seen}\n'
    )
    fake.chmod(0o700)
    os.environ["BROWSER"] = str(fake)
    try:
        with started(screen, "--port", free_port()) as (process, address):
            for _ in range(100):
                if seen.exists() and "done" in seen.read_text():
                    break
                time.sleep(0.05)
            arguments = " ".join(process.args)
    finally:
        del os.environ["BROWSER"]
    token = address.partition("#")[2]
    given, listed, *content = seen.read_text().splitlines()
    assert given.startswith("file://")
    assert token not in given + arguments
    assert listed.startswith("-rw-------")
    assert address in "".join(content)


def test_a_warning_where_others_can_reach_it(screen, monkeypatch):
    monkeypatch.setattr("nearboost.app.serving.uvicorn.Server.run", lambda self, sockets: None)
    monkeypatch.setattr("socket.socket.bind", lambda self, address: None)
    monkeypatch.setattr("socket.socket.listen", lambda self, backlog: None)
    assert "Warning" in call("cells", "app", screen, "--no-browser", "--host", "192.168.0.7").err
    assert "Warning" not in call("cells", "app", screen, "--no-browser").err


def test_a_project_from_elsewhere_is_asked_about(screen):
    (screen / "folders.signed").write_text("0" * 64)
    with running(screen) as app:
        app.enter().be("Ada")
        assert app.ask("GET", "/plate").headers["Location"] == "/ask"
        assert app.ask("GET", "/api/fields/1").status == 403
        assert app.ask("POST", "/api/label", {}).status == 403
        folder = open_project(screen).image_folders[0]
        assert folder in app.ask("GET", "/ask").body.decode()
        app.write("/api/ask", {})
        assert app.ask("GET", "/plate").status == 200
    with running(screen) as app:
        assert app.enter().ask("GET", "/plate").status == 200, "asked once"


def test_a_list_of_folders_that_was_changed_is_asked_about(screen):
    content = json.loads((screen / "project.json").read_text())
    (screen / "project.json").write_text(json.dumps(content | {"image_folders": ["/etc"]}))
    with running(screen) as app:
        assert app.enter().ask("GET", "/").status == 303
        assert app.ask("GET", "/plate").headers["Location"] == "/ask"
