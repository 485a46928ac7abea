"""All tables and figures by name, with the data each needs."""

from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from papers.datasets import SOURCES, TITLES, is_available
from papers.experiment import Experiment
from papers.results import printed_for

# The thesis repeats tables and figures of the N3 paper, and draws its own tables 2.3 to 2.5.
ALIASES = {
    "thesis-figure-2.1": "thesis-table-2.3",
    "thesis-figure-2.2": "thesis-table-2.4",
    "thesis-figure-2.3": "thesis-table-2.5",
    "thesis-table-3.4": "n3-table-4",
    "thesis-table-3.5": "n3-table-5",
    "thesis-figure-3.1": "n3-figure-1",
    "thesis-figure-3.2": "n3-figure-1",
    "thesis-figure-3.3": "n3-figure-2",
    "thesis-figure-3.4": "n3-figure-2",
}


@cache
def experiments() -> dict[str, Experiment]:
    """Every experiment by its name, in the order of the papers."""
    from papers import tables_bags, tables_cells, tables_inn, tables_n3, tables_ours, tables_scenes, tables_slnd

    files = (tables_n3, tables_slnd, tables_bags, tables_cells, tables_scenes, tables_inn, tables_ours)
    found = {one.name: one for file in files for one in file.EXPERIMENTS}
    order = {"n3": 0, "thesis": 1, "mlnn": 2, "mapboost": 3, "inn": 4, "ours": 5}
    return dict(sorted(found.items(), key=lambda pair: (order[pair[0].split("-")[0]], pair[0])))


def find(name: str) -> Experiment:
    """The experiment of this name, also by an alias; another name gives a sentence with the nearest ones."""
    known = experiments()
    wanted = name.strip()
    by_lower = {one.lower(): one for one in (*known, *ALIASES)}
    wanted = by_lower.get(wanted.lower(), wanted)
    if ALIASES.get(wanted, wanted) in known:
        return known[ALIASES.get(wanted, wanted)]
    near = get_close_matches(wanted, [*known, *ALIASES], n=3, cutoff=0.5)
    choice = " or ".join(", ".join(near).rsplit(", ", 1))  # a, b or c
    hint = f"did you mean {choice}?" if near else "python -m papers --list has all names."
    raise ValueError(f"There is no table or figure {name!r}; {hint}")


def listing(root: Path | None = None) -> list[dict[str, Any]]:
    """All names, aliases after them; with ``root``, whether their data are there."""
    found: list[dict[str, Any]] = []
    for name, experiment in experiments().items():
        keys = list(dict.fromkeys(panel.data for panel in experiment.panels))
        found.append({
            "name": name, "place": printed_for(experiment).place, "about": experiment.about,
            "data": [needs(key, root) for key in keys], "repeats": experiment.repeats,
            "minutes": experiment.minutes, "missing": experiment.missing, "alias_of": None,
        })  # fmt: skip
    for alias, name in ALIASES.items():
        entry = next(entry for entry in found if entry["name"] == name)
        found.append({**entry, "name": alias, "alias_of": name})
    return found


def needs(key: str, root: Path | None) -> dict[str, Any]:
    """A set, where it must lie, and what stands in for it."""
    own = [source.path for source in SOURCES[key] if source.path and not source.is_stand_in]
    stand_ins = {source.title: source.path for source in SOURCES[key] if source.is_stand_in}
    there = None if root is None else is_available(key, root)
    return {"set": TITLES[key], "paths": own, "stand_ins": stand_ins, "there": there}


def listing_lines(entries: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Name, what it shows, and its data in words."""
    return [
        (entry["name"], f"= {entry['alias_of']}" if entry["alias_of"] else entry["about"], data_text(entry))
        for entry in entries
    ]


def data_text(entry: dict[str, Any]) -> str:
    """What is needed where, in words."""
    if entry["alias_of"]:
        return ""
    lines = []
    for one in entry["data"]:
        where = f"{one['set']}: {' or '.join(one['paths'])}" if one["paths"] else one["set"]
        if one["stand_ins"]:
            where += "; stand-in " + ", ".join(f"{title}: {path}" for title, path in one["stand_ins"].items())
        elif one["paths"]:
            where += "; no stand-in"
        if one["there"] is not None:
            where += " (there)" if one["there"] else " (not there)"
        lines.append(where)
    if entry["missing"]:
        lines.append("cannot run yet")
    return "\n".join(lines)
