"""Confusion matrices as inline SVG, and what is most often confused."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from markupsafe import Markup

from nearboost.pages import numbers, svg
from nearboost.pages.svg import add

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
