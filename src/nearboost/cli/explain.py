"""``nearboost explain``: who voted on an item, as a picture or a table."""

from pathlib import Path
from typing import Annotated

import typer

from nearboost.base.errors import UsageError
from nearboost.cli.common import Exit, Force, command, echo, echo_json


@command
def explain(
    model: Annotated[Path, typer.Argument(help="Model file.", show_default=False)],
    item: Annotated[str, typer.Argument(help="An image, or a file of rows.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option(help="The .png file of an image's voters.", show_default="ITEM-voters.png")
    ] = None,
    row: Annotated[int, typer.Option(min=0, help="Which row of a file of rows.")] = 0,
    about: Annotated[
        str | None, typer.Option(help="Show votes for and against this class instead of the predicted one.")
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="Number of voters to show.")] = 24,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the voters as JSON.")] = False,
) -> Exit:
    """Show the training items behind one answer, each with its vote for or against the class.

    For an image a picture of thumbnails is written; for a row a table is printed.

    Example: `nearboost explain scenes.nb new-pictures/coast.jpg --out coast-voters.png`
    """
    from dataclasses import asdict

    from nearboost.models import load_model
    from nearboost.models.drawing import check_picture, draw_vote
    from nearboost.models.explanation import as_lines, explain_item

    loaded = load_model(model)
    if loaded.features is None and out is not None:
        raise UsageError("--out is for the picture of an image; the voters of a row are printed: leave it out.")
    written = check_picture(item, out, force=force) if loaded.features is not None else None
    vote, pixels = explain_item(loaded, item, row=row, about=about)
    if written is not None and pixels is not None:
        written.write_bytes(draw_vote(loaded, vote, pixels, most))
    if as_json:
        echo_json(asdict(vote) | {"picture": None if written is None else str(written)})
    else:
        echo("\n".join(as_lines(vote, most)))
        if written is not None:
            echo(f"Picture: {written}")
    return Exit.DONE
