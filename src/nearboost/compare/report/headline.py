"""The report's first sentence: which method is best; or which are level, as far as one can tell."""

from collections.abc import Mapping, Sequence
from typing import Any

from nearboost.pages import numbers

Row = Mapping[str, Any]
CHANCE = 0.05
MOST_NAMED = 3  # of those that are level with the best
RIGHT = {
    "accuracy": "of the test items right",
    "mean_class_accuracy": "right, averaged over the classes",
    "average_precision": "average precision",
}


def measure_of(rows: Sequence[Row]) -> str:
    """What the methods are compared by: accuracy where it is known."""
    known = (m for m in numbers.MEASURES if any(numbers.mean(row.get(m)) is not None for row in rows))
    return next(known, "accuracy")


def ranked(rows: Sequence[Row]) -> list[Row]:
    """The methods with a result, best first; those that finished fewer splits than others come last."""
    measure = measure_of(rows)
    known = [row for row in rows if numbers.mean(row.get(measure)) is not None]
    return sorted(known, key=lambda row: (-(row.get("splits") or 0), -(numbers.mean(row[measure]) or 0.0)))


def best_row(rows: Sequence[Row], best: str | None) -> Row | None:
    """The row of the method named best, with the features that serve it best; the first of all without a name."""
    order = ranked(rows)
    return next((row for row in order if row["method"] == best), order[0] if order else None)


def label(row: Row, rows: Sequence[Row]) -> str:
    """The method's name, with the features where they differ between rows."""
    if len({other.get("features") for other in rows}) < 2:
        return str(row["method"])
    return f"{row['method']} · {row.get('features') or 'none'}"


def sentence(rows: Sequence[Row], best: str | None) -> str:
    """How good the best is, or who is level with it, and plain k-NN. It follows the best method's name."""
    winner = best_row(rows, best)
    if winner is None:
        return "No method finished; the failed runs below say why."
    others = [row for row in ranked(rows) if row is not winner]
    level = [row for row in others if _may_be_chance(row)]
    behind = [row for row in others if not _may_be_chance(row)]
    if level:
        return f"{_tie(winner, level, rows)}{_plain_neighbours(behind, rows)}."
    measure = measure_of(rows)
    verdict = "is best: " if others else "gets "
    text = f"{verdict}{numbers.with_deviation(winner[measure])} {RIGHT[measure]}"
    prototypes = numbers.mean(winner.get("prototypes"))
    text += f" with {numbers.count(prototypes)} prototypes" if prototypes else ""
    text += "".join(f"; {_with_share(row, rows)}" for row in behind[:1])
    return f"{text}{_plain_neighbours(behind[1:], rows)}."


def _tie(winner: Row, level: Sequence[Row], rows: Sequence[Row]) -> str:
    """The methods whose difference from the best may be chance, each with the chance of one as large."""
    measure = measure_of(rows)
    first = numbers.with_deviation(winner[measure])
    if len(level) == 1:
        (other,) = level
        second = numbers.with_deviation(numbers.mean(other[measure]))
        apart = f"a difference of {numbers.percent(abs(other['against_best']['difference']))} points"
        names = f"and {label(other, rows)} are level"
        return f"{names}: {first} and {second} {RIGHT[measure]}, {apart} ({_chance(other)})"
    shown = [f"{_with_share(row, rows)} ({_chance(row)})" for row in level[:MOST_NAMED]]
    shown += [f"{len(level) - MOST_NAMED} more"] if len(level) > MOST_NAMED else []
    listed = f"{', '.join(shown[:-1])} and {shown[-1]}"
    return f"and {len(level)} others are level: {first} {RIGHT[measure]}; {listed}"


def _may_be_chance(row: Row) -> bool:
    """Whether the difference from the best is of a size that chance alone makes."""
    return (numbers.mean((row.get("against_best") or {}).get("p")) or 0.0) >= CHANCE


def _chance(row: Row) -> str:
    return f"p\u00a0=\u00a0{row['against_best']['p']:.2f}"


def _with_share(row: Row, rows: Sequence[Row]) -> str:
    return f"{label(row, rows)} {numbers.with_deviation(numbers.mean(row[measure_of(rows)]))}"


def _plain_neighbours(others: Sequence[Row], rows: Sequence[Row]) -> str:
    """What everybody knows."""
    return next((f"; {_with_share(row, rows)}" for row in others if row["method"] == "knn"), "")
