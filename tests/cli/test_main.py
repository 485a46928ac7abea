"""The program itself: version, and errors as sentences."""

import json
import logging
import os
import subprocess

import pytest
import typer
from typer.testing import CliRunner

import nearboost
from cli.calling import call, program
from nearboost.cli.common import Exit, command, report_skipped
from nearboost.cli.main import app


def ended(run):
    with pytest.raises(typer.Exit) as end:
        command(run)()
    return end.value.exit_code


def test_version():
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == Exit.DONE
    assert result.stdout.strip() == nearboost.__version__


def test_what_the_library_logs_is_told(capsys):
    assert ended(lambda: logging.getLogger("nearboost").warning("compiling kernels")) == Exit.DONE
    assert capsys.readouterr().err == "compiling kernels\n"


def test_no_such_option_is_a_usage_error():
    assert CliRunner().invoke(app, ["--nonsense"]).exit_code == Exit.USAGE


def test_letters_that_standard_output_lacks(tmp_path):
    """As on Windows, where a pipe has few of them."""
    (tmp_path / "trees.csv").write_text("a,label\n" + "1,Bäume\n2,海\n" * 9, encoding="utf-8")
    assert call("fit", tmp_path / "trees.csv", "--out", tmp_path / "trees.nb", "--method", "knn").code == Exit.DONE
    words, narrow = ("info", tmp_path / "trees.nb"), os.environ | {"PYTHONIOENCODING": "ascii"}
    told = subprocess.run(program(*words), env=narrow, capture_output=True, check=True).stdout
    assert b"classes         2: B\\xe4ume, \\u6d77\n" in told
    told = subprocess.run(program(*words, "--json"), env=narrow, capture_output=True, check=True).stdout
    assert json.loads(told)["classes"] == ["Bäume", "海"]


def test_output_may_be_closed(tmp_path):
    (tmp_path / "rows.csv").write_text("a,label\n" + "1,x\n2,y\n" * 9)
    words = ["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *program("fit", "rows.csv", "--method", "knn")]
    assert subprocess.run(words, cwd=tmp_path, check=False).returncode == Exit.DONE
    assert (tmp_path / "model.nb").is_file()


@pytest.mark.parametrize("mistake", [ValueError, FileNotFoundError, ImportError])
def test_mistake_is_one_sentence(mistake, capsys):
    def run():
        raise mistake("this is wrong.")

    assert ended(run) == Exit.FAILED
    assert capsys.readouterr().err == "Error: this is wrong.\n"


def test_error_of_the_system_is_a_sentence(tmp_path, capsys):
    assert ended(lambda: (tmp_path / "nowhere/a.txt").write_text("")) == Exit.FAILED
    said = f"Error: {tmp_path / 'nowhere/a.txt'} cannot be read or written: No such file or directory.\n"
    assert capsys.readouterr().err == said


def test_debugging_shows_the_traceback(monkeypatch):
    monkeypatch.setenv("NEARBOOST_DEBUG", "1")

    def run():
        raise ValueError("this is wrong.")

    with pytest.raises(ValueError, match="this is wrong"):
        command(run)()


@pytest.mark.parametrize(
    ("why", "name", "told"),
    [
        ("/data/a/b.png is empty.", "a/b.png", "Skipped a/b.png: it is empty."),
        ("a/b.png is empty.", "a/b.png", "Skipped a/b.png: it is empty."),
        ("/data/xa/b.png is empty.", "a/b.png", "Skipped a/b.png: /data/xa/b.png is empty."),
        ("Too dark.", "a/b.png", "Skipped a/b.png: Too dark."),
    ],
)
def test_skipped_items_are_named_once(why, name, told, capsys):
    assert report_skipped({name: why}) == Exit.PARTLY
    assert capsys.readouterr().err == f"{told}\n"


def test_interruption():
    def run():
        raise KeyboardInterrupt

    assert ended(run) == Exit.INTERRUPTED


def test_a_command_says_how_it_ended():
    assert ended(lambda: Exit.PARTLY) == Exit.PARTLY
    assert ended(lambda: None) == Exit.DONE


@pytest.mark.parametrize(
    "arguments",
    [[], ["--list"], ["--help"], ["inn-table-3", "--data", "d", "--json"], ["a", "--no-such", "-x"]],
)
def test_reproduce_says_where_it_went(arguments):
    result = CliRunner().invoke(app, ["reproduce", *arguments])
    assert result.exit_code == Exit.USAGE
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert "python -m papers NAME --data DIR" in result.stderr
