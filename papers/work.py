"""A cell of an experiment: one line of one panel on one split, measured in a process of its own.

``python -m papers.work`` is that process (see `nearboost.compare.processes`). A task names
its experiment, panel and line, from which the process makes all anew: only names and numbers are handed over.
"""

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.disk import read_arrays, write_arrays
from nearboost.compare.parts import label_codes
from nearboost.compare.processes import DONE, Result, Task, file_name, serve
from nearboost.compare.protocols import Split, make_splits
from nearboost.datasets import Dataset
from papers.experiment import NOMINAL, Experiment, Line, Panel, Size
from papers.features import ItemFeatures, describe_items
from papers.sets import SETS, load
from papers.ways import WAYS, Samples, Work

LONG = 10**6  # characters: settings are written out in full


def settings_of(panel: Panel, line: Line, xs: tuple[Any, ...]) -> list[str]:
    """All settings that the result depends on, as text; a change of any is another cell."""
    made = [line.make(x, NOMINAL) for x in xs] if line.way == "fits" else [line.make(None, NOMINAL)]
    steps = [panel.steps(x) for x in xs] if panel.steps else []
    return [one.__repr__(N_CHAR_MAX=LONG) if hasattr(one, "get_params") else repr(one) for one in (*made, *steps)]


def quick_version(experiment: Experiment) -> Experiment:
    """The same with few values of what varies and few draws."""
    xs = experiment.xs
    few = xs if len(xs) <= 3 else (xs[0], xs[len(xs) // 2], xs[-1])
    if any(line.way == "terms" for line in experiment.lines):
        few = xs  # a code has all its terms
    return replace(
        experiment,
        xs=few,
        lines=tuple(replace(line, draws=min(line.draws, 2)) for line in experiment.lines),
        panels=tuple(replace(panel, protocol=quick_protocol(panel.protocol)) for panel in experiment.panels),
    )


def quick_protocol(protocol: str) -> str:
    """Halves, where so few items have no such numbers."""
    return protocol if protocol == "fixed" else "half"


def run(task: Task) -> Result:
    """Measure a line."""
    from papers.registry import find

    identity = task["identity"]
    experiment = find(task["experiment"])
    if identity["quick"]:
        experiment = quick_version(experiment)
    panel, line = experiment.panel(identity["panel"]), experiment.line(identity["line"])
    source = PanelRows(task, panel)
    size = Size(len(source.split.train), len(source.dataset.classes), identity["seed"], identity["threads"])
    work = Work(line, experiment.xs, source.rows, experiment.label, size)
    points = WAYS[line.way](work)
    return {
        **identity,
        "status": DONE,
        "reason": None,
        "points": points,
        "classes": list(source.dataset.classes),
        "train": len(source.split.train),
        "queries": len(source.split.test),
    }


class PanelRows:
    """The rows of a panel on one split."""

    def __init__(self, task: Task, panel: Panel) -> None:
        identity = task["identity"]
        self.panel, self.folder = panel, Path(task["folder"])
        self.seed, self.threads = identity["seed"], identity["threads"]
        place = next(place for place in SETS[panel.data] if place.path == identity["place"])
        self.dataset = load(place, Path(task["data"]), identity["n_classes"], quick=identity["quick"])
        self.split = drawn(self.dataset, identity["protocol"], self.seed)
        self.codes = label_codes(self.dataset)
        self.key = {name: identity[name] for name in ("data", "place", "n_classes", "protocol", "seed", "quick")}
        self.key["layout"] = place.layout  # several sets may lie in one folder

    @property
    def described(self) -> ItemFeatures:
        """Features of all items."""
        return describe_items(
            self.dataset,
            self.panel.features,
            self.split.train,
            self.folder,
            seed=self.seed,
            n_jobs=self.threads,
        )

    def rows(self, x: Any) -> Samples:
        """Rows of the split at one value of what varies."""
        if self.panel.steps is None:
            return self.plain_rows
        plain = self.plain_rows
        X, queries = self.stepped(x, plain.X, plain.queries, plain.y)
        return plain._replace(X=X, queries=queries)

    @cached_property
    def plain_rows(self) -> Samples:
        """Rows of the split before the panel's steps; items without features are left out."""
        found = self.described
        train, test = (part[found.numbers[part] >= 0] for part in (self.split.train, self.split.test))
        X, queries = (taken(found.X, found.numbers[part]) for part in (train, test))
        groups = None if self.dataset.groups is None else np.asarray(self.dataset.groups)[train]
        return Samples(X, self.codes[train], queries, self.codes[test], self.dataset.classes, groups)

    def stepped(self, x: Any, X: Any, queries: Any, y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """The rows after the panel's steps, made once for all lines."""
        assert self.panel.steps is not None
        steps = self.panel.steps(x)
        identity = {**self.key, "features": self.panel.features, "steps": steps.__repr__(N_CHAR_MAX=LONG)}
        file = (self.folder / f"steps-{file_name(identity)}").with_suffix(".npz")
        if not file.exists():
            made = steps.fit(X, y).transform(X)
            write_arrays(
                file, X=np.asarray(made, np.float32), queries=np.asarray(steps.transform(queries), np.float32)
            )
        table = read_arrays(file)
        return table["X"], table["queries"]


def taken(X: Any, numbers: NDArray[np.int64]) -> Any:
    """Some rows in memory, or some sets."""
    return [X[i] for i in numbers] if isinstance(X, list) else np.ascontiguousarray(X[numbers])


def drawn(dataset: Dataset, protocol: str, seed: int) -> Split:
    """The split of a seed."""
    return make_splits(dataset, protocol, seed=seed)[0]


if __name__ == "__main__":
    serve(run)
