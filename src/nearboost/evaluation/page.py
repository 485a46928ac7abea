"""Facts to one self-contained HTML page: no request leaves it, and every name in it is escaped."""

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from nearboost.evaluation.cards import Card


def render_cards(title: str, lead: str, cards: Sequence[Card], command: str | None = None) -> str:
    """A page of pictures: a title, a sentence that says what they are, the cards, and how to repeat it."""
    return _fill("cards.html.j2", title=title, lead=lead, cards=cards, command=command)


def _fill(template: str, **values: Any) -> str:
    """The page of a template with style and script inside; bytes of file names that are no text become ``?``."""
    environment = Environment(
        loader=PackageLoader("nearboost.evaluation"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = _source("page.js")
    page = environment.get_template(template).render(
        css=Markup(_source("page.css")), script=Markup(script), script_hash=Markup(_hash(script)), **values
    )
    return page.encode("utf-8", "replace").decode("utf-8")


def _source(name: str) -> str:
    return (files("nearboost.evaluation") / "templates" / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """The page's policy lets only the script with this hash run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
