"""Drawing: elements that escape what they are given, axes, and labels that keep clear of each other."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from markupsafe import Markup

LETTER, NARROW, WIDE = 8.0, 5.0, 12.0  # widths of letters of 12 px, as in fonts that are rather wide
NARROW_LETTERS, WIDE_LETTERS = frozenset("fijlrtI.,:;'|!()[]-· "), frozenset("mwMW@%=+…")
BOLD = 1.12  # times as wide
LINE = 13.0
GAP = 8.0  # from a point to its label
ASIDE = 4.0  # from a line through a point to a label above or below on one side
SIDES = ("right", "left", "above", "below", "above left", "above right", "below left", "below right")


def drawing(width: float, height: float, label: str, kind: str) -> Element:
    """An empty picture. ``label`` is what a screen reader says, ``kind`` the class the style sheet knows it by."""
    return Element(
        "svg",
        {"viewBox": f"0 0 {width:g} {height:g}", "width": f"{width:g}", "height": f"{height:g}", "class": kind}
        | {"role": "img", "aria-label": label},
    )


def add(parent: Element, tag: str, text: str | None = None, **attributes: float | str) -> Element:
    """A new element inside; ``class_`` and ``text_anchor`` stand for ``class`` and ``text-anchor``."""
    written = {
        name.rstrip("_").replace("_", "-"): value if isinstance(value, str) else f"{value:.2f}"
        for name, value in attributes.items()
    }
    element = SubElement(parent, tag, written)
    element.text = text
    return element


def markup(picture: Element) -> Markup:
    """The picture as text that needs no more escaping."""
    return Markup(ElementTree.tostring(picture, encoding="unicode"))


def shortened(text: str, longest: int) -> str:
    """The text, cut with an ellipsis where it is too long."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


@dataclass(frozen=True)
class Axis:
    """Values from ``low`` to ``high`` laid from ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def place(self, value: float) -> float:
        low, high, value = (math.log10(v) if self.logarithmic else v for v in (self.low, self.high, value))
        return self.start + (self.end - self.start) * (value - low) / (high - low)

    def ticks(self) -> list[float]:
        """Round values within the axis: at most seven or so."""
        candidates = _powers(self.low, self.high) if self.logarithmic else _steps(self.low, self.high)
        return [value for value in candidates if self.low * (1 - 1e-9) <= value <= self.high * (1 + 1e-9)]


def axis_around(values: Iterable[float], start: float, end: float, *, logarithmic: bool = False) -> Axis:
    """An axis with some room beyond the smallest and the largest value."""
    values = list(values)
    low, high = min(values), max(values)
    if logarithmic:
        room = max((high / low) ** 0.08, 1.5)
        return Axis(low / room, high * room, start, end, logarithmic=True)
    room = max(0.08 * (high - low), 0.01)
    return Axis(low - room, high + room, start, end)


def _steps(low: float, high: float) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10((high - low) / 5))
    step = next(power * factor for factor in (1, 2, 5, 10) if (high - low) / (power * factor) <= 7)
    return [n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _powers(low: float, high: float) -> list[float]:
    """The powers of ten and, on a shorter axis, more between them; equal steps on one without room for three."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
        ticks = [factor * 10.0**exponent for exponent in exponents for factor in factors]
        if sum(low <= tick <= high for tick in ticks) >= 3:
            return ticks
    return _steps(low, high)


@dataclass(frozen=True)
class Box:
    """A rectangle that something occupies."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: "Box") -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    def nearest(self, x: float, y: float) -> tuple[float, float]:
        """The point of the rectangle that is nearest to this one."""
        return min(max(x, self.left), self.right), min(max(y, self.top), self.bottom)

    def within(self, other: "Box") -> bool:
        across = other.left <= self.left and self.right <= other.right
        return across and other.top <= self.top and self.bottom <= other.bottom


@dataclass(frozen=True)
class Label:
    """Where a text is written, and what it occupies."""

    x: float
    y: float
    anchor: str
    box: Box


def text_width(text: str, *, bold: bool = False) -> float:
    """About how wide a text of 12 px is, rather too much than too little."""
    return sum(map(_letter, text)) * (BOLD if bold else 1.0)


def _letter(letter: str) -> float:
    if letter in WIDE_LETTERS or letter > "\u1100":
        return WIDE
    return NARROW if letter in NARROW_LETTERS else LETTER


def label_beside(text: str, x: float, y: float, side: str, *, bold: bool = False, gap: float = GAP) -> Label:
    """A label beside a point, on one of the `SIDES`."""
    width = text_width(text, bold=bold)
    x += {"right": gap, "left": -gap}.get(side, {"right": ASIDE, "left": -ASIDE}.get(side.split()[-1], 0.0))
    y += {"above": -gap - LINE / 2, "below": gap + LINE / 2}.get(side.split()[0], 0.0)
    towards = side.split()[-1]
    anchor, left = {"right": ("start", x), "left": ("end", x - width)}.get(towards, ("middle", x - width / 2))
    return Label(x, y + LINE / 3, anchor, Box(left, y - LINE / 2, left + width, y + LINE / 2))
