"""``nearboost evaluate``: how right a model is on labelled data."""

from pathlib import Path
from typing import Annotated

import typer

from nearboost.cli.common import Exit, command, echo, echo_json, notify, progress, report_skipped


@command
def evaluate(
    model: Annotated[Path, typer.Argument(help="Model file.", show_default=False)],
    data: Annotated[str, typer.Argument(help="Folder of images or file of vectors.", show_default=False)],
    part: Annotated[
        str, typer.Option(help="Items to evaluate on: all, train or test; auto means test if the data is divided.")
    ] = "auto",
    layout: Annotated[str, typer.Option(help="Layout of the data; auto recognises it.")] = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help="Number of threads; all cores by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all measures as JSON.")] = False,
) -> Exit:
    """Measure a model on labelled data that it has not seen.

    Items that it was fitted on are counted and reported, because they flatter it.

    Example: `nearboost evaluate scenes.nb pictures --part test`
    """
    from nearboost.datasets import open_dataset
    from nearboost.models import load_model
    from nearboost.models.evaluation import as_lines, evaluate_model
    from nearboost.models.items import check_part, choose_part

    check_part(part)
    loaded = load_model(model)
    dataset = choose_part(open_dataset(data, layout), part, "test")
    found = evaluate_model(loaded, dataset, n_jobs=threads, verbose=progress())
    if found["trained_on"]:
        seen = f"{found['trained_on']} of the {found['items']} items"
        notify(f"Note: {seen} were trained on, which flatters the model; measure it on others.")
    if as_json:
        echo_json(found)
    else:
        echo("\n".join(as_lines(found)))
    return report_skipped(found["skipped"])
