"""One line of one panel on one split, measured in a process of its own: ``python -m papers.worker``.

A task names its experiment, panel and line, from which the process makes all anew: only names and numbers are
handed over (see `nearboost.compare.processes`).
"""

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.disk import read_arrays, write_arrays
from nearboost.compare.processes import DONE, Result, Task, serve
from nearboost.compare.protocols import make_splits
from papers.cache import Cache, settings_text
from papers.datasets import SOURCES, load
from papers.experiment import Panel, Size
from papers.features import ItemFeatures, describe_items
from papers.plan import quick_version
from papers.procedures import PROCEDURES, LineRun, Samples


def run(task: Task) -> Result:
    """Measure a line."""
    from papers.registry import find

    identity = task["identity"]
    experiment = find(task["experiment"])
    if task["quick"]:
        experiment = quick_version(experiment)
    panel, line = experiment.panel(identity["panel"]), experiment.line(identity["line"])
    source = PanelRows(task, panel)
    size = Size(len(source.split.train), len(source.dataset.classes), identity["seed"], identity["threads"])
    points = PROCEDURES[line.procedure](LineRun(line, experiment.xs, source.rows, experiment.label, size))
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
        self.panel, self.key, self.cache = panel, task["identity"], Cache(Path(task["cache"]))
        source = next(source for source in SOURCES[panel.data] if source.path == task["source"])
        self.dataset = load(source, Path(task["data"]), task["n_classes"], quick=task["quick"])
        self.split = make_splits(self.dataset, self.key["protocol"], seed=self.key["seed"])[0]
        self.codes = self.dataset.codes()

    def rows(self, x: Any) -> Samples:
        """Rows of the split at one value of what varies, after the panel's transformer."""
        plain = self.plain_rows
        if self.panel.transformer is None:
            return plain
        transformer = self.panel.transformer(x)
        file = self.cache.rows(self.key, settings_text(transformer))
        if not file.exists():  # made once for all lines
            X = np.asarray(transformer.fit(plain.X, plain.y).transform(plain.X), np.float32)
            write_arrays(file, X=X, queries=np.asarray(transformer.transform(plain.queries), np.float32))
        table = read_arrays(file)
        return plain._replace(X=table["X"], queries=table["queries"])

    @cached_property
    def plain_rows(self) -> Samples:
        """Rows of the split as the features give them; items without features are left out."""
        found = self._describe()
        train, test = (part[found.numbers[part] >= 0] for part in (self.split.train, self.split.test))
        X, queries = (take_rows(found.X, found.numbers[part]) for part in (train, test))
        y, truth = self.codes[train], self.codes[test]
        if len(found.mirrored):
            X, y = X + take_rows(found.X, found.mirrored), np.concatenate([y, y])
        groups = None if self.dataset.groups is None else np.asarray(self.dataset.groups)[train]
        return Samples(X, y, queries, truth, self.dataset.classes, groups)

    def _describe(self) -> ItemFeatures:
        return describe_items(self.dataset, self.panel.features, self.split.train, self.cache, self.key)


def take_rows(X: Any, numbers: NDArray[np.int64]) -> Any:
    """Some rows in memory, or some sets."""
    return [X[i] for i in numbers] if isinstance(X, list) else np.ascontiguousarray(X[numbers])


if __name__ == "__main__":
    serve(run)
