"""Commands called as people call them."""

import json
import signal
import subprocess
import sys
from types import SimpleNamespace

from typer.testing import CliRunner

from nearboost.cli.common import Exit
from nearboost.cli.main import app

WRITING = ("fit", "predict", "explain", "suspects", "prune", "add", "forget", "features")


def call(*words, force=True):
    """A command; those that write replace what the one before wrote."""
    more = ["--force"] if force and words[0] in WRITING else []
    ended = CliRunner().invoke(app, [str(word) for word in (*words, *more)], catch_exceptions=False)
    return SimpleNamespace(code=ended.exit_code, out=ended.stdout, err=ended.stderr)


def answer(*words):
    """What a command prints as JSON."""
    return json.loads(call(*words, "--json").out)


def refused(*words, code=Exit.FAILED, force=True):
    """The one sentence of a command that fails."""
    ended = call(*words, force=force)
    assert ended.code == code
    assert ended.out == ""
    *_, said = ended.err.splitlines()
    assert said.startswith("Error: ")
    assert said.endswith(".")
    return said


def interruptible(*words):
    """A running process that an interruption reaches, also where the tests themselves run in the background."""
    return subprocess.Popen(
        program(*words),
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def program(*words):
    """The words of a process of its own."""
    return [sys.executable, "-c", "from nearboost.cli.main import main; main()", *map(str, words)]
