"""Compare methods on the same splits: splits, rows, runs, and a report of them."""

import re
import shutil
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from nearboost.base.disk import check_folder, one_writer
from nearboost.base.errors import UsageError
from nearboost.base.progress import progress_bar
from nearboost.base.threads import count_threads
from nearboost.base.words import counted
from nearboost.catalogue.descriptors import DEFAULT as DEFAULT_FEATURES
from nearboost.catalogue.descriptors import Descriptor, find_descriptor
from nearboost.catalogue.methods import DEFAULT as DEFAULT_METHODS
from nearboost.catalogue.methods import Method, find_methods
from nearboost.compare.estimates import Notify, announce_features, announce_methods
from nearboost.compare.processes import run_task
from nearboost.compare.protocols import Split, make_splits
from nearboost.compare.records import FailedRun, FinishedRun, Run, run_from
from nearboost.compare.report.facts import Facts
from nearboost.compare.report.gather import gather
from nearboost.compare.rows import open_source
from nearboost.compare.tasks import PlannedRun, describe_splits, make_task, runs_beside
from nearboost.datasets import DataError, Dataset, open_dataset
from nearboost.datasets.dataset import join_names
from nearboost.pages.numbers import quantity

MARK = "made-by-nearboost.txt"
RUNS_FOLDER = "cells"  # as in folders of earlier versions, which go on
OUR_FOLDERS = (RUNS_FOLDER, "features")
WRITTEN = ("report.html", "results.json", "results.csv")
CURVE = (0.1, 0.2, 0.5)  # shares of the training items, beside all of them


@dataclass(frozen=True)
class Settings:
    """What to compare.

    Attributes
    ----------
    data : a folder of images, a file of vectors, or another layout that `open_dataset` knows
    features : names of descriptors, for images; none means Fisher vectors
    methods : names of methods, perhaps with settings (see `find_method`); none means the default ones
    protocol : see `make_splits`; None means "fixed" where the set comes divided, else "half"
    repeats, seed : how often the splits are drawn, and the first seed
    classes : only these; none means all
    out : folder of the report; None means one named after the data, in the present folder
    fresh : whether to forget what an earlier call left there
    scale : whether features get mean 0 and deviation 1 on the training rows; else rows are taken as they are
    threads : of each method; None means all cores
    run_timeout : seconds that a method may take on one split
    layout : of the data, see `open_dataset`
    image_shape : height and width, and 3 for colour, of vectors that are images; else what the data says
    curve : whether methods are fitted to 10, 20 and 50 % of the training items as well
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
    run_timeout: float | None = None
    layout: str = "auto"
    image_shape: Sequence[int] = ()
    curve: bool = False
    command: str = ""


class Comparison(NamedTuple):
    """What came out: the folder and the page, the facts on it, all runs, and the items that have no row."""

    folder: Path
    report: Path
    facts: Facts
    runs: list[Run]
    skipped: dict[str, str]

    @property
    def is_complete(self) -> bool:
        """Whether nothing was skipped and no run failed."""
        return not self.skipped and all(isinstance(run, FinishedRun) for run in self.runs)


def compare(settings: Settings, notify: Notify = lambda text: None, verbose: int = 0) -> Comparison:
    """Run each method on each split, as far as it has not been done yet, and write the report.

    Everything is kept in the output folder: ``report.html``, ``results.json``, ``results.csv``, the results of the
    runs in ``cells`` and the rows in ``features``. Interrupted at any moment, the next call continues.
    """
    find_methods(settings.methods or DEFAULT_METHODS)  # mistakes are reported before the data is read
    settings = replace(settings, out=settings.out or default_folder(settings.data))
    check_place(Path(str(settings.out)), settings.data)
    notify(f"Reading {settings.data}.")
    dataset = open_data(settings, verbose)
    settings = replace(settings, protocol=settings.protocol or ("half" if dataset.part is None else "fixed"))
    descriptors, wanted = choose_descriptors(settings, dataset), choose_methods(settings, dataset)
    splits = make_splits(dataset, str(settings.protocol), settings.repeats, settings.seed)
    folder = Path(str(settings.out))
    folder.mkdir(parents=True, exist_ok=True)
    notify(describe_plan(dataset, settings, len(splits), len(wanted)))
    for note in dataset.notes:
        notify(f"Note: {note}")
    with one_writer(folder):
        return compare_in(folder, settings, dataset, splits, descriptors, wanted, notify, verbose)


def compare_in(
    folder: Path,
    settings: Settings,
    dataset: Dataset,
    splits: Sequence[Split],
    descriptors: Sequence[Descriptor],
    wanted: Sequence[Method],
    notify: Notify,
    verbose: int,
) -> Comparison:
    """The comparison in a folder that no other process writes to meanwhile."""
    from nearboost.compare.report.writing import shows_curve, write_report

    for name in OUR_FOLDERS:
        prepare_folder(folder / name, settings.fresh)
    threads = count_threads(settings.threads)
    source = open_source(dataset, folder / "features", descriptors, threads, verbose)
    announce_features(descriptors, splits, source, threads, notify)
    shares = (*CURVE, 1.0) if settings.curve or (shows_curve(folder) and not settings.fresh) else (1.0,)
    with warnings_to(notify):
        described, skipped = describe_splits(dataset, splits, descriptors, source, folder / "features", shares)
    source.close()
    possible = [
        PlannedRun(method, split, make_task(method, split, dataset, settings, folder / RUNS_FOLDER, threads))
        for split in described
        for method in wanted
    ]
    planned = [one for one in possible if settings.curve or one.split.share == 1]
    announce_methods(planned, notify)
    runs = list(run_all(planned, dataset.is_multilabel, settings.run_timeout, notify, verbose))
    beside = runs_beside(folder / RUNS_FOLDER, planned, possible)
    every = [*zip((one.split for one in planned), runs, strict=True), *beside]
    facts = gather(
        [run for split, run in every if split.share == 1],
        dataset,
        splits,
        settings,
        skipped,
        source.thumbnail,
        units={split.number: split.units for split in described},
        curve=[(split.share, run) for split, run in every if split.share < 1 and isinstance(run, FinishedRun)],
        added=list(dict.fromkeys(run.identity.method for split, run in beside if split.share == 1)),
    )
    report = write_report(folder, facts, [run for _, run in every])
    return Comparison(folder, report, facts, [run for _, run in every], skipped)


@contextmanager
def warnings_to(notify: Notify) -> Iterator[None]:
    """Pass warnings on as sentences for people, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        notify(message)


def open_data(settings: Settings, verbose: int = 0) -> Dataset:
    """The data, with the classes asked for."""
    dataset = open_dataset(settings.data, settings.layout, verbose=verbose)
    if settings.image_shape:
        dataset = dataset.with_image_shape(settings.image_shape)
    if not settings.classes:
        return dataset
    fewer = dataset.with_classes(settings.classes)
    if len(fewer.classes) < 2:
        names = join_names(dataset.classes)
        raise DataError(f"--classes names {fewer.classes[0]!r} alone; name at least two of {names}.")
    return fewer


def describe_plan(dataset: Dataset, settings: Settings, n_splits: int, n_methods: int) -> str:
    """What is compared on what."""
    held = f"{dataset.name}: {len(dataset):,} {dataset.kind} of {len(dataset.classes):,} classes"
    many = f"{counted(n_splits, 'split')}, {counted(n_methods, 'method')}"
    return f"{held}; protocol {settings.protocol}, {many}."


def choose_descriptors(settings: Settings, dataset: Dataset) -> list[Descriptor]:
    """The descriptors of images; vectors need none."""
    if dataset.kind == "vectors":
        if settings.features:
            raise DataError(f"{dataset.name} has vectors, which need no features; leave out --features.")
        return []
    names = [name.strip() for name in settings.features or (DEFAULT_FEATURES,)]
    return [find_descriptor(name) for name in dict.fromkeys(names)]


def choose_methods(settings: Settings, dataset: Dataset) -> list[Method]:
    """The methods; by default, those of the usual ones that take the labels there are."""
    if settings.methods:
        return find_methods(settings.methods)
    usual = find_methods(DEFAULT_METHODS)
    return [method for method in usual if method.multilabel] if dataset.is_multilabel else usual


def default_folder(data: str) -> Path:
    """A folder in the present one, named after the data."""
    path = Path(data).resolve()
    return Path("compare-" + re.sub(r"[^\w.-]+", "-", path.name if path.is_dir() else path.stem))


def check_place(folder: Path, source: str) -> None:
    """Refuse an output folder that lies within the data, cannot be written to, or holds what others wrote."""
    data = Path(source).resolve()
    if data.is_dir() and folder.resolve().is_relative_to(data):
        raise UsageError(f"The output folder {folder} lies within the data; give one outside with --out.")
    check_folder(folder)
    foreign = [folder / name for name in WRITTEN if (folder / name).exists()]
    if foreign and not (folder / RUNS_FOLDER / MARK).exists():
        raise UsageError(f"{foreign[0]} was not written by nearboost; give another output folder with --out.")
    for inner in (folder / name for name in OUR_FOLDERS):
        if inner.exists() and not (inner / MARK).exists() and any(inner.iterdir()):
            raise UsageError(f"{inner} holds other files; give another output folder with --out.")


def prepare_folder(folder: Path, fresh: bool) -> None:
    """A folder that is ours alone, which a file in it says; nobody else's files are ever removed."""
    mark = folder / MARK
    if fresh and mark.exists():
        shutil.rmtree(folder)
    folder.mkdir(exist_ok=True)
    mark.write_text("Made by nearboost compare, which removes this folder when called with --fresh.\n")


def run_all(
    planned: Sequence[PlannedRun], several_labels: bool, timeout: float | None, notify: Notify, verbose: int
) -> Iterator[Run]:
    """Each run, done now or found; failed ones are tried again."""
    with progress_bar("Comparing", len(planned), verbose) as advance:
        for number, one in enumerate(planned, start=1):
            run: Run | None = one.earlier
            is_old = run is not None
            if run is None and several_labels and not one.method.multilabel:
                reason = f"{one.method.title} takes one label for each item, not several."
                run = FailedRun(one.task.identity, reason)
            elif run is None:
                run = run_from(run_task(one.task.as_task(), timeout))
            part = f", {one.split.share:.0%} of the training items" if one.split.share < 1 else ""
            notify(f"{number}/{len(planned)}  {describe_run(run, is_old, part)}")
            advance()
            yield run


def describe_run(run: Run, is_old: bool, part: str = "") -> str:
    """A run in one line, for people who wait."""
    where = f"{run.identity.method}, {run.identity.features}, split {run.identity.split + 1}{part}"
    if isinstance(run, FailedRun):
        return f"{where}: failed. {run.reason}"
    measures = run.assessment.measures
    key = "accuracy" if measures["mean_average_precision"] is None else "mean_average_precision"
    known = "  (from before)" if is_old else ""
    return (
        f"{where}: {key.replace('_', ' ')} {100 * measures[key]:.2f} %, fit {run.costs.fit_seconds:.2f} s, "
        f"{quantity(run.costs.query_ms)} ms a query{known}"
    )
