"""From options to the runs that make a table or figure."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nearboost.compare.processes import Task
from nearboost.datasets import DataError, Dataset
from papers.cache import Cache, ContentHasher, Key, library_versions, settings_text
from papers.datasets import SOURCES, TITLES, DataSource, find_source, is_available, load, read
from papers.experiment import NOMINAL, Experiment, Line, Panel
from papers.features import FEATURES

QUICK = "QUICK: few classes, few images and one split. These numbers say that it runs, no more."


@dataclass(frozen=True)
class RunOptions:
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

    def limit(self, n_classes: int | None) -> int | None:
        """The number of classes of a panel under these options; None for all."""
        return n_classes if self.classes is None else min(self.classes, n_classes or self.classes)


@dataclass(frozen=True)
class PanelData:
    """What a panel runs on: the source, its items, the hash of their content, and the protocol."""

    panel: Panel
    source: DataSource
    dataset: Dataset
    content: str
    protocol: str

    def describe(self, root: Path) -> dict[str, Any]:
        """In words and numbers."""
        return {
            "panel": self.panel.name,
            "set": TITLES[self.panel.data],
            "used": self.source.title,
            "is_stand_in": self.source.is_stand_in,
            "path": str(root / self.source.path),
            "items": len(self.dataset),
            "classes": len(self.dataset.classes),
            "features": FEATURES[self.panel.features].about,
            "protocol": self.protocol,
            "notes": list(self.dataset.notes),
        }


@dataclass(frozen=True)
class Run:
    """One line of one panel on one split, and all that its result depends on."""

    panel: str
    line: str
    split: int
    key: Key


@dataclass(frozen=True)
class Plan:
    """The runs, the panels with their data, and sentences about what is left out or differs."""

    experiment: Experiment
    panels: dict[str, PanelData]
    runs: list[Run]
    notes: list[str]


def make_plan(experiment: Experiment, options: RunOptions) -> Plan:
    """All runs of an experiment; a sentence where it cannot run here."""
    if experiment.missing:
        raise ValueError(experiment.missing)
    if not options.data.is_dir():
        raise DataError(
            f"{options.data} is not a folder; --data FOLDER or NEARBOOST_DATA names the one with the sets."
        )
    if options.quick:
        experiment = quick_version(experiment)
    notes: list[str] = []
    hasher = ContentHasher(options.threads)
    panels = {panel.name: _with_data(panel, options, hasher) for panel in _panels_here(experiment, options, notes)}
    if options.quick:
        notes.insert(0, QUICK)
    elif options.classes is not None:
        notes.insert(0, f"At most {options.classes} classes: these numbers are not those of the whole sets.")
    runs = [
        Run(panel.name, line.name, key["seed"], key)
        for panel, line in experiment.pairs()
        if panel.name in panels
        for key in _keys(experiment, panels[panel.name], line, options)
    ]
    return Plan(experiment, panels, runs, notes)


def quick_version(experiment: Experiment) -> Experiment:
    """The same with few values of what varies and few draws, on halves: so few items have no other numbers."""
    xs = experiment.xs
    few = xs if len(xs) <= 3 else (xs[0], xs[len(xs) // 2], xs[-1])
    if any(line.procedure == "terms" for line in experiment.lines):
        few = xs  # a code has all its terms
    return replace(
        experiment,
        xs=few,
        lines=tuple(replace(line, draws=min(line.draws, 2)) for line in experiment.lines),
        panels=tuple(
            replace(panel, protocol=panel.protocol if panel.protocol == "fixed" else "half")
            for panel in experiment.panels
        ),
    )


def _panels_here(experiment: Experiment, options: RunOptions, notes: list[str]) -> Iterator[Panel]:
    """The panels that can run."""
    available = [panel for panel in experiment.panels if is_available(panel.data, options.data)]
    if not available:
        find_source(experiment.panels[0].data, options.data)  # says what is missing
    for panel in experiment.panels:
        if panel not in available:
            paths = " or ".join(source.path for source in SOURCES[panel.data])
            notes.append(f"{panel.name} is left out: {TITLES[panel.data]} is not at {paths} below {options.data}.")
    stand_ins = dict.fromkeys((find_source(panel.data, options.data), panel.data) for panel in available)
    for source, data in stand_ins:
        if source.is_stand_in:
            notes.append(f"{source.title} stands in for {TITLES[data]}: compare ranks and gaps, not levels.")
    for n, panel in enumerate(available):
        if panel.n_classes is not None:
            if options.quick and n:
                continue  # all would have the same few classes
            n_here = len(read(find_source(panel.data, options.data), options.data).classes)
            n_here = min(n_here, options.classes or panel.n_classes)
            if panel.n_classes > n_here and not options.quick:
                notes.append(f"{panel.name}: there are {n_here} here.")
                continue
        yield panel


def _with_data(panel: Panel, options: RunOptions, hasher: ContentHasher) -> PanelData:
    source = find_source(panel.data, options.data)
    dataset = load(source, options.data, options.limit(panel.n_classes), quick=options.quick)
    return PanelData(panel, source, dataset, hasher.hash(dataset), source.protocol or panel.protocol)


def _keys(experiment: Experiment, data: PanelData, line: Line, options: RunOptions) -> Iterator[Key]:
    """What each split's result depends on; names are no part of it, so tables share equal runs."""
    xs, panel = experiment.xs, data.panel
    repeats = 1 if options.quick or data.protocol == "fixed" else options.repeats or experiment.repeats
    values = xs if line.procedure == "fit" else (None,)
    estimators = [settings_text(line.make(x, NOMINAL)) for x in values]
    transformers = [settings_text(panel.transformer(x)) for x in xs] if panel.transformer else []
    for seed in range(repeats):
        yield {
            "content": data.content,
            "features": FEATURES[panel.features].settings(seed),
            "transformers": list(dict.fromkeys(transformers)),
            "estimators": estimators,
            "procedure": line.procedure,
            "draws": line.draws,
            "xs": [experiment.label(x) for x in xs],
            "protocol": data.protocol,
            "seed": seed,
            "threads": options.threads or os.cpu_count() or 1,
            "versions": library_versions(),
        }


def make_task(plan: Plan, run: Run, options: RunOptions, cache: Cache) -> Task:
    """A run as the task of a process."""
    panel = plan.panels[run.panel]
    return {
        "experiment": plan.experiment.name,
        "quick": options.quick,
        "data": str(options.data.resolve()),
        "source": panel.source.path,
        "n_classes": options.limit(panel.panel.n_classes),
        "cache": str(cache.folder),
        "identity": {"panel": run.panel, "line": run.line, "split": run.split, **run.key},
        "result": str(cache.result(run.key)),
    }


def estimate_minutes(plan: Plan, options: RunOptions, n_missing: int) -> float:
    """A rough estimate for the runs that are not there yet."""
    if not plan.runs:
        return 0.0
    n_splits = max(run.split for run in plan.runs) + 1
    whole = 0.1 * len(plan.runs) if options.quick else plan.experiment.minutes * n_splits
    return whole * n_missing / len(plan.runs)
