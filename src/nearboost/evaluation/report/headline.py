"""The report's first sentence: which method is best, by how much, and whether that could be chance."""

from collections.abc import Mapping, Sequence
from typing import Any

from nearboost.evaluation.report import numbers

Row = Mapping[str, Any]
CHANCE = 0.05
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
    """How good the best is, then the next and plain k-NN for comparison. It follows the best method's name."""
    winner = best_row(rows, best)
    if winner is None:
        return "No method finished; the failed cells below say why."
    measure = measure_of(rows)
    verdict = "is best: " if len(rows) > 1 else "gets "
    text = f"{verdict}{numbers.with_deviation(winner[measure])} {RIGHT[measure]}"
    prototypes = numbers.mean(winner.get("prototypes"))
    text += f" with {numbers.count(prototypes)} prototypes" if prototypes else ""
    others = [row for row in ranked(rows) if row is not winner]
    shown = others[:1] + [row for row in others[1:] if row["method"] == "knn"][:1]
    text += "".join(f"; {label(row, rows)} {numbers.with_deviation(numbers.mean(row[measure]))}" for row in shown)
    return f"{text}.{_within_chance(others, rows)}"


def _within_chance(others: Sequence[Row], rows: Sequence[Row]) -> str:
    """The methods whose difference from the best may be chance."""
    equal = [row for row in others if (numbers.mean((row.get("against_best") or {}).get("p")) or 0.0) >= CHANCE]
    if not equal:
        return ""
    names = [f"{label(row, rows)} (p\u00a0=\u00a0{row['against_best']['p']:.2f})" for row in equal[:3]]
    names += [f"{len(equal) - 3} more"] if len(equal) > 3 else []
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f" Not clearly worse: {listed}."
