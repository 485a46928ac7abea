"""Facts to one self-contained HTML page: no request leaves it, and every name in it is escaped."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from nearboost.compare.records import Mistake, Prototype, as_json
from nearboost.compare.report import headline
from nearboost.compare.report.facts import ClassFacts, ConfusionFacts, CurvePoint, Difference, Entry, Facts
from nearboost.measures.differences import Summary, summarise
from nearboost.measures.intervals import ENOUGH_SPLITS
from nearboost.pages import charts, matrix, numbers
from nearboost.pages.rendering import Card, render_template
from nearboost.pages.tables import Column, Table, make_table

METHOD = Column("method", "Method")
FEATURES = Column("features", "Features")
SPLIT = Column("split", "Split", numbers.count)
FIT = Column("fit_seconds", "Fit", numbers.quantity, "s", "low", "Time to fit, without computing features", False)
QUERY = Column(
    "query_ms",
    "Query",
    numbers.quantity,
    "ms",
    "low",
    "Time to classify one item, without computing its features",
    False,
)
PEAK = Column("peak_mib", "Peak memory", numbers.count, "MiB", "low", "Most memory that the process held", False)

SPLITS = Column("splits", "Splits", numbers.count, "", None, "Number of splits that finished")

LEADERBOARD = (
    METHOD,
    FEATURES,
    SPLITS,
    Column("accuracy", "Accuracy", numbers.percent, "%", "high", "Share of test items classified correctly"),
    Column(
        "held_out_accuracy",
        "Held out",
        numbers.percent,
        "%",
        None,
        "Accuracy that the method expects, by folds of its training items",
    ),
    Column("mean_class_accuracy", "Mean per class", numbers.percent, "%", "high", "Averaged over the classes"),
    Column("top5", "Top 5", numbers.percent, "%", "high", "The true class is among the five likeliest"),
    Column("average_precision", "Average precision", numbers.percent, "%", "high", "Averaged over labels"),
    Column("log_loss", "Log-loss", numbers.fraction, "", "low", "Mean negative log-probability of the true class"),
    Column("ece", "ECE", numbers.fraction, "", "low", "Expected calibration error: confidence against accuracy"),
    Column(
        "prototypes", "Prototypes", numbers.count, "", "low", "Training items that an answer may come from", False
    ),
    FIT,
    QUERY,
    PEAK,
    Column(
        "difference", "Against best", numbers.points, "points", None, "Difference from the best on the same items"
    ),
    Column(
        "p", "p", numbers.chance, "", None, "Chance of such a difference between equals, for all pairs together"
    ),
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


def render(facts: Facts) -> str:
    """The report of a comparison; what the facts lack (probabilities, prototypes, pictures) is left out."""
    entries = facts.leaderboard
    best = headline.best_entry(entries, facts.best)
    return render_template(
        "report.html.j2",
        title=facts.title,
        command=facts.command,
        created=facts.created,
        headline=headline.sentence(entries, facts.best),
        best=headline.label(best, entries) if best else None,
        summary=_summary(facts),
        notes=facts.data.notes if facts.data else [],
        judged=_judged(entries, facts),
        leaderboard=leaderboard_table(entries, best, [one.method for one in facts.methods]) if entries else None,
        methods=facts.methods,
        fit=facts.fit,
        failed=_table("Failed runs", FAILED, facts.failed),
        **_trade_offs(entries, best),
        **_curve(facts.curve, entries, best),
        **_confusion(facts.confusion, entries, best),
        per_class=_per_class(facts),
        reliability=_reliability(facts.reliability, entries),
        gallery_of=facts.gallery_of or (best and best.method),
        gallery=_gallery(facts.gallery),
        mistakes=_mistakes(facts.mistakes),
        timings=_table("Timings", TIMINGS, facts.timings),
        made={name: _pairs(as_json(getattr(facts, name)) or {}) for name in ("protocol", "machine", "versions")},
    )


def leaderboard_table(entries: Sequence[Entry], best: Entry | None, described: Sequence[str] = ()) -> Table:
    """The methods, each with its measures and its difference from the best; ``described`` ones have a link."""
    flat = [vars(one) | dict(one.measures) | _against(one.against_best) for one in entries]
    alike = [column for column in (FEATURES, SPLITS) if len({one[column.key] for one in flat}) < 2]
    columns = [column for column in LEADERBOARD if column not in alike]
    links = [f"method-{described.index(one.method) + 1}" if one.method in described else None for one in entries]
    marked = [one is best for one in entries]
    return make_table("Leaderboard", columns, flat, marked=marked, links=links, mark_best=True)


def _against(found: Difference | None) -> dict[str, Any]:
    if found is None or found.difference is None:
        return {"difference": None, "p": None}
    return {"difference": summarise([found.difference], found.interval), "p": found.p}


def _judged(entries: Sequence[Entry], facts: Facts) -> str:
    """How sure the numbers are, in words."""
    judged = [one.against_best for one in entries if one.against_best and one.against_best.p is not None]
    if not any(numbers.interval(one.measures.get(name)) for one in entries for name in headline.RIGHT):
        return ""
    text = "Below each number is where it lies at 95 %."
    if judged:
        n_pairs = len(entries) * (len(entries) - 1) // 2
        together = f"all {n_pairs} pairs of methods together" if n_pairs > 1 else "this one pair"
        text += f" Differences and p, by Holm's rule, hold for {together}."
    if facts.protocol and facts.protocol.splits >= ENOUGH_SPLITS:
        return f"{text} They know what training on other items changes (corrected resampled t)."
    return f"{text} Test items were drawn anew, so what training on other items would change is left out."


def _summary(facts: Facts) -> list[str]:
    """What was compared on what, in a few words each."""
    data = facts.data
    kind = data.kind if data else "items"
    # Vectors are no features of anything.
    features = {entry.features for entry in facts.leaderboard if entry.features and kind != "vectors"}
    known = [
        data and data.name,
        data and f"{numbers.count(data.items)} {kind}",
        data and f"{numbers.count(len(data.classes))} classes",
        features and f"features {', '.join(sorted(features))}",
        facts.protocol and f"protocol {facts.protocol.name}",
        facts.created,
    ]
    return [str(text) for text in known if text]


def _table(caption: str, columns: Sequence[Column], records: Sequence[Any]) -> Table | None:
    return make_table(caption, columns, [vars(record) for record in records]) if records else None


def _trade_offs(entries: Sequence[Entry], best: Entry | None) -> dict[str, Any]:
    """Quality against prototypes and against query time, and the methods that keep no prototypes."""
    measure, order = headline.find_measure(entries), headline.ranked(entries)
    title = _title(measure)

    def chart(cost: str, cost_title: str) -> Markup | None:
        points = [
            charts.Point(headline.label(one, entries), x, y, numbers.interval(one.measures[measure]), one is best)
            for one in order
            if (x := numbers.mean(getattr(one, cost))) is not None
            and (y := numbers.mean(one.measures[measure])) is not None
        ]
        return charts.trade_off(points, cost_title, title)

    without = [one for one in order if numbers.mean(one.prototypes) is None]
    return {
        "against_prototypes": chart("prototypes", "Prototypes kept"),
        "against_time": chart("query_ms", "Time for one query, ms"),
        "without_prototypes": [
            f"{headline.label(one, entries)} {numbers.with_interval(one.measures[measure])}" for one in without
        ],
    }


def _title(measure: str) -> str:
    """What an axis says of a measure."""
    return next(column.title for column in LEADERBOARD if column.key == measure) + ", %"


def _curve(points: Sequence[CurvePoint], entries: Sequence[Entry], best: Entry | None) -> dict[str, Any]:
    """Quality against the number of training items: a picture, and its numbers as a table."""
    winner = headline.label(best, entries) if best else ""
    names = _in_order((point.label for point in points), entries)
    curves = {
        name: [
            charts.Point(name, one.train, one.accuracy.mean, one.accuracy.interval, name == winner)
            for one in points
            if one.label == name and one.accuracy.mean is not None
        ]
        for name in names
    }
    picture = charts.learning_curves(curves, winner, "Training items", _title(headline.find_measure(entries)))
    sizes = sorted({(one.share, one.train) for one in points})
    columns = [
        METHOD,
        *(
            Column(
                f"{share}", f"{numbers.count(train)} items", numbers.percent, "%", "high", f"{share:.0%} of them"
            )
            for share, train in dict(sizes).items()
        ),
    ]
    rows = [
        {"method": name} | {f"{one.share}": one.accuracy for one in points if one.label == name} for name in names
    ]
    return {"curve": picture, "curve_table": make_table("Learning curve", columns, rows) if picture else None}


def _confusion(confusion: ConfusionFacts | None, entries: Sequence[Entry], best: Entry | None) -> dict[str, Any]:
    """A matrix for each method, the best first, with the most common mistakes in it as a table."""
    if confusion is None or not any(any(row) for row in confusion.counts):
        return {"confusions": [], "legend": None, "numbered": False}
    winner = headline.label(best, entries) if best else ""
    every = {winner: confusion.counts} | {
        name: confusion.methods[name] for name in _in_order(confusion.methods, entries) if name != winner
    }
    columns = (
        Column("truth", "Truth"),
        Column("said", "Taken for"),
        Column("count", "Times", numbers.count, "", "high"),
        Column("share", "Of the class", numbers.percent, "%", "high"),
    )
    confusions = []
    for name, counts in every.items():
        picture = matrix.confusion_matrix(confusion.classes, counts)
        caption = "Most common mistakes" if name == winner else f"Most common mistakes of {name}"
        if picture is not None:
            pairs = matrix.most_confused(confusion.classes, counts)
            confusions.append((name, picture, _table(caption, columns, pairs)))
    numbered = len(confusion.classes) > matrix.MOST_NAMES
    return {"confusions": confusions, "legend": matrix.heat_legend(), "numbered": numbered}


def _in_order(names: Iterable[str], entries: Sequence[Entry]) -> list[str]:
    """Names of methods as they are ranked, those without a rank last."""
    ranks = {headline.label(one, entries): rank for rank, one in enumerate(headline.ranked(entries))}
    return sorted(dict.fromkeys(names), key=lambda name: ranks.get(name, len(ranks)))


def _per_class(facts: Facts) -> Table | None:
    """The classes with the accuracy of every method, the best first; numbered where the matrix has no names."""
    if not facts.per_class:
        return None
    methods = _in_order((method for one in facts.per_class for method in one.accuracy), facts.leaderboard)
    numbered = [Column("number", "No.", numbers.count)] if len(facts.per_class) > matrix.MOST_NAMES else []
    columns = [
        Column("class", "Class"),
        *numbered,
        Column("n", "Test items", numbers.count, "", "high"),
        *(Column(f"accuracy of {method}", method, numbers.percent, "%", "high") for method in methods),
        Column("auc", "AUC", numbers.fraction, "", "high", "Area under the ROC curve of the best method"),
    ]
    flat = [_class_row(number, one) for number, one in enumerate(facts.per_class, start=1)]
    return make_table("Accuracy by class", columns, flat)


def _class_row(number: int, one: ClassFacts) -> dict[str, Any]:
    shares = {
        f"accuracy of {method}": Summary(share, None, [share], one.intervals.get(method))
        for method, share in one.accuracy.items()
    }
    return {"class": one.class_, "number": number, "n": one.n, "auc": one.auc, **shares}


def _reliability(curves: Mapping[str, Any], entries: Sequence[Entry]) -> list[tuple[str, str, Markup]]:
    """A panel for each method that gives probabilities: its name, its calibration error, its curve."""
    errors = {headline.label(one, entries): numbers.mean(one.measures.get("ece")) for one in entries}
    panels = []
    for name in _in_order(curves, entries):
        error, curve = errors.get(name), charts.reliability(curves[name], name)
        if curve:
            panels.append((name, "" if error is None else f"ECE {numbers.fraction(error)}", curve))
    return panels


def _gallery(prototypes: Sequence[Prototype]) -> list[Card]:
    """Each prototype with its class and weight; the bar compares the absolute weights."""
    largest = max((abs(one.weight) for one in prototypes), default=0.0)
    return [
        Card(
            one.name,
            [("class", one.class_), ("weight", numbers.quantity(one.weight))],
            one.thumbnail,
            abs(one.weight) / largest if largest else None,
        )
        for one in prototypes
    ]


def _mistakes(mistakes: Sequence[Mistake]) -> list[Card]:
    """Each mistake with its truth, the answer and how sure it was."""
    cards = []
    for one in mistakes:
        lines = [("true", one.truth), ("predicted", one.said)]
        lines += [] if one.probability is None else [("confidence", f"{numbers.percent(one.probability)} %")]
        cards.append(Card(one.name, lines, one.thumbnail, one.probability))
    return cards


def _pairs(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and values as text."""
    known = {name: value for name, value in values.items() if value is not None}
    return [(name.replace("_gib", ", GiB").replace("_", " "), str(value)) for name, value in known.items()]
