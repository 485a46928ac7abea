"""Figures of many curves: each is told from the others, in the legend as well."""

import re
from importlib.resources import files

from papers.drawing import COLOURS, draw
from papers.results import make_facts
from papers.tables_inn import FIGURE_1


def test_curves_of_one_colour_differ_in_the_legend():
    cells = [{"ours": {"mean": mean, "deviation": None}, "paper": None} for mean in (1.0, 2.0)]
    rows = [{"name": f"line {i}", "cells": cells} for i in range(2 * len(COLOURS))]
    facts = {"name": "f", "about": "a", "is_figure": True, "varies": "x", "columns": ["1", "2"], "rows": rows}
    facts["not_drawn"] = []
    picture = draw(facts)
    paths = re.findall(r'<path class="series" d="(M[^"]+)" stroke="([^"]+)" stroke-dasharray="([^"]+)"', picture)
    signs = [(colour, dashes) for path, colour, dashes in paths if path.endswith("h22")]
    assert len(set(signs)) == len(signs) == len(rows)


def test_what_is_no_measure_is_not_drawn():
    """The numbers of training faces stand in the table of the INN paper's figure 1, not among its weights."""
    points = [{"x": str(x), "measures": {"weight": 0.3, "own_weight": 0.3, "sample": 99}} for x in (1, 2)]
    run = {"panel": "faces", "line": "terms", "split": 0, "status": "done", "points": points}
    facts = make_facts(FIGURE_1, [run])
    assert "training face" in [row["name"] for row in facts["rows"]]
    picture = draw(facts)
    assert "training face" not in picture
    assert "99" not in re.findall(r">([^<]*)</text>", picture)


def test_pages_do_not_colour_over_lines():
    """The style of pages has names of its own, which would make all lines of a figure grey."""
    cells = [{"ours": {"mean": mean, "deviation": 0.1}, "paper": None} for mean in (1.0, 2.0)]
    facts = {"name": "f", "about": "a", "is_figure": True, "varies": "x", "columns": ["1", "2"], "not_drawn": []}
    picture = draw({**facts, "rows": [{"name": "line", "cells": cells}]})
    coloured = set(re.findall(r'class="([a-z]+)"[^>]* stroke="#', picture))
    assert len(coloured) == 2
    style = (files("nearboost.pages") / "templates" / "page.css").read_text()
    assert not coloured & set(re.findall(r"\.([a-z]+)", style))
