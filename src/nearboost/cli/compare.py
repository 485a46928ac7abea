"""``nearboost compare``: methods on the same splits, and a report of them."""

from pathlib import Path
from typing import Annotated

import typer

from nearboost.base.errors import UsageError
from nearboost.cli.common import Exit, command, echo, echo_json, echo_table, notify, progress, report_skipped

FEATURES = "Image descriptors, separated by commas: fisher, gist, pixels, bif, bag, pyramid, embedding:FILE."
METHODS = "Methods, separated by commas, or all; settings as in n3:n_prototypes=0.1."
PROTOCOL = "fixed, half, 30-per-class, 100-per-class/50, 5-fold, grouped-half, grouped-5-fold."
# What happens without an option; shown as its default.
USUAL_METHODS = "nearboost,knn,weighted-knn,unn,n3,innc,slnd,linear-svm,rbf-svm"
USUAL_PROTOCOL = "fixed where the data has train and test, else half"


@command
def compare(
    data: Annotated[str, typer.Argument(help="Folder of images or file of vectors.", show_default=False)],
    features: Annotated[str, typer.Option(help=FEATURES, show_default="fisher; none for vectors")] = "",
    methods: Annotated[str, typer.Option(help=METHODS, show_default=USUAL_METHODS)] = "",
    protocol: Annotated[str, typer.Option(help=PROTOCOL, show_default=USUAL_PROTOCOL)] = "",
    repeats: Annotated[int, typer.Option(min=1, help="Number of times the splits are drawn.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first draw; later ones count up from it.")] = 0,
    classes: Annotated[
        str, typer.Option(help="Use only these classes, two or more, separated by commas.", show_default="all")
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option(help="Folder to write the report to.", show_default="compare- and the name of the data"),
    ] = None,
    layout: Annotated[str, typer.Option(help="Layout of the data; auto recognises it.")] = "auto",
    image_shape: Annotated[
        str,
        typer.Option(
            help="Height and width of vectors that are images, as in 32x32 or 32x32x3.",
            show_default="as the data says",
        ),
    ] = "",
    curve: Annotated[
        bool, typer.Option("--curve", help="Fit to 10, 20 and 50 % of the training items as well.")
    ] = False,
    scale: Annotated[
        bool,
        typer.Option("--scale", help="Scale features to mean 0 and deviation 1; otherwise rows stay as they are."),
    ] = False,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads per method.", show_default="all cores")
    ] = None,
    run_timeout: Annotated[
        float | None,
        typer.Option(min=0.001, help="Seconds that a method may take on one split.", show_default="no limit"),
    ] = None,
    cell_timeout: Annotated[float | None, typer.Option(min=0.001, hidden=True)] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Recompute results that exist already.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
) -> Exit:
    """Compare methods on your data, on the same splits, and write a report.

    Each method runs on each split in a process of its own. A second call resumes where the first one stopped, and
    other methods or features join those of the first in the report.

    Example: `nearboost compare pictures --features gist,fisher --methods knn,n3,rbf-svm --repeats 5 --out report`
    """
    import shlex
    import sys

    from nearboost.compare.comparison import Settings
    from nearboost.compare.comparison import compare as run
    from nearboost.compare.report.writing import terminal_summary, terminal_table

    settings = Settings(
        data,
        features=_listed(features),
        methods=_listed(methods),
        protocol=protocol or None,
        repeats=repeats,
        seed=seed,
        classes=_listed(classes),
        out=out,
        fresh=fresh,
        scale=scale,
        threads=threads,
        run_timeout=run_timeout or cell_timeout,  # the former name of the option
        layout=layout,
        image_shape=_sides(image_shape),
        curve=curve,
        command=shlex.join(["nearboost", *sys.argv[1:]]),
    )
    found = run(settings, notify, verbose=progress())
    report_skipped(found.skipped)
    if as_json:
        echo_json({"report": str(found.report), **found.facts.as_json()})
    else:
        if found.facts.leaderboard:  # otherwise the lines of the failed runs have said it all
            echo_table(terminal_table(found.facts))
            echo(terminal_summary(found.facts))
        echo(f"Report: {found.report}")
    return Exit.DONE if found.is_complete else Exit.PARTLY


def _sides(text: str) -> list[int]:
    """Height and width, and perhaps channels, with an x between."""
    sides = text.lower().split("x") if text else []
    if not all(side.strip().isdecimal() for side in sides):
        raise UsageError(f"--image-shape {text} is not understood; give height and width as in 32x32, or 32x32x3.")
    return [int(side) for side in sides]


def _listed(text: str) -> list[str]:
    """The parts between commas; a comma in a name is written twice."""
    kept = text.replace(",,", "\0")
    return [part.strip().replace("\0", ",") for part in kept.split(",") if part.strip()]
