"""Facts to one self-contained HTML page: no request leaves it, and every name in it is escaped."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from nearboost.compare.report import headline
from nearboost.pages import charts, heat, numbers, tables
from nearboost.pages.cards import Card
from nearboost.pages.rendering import fill

Facts = Mapping[str, Any]


def render(facts: Facts) -> str:
    """The report of a comparison.

    Parameters
    ----------
    facts : plain dict, as JSON knows it; what it lacks (probabilities, prototypes, pictures, failures) is left out

        - ``title``, ``command``, ``created``: text
        - ``machine``, ``versions``, ``protocol``: names and values
        - ``data``: ``name``, ``kind``, ``items``, ``classes``, ``counts``, ``notes``
        - ``leaderboard``: one dict a method with ``method``, ``features`` and measures, each a number, None or
          ``{"mean", "deviation", "values"}``; ``against_best``: ``{"difference", "p"}``
        - ``best``: name of the best method
        - ``per_class``: ``class``, ``n``, ``accuracy`` (method, or ``method · features``, to number), ``auc``
        - ``confusion``: ``classes``, ``counts``, of the best method
        - ``reliability``: the same names to a list of (mean confidence, accuracy, count)
        - ``gallery``: ``name``, ``class``, ``weight``, ``thumbnail``; of the method ``gallery_of`` or the best
        - ``mistakes``: ``name``, ``truth``, ``said``, ``probability``, ``thumbnail``, of the best method
        - ``failed``: ``method``, ``split``, ``reason``; ``timings``: one dict a run

    Returns
    -------
    The page as text.
    """
    rows = facts.get("leaderboard") or []
    best = headline.best_row(rows, facts.get("best"))
    return fill(
        "report.html.j2",
        title=facts["title"],
        command=facts.get("command"),
        created=facts.get("created"),
        headline=headline.sentence(rows, facts.get("best")),
        best=headline.label(best, rows) if best else None,
        summary=_summary(facts),
        notes=(facts.get("data") or {}).get("notes") or [],
        repeated=any(numbers.deviation(row.get(m)) is not None for row in rows for m in numbers.MEASURES),
        leaderboard=tables.leaderboard(rows, best) if rows else None,
        failed=_table("Failed runs", tables.FAILED, facts.get("failed")),
        **_trade_offs(rows, best),
        **_confusion(facts.get("confusion")),
        per_class=_per_class(facts),
        reliability=_reliability(facts.get("reliability") or {}, rows),
        gallery_of=facts.get("gallery_of") or (best and best["method"]),
        gallery=_gallery(facts.get("gallery") or []),
        mistakes=_mistakes(facts.get("mistakes") or []),
        timings=_table("Timings", tables.TIMINGS, facts.get("timings")),
        made={name: _pairs(facts.get(name)) for name in ("protocol", "machine", "versions")},
    )


def render_cards(title: str, lead: str, cards: Sequence[Card], command: str | None = None) -> str:
    """A page of pictures: a title, a sentence that says what they are, the cards, and how to repeat it."""
    return fill("cards.html.j2", title=title, lead=lead, cards=cards, command=command, created=None)


def _summary(facts: Facts) -> list[str]:
    """What was compared on what, in a few words each."""
    data, protocol = facts.get("data") or {}, facts.get("protocol") or {}
    kind = {"images": "images", "vectors": "vectors"}.get(data.get("kind") or "", "items")
    name = protocol if isinstance(protocol, str) else protocol.get("protocol") or protocol.get("name")
    rows = facts.get("leaderboard") or []  # vectors are no features of anything
    features = {str(row["features"]) for row in rows if row.get("features") and kind != "vectors"}
    known = [
        data.get("name"),
        data.get("items") and f"{numbers.count(data['items'])} {kind}",
        data.get("classes") and f"{numbers.count(len(data['classes']))} classes",
        features and f"features {', '.join(sorted(features))}",
        name and f"protocol {name}",
        facts.get("created"),
    ]
    return [str(text) for text in known if text]


def _table(caption: str, columns: Sequence[tables.Column], records: Sequence[Facts] | None) -> tables.Table | None:
    return tables.make_table(caption, columns, records) if records else None


def _trade_offs(rows: Sequence[Facts], best: Facts | None) -> dict[str, Any]:
    """Quality against prototypes and against query time, and the methods that keep no prototypes."""
    measure = headline.measure_of(rows)
    title = next(column.title for column in tables.LEADERBOARD if column.key == measure) + ", %"

    def chart(cost: str, cost_title: str) -> Markup | None:
        points = [
            charts.Point(headline.label(row, rows), x, y, numbers.deviation(row[measure]), row is best)
            for row in headline.ranked(rows)
            if (x := numbers.mean(row.get(cost))) is not None and (y := numbers.mean(row[measure])) is not None
        ]
        return charts.trade_off(points, cost_title, title)

    without = [row for row in headline.ranked(rows) if numbers.mean(row.get("prototypes")) is None]
    return {
        "against_prototypes": chart("prototypes", "Prototypes kept"),
        "against_time": chart("query_ms", "Time for one query, ms"),
        "without_prototypes": [f"{headline.label(r, rows)} {numbers.with_deviation(r[measure])}" for r in without],
    }


def _confusion(confusion: Facts | None) -> dict[str, Any]:
    """The matrix, and the commonest mistakes in it as a table."""
    if not confusion or not (matrix := heat.confusion_matrix(confusion["classes"], confusion["counts"])):
        return {"matrix": None, "legend": None, "numbered": False, "confused": None}
    pairs = heat.most_confused(confusion["classes"], confusion["counts"])
    columns = (
        tables.Column("truth", "Truth"),
        tables.Column("said", "Taken for"),
        tables.Column("count", "Times", numbers.count, "", "high"),
        tables.Column("share", "Of the class", numbers.percent, "%", "high"),
    )
    confused = _table("Commonest mistakes", columns, [vars(pair) for pair in pairs])
    numbered = len(confusion["classes"]) > heat.MOST_NAMES
    return {"matrix": matrix, "legend": heat.legend(), "numbered": numbered, "confused": confused}


def _in_order(names: Iterable[str], rows: Sequence[Facts]) -> list[str]:
    """Names of methods as they are ranked, those without a rank last."""
    ranks = {headline.label(row, rows): rank for rank, row in enumerate(headline.ranked(rows))}
    return sorted(dict.fromkeys(names), key=lambda name: ranks.get(name, len(ranks)))


def _per_class(facts: Facts) -> tables.Table | None:
    """One column a method, the best first."""
    records = facts.get("per_class") or []
    named = (method for record in records for method in record["accuracy"])
    methods = _in_order(named, facts.get("leaderboard") or [])
    numbered = len(records) > heat.MOST_NAMES
    return tables.per_class(records, methods, numbered=numbered) if records else None


def _reliability(curves: Mapping[str, Any], rows: Sequence[Facts]) -> list[tuple[str, str, Markup]]:
    """A panel for each method that gives probabilities: its name, its calibration error, its curve."""
    errors = {headline.label(row, rows): numbers.mean(row.get("ece")) for row in rows}
    panels = []
    for name in _in_order(curves, rows):
        error, curve = errors.get(name), charts.reliability(curves[name], name)
        if curve:
            panels.append((name, "" if error is None else f"ECE {numbers.fraction(error)}", curve))
    return panels


def _gallery(prototypes: Sequence[Facts]) -> list[Card]:
    """Each prototype with its class and weight; the bar compares the absolute weights."""
    weights = [abs(numbers.mean(prototype.get("weight")) or 0.0) for prototype in prototypes]
    largest = max(weights, default=0.0)
    cards = []
    for prototype, size in zip(prototypes, weights, strict=True):
        weight = numbers.mean(prototype.get("weight"))
        lines = [("class", str(prototype["class"]))]
        lines += [] if weight is None else [("weight", numbers.quantity(weight))]
        share = size / largest if largest and weight is not None else None
        cards.append(Card(str(prototype["name"]), lines, prototype.get("thumbnail"), share))
    return cards


def _mistakes(mistakes: Sequence[Facts]) -> list[Card]:
    """Each mistake with its truth, the answer and how sure it was."""
    cards = []
    for mistake in mistakes:
        sure = numbers.mean(mistake.get("probability"))
        lines = [("truth", str(mistake["truth"])), ("said", str(mistake["said"]))]
        lines += [] if sure is None else [("sure", f"{numbers.percent(sure)} %")]
        cards.append(Card(str(mistake["name"]), lines, mistake.get("thumbnail"), sure))
    return cards


def _pairs(values: Any) -> list[tuple[str, str]]:
    """Names and values as text; what is nested stands in its name."""
    if not isinstance(values, Mapping):
        return [] if values is None else [("name", str(values))]
    pairs: list[tuple[str, str]] = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            pairs += [(f"{name} {inner}", text) for inner, text in _pairs(value)]
        elif value is not None:
            text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            pairs.append((str(name).replace("_gib", ", GiB").replace("_", " "), text))
    return pairs
