"""``nearboost forget``: a model without some of its items."""

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


def read_lines(file: Path) -> list[str]:
    """What stands on the lines of a file, but empty ones."""
    try:
        text = file.read_text(encoding="utf-8-sig")  # Windows may write a mark at the beginning
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{file} is no UTF-8 text at byte {error.start}; save it as UTF-8, a name on each line."
        ) from error
    return [line for line in text.split("\n") if line]  # names may hold what else ends lines elsewhere


@command
def forget(
    model: Annotated[Path, typer.Argument(help="Model file.", show_default=False)],
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Names of training items, as `info --names` lists them.", show_default=False),
    ] = None,
    names_from: Annotated[
        Path | None, typer.Option("--from", help="A file with a name on each line.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The model file to write.", show_default="MODEL-forgot.nb")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(help="The training data: refit all to it without these items.", show_default=False),
    ] = None,
    layout: Annotated[str, typer.Option(help="Layout of the data; auto recognises it.")] = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help="Number of threads; all cores by default.")] = None,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> Exit:
    """Withdraw training items: the new file is that of a fit to the others, and holds nothing of them.

    Features or scaling that learned from the items must be refitted, which takes the training data, `--data`.

    Example: `nearboost forget scenes.nb beach/17.jpg beach/18.jpg --out scenes-2.nb`
    """
    from nearboost.base.errors import UsageError
    from nearboost.models.archive import check_model_target
    from nearboost.models.changing import forget_in_file

    target = out or model.with_name(f"{model.stem}-forgot.nb")
    check_model_target(target, force=force)
    gone = [*(names or []), *([] if names_from is None else read_lines(names_from))]
    if not gone:
        raise UsageError("No items are named; give their names, or a file of them by --from.")
    found = forget_in_file(model, gone, target, data=data, layout=layout, n_jobs=threads, verbose=progress())
    if as_json:
        echo_json(found)
    else:
        echo(report_change(found))
    for note in found["notes"]:
        notify(f"Note: {note}")
    if target.resolve() != model.resolve():
        notify(f"Note: {model} still holds them; delete it if nothing of them may stay.")
    return report_skipped(found["skipped"])
