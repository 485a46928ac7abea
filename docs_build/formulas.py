"""Formulas of the documentation as MathML, made when it is built: no script and no request when it is read.

A fenced block marked ``math`` is a formula of its own, a dollar sign before and after inline code one in the text.
Both are what code hosts show as formulas too.
"""

import html
import re
from typing import Any

from latex2mathml.converter import convert

BLOCK = re.compile(r'<pre><code class="language-math">(.*?)</code></pre>', re.DOTALL)
INLINE = re.compile(r"\$<code>(.*?)</code>\$", re.DOTALL)


def on_page_content(content: str, **_: Any) -> str:
    """Called by mkdocs with the page's HTML."""
    content = BLOCK.sub(lambda found: f"<p>{_formula(found[1], 'block')}</p>", content)
    return INLINE.sub(lambda found: _formula(found[1], "inline"), content)


def _formula(escaped: str, display: str) -> str:
    return convert(html.unescape(escaped).strip(), display=display)
