"""``nearboost predict``: the class of each image or row."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from nearboost.base.errors import UsageError
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

Write = Callable[[Any, Any], None]  # of a `Prediction` and its table


@command
def predict(
    model: Annotated[Path, typer.Argument(help="Model file.", show_default=False)],
    items: Annotated[list[str], typer.Argument(help="Images, folders of them, or a file or folder of rows.")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="A .csv or .parquet file, or .npy for the probabilities alone; else the table is printed.",
            show_default=False,
        ),
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

    Rows may be larger than memory: they are read, and answers written, in blocks.
    The note of an item says where it is unlike the training items, or why it was skipped: files that cannot be
    read are reported, and the exit code is then 3.

    Example: `nearboost predict scenes.nb new-pictures --top 3 --reject-below 0.6 --out predictions.csv`
    """
    from nearboost.base.progress import progress_bar
    from nearboost.base.words import counted
    from nearboost.models import load_model
    from nearboost.models.items import open_items
    from nearboost.models.prediction import NOTE, prediction_columns, with_skipped

    check_output_name(out, force=force, top=top, reject_below=reject_below)
    check_is_no_input(out, [model, *map(Path, items)])
    loaded = load_model(model)
    opened = open_items(loaded, items)
    for note in opened.notes:
        notify(f"Note: {note}")
    n_items, rows = len(opened.names), loaded.features is None
    blocks = (
        loaded.predict_blocks(opened.items, n_jobs=threads)
        if rows
        else [loaded.predict(opened.given, n_jobs=threads, verbose=progress())]
    )
    lines: list[dict[str, Any]] = []
    skipped: dict[str, str] = {}
    n_said = n_unlike = 0
    with (
        progress_bar("Predicting", n_items, progress() if rows and out is not None else 0) as advance,
        output(out, (n_items, len(loaded.classes)), printed=not as_json) as write,
    ):
        for found in blocks:
            columns = prediction_columns(found, opened.names, top=top, reject_below=reject_below)
            reasons = {place: without_name(why, opened.names[place]) for place, why in found.skipped.items()}
            skipped |= {opened.names[place]: why for place, why in found.skipped.items()}
            write(found, with_skipped(columns, found, reasons, opened.names))
            if as_json:
                lines += [dict(zip(columns, line, strict=True)) for line in zip(*columns.values(), strict=True)]
            n_said, n_unlike = n_said + len(found.places), n_unlike + sum(map(bool, found.notes))
            advance(len(found.places))
    if as_json:
        echo_json({"predictions": lines, "skipped": skipped})
    elif out is not None:
        echo(f"Predictions: {out} ({n_said} items)")
    if n_unlike:
        are = "is" if n_unlike == 1 else "are"
        notify(f"Note: {n_unlike:,} of {counted(n_said, 'item')} {are} {NOTE}; the notes say which.")
    return report_skipped(skipped)


def check_output_name(out: Path | None, *, force: bool, top: int, reject_below: float | None) -> None:
    """Mistakes are reported before any work."""
    from nearboost.base.tables import check_table_name

    if out is None:
        return
    check_table_name(out, force=force, endings=(".csv", ".parquet", ".npy"))
    if out.suffix.lower() == ".npy" and (top > 1 or reject_below is not None):
        raise UsageError(
            f"{out} is for the probabilities of all classes; leave out --top and --reject-below, or write .csv."
        )


def check_is_no_input(out: Path | None, inputs: list[Path]) -> None:
    """Refuse to replace what is asked about, also with --force."""
    from nearboost.datasets.folders import METADATA
    from nearboost.datasets.vectors import LABEL_FILES

    if out is None or not out.exists():
        return
    rows_or_labels = out.suffix.lower() != ".csv" or out.name.lower() in (*LABEL_FILES, METADATA)
    for path in filter(Path.exists, inputs):
        if out.samefile(path) or (path.is_dir() and rows_or_labels and out.parent.samefile(path)):
            raise UsageError(f"{out} belongs to what is asked about; give another name with --out.")


@contextmanager
def output(out: Path | None, shape: tuple[int, int], *, printed: bool) -> Iterator[Write]:
    """Writes predictions, some after the other, to a file that is there once it is whole; or prints them."""
    from nearboost.base.tables import format_columns, table_file

    if out is None:
        n_printed = 0

        def echo_lines(found: Any, table: Any) -> None:
            nonlocal n_printed
            if printed:
                echo(format_columns(table, named=not n_printed).rstrip("\n"))
            n_printed += 1

        yield echo_lines
    elif out.suffix.lower() == ".npy":
        with _probabilities_file(out, shape) as write:
            yield write
    else:
        with table_file(out) as add:
            yield lambda found, table: add(table)


@contextmanager
def _probabilities_file(out: Path, shape: tuple[int, int]) -> Iterator[Write]:
    """A row for each item with a column for each class; NaN for what was skipped."""
    import numpy as np

    from nearboost.base.outputs import npy_file

    with npy_file(out, np.dtype(np.float64), shape) as file:

        def write(found: Any, table: Any) -> None:
            if found.probabilities is None:
                raise ValueError("This classifier gives no probabilities; write its labels to .csv or .parquet.")
            rows = np.full((len(table["name"]), shape[1]), np.nan)
            places = np.sort([*found.places, *found.skipped])
            rows[np.searchsorted(places, found.places)] = found.probabilities
            file.write(rows.data)

        yield write
