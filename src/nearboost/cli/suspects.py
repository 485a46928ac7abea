"""``nearboost suspects``: training items that may be labelled wrongly."""

from pathlib import Path
from typing import Annotated

import typer

from nearboost.cli.common import Exit, command, echo, echo_json, progress, report_skipped


@command
def suspects(
    model: Annotated[Path, typer.Argument(help="Model file.", show_default=False)],
    data: Annotated[
        str | None, typer.Option(help="The training data, if it is not in the file.", show_default=False)
    ] = None,
    out: Annotated[
        Path, typer.Option(help="The page to write; a .csv file of the same name goes beside it.")
    ] = Path("suspects.html"),
    most: Annotated[int, typer.Option(min=1, help="Number of items to show.")] = 100,
    layout: Annotated[str, typer.Option(help="Layout of the data; auto recognises it.")] = "auto",
    part: Annotated[
        str, typer.Option(help="Items of the data: all, train or test; auto means train if it is divided.")
    ] = "auto",
    threads: Annotated[int | None, typer.Option(min=1, help="Number of threads; all cores by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print them as JSON.")] = False,
) -> Exit:
    """Find training items whose held-out vote disagrees most with their label.

    Without `--data` the held-out votes in the file are used; with it, the classifier is fitted on five folds.

    Example: `nearboost suspects scenes.nb --out suspects.html`
    """
    from nearboost.base.words import counted
    from nearboost.models.suspects import COLUMNS, check_suspects_target, find_suspects, write_suspects

    check_suspects_target(out)
    findings, skipped = find_suspects(
        model, data, layout=layout, part=part, most=most, n_jobs=threads, verbose=progress()
    )
    table = write_suspects(findings, out, model.name)
    if as_json:
        listed = [dict(zip(COLUMNS, one.in_columns(), strict=True)) for one in findings.suspects]
        facts = {"page": str(out), "table": str(table), "judged": findings.n_judged, "found": findings.n_suspects}
        echo_json(facts | {"suspects": listed, "skipped": skipped})
    else:
        shown = len(findings.suspects)
        worst = f"the worst {shown:,} of " if shown < findings.n_suspects else ""
        found = f"{worst}{counted(findings.n_suspects, 'suspect')} of {findings.n_judged:,} judged items"
        echo(f"Page: {out} ({found}), table: {table}")
    return report_skipped(skipped)
