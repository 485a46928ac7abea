"""From a wish to the cells that make a table or figure."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nearboost
from nearboost.compare.processes import Task, file_name
from nearboost.datasets import DataError
from papers.experiment import Experiment, Panel
from papers.features import FEATURES
from papers.sets import SETS, TITLES, Place, find_place, is_there, load, read
from papers.work import quick_version, settings_of


@dataclass(frozen=True)
class Wish:
    """What to run.

    Attributes
    ----------
    data : the folder that holds the sets
    repeats : splits; None for as many as in print
    classes : at most so many classes
    quick : few classes, few images, one split: to see that it runs, not to compare numbers
    threads : of each method; None for all cores
    """

    data: Path
    repeats: int | None = None
    classes: int | None = None
    quick: bool = False
    threads: int | None = None


@dataclass(frozen=True)
class Plan:
    """The cells, the panels that run on what, and sentences about what does not run or differs."""

    experiment: Experiment
    panels: dict[str, Place]
    cells: list[dict[str, Any]]
    notes: list[str]


def make_plan(experiment: Experiment, wish: Wish) -> Plan:
    """All cells of an experiment; a sentence where it cannot run here."""
    if experiment.missing:
        raise ValueError(experiment.missing)
    if not wish.data.is_dir():
        raise DataError(
            f"{wish.data} is not a folder; --data FOLDER or NEARBOOST_DATA names the one with the sets."
        )
    if wish.quick:
        experiment = quick_version(experiment)
    notes: list[str] = []
    panels = dict(_panels_here(experiment, wish, notes))
    if wish.quick:
        notes.insert(0, "QUICK: few classes, few images and one split. These numbers say that it runs, no more.")
    elif wish.classes is not None:
        notes.insert(0, f"At most {wish.classes} classes: these numbers are not those of the whole sets.")
    cells = [
        {"panel": panel.name, "line": line.name, "identity": identity}
        for panel, line in experiment.pairs()
        if panel.name in panels
        for identity in _identities(experiment, panel, line, panels[panel.name], wish)
    ]
    return Plan(experiment, panels, cells, notes)


def _panels_here(experiment: Experiment, wish: Wish, notes: list[str]) -> Iterator[tuple[str, Place]]:
    """The panels that can run, each with its files."""
    there = [panel for panel in experiment.panels if is_there(panel.data, wish.data)]
    if not there:
        find_place(experiment.panels[0].data, wish.data)  # says what is missing
    for panel in experiment.panels:
        if panel not in there:
            paths = " or ".join(place.path for place in SETS[panel.data])
            notes.append(f"{panel.name} is left out: {TITLES[panel.data]} is not at {paths} below {wish.data}.")
    told: set[str] = set()
    for n, panel in enumerate(there):
        place = find_place(panel.data, wish.data)
        if place.stands_in and panel.data not in told:
            notes.append(f"{place.title} stands in for {TITLES[panel.data]}: compare ranks and gaps, not levels.")
            told.add(panel.data)
        if panel.n_classes is not None:
            if wish.quick and n:
                continue  # all would have the same few classes
            n_here = min(_n_classes(place, wish.data), wish.classes or panel.n_classes)
            if panel.n_classes > n_here and not wish.quick:
                notes.append(f"{panel.name}: there are {n_here} here.")
                continue
        yield panel.name, place


def _n_classes(place: Place, root: Path) -> int:
    return len(read(place, root).classes)


def _identities(
    experiment: Experiment, panel: Panel, line: Any, place: Place, wish: Wish
) -> Iterator[dict[str, Any]]:
    """What each split's result depends on."""
    protocol = place.protocol or panel.protocol
    repeats = 1 if wish.quick or protocol == "fixed" else wish.repeats or experiment.repeats
    settings = settings_of(panel, line, experiment.xs)
    for split in range(repeats):
        yield {
            "data": str(wish.data.resolve()),
            "place": place.path,
            "n_classes": panel.n_classes
            if wish.classes is None
            else min(wish.classes, panel.n_classes or wish.classes),
            "protocol": protocol,
            "features": f"{panel.features}: {FEATURES[panel.features].about}",
            "panel": panel.name,
            "line": line.name,
            "way": line.way,
            "draws": line.draws,
            "xs": [experiment.label(x) for x in experiment.xs],
            "settings": settings,
            "split": split,
            "seed": split,
            "quick": wish.quick,
            "threads": wish.threads or os.cpu_count() or 1,
            "version": nearboost.__version__,
        }


def task_of(plan: Plan, cell: dict[str, Any], wish: Wish, out: Path) -> Task:
    """A cell as the task of a process."""
    identity = cell["identity"]
    return {
        "experiment": plan.experiment.name,
        "identity": identity,
        "data": str(wish.data.resolve()),
        "folder": str(out / "features"),
        "result": str(out / "cells" / file_name(identity)),
    }


def describe_data(plan: Plan, wish: Wish) -> list[dict[str, Any]]:
    """What each panel runs on."""
    described = []
    for panel in plan.experiment.panels:
        if panel.name in plan.panels:
            place = plan.panels[panel.name]
            n_classes = (
                panel.n_classes if wish.classes is None else min(wish.classes, panel.n_classes or wish.classes)
            )
            dataset = load(place, wish.data, n_classes, quick=wish.quick)
            described.append({
                "panel": panel.name, "set": TITLES[panel.data], "used": place.title, "stands_in": place.stands_in,
                "path": str(wish.data / place.path), "items": len(dataset), "classes": len(dataset.classes),
                "features": FEATURES[panel.features].about, "protocol": place.protocol or panel.protocol,
                "notes": list(dataset.notes),
            })  # fmt: skip
    return described


def minutes_of(plan: Plan, n_missing: int) -> float:
    """A rough estimate for the cells that are not there yet."""
    if not plan.cells:
        return 0.0
    n_splits = max(cell["identity"]["split"] for cell in plan.cells) + 1
    whole = (
        0.1 * len(plan.cells)
        if any(c["identity"]["quick"] for c in plan.cells)
        else plan.experiment.minutes * n_splits
    )
    return whole * n_missing / len(plan.cells)
