"""``nearboost cells``: fields of cells, from images to counts. One command a step, in one project folder."""

from pathlib import Path
from typing import Annotated, Any

import typer

from nearboost.base.errors import UsageError
from nearboost.base.words import counted
from nearboost.cli.common import Exit, command, echo, echo_json, notify, progress, report_skipped

app = typer.Typer(
    help="Segment, describe, train and count cells in images of microscopes. For research; no diagnostic use.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
labels_app = typer.Typer(help="Take labels of cells in, or write them out.", no_args_is_help=True)
app.add_typer(labels_app, name="labels")

Folder = Annotated[Path, typer.Argument(metavar="PROJECT", help="Folder of the project.", show_default=False)]
Images = Annotated[list[Path], typer.Argument(help="Folders of images.", show_default=False)]
Threads = Annotated[int | None, typer.Option(min=1, help="Number of threads; all cores by default.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")]
LayoutFile = Annotated[
    Path | None, typer.Option(help="CSV file of wells: plate, well, dose, control, …", show_default=False)
]
NucleiMasks = Annotated[Path | None, typer.Option(help="Folder of masks of nuclei.", show_default=False)]
CellMasks = Annotated[Path | None, typer.Option(help="Folder of masks of cells.", show_default=False)]
Features = Annotated[
    str | None,
    typer.Option(
        help="Preset of features: localisation, thesis-thyroid, hep2.",
        show_default="those of the last call, or localisation",
    ),
]
Length = str | None
H5ad = Annotated[bool, typer.Option("--h5ad", help="Write cells.h5ad for single-cell tools as well.")]


@app.command()
@command
def new(
    project: Folder,
    images: Images,
    pattern: Annotated[
        str | None,
        typer.Option(
            help="Names of files: bbbc013, bbbc022, plain, or a regular expression with groups plate, well, site, "
            "channel.",
            show_default="the preset that fits",
        ),
    ] = None,
    channel: Annotated[
        list[str] | None,
        typer.Option(help="ROLE=NAME, such as nuclei=1 and stain=GFP; may be repeated.", show_default=False),
    ] = None,
    project_planes: Annotated[
        str | None,
        typer.Option("--project", help="How several planes become one: max or mean.", show_default=False),
    ] = None,
    plane: Annotated[int | None, typer.Option(min=0, help="Take this plane, counted from 0.")] = None,
    pixel_size: Annotated[
        float | None,
        typer.Option(min=1e-4, max=1e4, help="Micrometres of a pixel.", show_default="what files say"),
    ] = None,
    layout: LayoutFile = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> Exit:
    """Make a project of folders of images.

    Files are put together to fields by their names, one file a channel, or hold all channels of a field.

    Example: `nearboost cells new screen images --layout layout.csv`
    """
    from nearboost.base.planes import PROJECTIONS
    from nearboost.cells.creating import create_project

    if project_planes is not None and project_planes not in PROJECTIONS:
        raise UsageError(f"--project {project_planes} is not known; use {' or '.join(PROJECTIONS)}.")
    made = create_project(
        project,
        images,
        pattern=pattern,
        roles=roles_of(channel or []),
        project=project_planes,
        plane=plane,
        pixel_size=pixel_size,
        layout=layout,
        n_jobs=threads,
        verbose=progress(),
    )
    fields, roles = made.project.fields, made.project.reading.roles
    wells = len({(one.place.plate, one.place.well) for one in fields})
    if as_json:
        facts = {"project": str(project), "fields": len(fields), "wells": wells, "channels": roles}
        echo_json(facts | {"pattern": made.project.pattern, "skipped": made.skipped, "notes": made.notes})
    else:
        told = ", ".join(f"{role} in channel {name}" for role, name in roles.items())
        echo(f"Project: {project} ({counted(len(fields), 'field')} of {counted(wells, 'well')}; {told})")
    return report_end(made.skipped, made.notes)


@app.command()
@command
def segment(
    project: Folder,
    nucleus_diameter: Annotated[
        Length,
        typer.Option(help="Of a typical nucleus, in pixels or as in 12um.", show_default="estimated"),
    ] = None,
    border: Annotated[str, typer.Option(help="Cells that touch the border: keep or drop.")] = "keep",
    smallest_nucleus: Annotated[
        Length,
        typer.Option(
            help="Leave smaller nuclei out: a diameter, likewise.", show_default="a third of a typical one"
        ),
    ] = None,
    largest_nucleus: Annotated[
        Length, typer.Option(help="Leave larger nuclei out.", show_default="four times a typical one")
    ] = None,
    smallest_cell: Annotated[
        Length, typer.Option(help="Leave cells with a smaller area than such a disc's out.", show_default=False)
    ] = None,
    largest_cell: Annotated[Length, typer.Option(help="Leave larger cells out.", show_default=False)] = None,
    illumination: Annotated[
        bool, typer.Option("--illumination", help="Correct uneven light; takes 20 fields of a plate.")
    ] = False,
    nuclei_masks: NucleiMasks = None,
    cell_masks: CellMasks = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> Exit:
    """Find nuclei and cells in all fields, or take the masks of another program.

    Masks and pictures of outlines go to `masks`. A second call does what the first one left undone.

    Example: `nearboost cells segment screen`
    """
    from nearboost.cells.segmenting import GivenMasks, segment_project
    from nearboost.cells.settings import SegmentationSettings, in_pixels
    from nearboost.cells.training import pixel_size_of
    from nearboost.cells.writing import opened_for_writing

    lengths = {
        "nucleus_diameter": nucleus_diameter,
        "smallest_nucleus": smallest_nucleus,
        "largest_nucleus": largest_nucleus,
        "smallest_cell": smallest_cell,
        "largest_cell": largest_cell,
    }
    needs_size = any(text is not None and text.strip().endswith("m") for text in lengths.values())
    with opened_for_writing(project) as opened:
        size = pixel_size_of(opened) if needs_size else None
        given: dict[str, Any] = {name: in_pixels(text, size, name) for name, text in lengths.items()}
        settings = SegmentationSettings(border=border, illumination=illumination, **given)
        masks = GivenMasks(nuclei_masks, cell_masks)
        found = segment_project(opened, settings, masks, n_jobs=threads, verbose=progress())
    if as_json:
        facts = {"fields": found.n_fields, "cells": found.n_cells, "settings": found.settings.as_json()}
        echo_json(facts | {"skipped": found.skipped, "notes": found.notes})
    else:
        wide = f"nuclei {found.settings.nucleus_diameter:g} pixels wide"
        cells = f"{found.n_cells:,} in {counted(found.n_fields, 'field')}"
        echo(f"Cells: {cells}, {wide}; outlines are in {project / 'masks'}")
    return report_end(found.skipped, found.notes)


@app.command()
@command
def features(
    project: Folder,
    preset: Features = None,
    h5ad: H5ad = False,
    threads: Threads = None,
    as_json: AsJson = False,
) -> Exit:
    """Measure and describe all cells; the table of cells is `tables/cells.csv`.

    Example: `nearboost cells features screen --preset localisation`
    """
    from nearboost.cells.describing import describe_project
    from nearboost.cells.features import find_preset
    from nearboost.cells.tables import write_cells
    from nearboost.cells.writing import opened_for_writing

    settings = None if preset is None else find_preset(preset)
    with opened_for_writing(project) as opened:
        rows, skipped = describe_project(opened, settings, n_jobs=threads, verbose=progress())
        files = write_cells(opened, rows, h5ad=h5ad)
    if as_json:
        facts = {"cells": len(rows), "numbers": rows.features.shape[1], "measures": len(rows.measures)}
        echo_json(facts | {"files": list(map(str, files)), "skipped": skipped})
    else:
        echo(f"Table: {files[0]} ({len(rows):,} cells; {rows.features.shape[1]} numbers describe each)")
    return report_skipped(skipped)


@labels_app.command("import")
@command
def import_labels(
    project: Folder,
    file: Annotated[Path, typer.Argument(help="CSV file of labels.", show_default=False)],
    as_json: AsJson = False,
) -> Exit:
    """Take labels of cells in: a class, and a point in an image or the number of a cell.

    Columns are class; ImageNumber, or plate, well and site; x and y, or ObjectNumber; and who, when, excluded.

    Example: `nearboost cells labels import screen labels.csv`
    """
    from nearboost.cells.project_labels import import_labels as take_in
    from nearboost.cells.writing import opened_for_writing

    with opened_for_writing(project) as opened:
        found = take_in(opened, file)
    if as_json:
        echo_json({"labels": len(found.labels), "skipped": found.skipped, "notes": found.notes})
    else:
        echo(f"Labels: {project / 'labels.csv'} ({len(found.labels):,} taken from {file})")
    return report_end(found.skipped, list(found.notes))


@labels_app.command("export")
@command
def export_labels(
    project: Folder,
    file: Annotated[Path, typer.Argument(help="The CSV file to write.", show_default=False)],
    as_json: AsJson = False,
) -> Exit:
    """Write the labels of a project to a file, with the numbers that cells have now.

    Example: `nearboost cells labels export screen labels.csv`
    """
    from nearboost.base.disk import check_target
    from nearboost.cells.labels import write_label_file
    from nearboost.cells.project import open_project
    from nearboost.cells.project_labels import read_labels

    check_target(file)
    found = read_labels(open_project(project))
    write_label_file(found.labels, file)
    if as_json:
        echo_json({"file": str(file), "labels": len(found.labels), "skipped": found.skipped})
    else:
        echo(f"Labels: {file} ({len(found.labels):,} cells)")
    return report_skipped(found.skipped)


def roles_of(given: list[str]) -> dict[str, str]:
    """Channels by role, from ROLE=NAME."""
    roles = {}
    for text in given:
        role, equals, name = text.partition("=")
        if not (role and equals and name) or role in roles:
            raise UsageError(f"--channel {text} is not understood; write ROLE=NAME once a role, as in nuclei=1.")
        roles[role] = name
    return roles


def report_end(skipped: dict[str, str], notes: list[str]) -> Exit:
    """Notes, what was left out, and the exit code."""
    for note in notes:
        notify(f"Note: {note}")
    return report_skipped(skipped)
