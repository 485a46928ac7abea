"""The figure: curves of ours over what varies, or, for a table, ours beside the paper's cell by cell."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element

from nearboost.pages import svg
from nearboost.pages.svg import Axis, Box, add

WIDTH, HEIGHT, LEGEND = 860.0, 420.0, 300.0
LANE, LABEL, MOST_LANES = 16.0, 330.0, 60
COLOURS = (  # of a middle tone, for light and dark pages
    *("#3b7dd8", "#d0692b", "#3a9a62", "#a65fb5", "#b39600"),
    *("#8a8f98", "#d9536f", "#27a0a6", "#a07148", "#6a7fc1"),
)
STYLE = (  # a page's own colours where it has some
    ".ground{fill:var(--paper,#fff)}text{font:12px system-ui,sans-serif;fill:var(--quiet,#444)}"
    ".grid{stroke:var(--line,#ddd);fill:none}.series{fill:none;stroke-width:1.8}.deviation{stroke-width:1}"
    ".paper{fill:var(--paper,#fff);stroke:#d0692b;stroke-width:1.6}.ours{fill:#3b7dd8}.link{stroke:var(--line,#bbb)}"
)


@dataclass(frozen=True)
class Curve:
    """A row of a figure: places along what varies, means and deviations."""

    name: str
    places: list[float]
    means: list[float]
    deviations: list[float]


def draw(facts: dict[str, Any]) -> str | None:
    """The picture as SVG text; None where there is nothing to draw."""
    picture = _curves(facts) if facts["is_figure"] else _lanes(facts)
    return None if picture is None else str(svg.markup(picture))


def _curves(facts: dict[str, Any]) -> Element | None:
    numbers = [_number(column) for column in facts["columns"]]
    known = all(number is not None for number in numbers)
    places = [float(n) if n is not None and known else float(i) for i, n in enumerate(numbers)]
    drawn = [row for row in facts["rows"] if row["name"] not in facts["not_drawn"]]
    curves = [curve for row in drawn if (curve := _curve(row, places))]
    if not curves:
        return None
    frame = Box(56, 16, WIDTH - LEGEND, HEIGHT - 48)
    used = [place for curve in curves for place in curve.places]
    wide = known and min(used) > 0 and max(used) / min(used) > 20
    across = svg.axis_around(used, frame.left, frame.right, logarithmic=wide)
    levels = [m + s * d for c in curves for m, d in zip(c.means, c.deviations, strict=True) for s in (-1, 1)]
    steep = min(levels) > 0 and max(levels) / min(levels) > 200
    up = svg.axis_around(levels, frame.bottom, frame.top, logarithmic=steep)
    picture = _blank(WIDTH, HEIGHT, f"{facts['name']}: {facts['about']}")
    _grid(picture, frame, up)
    for place, column in zip(places, facts["columns"], strict=True):
        if across.low <= place <= across.high:
            x = across.place(place)
            add(picture, "path", class_="grid", d=f"M{x:.1f} {frame.top}V{frame.bottom}")
            add(picture, "text", column, x=x, y=frame.bottom + 16, text_anchor="middle")
    middle = (frame.left + frame.right) / 2
    add(picture, "text", facts["varies"], x=middle, y=HEIGHT - 10, text_anchor="middle")
    for n, curve in enumerate(curves):
        _add_curve(picture, curve, n, across, up, frame)
    return picture


def _add_curve(picture: Element, curve: Curve, number: int, across: Axis, up: Axis, frame: Box) -> None:
    colour, dashes = COLOURS[number % len(COLOURS)], "5 3" if number >= len(COLOURS) else "none"
    points = [(across.place(x), up.place(y)) for x, y in zip(curve.places, curve.means, strict=True)]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    add(picture, "path", class_="series", d=path, stroke=colour, stroke_dasharray=dashes)
    for (x, y), mean, deviation in zip(points, curve.means, curve.deviations, strict=True):
        if deviation:
            ends = up.place(mean - deviation), up.place(mean + deviation)
            add(picture, "path", class_="deviation", d=f"M{x:.1f} {ends[0]:.1f}V{ends[1]:.1f}", stroke=colour)
        dot = add(picture, "circle", cx=x, cy=y, r=3.0, fill=colour)
        add(dot, "title", f"{curve.name}: {mean:.4g}")
    y = frame.top + 12 + LANE * number
    sign = f"M{WIDTH - LEGEND + 14:.0f} {y - 4:.0f}h22"
    add(picture, "path", class_="series", d=sign, stroke=colour, stroke_dasharray=dashes)
    add(picture, "text", svg.shortened(curve.name, 42), x=WIDTH - LEGEND + 42, y=y)


def _curve(row: dict[str, Any], places: Sequence[float]) -> Curve | None:
    known = [(x, cell["ours"]) for x, cell in zip(places, row["cells"], strict=True) if cell["ours"]]
    if not known:
        return None
    order = sorted(known, key=lambda pair: pair[0])
    means = [ours["mean"] for _, ours in order]
    return Curve(row["name"], [x for x, _ in order], means, [ours["deviation"] or 0.0 for _, ours in order])


def _lanes(facts: dict[str, Any]) -> Element | None:
    """A lane for each cell with both numbers, the paper's hollow, ours filled; ours alone where none has both."""
    measured = [
        (f"{row['name']} · {column}", cell["ours"], cell["paper"])
        for row in facts["rows"]
        for column, cell in zip(facts["columns"], row["cells"], strict=True)
        if cell["ours"]
    ]
    lanes = ([lane for lane in measured if lane[2]] or measured)[:MOST_LANES]
    if not lanes:
        return None
    frame = Box(LABEL, 30, WIDTH - 16, 30 + LANE * len(lanes))
    values = [ours["mean"] for _, ours, _ in lanes] + [paper["value"] for _, _, paper in lanes if paper]
    wide = min(values) > 0 and max(values) / min(values) > 200
    across = svg.axis_around(values, frame.left, frame.right, logarithmic=wide)
    picture = _blank(WIDTH, frame.bottom + 34, f"{facts['name']}: ours and the paper's")
    for value in across.ticks():
        x = across.place(value)
        add(picture, "path", class_="grid", d=f"M{x:.1f} {frame.top}V{frame.bottom}")
        add(picture, "text", f"{value:g}", x=x, y=frame.bottom + 18, text_anchor="middle")
    for n, (name, ours, paper) in enumerate(lanes):
        _add_lane(picture, name, ours, paper, across, frame.top + LANE * (n + 0.5))
    for x, kind in ((LABEL + 6, "ours"), (LABEL + 66, "paper")):
        add(picture, "circle", class_=kind, cx=x, cy=14.0, r=4.0)
        add(picture, "text", kind, x=x + 10, y=18.0)
    return picture


def _add_lane(
    picture: Element, name: str, ours: dict[str, Any], paper: dict[str, Any] | None, across: Axis, y: float
) -> None:
    here = across.place(ours["mean"])
    add(picture, "text", svg.shortened(name, 54), x=LABEL - 10, y=y + 4, text_anchor="end")
    if paper:
        there = across.place(paper["value"])
        add(picture, "path", class_="link", d=f"M{here:.1f} {y:.1f}H{there:.1f}")
        add(add(picture, "circle", class_="paper", cx=there, cy=y, r=4.0), "title", f"paper: {paper['text']}")
    add(add(picture, "circle", class_="ours", cx=here, cy=y, r=4.0), "title", f"ours: {ours['mean']:.4g}")


def _grid(picture: Element, frame: Box, up: Axis) -> None:
    for value in up.ticks():
        y = up.place(value)
        add(picture, "path", class_="grid", d=f"M{frame.left} {y:.1f}H{frame.right}")
        add(picture, "text", f"{value:g}", x=frame.left - 6, y=y + 4, text_anchor="end")


def _blank(width: float, height: float, label: str) -> Element:
    picture = svg.drawing(width, height, label, "plot")
    picture.set("xmlns", "http://www.w3.org/2000/svg")
    add(picture, "style", STYLE)
    add(picture, "rect", class_="ground", width=width, height=height)
    return picture


def _number(text: str) -> float | None:
    try:
        return float(text.rstrip("%"))
    except ValueError:
        return None
