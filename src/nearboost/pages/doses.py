"""Answers of wells to doses, with the curve that was fitted to them."""

from collections.abc import Sequence

from markupsafe import Markup

from nearboost.pages import svg
from nearboost.pages.svg import Box, add

WIDTH, HEIGHT = 440.0, 250.0
FRAME = Box(58, 12, WIDTH - 14, HEIGHT - 42)


def dose_curve(
    doses: Sequence[float],
    answers: Sequence[float],
    curve: Sequence[tuple[float, float]],
    ec50: float | None,
    title: str,
) -> Markup | None:
    """A dot for each well with a dose above 0, the curve, and a line at the dose of half of the effect.

    Nothing without two doses. Wells without a dose stand at the left edge: a logarithm has no place for them.
    """
    dots = list(zip(doses, answers, strict=True))
    tested = sorted({dose for dose, _ in dots if dose > 0})
    if len(tested) < 2:
        return None
    none = tested[0] / (tested[1] / tested[0])
    across = svg.axis_around(
        [none if min(doses) <= 0 else tested[0], *tested], FRAME.left, FRAME.right, logarithmic=True
    )
    up = svg.axis_around([*answers, *(value for _, value in curve)], FRAME.bottom, FRAME.top)
    half = "" if ec50 is None else f" Half of the effect is at {ec50:.3g}."
    picture = svg.drawing(WIDTH, HEIGHT, f"{title} of {len(dots)} wells against their doses.{half}", "plot")
    _grid(picture, across, up, none if min(doses) <= 0 else None, title)
    if ec50 is not None and across.low <= ec50 <= across.high:
        add(picture, "path", class_="leader", d=f"M{across.place(ec50):.1f} {FRAME.top}V{FRAME.bottom}")
    if curve:
        line = "L".join(f"{across.place(dose):.1f} {up.place(value):.1f}" for dose, value in curve)
        add(picture, "path", class_="curve strong", d=f"M{line}")
    for dose, value in dots:
        dot = add(picture, "circle", class_="dot", cx=across.place(max(dose, none)), cy=up.place(value), r=3.5)
        add(dot, "title", f"dose {dose:g}: {value:.3g}")
    return svg.markup(picture)


def _grid(picture: svg.Element, across: svg.Axis, up: svg.Axis, none: float | None, title: str) -> None:
    ticks = [(value, f"{value:g}") for value in across.ticks() if none is None or value > none * 1.5]
    for value, text in ([(none, "0")] if none is not None else []) + ticks:
        x = across.place(value)
        add(picture, "path", class_="grid", d=f"M{x:.1f} {FRAME.top}V{FRAME.bottom}")
        add(picture, "text", text, x=x, y=FRAME.bottom + 16, text_anchor="middle")
    for value in up.ticks():
        y = up.place(value)
        add(picture, "path", class_="grid", d=f"M{FRAME.left} {y:.1f}H{FRAME.right}")
        add(picture, "text", f"{value:g}", x=FRAME.left - 6, y=y + 4, text_anchor="end")
    middle, centre = (FRAME.left + FRAME.right) / 2, (FRAME.top + FRAME.bottom) / 2
    add(picture, "text", "dose", class_="axis", x=middle, y=HEIGHT - 6, text_anchor="middle")
    turned = f"rotate(-90 13 {centre:.1f})"
    add(
        picture,
        "text",
        svg.shortened(title, 34),
        class_="axis",
        x=13.0,
        y=centre,
        text_anchor="middle",
        transform=turned,
    )
