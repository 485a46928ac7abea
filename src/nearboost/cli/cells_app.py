"""``nearboost cells app``: a project in the browser."""

from typing import Annotated

import typer

from nearboost.base.errors import UsageError
from nearboost.cli.cells import Folder, app
from nearboost.cli.common import Exit, command, echo, notify

PORT = 8765


@app.command("app")
@command
def show_app(
    project: Folder,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of this machine.")] = PORT,
    host: Annotated[
        str, typer.Option(help="Address to listen at; another than this machine's own lets others in.")
    ] = "127.0.0.1",
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address only.")] = False,
) -> Exit:
    """Look at a project in the browser: label cells, train, count. Every label is on the disk at once.

    The address that is printed works once; Ctrl-C ends the app.

    Example: `nearboost cells app screen`
    """
    try:
        from nearboost.app.starting import start_app
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("nearboost"):
            raise
        raise UsageError(
            f'The app needs {error.name}, which is not installed: pip install "nearboost[app]".'
        ) from None
    start_app(project, host=host, port=port, browser=not no_browser, tell=echo, warn=notify)
    return Exit.DONE
