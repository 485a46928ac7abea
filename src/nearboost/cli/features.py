"""``nearboost features``: images as rows of numbers."""

from pathlib import Path
from typing import Annotated

import typer

from nearboost.cli.common import Exit, Force, command, echo, echo_json, notify, progress, report_skipped


@command
def features(
    data: Annotated[str, typer.Argument(help="Folder of images.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Folder for X.npy, labels.csv and the store.")] = Path("features"),
    descriptor: Annotated[
        str,
        typer.Option("--features", help="gist, pixels, bif, bag, pyramid, fisher, embedding:FILE."),
    ] = "gist",
    model: Annotated[
        Path | None, typer.Option(help="Use the features of this model file instead.", show_default=False)
    ] = None,
    layout: Annotated[str, typer.Option(help="Layout of the data; auto recognises it.")] = "auto",
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    threads: Annotated[int | None, typer.Option(min=1, help="Number of threads; all cores by default.")] = None,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> Exit:
    """Describe the images of a folder once, and keep the rows for other commands.

    Descriptors that learn do so from the train part, if the data is divided. After an interruption, the next call
    resumes where this one stopped. The folder can be given to all other commands as data.

    Example: `nearboost features pictures --features gist --out rows` and then `nearboost fit rows`
    """
    from nearboost.base.disk import check_folder, check_target
    from nearboost.catalogue.descriptors import find_descriptor
    from nearboost.datasets import open_dataset
    from nearboost.models.extraction import extract_rows

    find_descriptor(descriptor)
    check_folder(out)
    if (out / "X.npy").exists() and (out / "store").exists():
        check_target(out / "X.npy", force=force)
    dataset = open_dataset(data, layout)
    for note in dataset.notes:
        notify(f"Note: {note}")
    found = extract_rows(
        dataset, out, features=descriptor, model=model, seed=seed, n_jobs=threads, verbose=progress()
    )
    if as_json:
        echo_json(found)
    else:
        echo(f"Rows: {out / 'X.npy'} ({found['items']} of {found['numbers']} numbers)")
    return report_skipped(found["skipped"])
