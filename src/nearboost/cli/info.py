"""``nearboost info``: what is in a model file."""

from pathlib import Path
from typing import Annotated

import typer

from nearboost.cli.common import Exit, command, echo, echo_json


@command
def info(
    model: Annotated[Path, typer.Argument(help="Model file.", show_default=False)],
    names: Annotated[
        bool, typer.Option("--names", help="List the names of the training items in the file, one per line.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> Exit:
    """Show what is in a model file: features, classifier, classes, versions and sizes.

    Only the header is read, no array is loaded and nothing is run; but `--names` loads the model.

    Example: `nearboost info scenes.nb`
    """
    from nearboost.models.info import as_lines, read_names, read_summary

    if names:
        listed = read_names(model)
        echo_json(listed) if as_json else echo("\n".join(listed))
        return Exit.DONE
    found = read_summary(model)
    if as_json:
        echo_json(found)
    else:
        echo("\n".join(as_lines(found)))
    return Exit.DONE
