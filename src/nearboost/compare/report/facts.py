"""Results of runs to facts: all that the report shows, as plain values.

The keys are those of `page.render`, with three more: ``skipped`` (items that gave no row, with reasons),
``gallery_of`` and ``mistakes_of`` (whose they are). A method with several features is told apart as
"method · features", as the page does.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil
from typing import Any

import numpy as np

from nearboost.base.machine import describe_machine, describe_versions, present_time
from nearboost.base.words import counted
from nearboost.compare.processes import DONE, FAILED, Result
from nearboost.compare.protocols import Split, protocol_notes
from nearboost.compare.runs import N_MISTAKES, N_PROTOTYPES
from nearboost.datasets import Dataset
from nearboost.measures.differences import mcnemar, paired, summary
from nearboost.measures.metrics import N_BINS, class_accuracies

MEASURES = ("accuracy", "mean_class_accuracy", "top5", "log_loss", "ece")
OF_LABELS = ("mean_average_precision", "log_loss")  # where items have several
TITLES = {"mean_average_precision": "average_precision"}  # as the page calls it
Entry = dict[str, Any]
Cells = Sequence[Result]
Draw = Callable[[str], str | None]


def gather(
    cells: Cells, dataset: Dataset, splits: Sequence[Split], settings: Any, skipped: Mapping[str, str], draw: Draw
) -> dict[str, Any]:
    """The facts of a comparison; ``draw`` gives the thumbnail of an item by its name, or None."""
    done = [cell for cell in cells if cell["status"] == DONE]
    runs = group(done)
    measure = "mean_average_precision" if dataset.is_multilabel else "accuracy"
    best = find_best(runs, measure)
    of_gallery = with_gallery(runs, measure)
    return {
        "title": title(dataset.name, len(group(cells))),
        "command": settings.command,
        "created": present_time(),
        "machine": describe_machine(),
        "versions": describe_versions(),
        "data": about_data(dataset, [*protocol_notes(dataset, settings.protocol), *warned(done)], skipped),
        "protocol": about_protocol(settings, splits),
        "leaderboard": leaderboard(runs, best, measure),
        "best": best and best[0]["method"],
        "failed": [
            {**{key: cell[key] for key in ("method", "features", "reason")}, "split": cell["split"] + 1}
            for cell in cells
            if cell["status"] == FAILED
        ],
        "per_class": [] if dataset.is_multilabel else per_class(runs, best, dataset.classes),
        "confusion": None if dataset.is_multilabel else confusion(best, dataset.classes),
        "reliability": reliability(runs),
        "gallery": illustrated(of_gallery[0]["gallery"] if of_gallery else [], draw)[:N_PROTOTYPES],
        "gallery_of": of_gallery[0]["method"] if of_gallery else None,
        "mistakes": illustrated(worst(best), draw),
        "mistakes_of": best and best[0]["method"],
        "skipped": dict(skipped),
        "timings": [timing(cell) for cell in done],
    }


def title(name: str, n_methods: int) -> str:
    """What was done, for the head of the page."""
    return f"{name}: {counted(n_methods, 'method')}{' compared' if n_methods > 1 else ''}"


def group(cells: Cells) -> dict[tuple[str, str], list[Result]]:
    """The cells of each method and features, over all splits."""
    runs: dict[tuple[str, str], list[Result]] = {}
    for cell in cells:
        runs.setdefault((cell["method"], cell["features"]), []).append(cell)
    return runs


def find_best(runs: Mapping[Any, list[Result]], measure: str) -> list[Result] | None:
    """The run with the highest mean, of those that finished the most splits."""
    if not runs:
        return None
    most = max(map(len, runs.values()))
    return max((run for run in runs.values() if len(run) == most), key=lambda run: mean_of(run, measure))


def with_gallery(runs: Mapping[Any, list[Result]], measure: str) -> list[Result] | None:
    """The best run that learned weights of training rows; with no rounds, all of them are 0."""
    return find_best(
        {name: run for name, run in runs.items() if any(one["weight"] for one in run[0]["gallery"])}, measure
    )


def mean_of(run: Cells, measure: str) -> float:
    """Over the splits that tell; a run none of which tells comes last."""
    told = [cell["measures"][measure] for cell in run if cell["measures"][measure] is not None]
    return float(np.mean(told)) if told else -np.inf


def leaderboard(runs: Mapping[Any, list[Result]], best: Cells | None, measure: str) -> list[Entry]:
    """One entry a run, the best first; those that finished fewer splits than others come last."""
    order = sorted(runs.values(), key=lambda run: (-len(run), -mean_of(run, measure)))
    names = MEASURES if measure == "accuracy" else OF_LABELS
    return [
        {
            "method": run[0]["method"],
            "features": run[0]["features"],
            "splits": len(run),
            **{TITLES.get(name, name): spread(cell["measures"][name] for cell in run) for name in names},
            "prototypes": spread(cell["prototypes"] for cell in run),
            "fit_seconds": spread(cell["fit_seconds"] for cell in run),
            "query_ms": spread(query_ms(cell) for cell in run),
            "peak_mib": spread(cell["peak_mib"] for cell in run),
            "chosen": [cell["chosen"] for cell in run],
            "against_best": None if best is None or run is best else difference(run, best, measure),
        }
        for run in order
    ]


def spread(values: Iterable[float | None]) -> Entry | None:
    """Mean, deviation and all values; None where one of them is missing."""
    found = list(values)
    return None if None in found else summary(found)


def difference(run: Cells, best: Cells, measure: str) -> Entry | None:
    """How far a run is behind the best on the splits that both finished, and the chance of as much by luck.

    One split is judged by McNemar's test on its items, several by the corrected resampled t test.
    """
    others = {cell["split"]: cell for cell in best}
    pairs = [(cell, others[cell["split"]]) for cell in run if cell["split"] in others]
    if not pairs:
        return None
    mine, its = ([cell["measures"][measure] for cell in side] for side in zip(*pairs, strict=True))
    if len(pairs) == 1 and measure == "accuracy":
        test = mcnemar(*(np.equal(cell["predictions"], cell["truth"]) for cell in pairs[0]))
    else:
        test = paired(mine, its, n_train=pairs[0][0]["train"], n_test=pairs[0][0]["queries"])
    return {"difference": test["difference"], "p": test["p"]}


def per_class(runs: Mapping[Any, list[Result]], best: Cells | None, classes: Sequence[str]) -> list[Entry]:
    """How often each class is recognised, over all splits."""
    if best is None:
        return []
    shares = {label(run, runs): class_accuracies(summed(run)) for run in runs.values()}
    return [
        {
            "class": name,
            "n": int(n),
            "accuracy": {who: values[c] for who, values in shares.items() if values[c] is not None},
            "auc": summary([cell["measures"]["auc"][name] for cell in best])["mean"],
        }
        for c, (name, n) in enumerate(zip(classes, summed(best).sum(axis=1), strict=True))
    ]


def label(run: Cells, runs: Mapping[Any, Any]) -> str:
    """A method, with its features where there are several."""
    method, features = run[0]["method"], run[0]["features"]
    return method if len({features for _, features in runs}) < 2 else f"{method} · {features}"


def summed(run: Cells) -> Any:
    """Confusions over all splits."""
    return np.sum([cell["confusion"] for cell in run], axis=0)


def confusion(best: Cells | None, classes: Sequence[str]) -> Entry | None:
    return None if best is None else {"classes": list(classes), "counts": summed(best).tolist()}


def reliability(runs: Mapping[Any, list[Result]]) -> dict[str, Any]:
    """Mean confidence, accuracy and count of each bin, over all splits."""
    curves = {}
    for run in runs.values():
        bins = [cell["reliability"] for cell in run]
        if all(bins):
            curves[label(run, runs)] = merged(bins)
    return curves


def merged(bins: Sequence[Any]) -> list[list[float]]:
    """Bins of several splits as one, weighted by their counts."""
    together: dict[int, list[Any]] = {}
    for one in bins:
        for confidence, accuracy, count in one:
            together.setdefault(ceil(confidence * N_BINS), []).append(
                (confidence * count, accuracy * count, count)
            )
    sums = [np.sum(together[at], axis=0) for at in sorted(together)]
    return [[float(c / n), float(a / n), int(n)] for c, a, n in sums]


def worst(best: Cells | None) -> list[Entry]:
    """The most confident mistakes of all splits, each item once."""
    found = [mistake for cell in best or [] for mistake in cell["mistakes"]]
    found.sort(key=lambda mistake: -(mistake["probability"] or 0.0))
    return list({mistake["name"]: mistake for mistake in reversed(found)}.values())[::-1][:N_MISTAKES]


def illustrated(entries: Iterable[Entry], draw: Draw) -> list[Entry]:
    return [{**entry, "thumbnail": draw(entry["name"])} for entry in entries]


def query_ms(cell: Result) -> float:
    return float(1000 * cell["query_seconds"] / cell["queries"])


def timing(cell: Result) -> Entry:
    keys = ("method", "features", "fit_seconds", "query_seconds", "queries", "peak_mib", "threads")
    return {**{key: cell[key] for key in keys}, "split": cell["split"] + 1, "query_ms": query_ms(cell)}


def warned(done: Cells) -> list[str]:
    """What methods complained of while they were fitted, for the reader to judge by."""
    return [
        f"{cell['method']} ({cell['features']}, split {cell['split'] + 1}): {text}"
        for cell in done
        for text in cell.get("warnings", ())
    ]


def about_data(dataset: Dataset, notes: Sequence[str], skipped: Mapping[str, str]) -> Entry:
    notes = [*dataset.notes, *notes]
    if skipped:
        shown = "; ".join(list(skipped.values())[:5]) + (" …" if len(skipped) > 5 else "")
        was = "was" if len(skipped) == 1 else "were"
        notes.append(f"{counted(len(skipped), 'item')} gave no features and {was} left out. {shown}")
    return {
        "name": dataset.name,
        "kind": dataset.kind,
        "items": len(dataset),
        "classes": list(dataset.classes),
        "counts": dataset.counts,
        "notes": notes,
    }


def about_protocol(settings: Any, splits: Sequence[Split]) -> Entry:
    return {
        "name": settings.protocol,
        "splits": len(splits),
        "repeats": settings.repeats,
        "seed": settings.seed,
        "training_items": len(splits[0].train),
        "test_items": len(splits[0].test),
        "scaling": "mean 0, deviation 1 on training rows" if settings.scale else "rows as they are",
    }
