"""The confusion matrix as a heat map: numbers and names while they fit, colours alone beyond."""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from markupsafe import Markup

from nearboost.evaluation import numbers, svg
from nearboost.evaluation.svg import add

MOST_NUMBERS = 24  # classes
MOST_NAMES = 40
LONGEST_NAME = 18  # letters
# From this share of the row on, this much colour. Between half and four fifths of the colour neither dark nor
# light figures would be readable, so that no level lies there.
LEVELS = ((0.0, 0.1), (0.01, 0.16), (0.02, 0.22), (0.05, 0.3), (0.1, 0.4), (0.2, 0.5), (0.5, 0.85), (0.8, 1.0))
DARK = 0.8


@dataclass(frozen=True)
class Confusion:
    """Two classes taken for each other: how often, and which share of the true class that is."""

    truth: str
    said: str
    count: int
    share: float


def most_confused(classes: Sequence[str], counts: Sequence[Sequence[float]], most: int = 10) -> list[Confusion]:
    """The commonest mistakes, by number."""
    found = [
        Confusion(classes[i], classes[j], int(n), n / sum(row))
        for i, row in enumerate(counts)
        for j, n in enumerate(row)
        if n and i != j
    ]
    return sorted(found, key=lambda pair: (-pair.count, -pair.share))[:most]


def confusion_matrix(classes: Sequence[str], counts: Sequence[Sequence[float]]) -> Markup | None:
    """True classes down, answers across; the colour is the share of the row."""
    n = len(classes)
    if not any(any(row) for row in counts):
        return None
    named, numbered = n <= MOST_NAMES, n <= MOST_NUMBERS
    cell = min(max(400 / n, 32.0), 48.0) if numbered else 17.0 if named else max(680 / n, 1.0)
    names = [svg.shortened(name, LONGEST_NAME) for name in classes]
    margin = 14 + svg.LETTER * max(map(len, names)) if named else 44.0
    size = cell * n
    right = sum(counts[i][i] for i in range(n)) / sum(map(sum, counts))
    label = f"Confusion matrix of {n} classes, {numbers.percent(right)} % on the diagonal; the tables say more."
    picture = svg.drawing(margin + size + 2, margin + size + 2, label, "matrix")
    body = add(picture, "g", transform=f"translate({margin:.1f} {margin:.1f})")
    for level, tiles in enumerate(_tiles(counts)):
        if tiles:
            path = "".join(f"M{j * cell:.4g} {i * cell:.4g}h{cell:.4g}v{cell:.4g}h-{cell:.4g}z" for i, j in tiles)
            add(body, "path", class_="heat", d=path, fill_opacity=LEVELS[level][1])
    add(body, "rect", class_="frame", x=0.0, y=0.0, width=size, height=size)
    step = 1 if named else 10 * (1 + n // 200)
    for i in range(step - 1, n, step):
        text = names[i] if named else str(i + 1)
        middle = (i + 0.5) * cell + 4
        add(body, "text", text, x=-6.0, y=middle, text_anchor="end")
        add(body, "text", text, x=6.0, y=middle, transform="rotate(-90)")
    if numbered:
        _numbers(body, counts, cell)
    return svg.markup(picture)


def legend() -> Markup:
    """The levels of colour, each with the share it begins at."""
    picture = svg.drawing(52.0 * len(LEVELS), 30, "Colours from under 1 % to 80 % and over of a row", "key")
    for place, (share, colour) in enumerate(LEVELS):
        add(picture, "rect", class_="heat", x=52.0 * place, y=0.0, width=52.0, height=12.0, fill_opacity=colour)
        text = f"≥ {100 * share:.0f} %" if share else "> 0 %"
        add(picture, "text", text, x=52.0 * place + 2, y=26.0)
    return svg.markup(picture)


def _level(share: float) -> int:
    return max(level for level, (least, _) in enumerate(LEVELS) if share >= least)


def _tiles(counts: Sequence[Sequence[float]]) -> list[list[tuple[int, int]]]:
    """Rows and columns of the cells of each level: few elements, however many classes."""
    tiles: list[list[tuple[int, int]]] = [[] for _ in LEVELS]
    for i, row in enumerate(counts):
        for j, n in enumerate(row):
            if n:
                tiles[_level(n / sum(row))].append((i, j))
    return tiles


def _numbers(body: Element, counts: Sequence[Sequence[float]], cell: float) -> None:
    for i, row in enumerate(counts):
        for j, n in enumerate(row):
            if n:
                kind = "count on" if LEVELS[_level(n / sum(row))][1] > DARK else "count"
                x, y = (j + 0.5) * cell, (i + 0.5) * cell + 3.5
                add(body, "text", f"{n:.0f}", class_=kind, x=x, y=y, text_anchor="middle")
