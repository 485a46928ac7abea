"""``nearboost``: the program and its commands, one file each."""

from importlib import import_module
from typing import Annotated

import typer

from nearboost import __version__
from nearboost.base.errors import UsageError
from nearboost.cli.common import Exit, command, echo, unfailing_output

# Their modules import what is heavy when they run, so that `nearboost --help` is fast.
COMMANDS: tuple[str, ...] = (
    *("compare", "fit", "predict", "evaluate", "explain"),
    *("prune", "add", "forget", "features", "info", "suspects"),
)

app = typer.Typer(
    name="nearboost",
    help="Nearest neighbours that learn: compare, fit and explain classifiers of images and vectors.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        echo(__version__)
        raise typer.Exit


@app.callback()
def program(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Nearest neighbours that learn: compare, fit and explain classifiers of images and vectors."""


for _name in COMMANDS:
    app.command(_name)(getattr(import_module(f"nearboost.cli.{_name}"), _name))
for _name in ("cells_counting", "cells_app"):  # each adds its commands to those of cells
    import_module(f"nearboost.cli.{_name}")
app.add_typer(import_module("nearboost.cli.cells").app, name="cells")


@app.command(hidden=True, context_settings={"ignore_unknown_options": True, "help_option_names": []})
@command
def reproduce(arguments: Annotated[list[str] | None, typer.Argument()] = None) -> Exit:
    """Say where the papers' tables and figures are run now."""
    raise UsageError(
        "The papers' tables and figures are now run from a checkout of the source: "
        "python -m papers NAME --data DIR, or make paper NAME=NAME DATA=DIR."
    )


def main() -> None:
    """Run the program."""
    unfailing_output()
    app()
