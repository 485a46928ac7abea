"""Formulas of the pages are typeset, not typed."""

import re

import pytest

from docs.building import ROOT

PAGES = sorted(p.relative_to(ROOT) for p in (ROOT / "docs").rglob("*.md") if "generated" not in p.parts)
NOT_TEXT = re.compile(r"^ *```.*?^ *```|`[^`\n]*`|\$[^$\n]*\$|\]\([^)\n]*\)", re.MULTILINE | re.DOTALL)
SUBSCRIPT = re.compile(r"(?<![\w.])[A-Za-zα-ωΑ-Ω]_[a-z]{1,2}(?!\w)")


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_no_subscript_is_typed_into_running_text(page):
    text = NOT_TEXT.sub("", (ROOT / page).read_text(encoding="utf-8"))
    assert SUBSCRIPT.findall(text) == []


def test_a_typed_subscript_is_seen():
    assert SUBSCRIPT.findall("the vote b_j of row j, n_rounds, x.t_a") == ["b_j"]
