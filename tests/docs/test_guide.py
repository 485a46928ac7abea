"""Each page of a family of methods says the same things: formula, picture, when, when not, cost, settings."""

import re

import pytest

from docs.building import ROOT

DOCS = ROOT / "docs"
PARTS = re.findall(r"^## (.+?)\n.*?\n\n(\S.*?)\n```", (DOCS / "guide.md").read_text(encoding="utf-8"), re.M | re.S)
FAMILIES = ("Classifiers", "Metrics, projections, search", "Images", "Cells")
ELSEWHERE = {"gpu", "cells-app"}  # what another page is about, on a device or in the browser
PAGES = [page for title, pages in PARTS if title in FAMILIES for page in pages.split() if page not in ELSEWHERE]


def test_pages_of_families_are_found():
    assert len(PAGES) == 13


@pytest.mark.parametrize("page", PAGES)
def test_a_page_says_what_to_know_before_it_is_used(page):
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    for row in ("take it", "do not", "cost", "settings that matter"):
        assert re.search(rf"^\| {row} \| \S", text, re.M), row
    assert "![" in text
    assert "```math" in text or "```text" in text
