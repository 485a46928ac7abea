"""Figures of many curves: each is told from the others, in the legend as well."""

import re

from papers.drawing import COLOURS, draw


def test_curves_of_one_colour_differ_in_the_legend():
    cells = [{"ours": {"mean": mean, "deviation": None}, "paper": None} for mean in (1.0, 2.0)]
    rows = [{"name": f"line {i}", "cells": cells} for i in range(2 * len(COLOURS))]
    facts = {"name": "f", "about": "a", "is_figure": True, "varies": "x", "columns": ["1", "2"], "rows": rows}
    picture = draw(facts)
    paths = re.findall(r'<path class="curve" d="(M[^"]+)" stroke="([^"]+)" stroke-dasharray="([^"]+)"', picture)
    signs = [(colour, dashes) for path, colour, dashes in paths if path.endswith("h22")]
    assert len(set(signs)) == len(signs) == len(rows)
