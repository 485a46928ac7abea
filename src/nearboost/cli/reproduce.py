"""``nearboost reproduce``: a table or figure of the papers, run again."""

from pathlib import Path
from typing import Annotated

import typer

from nearboost.cli.common import Exit, command, give, give_json, tell

DATA = "Folder that holds the data sets; NEARBOOST_DATA by default."
OUT = "Folder of the results; by default reproduced/NAME in the present folder."


@command
def reproduce(
    name: Annotated[str, typer.Argument(help="Table or figure, such as inn-table-3.", show_default=False)] = "",
    data: Annotated[
        Path | None, typer.Option(envvar="NEARBOOST_DATA", help=DATA, show_default=False, show_envvar=False)
    ] = None,
    show_list: Annotated[
        bool, typer.Option("--list", help="List all names, the data they need and what stands in.")
    ] = False,
    repeats: Annotated[
        int | None, typer.Option(min=1, help="Splits; by default as many as in print.", show_default=False)
    ] = None,
    classes: Annotated[
        int | None, typer.Option(min=2, help="At most so many classes.", show_default=False)
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few classes, few images, one split: only to see that it runs.")
    ] = False,
    threads: Annotated[int | None, typer.Option(min=1, help="Of each method; all cores by default.")] = None,
    out: Annotated[Path | None, typer.Option(help=OUT, show_default=False)] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Compute again what is there already.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
) -> Exit:
    """Run a table or figure of the papers again, and show ours beside the paper's numbers.

    Each method runs on each split in a process of its own. A second call goes on where the first one was.

    Example: `nearboost reproduce thesis-table-5.3 --data data --repeats 3`
    """
    import shlex
    import sys

    from rich.console import Console
    from rich.table import Table

    from nearboost.evaluation.reproduce.listing import listing, listing_lines

    if show_list:
        entries = listing(data)
        if as_json:
            give_json(entries)
        else:
            table = Table("name", "shows", "data, below the folder given by --data", show_lines=True)
            for entry in listing_lines(entries):
                table.add_row(*entry)
            Console(soft_wrap=False).print(table)
        return Exit.DONE
    if not name:
        raise ValueError("No table or figure was given; nearboost reproduce --list has all names.")

    from nearboost.evaluation.reproduce.plan import Wish
    from nearboost.evaluation.reproduce.registry import find
    from nearboost.evaluation.reproduce.run import reproduce as run
    from nearboost.evaluation.reproduce.show import as_table, claim_lines, remark_lines

    experiment = find(name)
    if experiment.missing:
        raise ValueError(experiment.missing)
    if data is None:
        raise ValueError("No data were given; use --data FOLDER or set NEARBOOST_DATA.")
    found = run(
        name,
        Wish(data, repeats, classes, quick, threads),
        out or Path("reproduced") / (experiment.name + ("-quick" if quick else "")),
        fresh=fresh,
        say=tell,
        command=shlex.join(["nearboost", *sys.argv[1:]]),
        verbose=int(sys.stderr.isatty()),
    )
    if as_json:
        give_json({"folder": str(found.folder), **found.facts})
    else:
        Console().print(as_table(found.facts))
        for line in claim_lines(found.facts):
            give(f"- {line}")
        for line in remark_lines(found.facts):
            tell(line)
        give(f"Results: {found.folder / 'report.html'}")
    return Exit.DONE if found.is_whole else Exit.PARTLY
