"""Facts as text: a table for the terminal, CSV, and a page."""

from collections.abc import Iterator
from typing import Any

from markupsafe import Markup

from nearboost.base.tables import format_csv
from nearboost.pages.rendering import render_template

MOST_COLUMNS = 8  # more are shown as rows
Facts = dict[str, Any]


def as_table(facts: Facts) -> Any:
    """A table of rich: ours ± deviation, and the paper's in brackets."""
    from rich.table import Table

    columns, rows = grid(facts)
    caption = facts["measure"] + ("; the paper's in brackets" if has_printed(facts) else "")
    table = Table(title=title(facts), caption=caption, show_lines=True, min_width=60)
    table.add_column("")
    for column in columns:
        table.add_column(column, justify="right", overflow="fold")
    for name, cells in rows:
        table.add_row(name, *(cell.replace(" (", "\n(") for cell in cells))
    return table


def title(facts: Facts) -> str:
    """Name and place in print; quick runs say so."""
    label = f"{facts['name']} ({facts['place']})"
    return f"QUICK, not to be compared: {label}" if facts.get("quick") else label


def has_printed(facts: Facts) -> bool:
    """Whether the paper has numbers for any cell; of most figures it has none."""
    return any(cell["paper"] for row in facts["rows"] for cell in row["cells"])


def grid(facts: Facts) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Columns and rows as text; wide tables are turned."""
    columns, rows = (
        facts["columns"],
        [(row["name"], row_texts(row["cells"])) for row in facts["rows"]],
    )
    if len(columns) > max(MOST_COLUMNS, len(rows)):
        turned = [(column, [cells[i] for _, cells in rows]) for i, column in enumerate(columns)]
        return [name for name, _ in rows], turned
    return columns, rows


def row_texts(cells: list[Facts]) -> list[str]:
    """The cells of a row; numbers that are all whole, such as those of training items, have no decimals.

    >>> row_texts([{"ours": {"mean": mean, "deviation": None}, "paper": None} for mean in (664.0, 4.0)])
    ['664', '4']
    """
    ours = [cell["ours"] for cell in cells if cell["ours"] is not None]
    whole = all(one["deviation"] is None and float(one["mean"]).is_integer() for one in ours)
    return [cell_text(cell).removesuffix(".0") if whole else cell_text(cell) for cell in cells]


def cell_text(cell: Facts) -> str:
    """Ours and the paper's.

    >>> cell_text({"ours": {"mean": 81.24, "deviation": 0.4}, "paper": {"text": "84.28"}})
    '81.2 ± 0.4 (84.28)'
    """
    ours, paper = cell["ours"], cell["paper"]
    label = "" if ours is None else number_text(ours["mean"])
    if ours is not None and ours["deviation"] is not None:
        spread = ours["deviation"]
        label += f" ± {spread:.1f}" if abs(ours["mean"]) >= 10 else f" ± {number_text(spread)}"
    return f"{label} ({paper['text']})".strip() if paper else label


def number_text(value: float) -> str:
    """One decimal from 10 up, three figures below.

    >>> number_text(81.24), number_text(0.0123), number_text(0.0)
    ('81.2', '0.0123', '0')
    """
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.3g}"


def claim_lines(facts: Facts) -> Iterator[str]:
    """What prose states, with ours."""
    for claim in facts["claims"]:
        ours = "not measured" if claim["ours"] is None else number_text(claim["ours"]).removesuffix(".0")
        paper = claim["paper"]
        yield f"{claim['text']}: paper {paper['text']} ({paper['measure']}; {paper['place']}), ours {ours}"


def remark_lines(facts: Facts) -> Iterator[str]:
    """What print leaves open, what could not be measured, what failed."""
    yield from facts["notes"]
    reasons: dict[str, list[str]] = {}
    for one in facts["impossible"]:
        reasons.setdefault(one["reason"], []).append(f"{one['panel']}, {one['line']} at {one['x']}")
    for reason, places in reasons.items():
        more = f" and {len(places) - 2} more" if len(places) > 2 else ""
        yield f"Not possible: {'; '.join(places[:2])}{more}: {reason}"
    for one in facts["failed"]:
        yield f"Failed: {one['panel']}, {one['line']}, split {one['split']}: {one['reason']}"


def as_csv(facts: Facts) -> str:
    """One line for each cell that has a number."""
    header = ["name", "row", "column", "ours", "deviation", "splits", "paper", "paper_deviation", "place"]
    lines = []
    for row in facts["rows"]:
        for column, cell in zip(facts["columns"], row["cells"], strict=True):
            ours, paper = cell["ours"] or {}, cell["paper"] or {}
            if ours or paper:
                lines.append([
                    facts["name"], row["name"], column, ours.get("mean", ""), ours.get("deviation") or "",
                    len(ours.get("values", ())) or "", paper.get("value", ""), paper.get("deviation") or "",
                    paper.get("place", ""),
                ])  # fmt: skip
    return format_csv(header, lines)


def page(facts: Facts, picture: str | None) -> str:
    """A self-contained page."""
    columns, rows = grid(facts)
    return render_template(
        "table.html.j2",
        "papers",
        title=title(facts),
        created=facts["created"],
        facts=facts,
        columns=columns,
        rows=rows,
        printed=has_printed(facts),
        claims=list(claim_lines(facts)),
        remarks=[*facts["remarks"], *remark_lines(facts)],
        picture=None if picture is None else Markup(picture),
    )
