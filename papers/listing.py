"""What can be run: every name with the data it needs, where they must lie and what stands in."""

from pathlib import Path
from typing import Any

from papers.papers import library
from papers.registry import ALIASES, experiments
from papers.sets import SETS, TITLES, is_there


def listing(root: Path | None = None) -> list[dict[str, Any]]:
    """All names, aliases after them; with ``root``, whether their data are there."""
    printed = library().printed
    found: list[dict[str, Any]] = []
    for name, experiment in experiments().items():
        keys = list(dict.fromkeys(panel.data for panel in experiment.panels))
        found.append({
            "name": name, "place": printed[name].place, "about": experiment.about,
            "data": [needs(key, root) for key in keys], "repeats": experiment.repeats,
            "minutes": experiment.minutes, "missing": experiment.missing, "alias_of": None,
        })  # fmt: skip
    for alias, name in ALIASES.items():
        of = next(entry for entry in found if entry["name"] == name)
        found.append({**of, "name": alias, "alias_of": name})
    return found


def needs(key: str, root: Path | None) -> dict[str, Any]:
    """A set, where it must lie, and what stands in for it."""
    own = [place.path for place in SETS[key] if not place.stands_in]
    stand_ins = {place.title: place.path for place in SETS[key] if place.stands_in}
    there = None if root is None else is_there(key, root)
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
    said = []
    for one in entry["data"]:
        where = f"{one['set']}: {' or '.join(one['paths'])}" if one["paths"] else one["set"]
        if one["stand_ins"]:
            where += "; stand-in " + ", ".join(f"{title}: {path}" for title, path in one["stand_ins"].items())
        elif one["paths"]:
            where += "; no stand-in"
        if one["there"] is not None:
            where += " (there)" if one["there"] else " (not there)"
        said.append(where)
    if entry["missing"]:
        said.append("cannot run yet")
    return "\n".join(said)
