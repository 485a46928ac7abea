"""The report's first sentence: which method is best; or which are level, as far as one can tell."""

from collections.abc import Sequence

from nearboost.compare.report.facts import Entry
from nearboost.pages import numbers

CHANCE = 0.05
MOST_NAMED = 3  # of those that are level with the best
RIGHT = {
    "accuracy": "of the test items right",
    "mean_class_accuracy": "right, averaged over the classes",
    "average_precision": "average precision",
}


def find_measure(entries: Sequence[Entry]) -> str:
    """What the methods are compared by: accuracy where it is known."""
    known = (m for m in RIGHT if any(numbers.mean(entry.measures.get(m)) is not None for entry in entries))
    return next(known, "accuracy")


def ranked(entries: Sequence[Entry]) -> list[Entry]:
    """The methods with a result, best first; those that finished fewer splits than others come last."""
    measure = find_measure(entries)
    known = [entry for entry in entries if numbers.mean(entry.measures.get(measure)) is not None]
    return sorted(known, key=lambda entry: (-entry.splits, -(numbers.mean(entry.measures[measure]) or 0.0)))


def best_entry(entries: Sequence[Entry], best: str | None) -> Entry | None:
    """The entry of the method named best, with the features that serve it best; without a name, the first."""
    order = ranked(entries)
    return next((entry for entry in order if entry.method == best), order[0] if order else None)


def label(entry: Entry, entries: Sequence[Entry]) -> str:
    """The method's name, with the features where they differ between entries."""
    if len({other.features for other in entries}) < 2:
        return entry.method
    return f"{entry.method} · {entry.features or 'none'}"


def sentence(entries: Sequence[Entry], best: str | None) -> str:
    """How good the best is, or who is level with it, and plain k-NN. It follows the best method's name."""
    winner = best_entry(entries, best)
    if winner is None:
        return "No method finished; the failed runs below say why."
    others = [entry for entry in ranked(entries) if entry is not winner]
    level = [entry for entry in others if _may_be_chance(entry)]
    behind = [entry for entry in others if not _may_be_chance(entry)]
    if level:
        return f"{_tie(winner, level, entries)}{_plain_neighbours(behind, entries)}."
    measure = find_measure(entries)
    verdict = "is best: " if others else "gets "
    text = f"{verdict}{numbers.with_deviation(winner.measures[measure])} {RIGHT[measure]}"
    prototypes = numbers.mean(winner.prototypes)
    text += f" with {numbers.count(prototypes)} prototypes" if prototypes else ""
    text += "".join(f"; {_with_share(entry, entries)}" for entry in behind[:1])
    return f"{text}{_plain_neighbours(behind[1:], entries)}."


def _tie(winner: Entry, level: Sequence[Entry], entries: Sequence[Entry]) -> str:
    """The methods whose difference from the best may be chance, each with the chance of one as large."""
    measure = find_measure(entries)
    first = numbers.with_deviation(winner.measures[measure])
    if len(level) == 1:
        (other,) = level
        second = numbers.with_deviation(numbers.mean(other.measures[measure]))
        gap = other.against_best.difference if other.against_best else None
        apart = f"a difference of {numbers.percent(abs(gap or 0.0))} points"
        names = f"and {label(other, entries)} are level"
        return f"{names}: {first} and {second} {RIGHT[measure]}, {apart} ({_chance(other)})"
    named = [f"{_with_share(entry, entries)} ({_chance(entry)})" for entry in level[:MOST_NAMED]]
    named += [f"{len(level) - MOST_NAMED} more"] if len(level) > MOST_NAMED else []
    listed = f"{', '.join(named[:-1])} and {named[-1]}"
    return f"and {len(level)} others are level: {first} {RIGHT[measure]}; {listed}"


def _p(entry: Entry) -> float:
    return (numbers.mean(entry.against_best.p) if entry.against_best else None) or 0.0


def _may_be_chance(entry: Entry) -> bool:
    """Whether the difference from the best is of a size that chance alone makes."""
    return _p(entry) >= CHANCE


def _chance(entry: Entry) -> str:
    return f"p\u00a0=\u00a0{_p(entry):.2f}"


def _with_share(entry: Entry, entries: Sequence[Entry]) -> str:
    share = numbers.mean(entry.measures[find_measure(entries)])
    return f"{label(entry, entries)} {numbers.with_deviation(share)}"


def _plain_neighbours(others: Sequence[Entry], entries: Sequence[Entry]) -> str:
    """What everybody knows."""
    return next((f"; {_with_share(entry, entries)}" for entry in others if entry.method == "knn"), "")
