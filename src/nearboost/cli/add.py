"""``nearboost add``: a model with more items."""

from pathlib import Path
from typing import Annotated

import typer

from nearboost.cli.common import (
    Exit,
    Force,
    command,
    echo,
    echo_json,
    notify,
    progress,
    report_change,
    report_skipped,
)


@command
def add(
    model: Annotated[Path, typer.Argument(help="Model file.", show_default=False)],
    data: Annotated[str, typer.Argument(help="Folder of images or file of vectors.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option(help="The model file to write.", show_default="MODEL-added.nb")
    ] = None,
    layout: Annotated[str, typer.Option(help="Layout of the data; auto recognises it.")] = "auto",
    part: Annotated[
        str, typer.Option(help="Items of the data: all, train or test; auto means train if it is divided.")
    ] = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help="Number of threads; all cores by default.")] = None,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> Exit:
    """Add labelled items to a model, of its classes or of new ones: the new file is that of a fit to all.

    Items that are in the model already are left out. Models whose features or scaling learned from the items
    cannot be added to; fit them to all the data.

    Example: `nearboost add scenes.nb more-pictures --out scenes-2.nb`
    """
    from nearboost.models.archive import check_model_target
    from nearboost.models.changing import add_to_file
    from nearboost.models.items import check_part

    check_part(part)
    target = out or model.with_name(f"{model.stem}-added.nb")
    check_model_target(target, force=force)
    found = add_to_file(model, data, target, layout=layout, part=part, n_jobs=threads, verbose=progress())
    if as_json:
        echo_json(found)
    else:
        echo(report_change(found))
    for note in found["notes"]:
        notify(f"Note: {note}")
    return report_skipped(found["skipped"])
