"""``nearboost cells``: models of cells, counts, scores, and projects as a whole."""

from pathlib import Path
from typing import Annotated, Any

import typer

from nearboost.cli.cells import (
    AsJson,
    CellMasks,
    Features,
    Folder,
    H5ad,
    Images,
    LayoutFile,
    NucleiMasks,
    Threads,
    app,
    report_end,
)
from nearboost.cli.common import Exit, command, echo, echo_json, progress, report_skipped


@app.command()
@command
def train(
    project: Folder,
    labels: Annotated[
        Path | None,
        typer.Option(help="CSV file of labels to take in first.", show_default="labels of the project"),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="Method, optionally with settings, as in n3:class_weight=balanced.",
            show_default="nearboost:class_weight=balanced",
        ),
    ] = None,
    preset: Features = None,
    name: Annotated[str, typer.Option(help="Name of the model's file in `models`.")] = "cells",
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    threads: Threads = None,
    as_json: AsJson = False,
) -> Exit:
    """Train a model on labelled cells; cells of a well are held out together.

    Example: `nearboost cells train screen --labels labels.csv`
    """
    from nearboost.base.errors import UsageError
    from nearboost.cells.features import find_preset
    from nearboost.cells.labels import Found
    from nearboost.cells.project_labels import import_labels
    from nearboost.cells.training import train_cells
    from nearboost.cells.writing import opened_for_writing
    from nearboost.models.fitting import held_out_words

    if not name or Path(name).name != name or name.startswith("."):
        raise UsageError(f"--name {name!r} is no name of a file; use letters and digits.")
    settings = None if preset is None else find_preset(preset)
    with opened_for_writing(project) as opened:
        taken = Found([], {}) if labels is None else import_labels(opened, labels)
        found = train_cells(
            opened, method=method, features=settings, name=name, seed=seed, n_jobs=threads, verbose=progress()
        )
    skipped, notes = taken.skipped | found.skipped, [*taken.notes, *found.notes]
    if as_json:
        facts: dict[str, Any] = {"model": str(found.file), "labels": found.counts}
        facts |= {"method": found.model.facts["method"], "held_out_accuracy": found.model.held_out_accuracy}
        echo_json(facts | {"skipped": skipped, "notes": notes})
    else:
        told = ", ".join(f"{count} {kind}" for kind, count in found.counts.items())
        echo(f"Model: {found.file} ({found.model.facts['method']}; {told}{held_out_words(found.model)})")
    return report_end(skipped, notes)


@app.command()
@command
def predict(
    project: Folder,
    model: Annotated[
        Path | None, typer.Option(help="File of a model of cells.", show_default="the project's last")
    ] = None,
    h5ad: H5ad = False,
    threads: Threads = None,
    as_json: AsJson = False,
) -> Exit:
    """Predict the class of every cell, into `tables/cells.csv`; nothing is trained.

    A model of other channels, pixels or settings is refused.

    Example: `nearboost cells predict screen --model cells.nb`
    """
    from nearboost.cells.tables import predict_project, write_cells
    from nearboost.cells.writing import opened_for_writing

    with opened_for_writing(project) as opened:
        found = predict_project(opened, model, n_jobs=threads, verbose=progress())
        files = write_cells(opened, found.rows, found, h5ad=h5ad)
    named = found.prediction.labels.tolist()
    counts = {name: named.count(name) for name in found.model.classes}
    if as_json:
        echo_json(
            {"cells": len(named), "counts": counts, "files": list(map(str, files)), "skipped": found.skipped}
        )
    else:
        told = ", ".join(f"{count:,} {name}" for name, count in counts.items())
        echo(f"Table: {files[0]} ({len(named):,} cells: {told})")
    return report_skipped(found.skipped)


@app.command()
@command
def count(project: Folder, threads: Threads = None, as_json: AsJson = False) -> Exit:
    """Count the cells of each class by image, well and plate; Z′ of controls, and EC50 of doses.

    Labelled cells count by their label, others by what the model says.

    Example: `nearboost cells count screen`
    """
    from nearboost.cells.tables import count_project
    from nearboost.cells.writing import opened_for_writing

    with opened_for_writing(project) as opened:
        found = count_project(opened, n_jobs=threads, verbose=progress())
    lines = [dict(zip(found.responses, line, strict=True)) for line in zip(*found.responses.values(), strict=True)]
    if as_json:
        counts = [dict(zip(found.counts, line, strict=True)) for line in zip(*found.counts.values(), strict=True)]
        files = list(map(str, found.files))
        facts = {"files": files, "counts": counts, "responses": lines}
        echo_json(facts | {"skipped": found.skipped, "notes": found.notes})
    else:
        for line in lines:
            apart = line["z_prime_note"].rstrip(".") or f"Z′ {line['z_prime']:.2f}"
            half = line["ec50_note"]
            if line["ec50"] is not None:
                half = f"EC50 {line['ec50']:.3g} ({line['ec50_low']:.3g} to {line['ec50_high']:.3g})"
            where = " ".join(filter(None, (line["plate"], line["compound"])))
            echo(f"{where} {line['readout']}: {apart}; {half}")
        echo(f"Tables: {', '.join(map(str, found.files))}")
    return report_end(found.skipped, found.notes)


@app.command("score-segmentation")
@command
def score_segmentation(
    project: Folder, nuclei_masks: NucleiMasks = None, cell_masks: CellMasks = None, as_json: AsJson = False
) -> Exit:
    """Compare the masks of a project with others that are trusted: F1 at half of the union, mean precision.

    Example: `nearboost cells score-segmentation screen --nuclei-masks truth`
    """
    from nearboost.cells.judging import score_project
    from nearboost.cells.project import open_project
    from nearboost.cells.scoring import pooled

    found = score_project(open_project(project), nuclei_masks, cell_masks)
    answer: dict[str, Any] = {}
    for kind, scores in found.scores.items():
        if scores:
            lowest = min(scores, key=lambda name: scores[name].f1)
            fields = {name: score.as_json() for name, score in scores.items()}
            answer[kind] = pooled(scores.values()).as_json() | {"lowest": lowest, "fields": fields}
    if as_json:
        echo_json(answer | {"skipped": found.skipped})
    else:
        for kind, one in answer.items():
            worst = f"{one['fields'][one['lowest']]['f1']:.3f} in {one['lowest']}"
            counts = (
                f"{one['found']} found, {one['reference']} true, {one['splits']} split, {one['merges']} merged"
            )
            echo(f"{kind}: F1 {one['f1']:.3f} (lowest {worst}), mean AP {one['mean_ap']:.3f}; {counts}")
    return report_skipped(found.skipped)


@app.command()
@command
def relink(
    project: Folder,
    folder: Annotated[Path, typer.Argument(help="Where the images are now.", show_default=False)],
    threads: Threads = None,
    as_json: AsJson = False,
) -> Exit:
    """Find images that were moved or renamed, by their content.

    Example: `nearboost cells relink screen /new/place/of/images`
    """
    from nearboost.cells.creating import relink as find_again
    from nearboost.cells.writing import opened_for_writing

    with opened_for_writing(project) as opened:
        made = find_again(opened, folder, n_jobs=threads, verbose=progress())
    if as_json:
        echo_json({"fields": len(made.project.fields), "skipped": made.skipped})
    else:
        there = len(made.project.fields) - len(made.skipped)
        echo(f"Project: {project} (images of {there:,} of {len(made.project.fields):,} fields are there)")
    return report_skipped(made.skipped)


@app.command()
@command
def demo(
    folder: Annotated[Path, typer.Argument(help="Folder to write to.", show_default=False)],
    seed: Annotated[int, typer.Option(min=0, help="Equal seeds give equal files.")] = 0,
    repeats: Annotated[int, typer.Option(min=1, max=16, help="Wells of each control and dose.")] = 3,
    size: Annotated[int, typer.Option(min=64, max=4096, help="Height and width of a field.")] = 256,
    cells: Annotated[int, typer.Option(min=2, max=5000, help="Cells of a field.")] = 30,
    as_json: AsJson = False,
) -> Exit:
    """Make up a plate of two-channel fields with known masks, classes and doses.

    Example: `nearboost cells demo plate`
    """
    from nearboost.base.disk import check_folder
    from nearboost.cells.demo import write_demo
    from nearboost.datasets import DataError

    check_folder(folder)
    if folder.exists() and any(folder.iterdir()):
        raise DataError(f"{folder} is not empty; give the name of a new folder.")
    made = write_demo(folder, seed=seed, repeats=repeats, size=size, n_cells=cells, verbose=progress())
    if as_json:
        echo_json({"folder": str(folder)} | made)
    else:
        echo(f"Plate: {folder} ({made['cells']:,} cells in {made['wells']} wells; README.txt says what is where)")
    return Exit.DONE


@app.command()
@command
def run(
    pipeline: Annotated[Path, typer.Argument(help="pipeline.json of a project.", show_default=False)],
    images: Images,
    out: Annotated[Path, typer.Option(help="Folder of the new project.", show_default=False)],
    layout: LayoutFile = None,
    nuclei_masks: NucleiMasks = None,
    cell_masks: CellMasks = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> Exit:
    """Repeat all steps of a project: the same images give the same bytes, others get the same settings and model.

    Example: `nearboost cells run screen/pipeline.json more-images --out screen-2`
    """
    from nearboost.cells.running import run_pipeline
    from nearboost.cells.segmenting import GivenMasks

    masks = GivenMasks(nuclei_masks, cell_masks)
    made = run_pipeline(pipeline, images, out, layout=layout, masks=masks, n_jobs=threads, verbose=progress())
    if as_json:
        files = list(map(str, made.files))
        echo_json({"project": str(out), "files": files, "skipped": made.skipped, "notes": made.notes})
    else:
        echo(f"Project: {out} ({len(made.project.fields):,} fields); tables: {', '.join(map(str, made.files))}")
    return report_end(made.skipped, made.notes)
