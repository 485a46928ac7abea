"""Records to tables: columns without a value left out, the best of each column marked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from nearboost.pages import numbers

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """What stands in a column: a record's key, a title, and how its numbers are written (None for text)."""

    key: str
    title: str
    write: Callable[[float], str] | None = None
    unit: str = ""
    better: Literal["high", "low"] | None = None
    about: str = ""
    spread: bool = True  # whether the deviation stands beside the mean

    @property
    def numeric(self) -> bool:
        return self.write is not None


@dataclass(frozen=True)
class Cell:
    """Text, the value to sort by (None where it is unknown), and the deviation beside it."""

    text: str
    value: float | str | None
    small: str = ""
    best: bool = False


@dataclass(frozen=True)
class Row:
    cells: list[Cell]
    marked: bool = False


@dataclass(frozen=True)
class Table:
    caption: str
    columns: list[Column]
    rows: list[Row]


METHOD = Column("method", "Method")
FEATURES = Column("features", "Features")
SPLIT = Column("split", "Split", numbers.count)
FIT = Column("fit_seconds", "Fit", numbers.quantity, "s", "low", "Time to learn, without the features", False)
QUERY = Column("query_ms", "Query", numbers.quantity, "ms", "low", "Time to classify one item as features", False)
PEAK = Column("peak_mib", "Peak memory", numbers.count, "MiB", "low", "The most memory the process held", False)

SPLITS = Column("splits", "Splits", numbers.count, "", None, "So many of them were finished")

LEADERBOARD = (
    METHOD,
    FEATURES,
    SPLITS,
    Column("accuracy", "Accuracy", numbers.percent, "%", "high", "Share of test items classified right"),
    Column("mean_class_accuracy", "Mean per class", numbers.percent, "%", "high", "Averaged over the classes"),
    Column("top5", "Top 5", numbers.percent, "%", "high", "The right class is among the five likeliest"),
    Column("average_precision", "Average precision", numbers.percent, "%", "high", "Averaged over labels"),
    Column("log_loss", "Log-loss", numbers.fraction, "", "low", "Mean of minus the logarithm of the right class"),
    Column("ece", "ECE", numbers.fraction, "", "low", "Expected calibration error: confidence against accuracy"),
    Column("prototypes", "Prototypes", numbers.count, "", "low", "Training items the decision needs", False),
    FIT,
    QUERY,
    PEAK,
    Column("difference", "Against best", numbers.points, "points", None, "Difference of accuracy, split by split"),
    Column("p", "p", numbers.chance, "", None, "How often chance alone makes a difference this large"),
)
FAILED = (METHOD, FEATURES, SPLIT, Column("reason", "Reason"))
TIMINGS = (
    METHOD,
    FEATURES,
    SPLIT,
    FIT,
    Column("query_seconds", "All queries", numbers.quantity, "s", "low"),
    Column("queries", "Queries", numbers.count),
    QUERY,
    PEAK,
    Column("threads", "Threads", numbers.count),
)


def leaderboard(records: Sequence[Record], best: Record | None) -> Table:
    """The methods, each with its measures and its difference from the best."""
    flat = [{**record, **(record.get("against_best") or {})} for record in records]
    marked = [record is best for record in records]
    alike = [column for column in (FEATURES, SPLITS) if len({record.get(column.key) for record in flat}) < 2]
    columns = [column for column in LEADERBOARD if column not in alike]
    return make_table("Leaderboard", columns, flat, marked=marked, mark_best=True)


def per_class(records: Sequence[Record], methods: Sequence[str], *, numbered: bool) -> Table:
    """The classes, each with the accuracy of every method; numbered where the confusion matrix has no names."""
    columns = [
        Column("class", "Class"),
        *([Column("number", "No.", numbers.count)] if numbered else []),
        Column("n", "Test items", numbers.count, "", "high"),
        *(Column(f"accuracy of {method}", method, numbers.percent, "%", "high") for method in methods),
        Column("auc", "AUC", numbers.fraction, "", "high", "Area under the curve of the best method"),
    ]
    flat = [
        {**record, "number": number, **{f"accuracy of {m}": value for m, value in record["accuracy"].items()}}
        for number, record in enumerate(records, start=1)
    ]
    return make_table("Accuracy by class", columns, flat)


def make_table(
    caption: str,
    columns: Sequence[Column],
    records: Sequence[Record],
    *,
    marked: Sequence[bool] | None = None,
    mark_best: bool = False,
) -> Table:
    """One row for each record, in the order given. The first column names the row and always stays."""
    filled = [_fill(column, records, mark_best=mark_best) for column in columns]
    known = [n for n, cells in enumerate(filled) if n == 0 or any(cell.value is not None for cell in cells)]
    rows = [Row([filled[n][row] for n in known], bool(marked and marked[row])) for row in range(len(records))]
    return Table(caption, [columns[n] for n in known], rows)


def _fill(column: Column, records: Sequence[Record], *, mark_best: bool) -> list[Cell]:
    """The cells of a column. Equal as written counts as equally good."""
    cells = [_cell(column, record.get(column.key)) for record in records]
    values = [cell.value for cell in cells if isinstance(cell.value, float)]
    if not mark_best or column.better is None or len(values) < 2 or column.write is None:
        return cells
    best = column.write(max(values) if column.better == "high" else min(values))
    return [Cell(cell.text, cell.value, cell.small, best=cell.text == best) for cell in cells]


def _cell(column: Column, measure: Any) -> Cell:
    if column.write is None:
        return Cell("", None) if measure is None else Cell(str(measure), str(measure))
    value = numbers.mean(measure)
    if value is None:
        return Cell("", None)
    spread = numbers.deviation(measure) if column.spread else None
    return Cell(column.write(value), value, "" if spread is None else f"± {column.write(spread)}")
