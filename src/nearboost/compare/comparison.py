"""Compare methods on the same splits: splits, rows, cells, and a report of them."""

import re
import shutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from nearboost.base.disk import check_folder, one_writer
from nearboost.base.errors import UsageError
from nearboost.base.progress import progress_bar
from nearboost.base.threads import count_threads
from nearboost.base.words import counted
from nearboost.catalogue import descriptors, methods
from nearboost.catalogue.descriptors import Descriptor, find_descriptor
from nearboost.catalogue.methods import Method, find_methods
from nearboost.compare.estimates import Tell, foretell_features, foretell_methods
from nearboost.compare.parts import Job, make_parts, task_of
from nearboost.compare.protocols import Split, make_splits
from nearboost.compare.rows import open_source
from nearboost.compare.running import run_task
from nearboost.compare.runs import DONE, FAILED, Result, failed
from nearboost.datasets import DataError, Dataset, open_dataset
from nearboost.datasets.dataset import shown
from nearboost.pages.numbers import quantity

MARK = "made-by-nearboost.txt"
WRITTEN = ("report.html", "results.json", "results.csv")


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


def compare(wish: Wish, tell: Tell = lambda text: None, verbose: int = 0) -> Comparison:
    """Run each method on each split, as far as it has not been done yet, and write the report.

    Everything is kept in the output folder: ``report.html``, ``results.json``, ``results.csv``, the results of the
    cells in ``cells`` and the rows in ``features``. Interrupted at any moment, the next call goes on.
    """
    find_methods(wish.methods or methods.DEFAULT)  # mistakes are told before the data is read
    dataset = open_wished(wish, verbose)
    wish = replace(wish, protocol=wish.protocol or ("half" if dataset.part is None else "fixed"))
    chosen, wanted = choose_features(wish, dataset), choose_methods(wish, dataset)
    splits = make_splits(dataset, str(wish.protocol), wish.repeats, wish.seed)
    folder = choose_folder(wish, dataset)
    tell(plan_in_words(dataset, wish, len(splits), len(wanted)))
    for note in dataset.notes:
        tell(f"Note: {note}")
    with one_writer(folder):
        return compare_in(folder, wish, dataset, splits, chosen, wanted, tell, verbose)


def compare_in(
    folder: Path,
    wish: Wish,
    dataset: Dataset,
    splits: Sequence[Split],
    chosen: Sequence[Descriptor | None],
    wanted: Sequence[Method],
    tell: Tell,
    verbose: int,
) -> Comparison:
    """The comparison in a folder that no other process writes to meanwhile."""
    from nearboost.compare.report.facts import gather
    from nearboost.compare.report.writing import write_report

    for name in ("cells", "features"):
        prepare_own(folder / name, wish.fresh)
    threads = count_threads(wish.threads)
    source = open_source(dataset, folder / "features", threads, verbose)
    foretell_features(chosen, dataset, splits, source, threads, tell)
    with warnings_told(tell):
        parts, skipped = make_parts(dataset, splits, chosen, source, folder / "features")
    jobs = [
        Job(method, part, task_of(method, part, dataset, wish, folder / "cells", threads))
        for part in parts
        for method in wanted
    ]
    foretell_methods(jobs, tell)
    cells = list(run_cells(jobs, dataset.is_multilabel, wish.cell_timeout, tell, verbose))
    facts = gather(cells, dataset, splits, wish, skipped, thumbnails_of(dataset))
    report = write_report(folder, facts, cells)
    return Comparison(folder, report, facts, cells, skipped)


@contextmanager
def warnings_told(tell: Tell) -> Iterator[None]:
    """Warnings as sentences for people, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for said in dict.fromkeys(str(warning.message) for warning in caught):
        tell(said)


def open_wished(wish: Wish, verbose: int = 0) -> Dataset:
    """The data, with the classes asked for."""
    dataset = open_dataset(wish.data, wish.layout, verbose=verbose)
    if not wish.classes:
        return dataset
    fewer = dataset.with_classes(wish.classes)
    if len(fewer.classes) < 2:
        there = shown(dataset.classes)
        raise DataError(f"--classes names {fewer.classes[0]!r} alone; name at least two of {there}.")
    return fewer


def plan_in_words(dataset: Dataset, wish: Wish, n_splits: int, n_methods: int) -> str:
    """What is compared on what."""
    held = f"{dataset.name}: {len(dataset):,} {dataset.kind} of {len(dataset.classes):,} classes"
    many = f"{counted(n_splits, 'split')}, {counted(n_methods, 'method')}"
    return f"{held}; protocol {wish.protocol}, {many}."


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


def choose_folder(wish: Wish, dataset: Dataset) -> Path:
    """The output folder, outside of the data."""
    data = Path(wish.data).resolve()
    name = data.name if data.is_dir() else dataset.name  # a folder's own name, whatever set it was taken for
    folder = Path(wish.out or "compare-" + re.sub(r"[^\w.-]+", "-", name))
    if data.is_dir() and folder.resolve().is_relative_to(data):
        raise UsageError(f"The output folder {folder} lies within the data; give one outside with --out.")
    check_folder(folder)
    foreign = [folder / name for name in WRITTEN if (folder / name).exists()]
    if foreign and not (folder / "cells" / MARK).exists():
        raise UsageError(f"{foreign[0]} did not come from here; give another output folder with --out.")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def prepare_own(folder: Path, fresh: bool) -> None:
    """A folder that is ours alone, which a file in it says; nobody else's files are ever removed."""
    mark = folder / MARK
    if folder.exists() and not mark.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} holds other files; give another output folder with --out.")
    if fresh and mark.exists():
        shutil.rmtree(folder)
    folder.mkdir(exist_ok=True)
    mark.write_text("Made by nearboost compare, which removes this folder when called with --fresh.\n")


def run_cells(
    jobs: Sequence[Job], several_labels: bool, timeout: float | None, tell: Tell, verbose: int
) -> Iterator[Result]:
    """The result of each cell, run now or found; failed ones are tried again."""
    with progress_bar("Comparing", len(jobs), verbose) as advance:
        for number, job in enumerate(jobs, start=1):
            result = job.known
            is_old = result is not None
            if result is None and several_labels and not job.method.multilabel:
                reason = f"{job.method.title} takes one label for each item, not several."
                result = failed(job.task["identity"], reason)
            elif result is None:
                result = run_task(job.task, timeout)
            tell(f"{number}/{len(jobs)}  {line_of(result, is_old)}")
            advance()
            yield result


def thumbnails_of(dataset: Dataset) -> Callable[[str], str | None]:
    """What draws an item by its name: a small copy of an image, nothing for a vector."""
    if dataset.kind == "vectors":
        return lambda name: None
    from nearboost.base.images import ImageError
    from nearboost.base.thumbnails import as_address, thumbnail

    path_of = {str(name): str(path) for name, path in zip(dataset.names, dataset.items, strict=True)}

    def draw(name: str) -> str | None:
        try:
            return as_address(thumbnail(path_of[name]))
        except ImageError:  # removed since its features were made
            return None

    return draw


def line_of(result: Result, is_old: bool) -> str:
    """A cell in one line, for people who wait."""
    where = f"{result['method']}, {result['features']}, split {result['split'] + 1}"
    if result["status"] == FAILED:
        return f"{where}: failed. {result['reason']}"
    measures = result["measures"]
    key = "accuracy" if measures["mean_average_precision"] is None else "mean_average_precision"
    per_query = 1000 * result["query_seconds"] / result["queries"]
    known = "  (from before)" if is_old else ""
    return (
        f"{where}: {key.replace('_', ' ')} {100 * measures[key]:.2f} %, fit {result['fit_seconds']:.2f} s, "
        f"{quantity(per_query)} ms a query{known}"
    )
