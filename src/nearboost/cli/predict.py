"""``nearboost predict``: the class of each image or row."""

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
    report_skipped,
    without_name,
)


@command
def predict(
    model: Annotated[Path, typer.Argument(help="Model file.", show_default=False)],
    items: Annotated[list[str], typer.Argument(help="Images, folders of them, or a file of rows.")],
    out: Annotated[
        Path | None,
        typer.Option(help="A .csv or .parquet file; otherwise the table is printed.", show_default=False),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Number of most probable classes to list.")] = 1,
    reject_below: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Mark items whose highest probability is below this.", show_default=False),
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Number of threads; all cores by default.")] = None,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> Exit:
    """Predict the class of each image or row, with its probability.

    The note of an item says where it is unlike the training items, or why it was skipped: files that cannot be
    read are reported, and the exit code is then 3.

    Example: `nearboost predict scenes.nb new-pictures --top 3 --reject-below 0.6 --out predictions.csv`
    """
    from nearboost.base.tables import check_table_name, format_columns, write_table
    from nearboost.base.words import counted
    from nearboost.models import load_model
    from nearboost.models.items import open_items
    from nearboost.models.prediction import NOTE, prediction_columns, with_skipped

    if out is not None:
        check_table_name(out, force=force)
    loaded = load_model(model)
    opened = open_items(loaded, items)
    for note in opened.notes:
        notify(f"Note: {note}")
    found = loaded.predict(opened.given, n_jobs=threads, verbose=progress())
    columns = prediction_columns(found, opened.names, top=top, reject_below=reject_below)
    skipped = {opened.names[place]: why for place, why in found.skipped.items()}
    reasons = {place: without_name(why, opened.names[place]) for place, why in found.skipped.items()}
    table = with_skipped(columns, found, reasons, opened.names)
    if out is not None:
        write_table(out, table)
    if as_json:
        lines = [dict(zip(columns, line, strict=True)) for line in zip(*columns.values(), strict=True)]
        echo_json({"predictions": lines, "skipped": skipped})
    elif out is None:
        echo(format_columns(table).rstrip("\n"))
    else:
        echo(f"Predictions: {out} ({len(columns['name'])} items)")
    n_unlike = sum(map(bool, found.notes))
    if n_unlike:
        notify(f"Note: {n_unlike:,} of {counted(len(found.places), 'item')} are {NOTE}; their notes say which.")
    return report_skipped(skipped)
