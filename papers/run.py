"""``reproduce``: from a name to a folder with the table, the figure and all cells."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearboost.base.disk import check_folder, write_json, write_text
from nearboost.base.machine import describe_machine, describe_versions, present_time
from nearboost.base.progress import progress_bar
from nearboost.base.words import counted, roughly
from nearboost.compare.processes import DONE, Result, read_result, run_task
from papers.drawing import draw
from papers.findings import Facts, make_facts
from papers.plan import Plan, Wish, describe_data, make_plan, minutes_of, task_of
from papers.registry import find
from papers.show import as_csv, page

PROGRAM = "papers.work"


@dataclass(frozen=True)
class Reproduction:
    """The facts, the folder they lie in, and whether every cell has a result."""

    facts: Facts
    folder: Path
    is_whole: bool


def reproduce(
    name: str,
    wish: Wish,
    out: Path = Path("reproduced"),
    *,
    fresh: bool = False,
    say: Callable[[str], None] = lambda text: None,
    command: str = "",
    verbose: int = 0,
) -> Reproduction:
    """Run a table or figure; cells that are there already are not run again unless ``fresh``.

    Parameters
    ----------
    name : as in ``nearboost reproduce --list``
    wish : data and how much of it
    out : gets a folder NAME with ``results.json``, ``results.csv``, ``report.html`` and ``figure.svg``; beside it
        ``cells`` and ``features`` are kept, which tables and figures share
    say : called with sentences for people, such as the estimate of the time
    command : to repeat it, for the report
    """
    check_folder(out)
    plan = make_plan(find(name), wish)
    folder = out / (plan.experiment.name + ("-quick" if wish.quick else ""))
    for needed in (folder, out / "cells", out / "features"):
        needed.mkdir(parents=True, exist_ok=True)
    for note in plan.notes:
        say(note)
    cells = run_cells(plan, wish, out.resolve(), fresh=fresh, say=say, verbose=verbose)
    facts = {
        **make_facts(plan.experiment, cells),
        "quick": wish.quick,
        "remarks": plan.notes,
        "data": describe_data(plan, wish),
        "command": command,
        "created": present_time(),
        "machine": describe_machine(),
        "versions": describe_versions(),
    }
    write_json(folder / "results.json", {"facts": facts, "cells": cells})
    write_text(folder / "results.csv", as_csv(facts))
    picture = draw(facts)
    if picture:
        write_text(folder / "figure.svg", picture)
    write_text(folder / "report.html", page(facts, picture))
    return Reproduction(facts, folder, all(cell["status"] == DONE for cell in cells))


def run_cells(
    plan: Plan, wish: Wish, out: Path, *, fresh: bool, say: Callable[[str], None], verbose: int
) -> list[Result]:
    """The results of all cells, one after the other in processes of their own."""
    tasks = [task_of(plan, cell, wish, out) for cell in plan.cells]
    known: dict[str, Any] = {} if fresh else {task["result"]: read_result(Path(task["result"])) for task in tasks}
    missing = [task for task in tasks if (known.get(task["result"]) or {}).get("status") != DONE]
    if missing:
        told = roughly(60 * minutes_of(plan, len(missing)))
        say(f"{len(missing)} of {counted(len(tasks), 'cell')} to run; this takes {told}.")
    with progress_bar(plan.experiment.name, len(missing), verbose) as advance:
        for task in missing:
            known[task["result"]] = run_task(task, program=PROGRAM)
            advance()
    return [known[task["result"]] for task in tasks]
