"""Templates to self-contained pages: no request leaves them, and every value is escaped."""

import base64
import hashlib
from importlib.resources import files
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def fill(template: str, package: str = "nearboost.pages", **values: Any) -> str:
    """The page of a template with style and script inside; bytes of file names that are not text become ``?``."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("nearboost.pages")]),
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
    return (files("nearboost.pages") / "templates" / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """The page's policy lets only the script with this hash run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
