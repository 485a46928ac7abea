"""The report's figures as inline SVG. Colours come from the page's style sheet, so dark and light both work."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import hypot
from xml.etree.ElementTree import Element

from markupsafe import Markup

from nearboost.pages import numbers, svg
from nearboost.pages.svg import Axis, Box, add

WIDTH, HEIGHT = 420.0, 310.0
FRAME = Box(48, 10, WIDTH - 18, HEIGHT - 46)
SIZE, MARGIN = 200.0, 28.0  # of a reliability curve
COLUMNS = 48.0  # below it
LABEL_LENGTHS = (24, 14)  # letters, where there is room and where there is little
GAPS = (svg.GAP, 2.5 * svg.GAP, 4.5 * svg.GAP)  # between a point and its label


@dataclass(frozen=True)
class Point:
    """A method in a plane: what it costs, how good it is (a share) and between what, whether it is the best."""

    label: str
    cost: float
    share: float
    interval: tuple[float, float] | None = None
    best: bool = False

    @property
    def ends(self) -> tuple[float, float]:
        return self.interval or (self.share, self.share)


def trade_off(points: Sequence[Point], cost_title: str, share_title: str) -> Markup | None:
    """Quality against cost on a logarithmic axis. Nothing below two points.

    The dashed line joins those that no other point beats in both.
    """
    points = [point for point in points if point.cost > 0]
    if len(points) < 2:
        return None
    across = svg.axis_around((p.cost for p in points), FRAME.left, FRAME.right, logarithmic=True)
    up = svg.axis_around((edge for p in points for edge in p.ends), FRAME.bottom, FRAME.top)
    description = "; ".join(f"{p.label}: {numbers.quantity(p.cost)}, {numbers.percent(p.share)} %" for p in points)
    picture = svg.drawing(WIDTH, HEIGHT, f"{share_title} against {cost_title}. {description}.", "plot")
    _scales(picture, across, up, cost_title, share_title)
    front = undominated(points)
    lines = _steps(picture, [(across.place(p.cost), up.place(p.share)) for p in front])
    for point in sorted(points, key=lambda p: p.best):
        lines.append(_dot(picture, point, across, up))
    _labels(picture, sorted(points, key=lambda p: (not p.best, p not in front)), across, up, lines)
    return svg.markup(picture)


def undominated(points: Sequence[Point]) -> list[Point]:
    """The points for which no other is both as cheap and better, cheapest first."""
    front: list[Point] = []
    for point in sorted(points, key=lambda p: (p.cost, -p.share)):
        if not front or point.share > front[-1].share:
            front.append(point)
    return front


def learning_curves(
    curves: Mapping[str, Sequence[Point]], best: str, title: str, share_title: str
) -> Markup | None:
    """A line for each label from few items to many, named at its right end; nothing without two points."""
    curves = {label: points for label, points in curves.items() if len(points) > 1}
    if not curves:
        return None
    every = [point for points in curves.values() for point in points]
    names = max(svg.text_width(svg.shortened(label, LABEL_LENGTHS[0]), bold=True) for label in curves)
    right = FRAME.right - names - 2 * svg.GAP
    across = svg.axis_around((p.cost for p in every), FRAME.left, right, logarithmic=True)
    up = svg.axis_around((edge for p in every for edge in p.ends), FRAME.bottom, FRAME.top)
    words = "; ".join(
        f"{label}: {', '.join(numbers.percent(p.share) for p in of)} %" for label, of in curves.items()
    )
    picture = svg.drawing(WIDTH, HEIGHT, f"{share_title} against {title}. {words}.", "plot")
    _scales(picture, across, up, title, share_title, right)
    for label, points in sorted(curves.items(), key=lambda one: one[0] == best):
        strong = " strong" if label == best else ""
        places = [(across.place(p.cost), up.place(p.share)) for p in points]
        line = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        add(picture, "path", class_=f"curve{strong}", d=line)
        for point in points:
            _dot(picture, point, across, up, radius=3.0)
    _end_labels(picture, curves, best, across, up)
    return svg.markup(picture)


def _end_labels(
    picture: Element, curves: Mapping[str, Sequence[Point]], best: str, across: Axis, up: Axis
) -> None:
    """Names in a column at the right, in the order of the lines' ends, pushed apart, each tied to its end."""
    ends = sorted((up.place(points[-1].share), label, points[-1]) for label, points in curves.items())
    step = min(svg.LINE + 1, (FRAME.bottom - FRAME.top) / len(ends))
    places: list[float] = []
    for y, _, _ in ends:
        places.append(max(y, places[-1] + step) if places else max(y, FRAME.top + step / 2))
    lowest = FRAME.bottom - step / 2
    for at in reversed(range(len(places))):  # those at the bottom push the others up
        places[at] = min(places[at], lowest)
        lowest = places[at] - step
    left = across.end + 2 * svg.GAP
    for place, (y, label, point) in zip(places, ends, strict=True):
        x = across.place(point.cost)
        add(picture, "path", class_="leader", d=f"M{x + 4:.1f} {y:.1f}L{left - 4:.1f} {place:.1f}")
        kind = "label strong" if label == best else "label"
        add(picture, "text", svg.shortened(label, LABEL_LENGTHS[0]), class_=kind, x=left, y=place + svg.LINE / 3)


def reliability(bins: Sequence[Sequence[float]], label: str) -> Markup | None:
    """Confidence against accuracy, each bin with its interval and, as a column below, the number of its items.

    A bin is (mean confidence, accuracy, count) and perhaps the ends of the accuracy's interval; empty ones are
    left out.
    """
    known = [
        [float(value) for value in one]
        for one in bins
        if one[2] and numbers.mean(one[0]) is not None and numbers.mean(one[1]) is not None
    ]
    if not known:
        return None
    across, up = Axis(0, 1, MARGIN, SIZE - 6), Axis(0, 1, SIZE - MARGIN, 6)
    description = "; ".join(
        f"{numbers.percent(c)} % sure, {numbers.percent(a)} % right, {numbers.count(n)} items"
        for c, a, n, *_ in known
    )
    picture = svg.drawing(SIZE, SIZE + COLUMNS, f"Reliability of {label}: {description}.", "plot")
    _share_scales(picture, across, up)
    add(picture, "path", class_="front", d=f"M{across.start:.1f} {up.start:.1f}L{across.end:.1f} {up.end:.1f}")
    add(
        picture,
        "path",
        class_="line",
        d="M" + "L".join(f"{across.place(c):.1f} {up.place(a):.1f}" for c, a, *_ in known),
    )
    for confidence, right, n, *ends in known:
        x = across.place(confidence)
        if ends:
            add(picture, "path", class_="whisker", d=f"M{x:.1f} {up.place(ends[0]):.1f}V{up.place(ends[1]):.1f}")
        dot = add(picture, "circle", class_="solid", cx=x, cy=up.place(right), r=2.5)
        lies = f" ({numbers.percent(ends[0])} to {numbers.percent(ends[1])})" if ends else ""
        words = f"{numbers.percent(confidence)} % sure, {numbers.percent(right)} % right{lies}"
        add(dot, "title", f"{words}, {numbers.count(n)} items")
    _columns(picture, known, across)
    return svg.markup(picture)


def _columns(picture: Element, bins: Sequence[Sequence[float]], across: Axis) -> None:
    """How many items each bin has, and the largest number as a measure."""
    most = max(one[2] for one in bins)
    base, width = SIZE + COLUMNS - 2, 6.0
    for confidence, _, n, *_ in bins:
        height = max((COLUMNS - 18) * n / most, 0.75)
        x = min(max(across.place(confidence) - width / 2, across.start), across.end - width)
        column = add(picture, "rect", class_="column", x=x, y=base - height, width=width, height=height)
        add(column, "title", f"{numbers.count(n)} items")
    add(picture, "text", f"items, at most {numbers.count(most)}", x=across.start, y=SIZE + 8)


def _share_scales(picture: Element, across: Axis, up: Axis) -> None:
    """Lines and numbers at 0, 50 and 100 per cent both ways."""
    for share in (0.0, 0.5, 1.0):
        x, y = across.place(share), up.place(share)
        lines = f"M{x:.1f} {up.end:.1f}V{up.start:.1f}M{across.start:.1f} {y:.1f}H{across.end:.1f}"
        add(picture, "path", class_="grid", d=lines)
        anchor = "end" if share == 1 else "middle"
        add(picture, "text", f"{100 * share:.0f}", x=x, y=SIZE - 12, text_anchor=anchor)
        add(picture, "text", f"{100 * share:.0f}", x=MARGIN - 5, y=y + 4, text_anchor="end")


def _scales(
    picture: Element, across: Axis, up: Axis, cost_title: str, share_title: str, right: float = FRAME.right
) -> None:
    """Grid, numbers and titles of both axes."""
    free = 0.0  # from here on nothing is written yet
    for value in across.ticks():
        x = across.place(value)
        add(picture, "path", class_="grid", d=f"M{x:.1f} {FRAME.top}V{FRAME.bottom}")
        text = numbers.count(value) if value >= 1 else f"{value:g}"
        half = svg.text_width(text) / 2
        x = min(x, WIDTH - half)
        if x - half > free:
            add(picture, "text", text, x=x, y=FRAME.bottom + 15, text_anchor="middle")
            free = x + half
    for value in up.ticks():
        if value <= 1 + 1e-9:
            y = up.place(value)
            add(picture, "path", class_="grid", d=f"M{FRAME.left} {y:.1f}H{right:.1f}")
            add(picture, "text", f"{100 * value:.4g}", x=FRAME.left - 6, y=y + 4, text_anchor="end")
    middle = (FRAME.left + right) / 2
    add(picture, "text", cost_title, class_="axis", x=middle, y=HEIGHT - 8, text_anchor="middle")
    y = (FRAME.top + FRAME.bottom) / 2
    turned = f"rotate(-90 13 {y:.1f})"
    add(picture, "text", share_title, class_="axis", x=13.0, y=y, text_anchor="middle", transform=turned)


def _steps(picture: Element, places: Sequence[tuple[float, float]]) -> list[Box]:
    """From each point to the next, first along, then up; what the lines occupy."""
    taken: list[Box] = []
    if len(places) > 1:
        (x, y), *rest = places
        add(picture, "path", class_="front", d=f"M{x:.1f} {y:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in rest))
        for (x, y), (to_x, to_y) in pairwise(places):
            taken += [Box(x, y - 1, to_x, y + 1), Box(to_x - 1, to_y, to_x + 1, y)]
    return taken


def _dot(picture: Element, point: Point, across: Axis, up: Axis, radius: float = 4.5) -> Box:
    """A dot with its whisker; what the whisker occupies."""
    x, y = across.place(point.cost), up.place(point.share)
    low, high = map(up.place, point.ends)
    if point.interval:
        add(picture, "path", class_="whisker", d=f"M{x:.1f} {low:.1f}V{high:.1f}")
    dot = add(picture, "circle", class_="dot strong" if point.best else "dot", cx=x, cy=y, r=radius)
    lies = "" if point.interval is None else f" ({' to '.join(map(numbers.percent, point.interval))})"
    add(dot, "title", f"{point.label}: {numbers.percent(point.share)} %{lies}, {numbers.quantity(point.cost)}")
    return Box(x - 1, high, x + 1, low)


def _labels(picture: Element, points: Sequence[Point], across: Axis, up: Axis, lines: Sequence[Box]) -> None:
    """A name near each point, clear of lines, dots and other names; the point keeps its tooltip in any case.

    A name that is not right beside its point is tied to it.
    """
    places = [(across.place(p.cost), up.place(p.share)) for p in points]
    taken = [*lines, *(Box(x - 5, y - 5, x + 5, y + 5) for x, y in places)]
    names: list[Box] = []
    for point, (x, y) in zip(points, places, strict=True):
        candidates = (
            (text, gap, svg.label_beside(text, x, y, side, bold=point.best, gap=gap))
            for text in dict.fromkeys(svg.shortened(point.label, longest) for longest in LABEL_LENGTHS)
            for gap in GAPS
            for side in svg.SIDES
        )
        fitting = (
            (text, gap, label)
            for text, gap, label in candidates
            if _is_free(label.box, taken) and not (gap > GAPS[0] and _crosses(_leader(label.box, x, y), names))
        )
        text, gap, label = next(fitting, ("", 0.0, None))
        if label is None:
            continue
        taken.append(label.box)
        names.append(label.box)
        if gap > GAPS[0]:
            taken += _leader(label.box, x, y)
            to_x, to_y = label.box.nearest(x, y)
            add(picture, "path", class_="leader", d=f"M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}")
        kind = "label strong" if point.best else "label"
        add(picture, "text", text, class_=kind, x=label.x, y=label.y, text_anchor=label.anchor)


def _is_free(box: Box, taken: Sequence[Box]) -> bool:
    return box.within(FRAME) and not any(box.overlaps(other) for other in taken)


def _leader(box: Box, x: float, y: float) -> list[Box]:
    """What a line from a point to a label occupies, beyond the point's own dot."""
    to_x, to_y = box.nearest(x, y)
    length = hypot(to_x - x, to_y - y)
    steps = (at / length for at in range(6, int(length), 2))
    return [
        Box(x + s * (to_x - x) - 1, y + s * (to_y - y) - 1, x + s * (to_x - x) + 1, y + s * (to_y - y) + 1)
        for s in steps
    ]


def _crosses(some: Sequence[Box], others: Sequence[Box]) -> bool:
    return any(one.overlaps(other) for one in some for other in others)
