"""The program itself: version, and errors as sentences."""

import logging

import pytest
import typer
from typer.testing import CliRunner

import nearboost
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
