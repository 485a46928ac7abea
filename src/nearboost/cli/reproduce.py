"""``nearboost reproduce``: says where the tables and figures of the papers went."""

from typing import Annotated

import typer

from nearboost.base.errors import UsageError
from nearboost.cli.common import Exit, command


@command
def reproduce(
    arguments: Annotated[list[str] | None, typer.Argument(hidden=True, show_default=False)] = None,
) -> Exit:
    """Moved: the tables and figures of the papers are run from a copy of the sources."""
    raise UsageError(
        "The papers' tables and figures are run from the source tree: python -m papers NAME --data DIR, "
        "or make paper NAME=..."
    )
