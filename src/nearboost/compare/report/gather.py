"""Runs to facts: who is best, by how much, and what several splits say together."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import Any, TypeVar

import numpy as np

from nearboost.base.machine import describe_machine, describe_versions, present_time
from nearboost.base.words import counted
from nearboost.compare.protocols import Split, protocol_notes
from nearboost.compare.records import FailedRun, FinishedRun, Mistake, Prototype, Run
from nearboost.compare.report.advice import can_be_saved, describe_methods, fit_facts
from nearboost.compare.report.facts import (
    ClassFacts,
    ConfusionFacts,
    CurvePoint,
    DataFacts,
    Entry,
    Facts,
    Failure,
    ProtocolFacts,
    Timing,
)
from nearboost.compare.report.judging import Units, class_interval, judge_pairs, summarise_measure, turned
from nearboost.compare.runs import N_MISTAKES, N_PROTOTYPES
from nearboost.datasets import Dataset
from nearboost.measures.differences import Summary, summarise
from nearboost.measures.intervals import wilson
from nearboost.measures.metrics import N_BINS, class_accuracies

MEASURES = ("accuracy", "mean_class_accuracy", "top5", "log_loss", "ece")
MULTILABEL_MEASURES = ("mean_average_precision", "log_loss")
TITLES = {"mean_average_precision": "average_precision"}  # as the page calls it

Runs = Sequence[FinishedRun]
Groups = Mapping[tuple[str, str], list[FinishedRun]]
Draw = Callable[[str], str | None]
Shown = TypeVar("Shown", Mistake, Prototype)


def gather(
    runs: Sequence[Run],
    dataset: Dataset,
    splits: Sequence[Split],
    settings: Any,
    skipped: Mapping[str, str],
    draw: Draw,
    *,
    units: Units | None = None,
    curve: Sequence[tuple[float, FinishedRun]] = (),
    added: Sequence[str] = (),
) -> Facts:
    """The facts of a comparison.

    Parameters
    ----------
    runs : of whole splits
    dataset, splits, settings : what was compared
    skipped : what was wrong with the items that are left out
    draw : gives the thumbnail of an item by its name, or None
    units : for each split, what each of its test items is counted as; None means that no item comes twice
    curve : runs on a share of the training items
    added : methods that an earlier call has run
    """
    done = [run for run in runs if isinstance(run, FinishedRun)]
    groups = group_runs(done)
    measure = "mean_average_precision" if dataset.is_multilabel else "accuracy"
    best = find_best(groups, measure)
    weighted = find_weighted(groups, measure)
    savable = {key: runs for key, runs in groups.items() if can_be_saved(key[0])}
    counted = units or {}
    notes = [*protocol_notes(dataset, settings.protocol), *complaints(done), *added_notes(added)]
    return Facts(
        title=title(dataset.name, len({(run.identity.method, run.identity.features) for run in runs})),
        command=settings.command,
        created=present_time(),
        machine=describe_machine(),
        versions=describe_versions(),
        data=data_facts(dataset, notes, skipped),
        protocol=protocol_facts(settings, splits),
        leaderboard=leaderboard(groups, best, measure, counted),
        best=best[0].identity.method if best else None,
        failed=[failure(run) for run in runs if isinstance(run, FailedRun)],
        per_class=[] if dataset.is_multilabel else per_class(groups, best, dataset.classes, counted),
        confusion=None if dataset.is_multilabel or not best else confusion(groups, best, dataset.classes),
        reliability=reliability(groups, counted),
        gallery=illustrate(weighted[0].assessment.gallery[:N_PROTOTYPES] if weighted else [], draw),
        gallery_of=weighted[0].identity.method if weighted else None,
        mistakes=illustrate(worst_mistakes(best), draw),
        mistakes_of=best[0].identity.method if best else None,
        skipped=dict(skipped),
        timings=[timing(run) for run in done],
        curve=curve_points(groups, curve, measure, counted),
        methods=describe_methods(method for method, _ in groups),
        fit=fit_facts(find_best(savable, measure), settings, dataset),
    )


def title(name: str, n_methods: int) -> str:
    """What was done, for the head of the page."""
    return f"{name}: {counted(n_methods, 'method')}{' compared' if n_methods > 1 else ''}"


def group_runs(runs: Runs) -> dict[tuple[str, str], list[FinishedRun]]:
    """The runs of each method and features, over all splits."""
    groups: dict[tuple[str, str], list[FinishedRun]] = {}
    for run in runs:
        groups.setdefault((run.identity.method, run.identity.features), []).append(run)
    return groups


def find_best(groups: Groups, measure: str) -> list[FinishedRun]:
    """The runs with the highest mean, of those that finished the most splits; none where nothing finished."""
    most = max(map(len, groups.values()), default=0)
    whole = [runs for runs in groups.values() if len(runs) == most]
    return max(whole, key=lambda runs: mean_measure(runs, measure), default=[])


def find_weighted(groups: Groups, measure: str) -> list[FinishedRun]:
    """The best that learned weights of training rows; with no rounds, all of them are 0."""
    weighted = {key: runs for key, runs in groups.items() if any(one.weight for one in runs[0].assessment.gallery)}
    return find_best(weighted, measure)


def mean_measure(runs: Runs, measure: str) -> float:
    """Over the splits that have the measure; runs none of which has it come last."""
    values = [run.assessment.measures[measure] for run in runs]
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else -np.inf


def leaderboard(groups: Groups, best: Runs, measure: str, units: Units) -> list[Entry]:
    """One entry for each group, the best first; those that finished fewer splits than others come last."""
    order = sorted(groups.values(), key=lambda runs: (-len(runs), -mean_measure(runs, measure)))
    names = MEASURES if measure == "accuracy" else MULTILABEL_MEASURES
    differences = judge_pairs(order, measure, units)  # the best is the first
    return [
        Entry(
            runs[0].identity.method,
            runs[0].identity.features,
            len(runs),
            {TITLES.get(name, name): summarise_measure(runs, name, units) for name in names},
            held_out_accuracy=spread(run.assessment.held_out_accuracy for run in runs),
            prototypes=spread(run.assessment.prototypes for run in runs),
            fit_seconds=spread(run.costs.fit_seconds for run in runs),
            query_ms=spread(run.costs.query_ms for run in runs),
            peak_mib=spread(run.costs.peak_mib for run in runs),
            chosen=[run.assessment.chosen for run in runs],
            against_best=None if runs is best else turned(differences[0, place]),
        )
        for place, runs in enumerate(order)
    ]


def spread(values: Iterable[float | None]) -> Summary | None:
    """The summary over splits; None where a value is missing."""
    found = list(values)
    return None if None in found else summarise(found)


def failure(run: FailedRun) -> Failure:
    return Failure(run.identity.method, run.identity.features, run.reason, run.identity.split + 1)


def per_class(groups: Groups, best: Runs, classes: Sequence[str], units: Units) -> list[ClassFacts]:
    """How often each class is recognised, over all splits."""
    if not best:
        return []
    shares = {label(runs, groups): class_accuracies(summed(runs)) for runs in groups.values()}
    return [
        ClassFacts(
            name,
            int(n),
            {method: share for method, values in shares.items() if (share := values[c]) is not None},
            summarise([run.assessment.measures["auc"][name] for run in best]).mean,
            {label(runs, groups): ends for runs in groups.values() if (ends := class_interval(runs, c, units))},
        )
        for c, (name, n) in enumerate(zip(classes, summed(best).sum(axis=1), strict=True))
    ]


def label(runs: Runs, groups: Groups) -> str:
    """A method, with its features where there are several."""
    one = runs[0].identity
    return one.method if len({features for _, features in groups}) < 2 else f"{one.method} · {one.features}"


def summed(runs: Runs) -> Any:
    """Confusions over all splits."""
    return np.sum([run.assessment.confusion or [] for run in runs], axis=0)


def confusion(groups: Groups, best: Runs, classes: Sequence[str]) -> ConfusionFacts:
    every = {label(runs, groups): summed(runs).tolist() for runs in groups.values()}
    return ConfusionFacts(list(classes), summed(best).tolist(), every)


def reliability(groups: Groups, units: Units) -> dict[str, Any]:
    """Mean confidence, accuracy and count of each bin over all splits, and where the accuracy lies.

    An answer of an item that is tested in several splits counts as a share of one.
    """
    curves = {}
    for runs in groups.values():
        bins = [run.assessment.reliability for run in runs]
        if all(bins):
            share = share_of_own(runs, units)
            curves[label(runs, groups)] = [
                [*one, *wilson(one[1] * one[2] * share, one[2] * share)] for one in merge_bins(bins)
            ]
    return curves


def share_of_own(runs: Runs, units: Units) -> float:
    """How many items were tested, over how often one was."""
    tested = [units[run.identity.split] for run in runs if run.identity.split in units]
    if not tested:
        return 1.0
    every = np.concatenate(tested)
    return max(len(np.unique(every)), max(map(len, tested))) / len(every)


def merge_bins(bins: Sequence[Any]) -> list[list[float]]:
    """Bins of several splits as one, weighted by their counts."""
    together: dict[int, list[Any]] = {}
    for one in bins:
        for confidence, accuracy, count in one:
            together.setdefault(ceil(confidence * N_BINS), []).append(
                (confidence * count, accuracy * count, count)
            )
    sums = [np.sum(together[at], axis=0) for at in sorted(together)]
    return [[float(c / n), float(a / n), int(n)] for c, a, n in sums]


def worst_mistakes(best: Runs) -> list[Mistake]:
    """The most confident mistakes of all splits, each item once."""
    found = [mistake for run in best for mistake in run.assessment.mistakes]
    surest: dict[str, Mistake] = {}
    for mistake in sorted(found, key=lambda mistake: -(mistake.probability or 0.0)):
        surest.setdefault(mistake.name, mistake)
    return list(surest.values())[:N_MISTAKES]


def illustrate(entries: Iterable[Shown], draw: Draw) -> list[Shown]:
    return [replace(entry, thumbnail=draw(entry.name)) for entry in entries]


def timing(run: FinishedRun) -> Timing:
    one, costs = run.identity, run.costs
    return Timing(
        one.method, one.features, costs.fit_seconds, costs.query_seconds, costs.queries, costs.peak_mib,
        one.threads, one.split + 1, costs.query_ms,
    )  # fmt: skip


def complaints(runs: Runs) -> list[str]:
    """What methods warned of while they were fitted, without advice: a comparison has no option for it."""
    return [
        f"{run.identity.method} ({run.identity.features}, split {run.identity.split + 1}): "
        f"{re.split('[,;:.]', text)[0]}."
        for run in runs
        for text in run.costs.warnings
    ]


def added_notes(added: Sequence[str]) -> list[str]:
    if not added:
        return []
    return [f"Results of earlier calls in this folder stand beside: {', '.join(added)}. --fresh leaves them out."]


def curve_points(
    groups: Groups, partial: Sequence[tuple[float, FinishedRun]], measure: str, units: Units
) -> list[CurvePoint]:
    """Each method on shares of the training items and on all of them, over the splits."""
    whole = [(1.0, run) for runs in groups.values() for run in runs]
    found: dict[tuple[str, str, float], list[FinishedRun]] = {}
    for share, run in sorted([*partial, *whole] if partial else [], key=lambda one: one[0]):
        if (run.identity.method, run.identity.features) in groups:
            found.setdefault((run.identity.method, run.identity.features, share), []).append(run)
    points = []
    for (_, _, share), runs in found.items():
        accuracy = summarise_measure(runs, measure, units)
        if accuracy is not None:
            n_train = round(float(np.mean([run.costs.train for run in runs])))
            points.append(CurvePoint(label(runs, groups), share, n_train, accuracy))
    return points


def data_facts(dataset: Dataset, notes: Sequence[str], skipped: Mapping[str, str]) -> DataFacts:
    notes = [*dataset.notes, *notes]
    if skipped:
        reasons = "; ".join(list(skipped.values())[:5]) + (" …" if len(skipped) > 5 else "")
        was = "was" if len(skipped) == 1 else "were"
        notes.append(f"{counted(len(skipped), 'item')} gave no features and {was} left out. {reasons}")
    return DataFacts(dataset.name, dataset.kind, len(dataset), list(dataset.classes), dataset.counts, notes)


def protocol_facts(settings: Any, splits: Sequence[Split]) -> ProtocolFacts:
    return ProtocolFacts(
        name=settings.protocol,
        splits=len(splits),
        repeats=settings.repeats,
        seed=settings.seed,
        training_items=len(splits[0].train),
        test_items=len(splits[0].test),
        scaling="mean 0, deviation 1 on training rows" if settings.scale else "rows as they are",
    )
