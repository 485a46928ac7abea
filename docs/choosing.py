"""Draw the chooser: ``python docs/choosing.py`` writes ``docs/figures/choosing.svg``.

A question is a box on the left; its answers lead to the right, to a method or to the next question.
"""

from html import escape
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

DRAWING = Path(__file__).resolve().parent / "figures" / "choosing.svg"

WIDTH, ROW, TOP = 980, 54, 20
QUESTION, ANSWER, METHOD = 20, 250, 560  # where the three columns begin
STYLE = """
text { font: 14px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif }
path { fill: none; stroke: #8a94a3; stroke-width: 1.5 }
.paper { fill: #ffffff } .text { fill: #48525f } .strong { fill: #111827; font-weight: 600 }
.question { fill: #f2f4f7; stroke: #8a94a3 } .method { fill: #e8f1fa; stroke: #1f6fb4 }
@media (prefers-color-scheme: dark) {
  .paper { fill: #14181f } .text { fill: #b3bdca } .strong { fill: #f3f5f8 }
  .question { fill: #232a35; stroke: #6d7888 } .method { fill: #16283a; stroke: #6cb2ee }
}
"""


class Way(NamedTuple):
    """From an answer to a method, and what is to be said of it."""

    answer: str
    method: str
    note: str


QUESTIONS = {
    "What do you have?": [
        Way("a folder of images", "nearboost compare FOLDER", "nine methods and a report; then fit its best"),
        Way("images of cells", "nearboost cells", "outlines, labels, classes, counts"),
        Way("rows of numbers", "go on below", ""),
    ],
    "How many rows and labels?": [
        Way("up to 100,000, one label each", "NearBoostClassifier", "nothing to tune or to scale: start here"),
        Way("several labels a row", "N3Classifier", "each label is learned against the rest"),
        Way("more, or larger than memory", "SLNDClassifier", "linear, block by block; or N3 with prototypes"),
    ],
    "What else must hold?": [
        Way(
            "few prototypes, fast answers",
            "N3Classifier(n_prototypes=…)",
            "or NearBoostClassifier(n_prototypes=…)",
        ),
        Way("rows are added and forgotten", "N3Classifier", "as a new fit would be, without the data at hand"),
        Way("one worth for each example", "MLNNClassifier", "one weight for all classes; takes kernels"),
        Way("codes as new features", "INNCoder, INNClassifier", "a row as a short sum of others"),
        Way("sets of descriptors, no training", "NaiveBayesNN", "one search in each class"),
        Way(
            "exact to the last digit",
            'N3Classifier(arithmetic="rational", …)',
            "fractions instead of floats; hinge loss",
        ),
    ],
}


def draw() -> str:
    """The whole drawing."""
    drawn, y = [], TOP
    for question, ways in QUESTIONS.items():
        height = ROW * len(ways)
        lines = wrap(question, 20)
        middle = y + height / 2
        drawn.append(box("question", QUESTION, middle - 26, 190, 52))
        drawn += [
            label("strong", QUESTION + 95, middle + 5 + 18 * (i - (len(lines) - 1) / 2), line, "middle")
            for i, line in enumerate(lines)
        ]
        for i, way in enumerate(ways):
            drawn += draw_way(way, y + ROW * i, middle)
        y += height + 16
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" role="img">',
            "<title>Which method for which data</title>",
            f"<style>{STYLE}</style>",
            f'<rect class="paper" width="{WIDTH}" height="{y}"/>',
            *drawn,
            "</svg>\n",
        ]
    )


def draw_way(way: Way, y: float, middle: float) -> list[str]:
    """An answer, the line to it, and where it leads."""
    level = y + ROW / 2
    bend = f"{ANSWER - 20},{middle:g} {ANSWER - 40},{level:g}"
    drawn = [
        f'<path d="M{QUESTION + 190},{middle:g} C{bend} {ANSWER - 6},{level:g}"/>',
        label("text", ANSWER, level + 5, way.answer),
    ]
    if way.note:
        drawn += [
            f'<path d="M{METHOD - 60},{level:g} H{METHOD}"/>',
            box("method", METHOD, level - 23, WIDTH - METHOD - 20, 46),
            label("strong", METHOD + 12, level - 3, way.method),
            label("text", METHOD + 12, level + 15, way.note),
        ]
    else:
        drawn.append(label("text", METHOD + 12, level + 5, way.method))
    return drawn


def box(kind: str, x: float, y: float, width: float, height: float) -> str:
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"/>'


def label(kind: str, x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'


if __name__ == "__main__":
    DRAWING.write_text(draw(), encoding="utf-8")
