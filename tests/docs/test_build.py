"""What the documentation's pages are made by."""

import re

import pytest

from docs.building import PUBLIC, hook


def test_formulas_become_mathml():
    page = '<p>With $<code>a &lt; b_1</code>$:</p><pre><code class="language-math">\\frac{1}{2}</code></pre>'
    made = hook("formulas").on_page_content(page)
    assert made.count("<math") == 2
    assert 'display="block"' in made
    assert "<mfrac>" in made
    assert "<code" not in made
    assert "$" not in made


def test_other_code_is_left_alone():
    page = "<p>costs $5 and <code>x</code></p>"
    assert hook("formulas").on_page_content(page) == page


@pytest.mark.parametrize("module", PUBLIC)
def test_reference_names_everything_public(module):
    from importlib import import_module

    page = hook("api").on_page_markdown(f"# Title\n\n::: {module}\n")
    assert re.findall(r"^### (\w+)$", page, re.MULTILINE) == sorted(import_module(module).__all__, key=str.lower)


def test_reference_shows_a_name_once():
    page = hook("api").on_page_markdown("::: nearboost\n\n::: nearboost.models\n")
    assert page.count("### load\n") == 1
    assert page.count("### load_model\n") == 1


def test_reference_shows_parameters_and_methods():
    page = hook("api").on_page_markdown("::: nearboost")
    assert '`n_neighbors` : int or "auto", default=`"auto"`\n:   Number of neighbours that vote.' in page
    assert "<summary><code>predict(X" in page
    assert "self" not in re.findall(r"^```text\n(.*)$", page, re.MULTILINE)[0]
