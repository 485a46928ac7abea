"""``python -m papers NAME --data DIR``: a table or figure of the papers, run again."""

from pathlib import Path
from typing import Annotated, Any

import typer

from nearboost.cli.common import Exit, command, echo, echo_json, echo_table, notify, progress

DATA = "Folder that holds the data sets; by default NEARBOOST_DATA, else data in the present folder."
OUT = "Folder that gets a folder NAME with the results, beside a cache that all names share."


app = typer.Typer(name="papers", add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="markdown")


@app.command()
@command
def reproduce(
    name: Annotated[str, typer.Argument(help="Table or figure, such as inn-table-3.", show_default=False)] = "",
    data: Annotated[
        Path, typer.Option(envvar="NEARBOOST_DATA", help=DATA, show_default=False, show_envvar=False)
    ] = Path("data"),
    show_list: Annotated[
        bool, typer.Option("--list", help="List all names, the data they need and what stands in.")
    ] = False,
    repeats: Annotated[
        int | None,
        typer.Option(min=1, help="Number of splits; by default as many as in print.", show_default=False),
    ] = None,
    classes: Annotated[
        int | None, typer.Option(min=2, help="Maximum number of classes.", show_default=False)
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few classes, few images, one split: only to see that it runs.")
    ] = False,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads per method; all cores by default.")] = None,
    out: Annotated[Path, typer.Option(help=OUT)] = Path("reproduced"),
    fresh: Annotated[bool, typer.Option("--fresh", help="Make features and results anew.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
) -> Exit:
    """Run a table or figure of the papers again, and show ours beside the paper's numbers.

    Each method runs on each split in a process of its own. A second call resumes where the first one stopped.

    Example: `python -m papers thesis-table-5.3 --data data --repeats 3`
    """
    if show_list:
        _show_list(data, as_json)
        return Exit.DONE
    if not name:
        raise ValueError("No table or figure was given; python -m papers --list has all names.")
    import shlex
    import sys

    from papers.plan import RunOptions
    from papers.run import reproduce as run

    found = run(
        name,
        RunOptions(data, repeats, classes, quick, threads),
        out,
        fresh=fresh,
        notify=notify,
        command=shlex.join(["python", "-m", "papers", *sys.argv[1:]]),
        verbose=progress(),
    )
    if as_json:
        echo_json({"folder": str(found.folder), **found.facts})
    else:
        _show(found.facts)
        echo(f"Results: {found.folder / 'report.html'}")
    return Exit.DONE if found.is_complete else Exit.PARTLY


def _show(facts: dict[str, Any]) -> None:
    from papers.report import as_table, claim_lines, remark_lines

    echo_table(as_table(facts))
    for line in claim_lines(facts):
        echo(f"- {line}")
    for line in remark_lines(facts):
        notify(line)


def _show_list(data: Path, as_json: bool) -> None:
    from rich.table import Table

    from papers.registry import listing, listing_lines

    entries = listing(data if data.is_dir() else None)
    if as_json:
        echo_json(entries)
        return
    table = Table("name", "shows", "data, below the folder given by --data", show_lines=True)
    for entry in listing_lines(entries):
        table.add_row(*entry)
    echo_table(table)


if __name__ == "__main__":
    app(prog_name="python -m papers")
