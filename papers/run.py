"""``reproduce``: from a name to a folder with the table, the figure and all results."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearboost.base.disk import check_folder, write_json, write_text
from nearboost.base.machine import describe_machine, describe_versions, present_time
from nearboost.base.progress import progress_bar
from nearboost.base.words import counted, roughly
from nearboost.compare.processes import DONE, Result, read_result, run_task
from papers.cache import Cache
from papers.drawing import draw
from papers.plan import Plan, RunOptions, estimate_minutes, make_plan, make_task
from papers.registry import find
from papers.report import as_csv, page
from papers.results import Facts, make_facts

WORKER = "papers.worker"


@dataclass(frozen=True)
class Reproduction:
    """The facts, the folder they lie in, and whether every run has a result."""

    facts: Facts
    folder: Path
    is_complete: bool


def reproduce(
    name: str,
    options: RunOptions,
    out: Path = Path("reproduced"),
    *,
    fresh: bool = False,
    notify: Callable[[str], None] = lambda text: None,
    command: str = "",
    verbose: int = 0,
) -> Reproduction:
    """Run a table or figure; what is in the cache is not computed again unless ``fresh``.

    Parameters
    ----------
    name : as in ``python -m papers --list``
    options : data and how much of it
    out : gets a folder NAME with ``results.json``, ``results.csv``, ``report.html`` and ``figure.svg``; beside it
        lies ``cache``, which all tables and figures share
    fresh : make results and features anew
    notify : called with sentences for people, such as the estimate of the time
    command : to repeat it, for the report
    """
    check_folder(out)
    plan = make_plan(find(name), options)
    folder = out / (plan.experiment.name + ("-quick" if options.quick else ""))
    folder.mkdir(parents=True, exist_ok=True)
    cache = Cache(out.resolve() / "cache")
    if fresh:
        cache.forget(run.key for run in plan.runs)
    for note in plan.notes:
        notify(note)
    results = run_missing(plan, options, cache, notify=notify, verbose=verbose)
    facts = {
        **make_facts(plan.experiment, results),
        "quick": options.quick,
        "remarks": plan.notes,
        "data": [data.describe(options.data) for data in plan.panels.values()],
        "command": command,
        "created": present_time(),
        "machine": describe_machine(),
        "versions": describe_versions(),
    }
    write_json(folder / "results.json", {"facts": facts, "runs": results})
    write_text(folder / "results.csv", as_csv(facts))
    picture = draw(facts)
    if picture:
        write_text(folder / "figure.svg", picture)
    write_text(folder / "report.html", page(facts, picture))
    return Reproduction(facts, folder, all(result["status"] == DONE for result in results))


def run_missing(
    plan: Plan, options: RunOptions, cache: Cache, *, notify: Callable[[str], None], verbose: int
) -> list[Result]:
    """The results of all runs, one after the other in processes of their own; equal runs are made once."""
    tasks = [make_task(plan, run, options, cache) for run in plan.runs]
    known: dict[str, Any] = {task["result"]: read_result(Path(task["result"])) for task in tasks}
    missing = {task["result"]: task for task in tasks if (known[task["result"]] or {}).get("status") != DONE}
    if missing:
        estimate = roughly(60 * estimate_minutes(plan, options, len(missing)))
        notify(f"{len(missing)} of {counted(len(tasks), 'run')} to make; this takes {estimate}.")
    with progress_bar(plan.experiment.name, len(missing), verbose) as advance:
        for file, task in missing.items():
            known[file] = run_task(task, program=WORKER)
            advance()
    own = ("panel", "line", "split")  # a result in the cache may have been another table's
    return [{**known[task["result"]], **{name: task["identity"][name] for name in own}} for task in tasks]
