"""``nearboost compare``: methods on the same splits, and a report of them."""

from pathlib import Path
from typing import Annotated

import typer

from nearboost.cli.common import Exit, command, give, give_json, tell

OUT = "Folder of the report; by default one named after the data, in the present folder."


@command
def compare(
    data: Annotated[str, typer.Argument(help="Folder of images or file of vectors.", show_default=False)],
    features: Annotated[
        str,
        typer.Option(
            help="Descriptors of images, with commas: gist, pixels, bif, bag, pyramid, fisher, embedding:FILE."
        ),
    ] = "",
    methods: Annotated[
        str, typer.Option(help="Methods, with commas, or all; with settings as in n3:n_prototypes=0.1.")
    ] = "",
    protocol: Annotated[
        str,
        typer.Option(help="fixed, half, 30-per-class, 100-per-class/50, 5-fold, grouped-half, grouped-5-fold."),
    ] = "",
    repeats: Annotated[int, typer.Option(min=1, help="How often the splits are drawn.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Of the first draw; the next ones count on.")] = 0,
    classes: Annotated[str, typer.Option(help="Only these classes, with commas.")] = "",
    out: Annotated[Path | None, typer.Option(help=OUT, show_default=False)] = None,
    layout: Annotated[str, typer.Option(help="Layout of the data; auto looks at it.")] = "auto",
    scale: Annotated[
        bool,
        typer.Option("--scale", help="Give features mean 0 and deviation 1; else rows are taken as they are."),
    ] = False,
    threads: Annotated[int | None, typer.Option(min=1, help="Of each method; all cores by default.")] = None,
    cell_timeout: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds that a method may take on one split.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Compute again what is there already.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
) -> Exit:
    """Compare methods on your data, on the same splits, and write a report.

    Each method runs on each split in a process of its own. A second call goes on where the first one was.

    Example: `nearboost compare pictures --features gist --methods knn,n3,rbf-svm --repeats 5 --out report`
    """
    import shlex
    import sys

    from nearboost.evaluation.compare import Wish
    from nearboost.evaluation.compare import compare as run
    from nearboost.evaluation.report.writing import without_pictures

    wish = Wish(
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
        cell_timeout=cell_timeout,
        layout=layout,
        command=shlex.join(["nearboost", *sys.argv[1:]]),
    )
    found = run(wish, tell, verbose=int(sys.stderr.isatty()))
    for name, problem in list(found.skipped.items())[:10]:
        tell(f"Skipped {name}: {problem}")
    if as_json:
        give_json({"report": str(found.report), **without_pictures(found.facts)})
    else:
        give(f"Report: {found.report}")
    return Exit.DONE if found.is_whole else Exit.PARTLY


def _listed(text: str) -> list[str]:
    """The parts between commas; a comma in a name is written twice."""
    kept = text.replace(",,", "\0")
    return [part.strip().replace("\0", ",") for part in kept.split(",") if part.strip()]
