"""What the documentation's pages are made by."""

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def hook(name):
    spec = spec_from_file_location(name, ROOT / "docs_build" / f"{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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


@pytest.mark.parametrize("module", ["nearboost", "nearboost.features", "nearboost.datasets"])
def test_reference_names_everything_public(module):
    from importlib import import_module

    page = hook("api").on_page_markdown(f"# Title\n\n::: {module}\n")
    assert re.findall(r"^### (\w+)$", page, re.MULTILINE) == sorted(import_module(module).__all__, key=str.lower)


def test_reference_shows_parameters_and_methods():
    page = hook("api").on_page_markdown("::: nearboost")
    assert '- `n_neighbors`: int or "auto", default="auto". Number of neighbours that vote.' in page
    assert "- `predict(X" in page
    assert "self" not in re.findall(r"^```text\n(.*)$", page, re.MULTILINE)[0]
