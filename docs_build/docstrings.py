"""Docstrings in numpydoc form, taken apart: a summary, and sections of entries or of text."""

import inspect
import re
from typing import Any, NamedTuple

LISTS = ("Parameters", "Attributes", "Returns", "Yields", "Raises")
TITLE = re.compile(r"^(Parameters|Attributes|Returns|Yields|Raises|Notes|Examples)\n-{3,}\n", re.MULTILINE)


class Entry(NamedTuple):
    """``name : kind, default=default`` and the indented lines below it; what is not there is empty."""

    name: str
    kind: str
    default: str
    meaning: str


class Docstring(NamedTuple):
    """What comes before the first section, and each section's text by its title."""

    summary: str
    sections: dict[str, str]

    def entries(self, title: str) -> list[Entry]:
        """The entries of a section that lists them; none where there is no such section."""
        text = self.sections.get(title, "")
        return [_entry(part) for part in re.split(r"\n(?=\S)", text) if part]


def read_docstring(thing: Any) -> Docstring:
    """The docstring of a class, function or property."""
    summary, *rest = TITLE.split(inspect.getdoc(thing) or "")
    sections = {title: text.strip("\n") for title, text in zip(rest[::2], rest[1::2], strict=True)}
    return Docstring(summary.strip(), sections)


def _entry(part: str) -> Entry:
    line, *more = (line.strip() for line in part.splitlines())
    name, _, about = line.partition(" : ")
    kind, _, default = about.partition(", default=")
    return Entry(name, kind, default, " ".join(more))
