"""Templates to self-contained pages, and the cards on them: no request leaves a page, every value is escaped."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from nearboost.pages.tables import WIDTHS

# Formats that hold pixels only; SVG could hold anything.
PICTURES = tuple(f"data:image/{kind};base64," for kind in ("png", "jpeg", "webp", "gif"))
LONGEST_NAME = 60


def render_template(template: str, package: str = "nearboost.pages", **values: Any) -> str:
    """The page of a template with style and script inside; bytes of file names that are not text become ``?``."""
    script = common_script()
    page = (
        environment(package)
        .get_template(template)
        .render(css=Markup(style_sheet()), script=Markup(script), script_hash=Markup(_hash(script)), **values)
    )
    return page.encode("utf-8", "replace").decode("utf-8")


def environment(package: str) -> Environment:
    """The templates of a package and those that all pages share; every value is escaped."""
    return Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("nearboost.pages")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def style_sheet() -> str:
    """The look of all pages."""
    return environment("nearboost.pages").get_template("style.css.j2").render(table_widths=WIDTHS)


def common_script() -> str:
    """Dark and light, and tables that can be sorted."""
    return (files("nearboost.pages") / "templates" / "page.js").read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """The page's policy lets only the script with this hash run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@dataclass(frozen=True)
class Card:
    """One item of a gallery.

    Parameters
    ----------
    name : what the item is called, such as its file
    lines : pairs of label and text shown below the picture
    thumbnail : PNG, JPEG, WebP or GIF as a ``data:`` address, or None; anything else is not shown
    share : length of the bar below, 0 to 1, or None for no bar
    """

    name: str
    lines: Sequence[tuple[str, str]] = ()
    thumbnail: str | None = None
    share: float | None = None

    @property
    def picture(self) -> str | None:
        """The thumbnail where it is one."""
        return self.thumbnail if self.thumbnail and self.thumbnail.startswith(PICTURES) else None

    @property
    def short_name(self) -> Markup:
        """The end of a long name, as files in one folder differ there; it may break after a slash."""
        short = self.name if len(self.name) <= LONGEST_NAME else "…" + self.name[-LONGEST_NAME + 1 :]
        return Markup("/<wbr>").join(short.split("/"))
