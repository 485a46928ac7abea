"""How long slow descriptors and methods will take, estimated by small trials before they start.

A descriptor is tried on a few images. Its steps learn from at most 200,000 patches of the training images, which
takes as many times longer as there are more patches than in the trial. It describes each training image twice.
Then all images are described.

A method is tried on few training rows and on four times as many. Its time is taken for a power of the number of
rows, with the exponent that the two trials show: between 0, where it hardly depends on them, and 2.5 for fitting
or 1.5 for one query. Queries are so many that what a call costs by itself does not count.
"""

import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import log
from pathlib import Path
from time import perf_counter
from typing import Any

from numpy.typing import NDArray

from nearboost.base.image_set import ImageSet
from nearboost.base.words import roughly
from nearboost.catalogue.descriptors import Descriptor
from nearboost.compare.processes import DONE, run_task
from nearboost.compare.protocols import Split
from nearboost.compare.records import Costs, RunTask
from nearboost.compare.rows import ImageSource, Source
from nearboost.compare.tasks import PlannedRun

Notify = Callable[[str], None]

TRIAL_IMAGES = 6
MOST_PATCHES = 200_000
TRIAL_ROWS, TRIAL_QUERIES, TIMES_AS_MANY = 150, 100, 4
TRIAL_SECONDS = 60.0


def announce_features(
    descriptors: Sequence[Descriptor], splits: Sequence[Split], source: Source, threads: int, notify: Notify
) -> None:
    """Say how long slow descriptors will take that are still to be made."""
    if not isinstance(source, ImageSource):
        return
    for descriptor in descriptors:
        missing = [split for split in splits if descriptor.slow and not source.has_rows(split, descriptor)]
        if not missing:
            continue
        notify(f"Trying {descriptor.title} on a few images to estimate the time.")
        images = source.images.take(sorted(missing[0].items))
        seconds = estimate_features(descriptor, images, len(missing[0].train), len(missing), threads)
        announce_time(f"{descriptor.title} of {len(images):,} images", seconds, notify)


def announce_methods(planned: Sequence[PlannedRun], notify: Notify) -> None:
    """Say how long slow methods will take with each kind of features, from a trial on one split."""
    waiting: dict[str, list[PlannedRun]] = {}
    for run in planned:
        if run.method.slow and run.earlier is None:
            waiting.setdefault(f"{run.method.title} on {run.split.features}", []).append(run)
    for title, same in waiting.items():
        notify(f"Trying {title} on a few rows to estimate the time.")
        one = estimate_run(same[0])
        announce_time(title, None if one is None else one * len(same), notify)


def announce_time(what: str, seconds: float | None, notify: Notify) -> None:
    notify(f"{what}: {'unknown time' if seconds is None else roughly(seconds)}.")


def estimate_features(
    descriptor: Descriptor, images: ImageSet, n_train: int, n_splits: int, threads: int
) -> float | None:
    """Seconds to describe images for each split; None where the trial fails."""
    transformer = descriptor.make(0, threads)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            started = perf_counter()
            step = max(1, len(images) // TRIAL_IMAGES)
            few = [images[i] for i in range(0, len(images), step)[:TRIAL_IMAGES]]
            decoded = perf_counter()
            transformer.fit(few)
            fitted = perf_counter()
            transformer.transform(few[:2])  # loads the kernels
            loaded = perf_counter()
            transformer.transform(few)
            each = (perf_counter() - loaded) / len(few)
    except Exception:  # a broken image among them, or too few for the words: the real one will say so
        return None
    decoding = len(images) * (decoded - started) / len(few)
    if not descriptor.learned:
        return decoding + len(images) * each
    enough = MOST_PATCHES / count_patches(few)
    learning = (fitted - decoded) * max(1.0, min(n_train, enough) / len(few))
    return decoding + n_splits * (learning + 2 * n_train * each + len(images) * each)


def count_patches(images: Sequence[NDArray[Any]]) -> float:
    """About how many patches an image has: one every four pixels in both directions, at three scales."""
    return 3 * sum(pixels.shape[0] * pixels.shape[1] / 16 for pixels in images) / len(images)


def estimate_run(planned: PlannedRun) -> float | None:
    """Seconds that a run will take; None where the trials fail or are as large as the run."""
    n_train, n_test = planned.split.n_train, planned.split.n_test
    few, n_queries = min(TRIAL_ROWS, n_train // (2 * TIMES_AS_MANY)), min(TRIAL_QUERIES, n_test)
    if few < 20:
        return None
    small, large = (_try(planned.task, n, n_queries) for n in (few, TIMES_AS_MANY * few))
    if small is None or large is None:
        return None
    growth = n_train / (TIMES_AS_MANY * few)
    fit = large.fit_seconds * growth ** exponent(small.fit_seconds, large.fit_seconds, 2.5)
    per_query = large.query_seconds / n_queries
    query = per_query * growth ** exponent(small.query_seconds, large.query_seconds, 1.5)
    return float(fit + 2 * n_test * query)  # once for the answers, once for the scores


def exponent(few: float, many: float, most: float) -> float:
    """a in seconds = rows^a, from the seconds of a trial and of the larger one.

    >>> exponent(1.0, 4.0, most=2.5), exponent(1.0, 0.9, most=2.5)
    (1.0, 0.0)
    """
    return min(max(log(many / few) / log(TIMES_AS_MANY), 0.0), most) if few > 0 and many > 0 else 0.0


def _try(task: RunTask, n_train: int, n_test: int) -> Costs | None:
    with tempfile.TemporaryDirectory() as folder:
        small = replace(task, n_train=n_train, n_test=n_test, result=Path(folder) / "trial.json")
        result = run_task(small.as_task(), TRIAL_SECONDS)
    return Costs.from_json(result) if result["status"] == DONE else None
