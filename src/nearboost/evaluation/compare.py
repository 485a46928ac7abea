"""Compare methods on the same splits: splits, rows, cells, and a report of them."""

import csv
import io
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import nearboost
from nearboost.base.progress import progress_bar
from nearboost.base.threads import count_threads
from nearboost.datasets import DataError, Dataset, open_dataset
from nearboost.evaluation import descriptors, methods
from nearboost.evaluation.cells import DONE, FAILED, Result, Task, failed, name_of, read_result, write_json, write_table
from nearboost.evaluation.descriptors import Descriptor, find_descriptor
from nearboost.evaluation.methods import Method, find_methods
from nearboost.evaluation.protocols import Split, make_splits
from nearboost.evaluation.rows import VECTORS, Rows, Source, hash_of_texts, open_source
from nearboost.evaluation.running import run_task

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Wish:
    """What to compare.

    Attributes
    ----------
    data : a folder of images, a file of vectors, or another layout that `open_dataset` knows
    features : names of descriptors, for images; none means Gist
    methods : names of methods, perhaps with settings (see `find_method`); none means the default ones
    protocol : see `make_splits`; None means "fixed" where the set comes divided, else "half"
    repeats, seed : how often the splits are drawn, and the first seed
    classes : only these; none means all
    out : folder of the report; None means one named after the data, in the present folder
    fresh : whether to forget what an earlier call left there
    scale : whether features get mean 0 and deviation 1 on the training rows; else rows are taken as they are
    threads : of each method; None means all cores
    cell_timeout : seconds that a method may take on one split
    layout : of the data, see `open_dataset`
    command : how to repeat it, for the report
    """

    data: str
    features: Sequence[str] = ()
    methods: Sequence[str] = ()
    protocol: str | None = None
    repeats: int = 1
    seed: int = 0
    classes: Sequence[str] = ()
    out: Path | None = None
    fresh: bool = False
    scale: bool = False
    threads: int | None = None
    cell_timeout: float | None = None
    layout: str = "auto"
    command: str = ""


class Comparison(NamedTuple):
    """What came out: the folder and the page, the facts on it, all cells, and the items that gave no row."""

    folder: Path
    report: Path
    facts: dict[str, Any]
    cells: list[Result]
    skipped: dict[str, str]

    @property
    def is_whole(self) -> bool:
        """Whether nothing was skipped and no cell failed."""
        return not self.skipped and all(cell["status"] == DONE for cell in self.cells)


class Part(NamedTuple):
    """One split in one kind of features: the rows' file, the table of the split, and the hash of both."""

    features: str
    number: int
    seed: int
    rows: Path
    table: Path
    content: str
    n_train: int
    n_test: int


def compare(wish: Wish, tell: Tell = lambda text: None, verbose: int = 0) -> Comparison:
    """Run each method on each split, as far as it has not been done yet, and write the report.

    Everything is kept in the output folder: ``report.html``, ``results.json``, ``results.csv``, the results of the
    cells in ``cells`` and the rows in ``features``. Interrupted at any moment, the next call goes on.
    """
    from nearboost.evaluation.facts import gather

    dataset = open_wished(wish)
    wish = replace(wish, protocol=wish.protocol or ("half" if dataset.part is None else "fixed"))
    chosen, wanted = choose_features(wish, dataset), choose_methods(wish, dataset)
    splits = make_splits(dataset, str(wish.protocol), wish.repeats, wish.seed)
    folder = prepare_folder(wish, dataset)
    threads = count_threads(wish.threads)
    source = open_source(dataset, folder / "features", threads, verbose)
    parts, skipped = make_parts(dataset, splits, chosen, source, folder / "features")
    cells = list(run_cells(wish, dataset, parts, wanted, folder / "cells", threads, tell, verbose))
    facts = gather(cells, dataset, splits, wish, skipped)
    report = write_report(folder, facts, cells)
    return Comparison(folder, report, facts, cells, skipped)


def open_wished(wish: Wish) -> Dataset:
    """The data, with the classes asked for."""
    dataset = open_dataset(wish.data, wish.layout)
    return dataset.with_classes(wish.classes) if wish.classes else dataset


def choose_features(wish: Wish, dataset: Dataset) -> list[Descriptor | None]:
    """The descriptors; vectors need none."""
    if dataset.kind == "vectors":
        if wish.features:
            raise DataError(f"{dataset.name} has vectors, which need no features; leave out --features.")
        return [None]
    names = [name.strip() for name in wish.features or (descriptors.DEFAULT,)]
    return [find_descriptor(name) for name in dict.fromkeys(names)]


def choose_methods(wish: Wish, dataset: Dataset) -> list[Method]:
    """The methods; by default, those of the usual ones that take the labels there are."""
    if wish.methods:
        return find_methods(wish.methods)
    usual = find_methods(methods.DEFAULT)
    return [method for method in usual if method.multilabel] if dataset.is_multilabel else usual


def prepare_folder(wish: Wish, dataset: Dataset) -> Path:
    """The output folder, outside of the data, emptied of our own files if a fresh start is wanted."""
    folder = Path(wish.out) if wish.out else Path(f"compare-{re.sub(r'[^\w.-]+', '-', dataset.name)}")
    data = Path(wish.data).resolve()
    if data.is_dir() and folder.resolve().is_relative_to(data):
        raise DataError(f"The output folder {folder} lies within the data; give one outside with --out.")
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("cells", "features"):
        if wish.fresh:
            shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir(exist_ok=True)
    return folder


def make_parts(
    dataset: Dataset, splits: Sequence[Split], chosen: Sequence[Descriptor | None], source: Source, folder: Path
) -> tuple[list[Part], dict[str, str]]:
    """Rows for all splits. An item that lacks a row in one kind of features is left out of all of them."""
    parts, skipped = [], {}
    for number, split in enumerate(splits):
        found = [source.rows(split, descriptor) for descriptor in chosen]
        for rows in found:
            skipped.update(rows.failed)
        keep = tuple(
            np.all([getattr(rows, side) >= 0 for rows in found], axis=0) for side in ("train", "test")
        )
        if not keep[0].any() or not keep[1].any():
            raise DataError(f"No image to train or test with could be read; {next(iter(skipped.values()))}")
        for descriptor, rows in zip(chosen, found, strict=True):
            name = VECTORS if descriptor is None else descriptor.name
            parts.append(make_part(dataset, split, number, name, rows, keep, source.content(split), folder))
    return parts, skipped


def make_part(
    dataset: Dataset,
    split: Split,
    number: int,
    features: str,
    rows: Rows,
    keep: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    content: str,
    folder: Path,
) -> Part:
    """Write the table of a split: rows, labels, names and groups of the items that are there."""
    train, test = split.train[keep[0]], split.test[keep[1]]
    codes = label_codes(dataset)
    names = np.array([str(name) for name in dataset.names])
    hashed = [content, *names[train], "", *names[test], *map(str, codes[np.concatenate([train, test])].ravel())]
    if dataset.groups is not None:
        hashed += ["groups", *map(str, np.asarray(dataset.groups)[train])]
    content = hash_of_texts(hashed)
    table = folder / f"split-{hash_of_texts([features, content])[:20]}.npz"
    write_table(
        table,
        train=rows.train[keep[0]],
        test=rows.test[keep[1]],
        train_labels=codes[train],
        test_labels=codes[test],
        train_names=names[train],
        test_names=names[test],
        train_groups=None if dataset.groups is None else np.asarray(dataset.groups)[train].astype(str),
    )
    return Part(features, number, split.seed, rows.file, table, content, len(train), len(test))


def label_codes(dataset: Dataset) -> NDArray[np.int64]:
    """Classes by number, or the matrix of labels."""
    if dataset.is_multilabel:
        return dataset.labels.astype(np.int64)
    number = {name: code for code, name in enumerate(dataset.classes)}
    return np.array([number[str(label)] for label in dataset.labels], dtype=np.int64)


def run_cells(
    wish: Wish,
    dataset: Dataset,
    parts: Sequence[Part],
    wanted: Sequence[Method],
    folder: Path,
    threads: int,
    tell: Tell,
    verbose: int,
) -> Iterator[Result]:
    """The result of each cell, run now or found; failed ones are tried again."""
    tasks = [
        (method, task_of(wish, dataset, part, method, folder, threads)) for part in parts for method in wanted
    ]
    with progress_bar("Comparing", len(tasks), verbose) as advance:
        for number, (method, task) in enumerate(tasks, start=1):
            result = read_result(Path(task["result"]))
            is_old = result is not None and result["status"] == DONE
            if result is None or not is_old:
                if dataset.is_multilabel and not method.multilabel:
                    result = failed(task["identity"], f"{method.title} takes one label for each item, not several.")
                    write_json(Path(task["result"]), result)
                else:
                    result = run_task(task, wish.cell_timeout)
            tell(f"{number}/{len(tasks)}  {line_of(result, is_old)}")
            advance()
            yield result


def task_of(wish: Wish, dataset: Dataset, part: Part, method: Method, folder: Path, threads: int) -> Task:
    """What the process of a cell is told."""
    identity = {
        "data": dataset.name,
        "content": part.content,
        "classes": list(dataset.classes),
        "features": part.features,
        "rows": part.rows.stem if part.features == VECTORS else part.rows.parent.name,
        "scale": wish.scale,
        "method": method.name,
        "parameters": plain(method.make(part.seed, threads).get_params(deep=True)),
        "protocol": wish.protocol,
        "split": part.number,
        "seed": part.seed,
        "threads": threads,
        "version": nearboost.__version__,
    }
    files = {"rows": str(part.rows.resolve()), "table": str(part.table.resolve())}
    return {"identity": identity, "classes": list(dataset.classes), **files, "result": str(folder / name_of(identity))}


def plain(value: Any) -> Any:
    """Settings as JSON knows them; an estimator is named by its class."""
    if isinstance(value, dict):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return type(value).__name__


def line_of(result: Result, is_old: bool) -> str:
    """A cell in one line, for people who wait."""
    where = f"{result['method']}, {result['features']}, split {result['split'] + 1}"
    if result["status"] == FAILED:
        return f"{where}: failed. {result['reason']}"
    measures = result["measures"]
    key = "accuracy" if measures.get("accuracy") is not None else "average_precision"
    per_query = 1000 * result["query_seconds"] / result["queries"]
    known = "  (from before)" if is_old else ""
    return (
        f"{where}: {key.replace('_', ' ')} {100 * measures[key]:.2f} %, fit {result['fit_seconds']:.2f} s, "
        f"{per_query:.3f} ms a query{known}"
    )
