"""``nearboost prune``: a model with fewer prototypes."""

from pathlib import Path
from typing import Annotated

import typer

from nearboost.cli.common import Exit, Force, command, echo, echo_json, progress, report_skipped


@command
def prune(
    model: Annotated[Path, typer.Argument(help="Model file.", show_default=False)],
    keep: Annotated[
        float,
        typer.Option(
            min=0, help="Prototypes to keep: a share of the training items, below 1, or a number of 2 or more."
        ),
    ] = 0.1,
    out: Annotated[
        Path | None, typer.Option(help="The model file to write.", show_default="MODEL-pruned.nb")
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="The training data, if it is not in the file.", show_default=False)
    ] = None,
    layout: Annotated[str, typer.Option(help="Layout of the data; auto recognises it.")] = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help="Number of threads; all cores by default.")] = None,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> Exit:
    """Keep the best prototypes only, with weights learned again; queries get faster and the file smaller.

    Boosted neighbours in which all rows vote hold them in their file; a model with prototypes, and NearBoost, need
    `--data`.

    Example: `nearboost prune scenes.nb --keep 0.05 --data pictures --out small.nb`
    """
    from nearboost.models.archive import check_model_target
    from nearboost.models.pruning import prune_file

    target = out or model.with_name(f"{model.stem}-pruned.nb")
    check_model_target(target, force=force)
    found = prune_file(model, keep, target, data=data, layout=layout, n_jobs=threads, verbose=progress())
    if as_json:
        echo_json(found)
    else:
        before, after = found["before"], found["after"]
        kept = f"{after['prototypes']} prototypes of {before['prototypes']}"
        echo(f"Model: {target} ({kept}, {after['bytes']:,} bytes)")
        if after["held_out_accuracy"] is not None and before["held_out_accuracy"] is not None:
            echo(f"Held-out accuracy {after['held_out_accuracy']:.1%}, before {before['held_out_accuracy']:.1%}")
    return report_skipped(found["skipped"])
