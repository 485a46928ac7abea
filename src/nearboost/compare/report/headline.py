"""The report's first sentences: who is ahead of whom, who cannot be told apart, and how wide that is."""

from collections.abc import Sequence

from nearboost.compare.report.facts import Difference, Entry
from nearboost.compare.report.judging import CHANCE
from nearboost.pages import numbers

MOST_NAMED = 3  # of those that cannot be told apart from the best
RIGHT = {
    "accuracy": "of the test items right",
    "mean_class_accuracy": "right, averaged over the classes",
    "average_precision": "average precision",
}
NOT_RETRAINED = "With fewer than five splits, intervals leave out how much the training items matter."
NOT_JUDGED = "Without the answers to single items, so few splits do not tell how sure differences are."


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
    """How good the best is, whom it is ahead of, who cannot be told apart. It follows the best method's name."""
    winner = best_entry(entries, best)
    if winner is None:
        return "No method finished; the failed runs below say why."
    measure = find_measure(entries)
    others = [entry for entry in ranked(entries) if entry is not winner]
    behind = [entry for entry in others if _is_behind(entry)]
    level = [entry for entry in others if _p(entry) is not None and entry not in behind]
    unknown = [entry for entry in others if _p(entry) is None]
    text = f"gets {numbers.with_interval(winner.measures[measure])} {RIGHT[measure]}"
    prototypes = numbers.mean(winner.prototypes)
    text += f" with {numbers.count(prototypes)} prototypes" if prototypes else ""
    text += _ahead(behind, others, entries)
    if level:
        text += f". {_alike(level, entries)} cannot be told apart from it"
    elif behind:
        text += f"; next is {_with_range(behind[0], entries)}"
    text += "".join(f"; {_with_share(entry, entries)}" for entry in unknown[:MOST_NAMED])
    return f"{text}{_plain_neighbours(behind[0 if level else 1 :], entries)}.{_caveat(others)}"


def _ahead(behind: Sequence[Entry], others: Sequence[Entry], entries: Sequence[Entry]) -> str:
    if not behind:
        return ""
    if len(behind) < len(others):
        return f" and is ahead of {len(behind)} of {len(others)} others"
    return f" and is ahead of {label(behind[0], entries) if len(behind) == 1 else f'all {len(behind)} others'}"


def _alike(level: Sequence[Entry], entries: Sequence[Entry]) -> str:
    """Those that may be as good, each with how far apart they may be."""
    named = [_with_range(entry, entries) for entry in level[:MOST_NAMED]]
    named += [f"{len(level) - MOST_NAMED} more"] if len(level) > MOST_NAMED else []
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"


def _is_behind(entry: Entry) -> bool:
    found = entry.against_best or Difference(None, None)
    return found.p is not None and found.p < CHANCE and (found.difference or 0.0) < 0


def _p(entry: Entry) -> float | None:
    return numbers.mean(entry.against_best.p) if entry.against_best else None


def _caveat(others: Sequence[Entry]) -> str:
    """What the verdict does not know."""
    judged = [entry.against_best for entry in others if entry.against_best]
    if any(one.p is None for one in judged):
        return f" {NOT_JUDGED}"
    return f" {NOT_RETRAINED}" if judged and not any(one.retrained for one in judged) else ""


def _with_share(entry: Entry, entries: Sequence[Entry]) -> str:
    share = numbers.mean(entry.measures[find_measure(entries)])
    return f"{label(entry, entries)} {numbers.with_interval(share)}"


def _with_range(entry: Entry, entries: Sequence[Entry]) -> str:
    """A method with how far it may be from the best."""
    ends = numbers.interval(entry.against_best)
    words = "" if ends is None else f" ({_range(*ends)})"
    return f"{_with_share(entry, entries)}{words}"


def _range(low: float, high: float) -> str:
    """A range of differences from the best in words.

    >>> _range(-0.013, 0.009), _range(-0.033, -0.009), _range(-0.02, 0.02)
    ('between 1.3 points behind and 0.9 ahead', '0.9 to 3.3 points behind', 'within 2.0 points')
    """
    if numbers.percent(-low) == numbers.percent(high):
        return f"within {numbers.percent(high)} points"
    if high <= 0:
        return f"{numbers.percent(-high)} to {numbers.percent(-low)} points behind"
    if low >= 0:
        return f"{numbers.percent(low)} to {numbers.percent(high)} points ahead"
    return f"between {numbers.percent(-low)} points behind and {numbers.percent(high)} ahead"


def _plain_neighbours(others: Sequence[Entry], entries: Sequence[Entry]) -> str:
    """What everybody knows."""
    return next((f"; {_with_share(entry, entries)}" for entry in others if entry.method == "knn"), "")
