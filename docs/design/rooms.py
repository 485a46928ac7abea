"""Draw the map of the rooms: ``python docs/design/rooms.py`` writes ``docs/design/rooms.svg``.

Floors come from the import contract and purposes from the docstrings of the packages; only where rooms stand on
their floors, and the two walks, are set here.
"""

import ast
import tomllib
from html import escape
from pathlib import Path
from textwrap import wrap

ROOT = Path(__file__).resolve().parents[2]
DRAWING = ROOT / "docs" / "design" / "rooms.svg"

LEFT, TOP = 78, 52
ROOM, HEIGHT = 236, 68  # size of a room
ACROSS, DOWN = 250, 100  # from one column or floor to the next
ROUND = 8  # radius of corners

COLUMNS = {
    "cli": 3, "app": 2, "distributed": 0, "plotting": 1, "cells": 2, "compare": 3, "models": 2, "catalogue": 2,
    "pages": 2, "measures": 1, "features": 1, "datasets": 2, "ensemble": 0, "boosting": 0, "linear": 1, "inn": 2,
    "metric": 3, "problem": 0, "votes": 1, "losses": 2, "codes": 2, "neighbors": 0, "kernels": 0, "base": 0,
}  # fmt: skip
WIDE = ("kernels", "base")  # on which all others stand

# A walk is the calls of one room, in order, and how far beside that room's left edge each leaves it.
WALKS = {
    "row": ("boosting", {"problem": 118, "neighbors": -28, "votes": 170, "losses": 194, "kernels": -52}),
    "picture": ("compare", {"datasets": 206, "catalogue": 34, "features": 163, "measures": 77, "pages": 120}),
}
LABELS = {"row": "A row to a label", "picture": "A picture to a report"}

STYLE = """
text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif }
path { fill: none; stroke-width: 2 }
.paper { fill: #ffffff } .floor { stroke: #e3e7ec; stroke-width: 1 }
.room { fill: #f2f4f7; stroke: #8a94a3 } .text { fill: #48525f }
.name { fill: #111827; font-size: 17px; font-weight: 600 } .number { fill: #ffffff; font-weight: 600 }
.row { stroke: #1f6fb4 } .picture { stroke: #b4530f } .row-mark { fill: #1f6fb4 } .picture-mark { fill: #b4530f }
@media (prefers-color-scheme: dark) {
  .paper { fill: #14181f } .floor { stroke: #2a323e }
  .room { fill: #232a35; stroke: #6d7888 } .text { fill: #b3bdca }
  .name { fill: #f3f5f8 } .number { fill: #14181f }
  .row { stroke: #6cb2ee } .picture { stroke: #f0a05f } .row-mark { fill: #6cb2ee } .picture-mark { fill: #f0a05f }
}
"""

Point = tuple[float, float]


def read_floors() -> list[list[str]]:
    """The rooms of each floor by the import contract, the highest floor first."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [[name.strip().removeprefix("nearboost.") for name in layer.split("|")] for layer in layers]


def read_purpose(room: str) -> str:
    """The first line of a package's docstring."""
    text = (ROOT / "src" / "nearboost" / room / "__init__.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]


def place_rooms(floors: list[list[str]]) -> dict[str, Point]:
    """The upper left corner of each room."""
    return {
        room: (LEFT + ACROSS * COLUMNS[room], TOP + DOWN * floor)
        for floor, rooms in enumerate(floors)
        for room in rooms
    }


def width_of(room: str) -> int:
    return 3 * ACROSS + ROOM if room in WIDE else ROOM


def lines_of(room: str) -> list[str]:
    """The purpose in lines that fit into the room."""
    return wrap(read_purpose(room), width_of(room) // 8 + 1)


def draw_room(room: str, corner: Point) -> str:
    x, y = corner
    return "\n".join(
        [
            f'<rect class="room" x="{x}" y="{y}" width="{width_of(room)}" height="{HEIGHT}" rx="6"/>',
            f'<text class="name" x="{x + 10}" y="{y + 23}">{room}</text>',
            *(
                f'<text class="text" x="{x + 10}" y="{y + 42 + 16 * i}">{escape(t)}</text>'
                for i, t in enumerate(lines_of(room))
            ),
        ]
    )


def route(caller: Point, callee: str, corner: Point, beside: float) -> list[Point]:
    """From the lower edge of a room: down, or through a corridor beside the rooms to a side, or to the top."""
    (x, y), (to_x, to_y) = caller, corner
    corridor, gap = x + beside, to_y - (DOWN - HEIGHT) / 2
    if beside < 0:  # the corridor on the left
        start, turn, level = x - beside, y + HEIGHT + 6 - beside / 3, to_y + HEIGHT / 2
        return [(start, y + HEIGHT), (start, turn), (corridor, turn), (corridor, level), (to_x, level)]
    if to_x <= corridor <= to_x + width_of(callee):
        return [(corridor, y + HEIGHT), (corridor, to_y)]
    if 0 < x - to_x <= ACROSS:  # the column on the left: its right side
        return [(corridor, y + HEIGHT), (corridor, to_y + HEIGHT / 2), (to_x + ROOM, to_y + HEIGHT / 2)]
    top = to_x + ROOM / 2
    gap += (beside - 182) / 3 if to_x > x else 0  # two lines in one gap
    return [(corridor, y + HEIGHT), (corridor, gap), (top, gap), (top, to_y)]


def rounded(points: list[Point]) -> str:
    """A path with round corners."""
    path = [f"M{points[0][0]:g},{points[0][1]:g}"]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        enter, leave = towards(corner, before), towards(corner, after)
        path.append(f"L{enter[0]:g},{enter[1]:g} Q{corner[0]:g},{corner[1]:g} {leave[0]:g},{leave[1]:g}")
    return " ".join([*path, f"L{points[-1][0]:g},{points[-1][1]:g}"])


def towards(corner: Point, other: Point) -> Point:
    """The point at the beginning of a corner's curve."""
    length = abs(corner[0] - other[0]) + abs(corner[1] - other[1])
    share = min(ROUND, length / 2) / length if length else 0
    return corner[0] + share * (other[0] - corner[0]), corner[1] + share * (other[1] - corner[1])


def draw_walk(walk: str, corners: dict[str, Point]) -> str:
    caller, calls = WALKS[walk]
    drawn = []
    for number, (callee, beside) in enumerate(calls.items(), start=1):
        points = route(corners[caller], callee, corners[callee], beside)
        (before_x, before_y), (x, y) = points[-2:]
        x, y = x + 17 * ((before_x > x) - (before_x < x)), y - 17 * (before_y < y)  # before the arrow's head
        drawn += [
            f'<path class="{walk}" d="{rounded(points)}" marker-end="url(#{walk})"/>',
            f'<circle class="{walk}-mark" cx="{x:g}" cy="{y:g}" r="9"/>',
            f'<text class="number" x="{x:g}" y="{y + 4:g}" text-anchor="middle">{number}</text>',
        ]
    return "\n".join(drawn)


def draw_entrance(walk: str, text: str, corner: Point) -> str:
    """What comes in from the left, and goes."""
    x, y = corner[0], corner[1] + HEIGHT / 2
    line = rounded([(x - 34, y), (x, y)])
    return (
        f'<path class="{walk}" d="{line}" marker-end="url(#{walk})"/>'
        f'<text class="text" x="{x - 40}" y="{y + 4:g}" text-anchor="end">{text}</text>'
    )


def draw_floor(number: int, width: float) -> str:
    """A line under the rooms of a floor."""
    y = TOP + DOWN * number - (DOWN - HEIGHT) / 2
    return f'<path class="floor" d="M0,{y:g} H{width}"/>'


def draw_legend(y: float) -> str:
    drawn = []
    for walk, x in zip(WALKS, (LEFT, LEFT + ACROSS), strict=True):
        drawn.append(f'<path class="{walk}" d="M{x},{y} h28" marker-end="url(#{walk})"/>')
        drawn.append(f'<text class="text" x="{x + 38}" y="{y + 4}">{LABELS[walk]}</text>')
    return "\n".join(drawn)


def draw() -> str:
    floors = read_floors()
    corners = place_rooms(floors)
    width, height = LEFT + 3 * ACROSS + ROOM + 16, TOP + DOWN * len(floors)
    downstairs = (
        f"M{corners['cli'][0] + ROOM / 2:g},{corners['cli'][1] + HEIGHT} V{corners[WALKS['picture'][0]][1]}"
    )
    heads = "\n".join(
        f'<marker id="{walk}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="5" markerHeight="5" '
        'orient="auto">'
        f'<polygon class="{walk}-mark" points="0,0 8,4 0,8"/></marker>'
        for walk in WALKS
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            "<title>The rooms of nearboost, floor by floor, and two walks through them</title>",
            f"<style>{STYLE}</style><defs>{heads}</defs>",
            f'<rect class="paper" width="{width}" height="{height}"/>',
            *(draw_floor(number, width) for number in range(1, len(floors))),
            draw_legend(24),
            *(draw_room(room, corner) for room, corner in corners.items()),
            f'<path class="picture" d="{downstairs}" marker-end="url(#picture)"/>',
            *(draw_walk(walk, corners) for walk in WALKS),
            draw_entrance("row", "X, y", corners["boosting"]),
            draw_entrance("picture", "pictures", corners["cli"]),
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    DRAWING.write_text(draw(), encoding="utf-8")
