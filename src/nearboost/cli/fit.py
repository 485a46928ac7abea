"""``nearboost fit``: one method on all training items, kept in a file."""

from pathlib import Path
from typing import Annotated

import typer

from nearboost.cli.common import Exit, Force, command, echo, echo_json, notify, progress, report_skipped


@command
def fit(
    data: Annotated[
        str,
        typer.Argument(help="Folder of images, file of vectors, or folder of a comparison.", show_default=False),
    ],
    out: Annotated[Path, typer.Option(help="The model file to write.")] = Path("model.nb"),
    features: Annotated[
        str | None,
        typer.Option(
            help="Image descriptor: fisher, gist, pixels, bif, bag, pyramid, embedding:FILE.",
            show_default="fisher; none for vectors",
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="Method, optionally with settings, as in nearboost:n_prototypes=0.1.",
            show_default="nearboost; n3 where items have several labels",
        ),
    ] = None,
    part: Annotated[
        str, typer.Option(help="Items to fit to: all, train or test; auto means train if the data is divided.")
    ] = "auto",
    layout: Annotated[str, typer.Option(help="Layout of the data; auto recognises it.")] = "auto",
    scale: Annotated[
        bool,
        typer.Option("--scale", help="Scale features to mean 0 and deviation 1; otherwise rows stay as they are."),
    ] = False,
    store: Annotated[
        Path | None, typer.Option(help="Folder that keeps descriptors, for other calls.", show_default=False)
    ] = None,
    thumbnails: Annotated[bool, typer.Option(help="Keep a small picture of every image that votes.")] = True,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    threads: Annotated[int | None, typer.Option(min=1, help="Number of threads; all cores by default.")] = None,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> Exit:
    """Fit a model to your images or vectors and write it to one file.

    The file holds features, classifier, class names and where each prototype came from. Loading it runs no code.
    Given the folder of a comparison, its data, features and best method are taken where none are named.

    Example: `nearboost fit pictures --out scenes.nb`
    """
    from nearboost.base.disk import check_folder
    from nearboost.compare.report.advice import best_of
    from nearboost.datasets import open_dataset
    from nearboost.models import save
    from nearboost.models.archive import check_model_target
    from nearboost.models.fitting import check_names, fit_model, held_out_words, notes_on
    from nearboost.models.info import read_summary
    from nearboost.models.items import check_part, choose_part

    check_part(part)
    best = best_of(data)
    if best is not None:
        features, method = features or best.features, method or best.method
        scale, layout, data = scale or best.scale, best.layout, best.data
        notify(f"Fitting {method}{f' on {features}' if features else ''} to {data}, as the comparison found best.")
    check_names(features, method)
    check_model_target(out, force=force)
    if store is not None:
        check_folder(store)
    dataset = open_dataset(data, layout)
    if best is not None and best.classes:
        dataset = dataset.with_classes(best.classes)
    for note in dataset.notes:
        notify(f"Note: {note}")
    fitted = fit_model(
        choose_part(dataset, part, "train"),
        features=features,
        method=method,
        scale=scale,
        store=store,
        thumbnails=thumbnails,
        seed=seed,
        n_jobs=threads,
        verbose=progress(),
    )
    save(fitted.model, out)
    for note in notes_on(fitted.model):
        notify(f"Note: {note}")
    if as_json:
        echo_json(read_summary(out) | {"skipped": fitted.skipped})
    else:
        made = fitted.model
        size = f"{made.n_training} items, {len(made.classes)} classes"
        echo(f"Model: {out} ({made.facts['method']}, {size}{held_out_words(made)})")
    return report_skipped(fitted.skipped)
