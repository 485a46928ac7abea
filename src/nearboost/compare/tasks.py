"""The runs of a comparison: each split in each kind of features, and each method on it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import nearboost
from nearboost.base.disk import write_arrays
from nearboost.base.machine import describe_versions
from nearboost.catalogue.descriptors import Descriptor
from nearboost.catalogue.methods import Method
from nearboost.compare.processes import file_name
from nearboost.compare.protocols import Split, draw_part
from nearboost.compare.records import FinishedRun, RunIdentity, RunTask, as_json, read_run
from nearboost.compare.rows import VECTORS, Source, SplitRows, hash_texts
from nearboost.datasets import DataError, Dataset


class DescribedSplit(NamedTuple):
    """One split in one kind of features: the rows' file, the table of the split, and the hash of both.

    ``units`` are what its test items are counted as: each as itself, or as its group. ``share`` is how much of the
    split's training items the table has.
    """

    features: str
    number: int
    seed: int
    rows: Path
    made: str  # what made the rows
    table: Path
    content: str
    n_train: int
    n_test: int
    units: NDArray[Any]
    share: float = 1.0


class PlannedRun(NamedTuple):
    """A method on a split, and its task."""

    method: Method
    split: DescribedSplit
    task: RunTask

    @property
    def earlier(self) -> FinishedRun | None:
        """What an earlier call found, if it was no failure."""
        return read_run(self.task.result)


def describe_splits(
    dataset: Dataset,
    splits: Sequence[Split],
    descriptors: Sequence[Descriptor],
    source: Source,
    folder: Path,
    shares: Sequence[float] = (1.0,),
) -> tuple[list[DescribedSplit], dict[str, str]]:
    """Describe all splits, with these shares of their training items.

    An item that lacks a row in one kind of features is left out of all of them.
    """
    described, skipped = [], {}
    source.prepare(splits, descriptors)
    kinds: Sequence[Descriptor | None] = descriptors or [None]  # vectors need none
    for number, split in enumerate(splits):
        found = [source.rows(split, descriptor) for descriptor in kinds]
        for rows in found:
            skipped.update(rows.failed)
        train, test = (np.all([getattr(rows, side) >= 0 for rows in found], axis=0) for side in ("train", "test"))
        if not train.any() or not test.any():
            raise DataError(f"No image to train or test with could be read; {next(iter(skipped.values()))}")
        for share in shares:
            keep = (train & draw_part(dataset, split, share), test)
            for descriptor, rows in zip(kinds, found, strict=True):
                name = VECTORS if descriptor is None else descriptor.name
                one = describe_split(dataset, split, number, name, rows, keep, source.content(split), folder)
                described.append(one._replace(share=share))
    return sorted(described, key=lambda one: -one.share), skipped


def describe_split(
    dataset: Dataset,
    split: Split,
    number: int,
    features: str,
    rows: SplitRows,
    keep: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    content: str,
    folder: Path,
) -> DescribedSplit:
    """Write the table of a split: rows, labels, names and groups of the items that are there."""
    train, test = split.train[keep[0]], split.test[keep[1]]
    codes = dataset.codes()
    names = np.array([str(name) for name in dataset.names])
    hashed = [content, *names[train], "", *names[test], *map(str, codes[np.concatenate([train, test])].ravel())]
    if dataset.groups is not None:
        hashed += ["groups", *map(str, np.asarray(dataset.groups)[train])]
    content = hash_texts(hashed)
    table = folder / f"split-{hash_texts([features, content])[:20]}.npz"
    write_arrays(
        table,
        train=rows.train[keep[0]],
        test=rows.test[keep[1]],
        train_labels=codes[train],
        test_labels=codes[test],
        train_names=names[train],
        test_names=names[test],
        train_groups=None if dataset.groups is None else np.asarray(dataset.groups)[train].astype(str),
    )
    units = test if dataset.groups is None else np.asarray(dataset.groups)[test]
    made = rows.file.stem if features == VECTORS else rows.file.parent.name
    made += f"-{rows.masks[:20]}" if rows.masks else ""
    return DescribedSplit(
        features, number, split.seed, rows.file, made, table, content, len(train), len(test), units
    )


def make_task(
    method: Method, split: DescribedSplit, dataset: Dataset, settings: Any, folder: Path, threads: int
) -> RunTask:
    """The task of a run."""
    identity = RunIdentity(
        data=dataset.name,
        content=split.content,
        classes=list(dataset.classes),
        features=split.features,
        rows=split.made,
        scale=settings.scale,
        method=method.name,
        parameters=plain(method.make(split.seed, threads).get_params(deep=True)),
        protocol=settings.protocol,
        split=split.number,
        seed=split.seed,
        threads=threads,
        version=nearboost.__version__,
        libraries=describe_versions(),
    )
    return RunTask.make(identity, split.rows, split.table, folder)


def runs_beside(
    folder: Path, planned: Sequence[PlannedRun], possible: Sequence[PlannedRun]
) -> list[tuple[DescribedSplit, FinishedRun]]:
    """What earlier calls ran on the splits of ``possible`` that is not planned; of equals, the latest."""
    splits = {_key(one.task.identity): one.split for one in possible}
    asked = {(one.method.name, one.split.features, one.split.share) for one in planned}
    found: dict[tuple[str, ...], tuple[DescribedSplit, FinishedRun]] = {}
    for path in sorted(folder.glob("*.json"), key=lambda path: (path.stat().st_mtime, path.name)):
        run = read_run(path)
        if run is not None and (key := _key(run.identity)) in splits:
            mine = (run.identity.method, run.identity.features)
            if (*mine, splits[key].share) not in asked:
                found[(*mine, key)] = splits[key], run
    return list(found.values())


def _key(identity: RunIdentity) -> str:
    """All that a result depends on but its method and features."""
    return file_name(as_json(replace(identity, method="", parameters={}, features="", rows="")))


def plain(value: Any) -> Any:
    """Settings as JSON knows them; an estimator is named by its class."""
    if isinstance(value, dict):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return type(value).__name__
