"""The report's figures as inline SVG. Colours come from the page's style sheet, so dark and light both work."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from markupsafe import Markup

from nearboost.pages import numbers, svg
from nearboost.pages.svg import Axis, Box, add

WIDTH, HEIGHT = 420.0, 310.0
FRAME = Box(46, 10, WIDTH - 18, HEIGHT - 46)
SIZE, MARGIN = 200.0, 28.0  # of a reliability curve

# Of the confusion matrix.
MOST_NUMBERS = 24  # classes
MOST_NAMES = 40
LONGEST_NAME = 18  # letters
FLAT_NAME = 4  # so short a name needs no turning
# From this share of the row on, this much colour. Between half and four fifths of the colour neither dark nor
# light figures would be readable, so that no level lies there.
LEVELS = ((0.0, 0.1), (0.01, 0.16), (0.02, 0.22), (0.05, 0.3), (0.1, 0.4), (0.2, 0.5), (0.5, 0.85), (0.8, 1.0))
DARK = 0.8

Counts = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Point:
    """A method in a plane: what it costs, how good it is (a share), and whether it is the best."""

    label: str
    cost: float
    share: float
    deviation: float | None = None
    best: bool = False


def trade_off(points: Sequence[Point], cost_title: str, share_title: str) -> Markup | None:
    """Quality against cost on a logarithmic axis. Nothing below two points.

    The dashed line joins those that no other point beats in both.
    """
    points = [point for point in points if point.cost > 0]
    if len(points) < 2:
        return None
    spans = [edge for p in points for edge in (p.share - (p.deviation or 0), p.share + (p.deviation or 0))]
    across = svg.axis_around((p.cost for p in points), FRAME.left, FRAME.right, logarithmic=True)
    up = svg.axis_around(spans, FRAME.bottom, FRAME.top)
    description = "; ".join(f"{p.label}: {numbers.quantity(p.cost)}, {numbers.percent(p.share)} %" for p in points)
    picture = svg.drawing(WIDTH, HEIGHT, f"{share_title} against {cost_title}. {description}.", "plot")
    _scales(picture, across, up, cost_title, share_title)
    front = undominated(points)
    _steps(picture, [(across.place(p.cost), up.place(p.share)) for p in front])
    for point in sorted(points, key=lambda p: p.best):
        _dot(picture, point, across, up)
    _labels(picture, sorted(points, key=lambda p: (not p.best, p not in front)), across, up)
    return svg.markup(picture)


def undominated(points: Sequence[Point]) -> list[Point]:
    """The points for which no other is both as cheap and better, cheapest first."""
    front: list[Point] = []
    for point in sorted(points, key=lambda p: (p.cost, -p.share)):
        if not front or point.share > front[-1].share:
            front.append(point)
    return front


def reliability(bins: Sequence[Sequence[float]], label: str) -> Markup | None:
    """Confidence against accuracy, from each bin's (mean confidence, accuracy, count); empty bins are left out."""
    known = [
        (float(confidence), float(right), float(n))
        for confidence, right, n in bins
        if n and numbers.mean(confidence) is not None and numbers.mean(right) is not None
    ]
    if not known:
        return None
    across, up = Axis(0, 1, MARGIN, SIZE - 6), Axis(0, 1, SIZE - MARGIN, 6)
    description = "; ".join(f"{numbers.percent(c)} % sure, {numbers.percent(a)} % right" for c, a, _ in known)
    picture = svg.drawing(SIZE, SIZE, f"Reliability of {label}: {description}.", "plot")
    _share_scales(picture, across, up)
    add(picture, "path", class_="front", d=f"M{across.start:.1f} {up.start:.1f}L{across.end:.1f} {up.end:.1f}")
    places = [(across.place(c), up.place(a)) for c, a, _ in known]
    add(picture, "path", class_="line", d="M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places))
    most = max(n for _, _, n in known)
    for (x, y), (confidence, right, n) in zip(places, known, strict=True):
        dot = add(picture, "circle", class_="solid", cx=x, cy=y, r=1.5 + 4 * (n / most) ** 0.5)
        words = f"{numbers.percent(confidence)} % sure, {numbers.percent(right)} % right, {numbers.count(n)} items"
        add(dot, "title", words)
    return svg.markup(picture)


def _share_scales(picture: Element, across: Axis, up: Axis) -> None:
    """Lines and numbers at 0, 50 and 100 per cent both ways."""
    for share in (0.0, 0.5, 1.0):
        x, y = across.place(share), up.place(share)
        lines = f"M{x:.1f} {up.end:.1f}V{up.start:.1f}M{across.start:.1f} {y:.1f}H{across.end:.1f}"
        add(picture, "path", class_="grid", d=lines)
        anchor = "end" if share == 1 else "middle"
        add(picture, "text", f"{100 * share:.0f}", x=x, y=SIZE - 12, text_anchor=anchor)
        add(picture, "text", f"{100 * share:.0f}", x=MARGIN - 5, y=y + 4, text_anchor="end")


def _scales(picture: Element, across: Axis, up: Axis, cost_title: str, share_title: str) -> None:
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
            add(picture, "path", class_="grid", d=f"M{FRAME.left} {y:.1f}H{FRAME.right}")
            add(picture, "text", f"{100 * value:.4g}", x=FRAME.left - 6, y=y + 4, text_anchor="end")
    middle = (FRAME.left + FRAME.right) / 2
    add(picture, "text", cost_title, class_="axis", x=middle, y=HEIGHT - 8, text_anchor="middle")
    y = (FRAME.top + FRAME.bottom) / 2
    turned = f"rotate(-90 11 {y:.1f})"
    add(picture, "text", share_title, class_="axis", x=11.0, y=y, text_anchor="middle", transform=turned)


def _steps(picture: Element, places: Sequence[tuple[float, float]]) -> None:
    """From each point to the next, first along, then up."""
    if len(places) > 1:
        (x, y), *rest = places
        add(picture, "path", class_="front", d=f"M{x:.1f} {y:.1f}" + "".join(f"H{x:.1f}V{y:.1f}" for x, y in rest))


def _dot(picture: Element, point: Point, across: Axis, up: Axis) -> None:
    x, y = across.place(point.cost), up.place(point.share)
    if point.deviation:
        ends = up.place(point.share - point.deviation), up.place(point.share + point.deviation)
        add(picture, "path", class_="whisker", d=f"M{x:.1f} {ends[0]:.1f}V{ends[1]:.1f}")
    dot = add(picture, "circle", class_="dot strong" if point.best else "dot", cx=x, cy=y, r=4.5)
    add(dot, "title", f"{point.label}: {numbers.percent(point.share)} %, {numbers.quantity(point.cost)}")


def _labels(picture: Element, points: Sequence[Point], across: Axis, up: Axis) -> None:
    """A name beside each point, where one fits; the point keeps its tooltip in any case."""
    places = [(across.place(p.cost), up.place(p.share)) for p in points]
    taken = [Box(x - 5, y - 5, x + 5, y + 5) for x, y in places]
    for point, (x, y) in zip(points, places, strict=True):
        text = svg.shortened(point.label, 24)
        labels = (svg.label_beside(text, x, y, side, bold=point.best) for side in svg.SIDES)
        fitting = (one for one in labels if one.box.within(FRAME) and not any(one.box.overlaps(t) for t in taken))
        if chosen := next(fitting, None):
            taken.append(chosen.box)
            kind = "label strong" if point.best else "label"
            add(picture, "text", text, class_=kind, x=chosen.x, y=chosen.y, text_anchor=chosen.anchor)


@dataclass(frozen=True)
class Confusion:
    """Two classes taken for each other: how often, and which share of the true class that is."""

    truth: str
    said: str
    count: int
    share: float


def most_confused(classes: Sequence[str], counts: Counts, most: int = 10) -> list[Confusion]:
    """The most common mistakes, by number."""
    found = [
        Confusion(classes[i], classes[j], int(n), share) for i, j, n, share in _filled_cells(counts) if i != j
    ]
    return sorted(found, key=lambda pair: (-pair.count, -pair.share))[:most]


def confusion_matrix(classes: Sequence[str], counts: Counts) -> Markup | None:
    """True classes down, answers across; the colour is the share of the row."""
    n = len(classes)
    if not any(any(row) for row in counts):
        return None
    named, numbered = n <= MOST_NAMES, n <= MOST_NUMBERS
    cell = min(max(400 / n, 32.0), 48.0) if numbered else 17.0 if named else max(680 / n, 1.0)
    names = [svg.shortened(name, LONGEST_NAME) for name in classes] if named else _every_tenth(n)
    margin = 14 + max(map(svg.text_width, names))
    right = sum(counts[i][i] for i in range(n)) / sum(map(sum, counts))
    label = f"Confusion matrix of {n} classes, {numbers.percent(right)} % on the diagonal; the tables say more."
    picture = svg.drawing(margin + cell * n + 2, margin + cell * n + 2, label, "matrix")
    body = add(picture, "g", transform=f"translate({margin:.1f} {margin:.1f})")
    _colours(body, counts, cell)
    add(body, "rect", class_="frame", x=0.0, y=0.0, width=cell * n, height=cell * n)
    _class_names(body, names, cell, turned=max(map(len, names)) > FLAT_NAME)
    if numbered:
        _cell_numbers(body, counts, cell)
    return svg.markup(picture)


def heat_legend() -> Markup:
    """The levels of colour, each with the share it begins at."""
    picture = svg.drawing(52.0 * len(LEVELS), 30, "Colours from under 1 % to 80 % and over of a row", "key")
    for place, (share, colour) in enumerate(LEVELS):
        add(picture, "rect", class_="heat", x=52.0 * place, y=0.0, width=52.0, height=12.0, fill_opacity=colour)
        text = f"≥ {100 * share:.0f} %" if share else "> 0 %"
        add(picture, "text", text, x=52.0 * place + 2, y=26.0)
    return svg.markup(picture)


def _filled_cells(counts: Counts) -> Iterator[tuple[int, int, float, float]]:
    """Row, column, count and share of the row of each cell that is not empty."""
    for i, row in enumerate(counts):
        total = sum(row)
        yield from ((i, j, n, n / total) for j, n in enumerate(row) if n)


def _level(share: float) -> int:
    return max(level for level, (least, _) in enumerate(LEVELS) if share >= least)


def _colours(body: Element, counts: Counts, cell: float) -> None:
    """One path for all cells of a level: few elements, however many classes."""
    paths: list[list[str]] = [[] for _ in LEVELS]
    for i, j, _, share in _filled_cells(counts):
        paths[_level(share)].append(f"M{j * cell:.5g} {i * cell:.5g}h{cell:.4g}v{cell:.4g}h-{cell:.4g}z")
    for (_, colour), path in zip(LEVELS, paths, strict=True):
        if path:
            add(body, "path", class_="heat", d="".join(path), fill_opacity=colour)


def _every_tenth(n: int) -> list[str]:
    """Numbers of the classes from one on; of very many, every twentieth and so on."""
    step = 10 * (1 + n // 200)
    return [str(i) if i % step == 0 else "" for i in range(1, n + 1)]


def _class_names(body: Element, names: Sequence[str], cell: float, *, turned: bool) -> None:
    for i, name in enumerate(names):
        middle = (i + 0.5) * cell
        if name:
            add(body, "text", name, x=-6.0, y=middle + 4, text_anchor="end")
        if name and turned:
            add(body, "text", name, x=6.0, y=middle + 4, transform="rotate(-90)")
        elif name:
            add(body, "text", name, x=middle, y=-6.0, text_anchor="middle")


def _cell_numbers(body: Element, counts: Counts, cell: float) -> None:
    for i, j, n, share in _filled_cells(counts):
        kind = "count on" if LEVELS[_level(share)][1] > DARK else "count"
        x, y = (j + 0.5) * cell, (i + 0.5) * cell + 4
        add(body, "text", f"{n:.0f}", class_=kind, x=x, y=y, text_anchor="middle")
