"""``nearboost suspects``: training items that may be labelled wrongly."""

from pathlib import Path
from typing import Annotated

import typer

from nearboost.cli.common import Exit, Force, command, echo, echo_json, progress, report_skipped


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
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print them as JSON.")] = False,
) -> Exit:
    """Find training items whose label is least probable to those that have not seen it, and how many are wrong.

    Items are judged by NearBoost without their own label: by its votes in the file, or fitted to the training rows
    in the file or, with `--data`, to the data.

    Example: `nearboost suspects scenes.nb --out suspects.html`
    """
    from nearboost.base.words import counted
    from nearboost.models.suspects import COLUMNS, check_suspects_target, find_suspects, write_suspects

    check_suspects_target(out, force=force)
    findings, skipped = find_suspects(
        model, data, layout=layout, part=part, most=most, n_jobs=threads, verbose=progress()
    )
    table = write_suspects(findings, out, model.name)
    if as_json:
        listed = [dict(zip(COLUMNS, one.in_columns(), strict=True)) for one in findings.suspects]
        facts = {"page": str(out), "table": str(table), "judged": findings.n_judged, "found": findings.n_suspects}
        facts |= {"likely_wrong": findings.n_likely, "share_wrong": findings.share}
        echo_json(facts | {"suspects": listed, "skipped": skipped})
    else:
        shown = len(findings.suspects)
        worst = f"the worst {shown:,} of " if shown < findings.n_suspects else ""
        found = f"{worst}{counted(findings.n_suspects, 'suspect')} of {findings.n_judged:,} judged items"
        echo(f"Page: {out} ({found}; {findings.likely}), table: {table}")
    return report_skipped(skipped)
