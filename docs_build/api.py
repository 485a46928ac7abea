"""The reference of the public API, from docstrings: ``::: module`` becomes a section for each public name."""

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

DIRECTIVE = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)
LISTS = ("Parameters", "Attributes", "Returns", "Raises")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by mkdocs with the page's text."""
    return DIRECTIVE.sub(lambda found: "\n\n".join(_module(found[1])), markdown)


def _module(name: str) -> Iterator[str]:
    module = import_module(name)
    for public in sorted(module.__all__, key=str.lower):
        yield from _entry(public, getattr(module, public))


def _entry(name: str, thing: Any) -> Iterator[str]:
    yield f"### {name}"
    is_error = inspect.isclass(thing) and issubclass(thing, Exception)  # its arguments tell nothing
    if callable(thing) and not is_error:
        yield f"```text\n{name}{_signature(thing)}\n```"
    yield from _docstring(inspect.getdoc(thing) or "")
    if inspect.isclass(thing):
        methods = list(_methods(thing))
        if methods:
            yield "**Methods**"
            yield "\n".join(methods)


def _signature(thing: Any) -> str:
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in inspect.signature(thing).parameters.values()
        if parameter.name != "self"
    ]
    return str(inspect.Signature(parameters))


def _methods(cls: type) -> Iterator[str]:
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        ours = method.__module__.startswith("nearboost")
        if ours and not name.startswith("_") and method.__doc__:
            yield f"- `{name}{_signature(method)}`: {_escape(_first_sentence(method))}"


def _first_sentence(method: Any) -> str:
    return " ".join(inspect.getdoc(method).split("\n\n")[0].split())


def _docstring(text: str) -> Iterator[str]:
    """Sections underlined with dashes become bold titles; their entries, lists; examples, code."""
    title = ""
    for part in re.split(r"^(\w[\w ]*)\n-{3,}\n", text, flags=re.MULTILINE):
        if re.fullmatch(r"\w[\w ]*", part) and part in (*LISTS, "Notes", "Examples"):
            title = part
            yield f"**{title}**"
        elif title == "Examples":
            yield f"```python\n{part.strip()}\n```"
        elif title in LISTS:
            yield "\n".join(_listed(part))
        else:
            yield _escape(part.strip())


def _listed(part: str) -> Iterator[str]:
    """Unindented lines are entries with their type, indented ones say more about them."""
    for entry in re.split(r"\n(?=\S)", part.strip()):
        line, *more = (line.strip() for line in entry.splitlines())
        name, _, kind = line.partition(" : ")
        if kind and more:
            kind += "."
        about = _escape(" ".join(filter(None, (kind, *more))))
        yield f"- `{name}`" + (f": {about}" if about else "")


def _escape(text: str) -> str:
    """Docstrings are plain text: underscores, stars and angle brackets mean themselves outside of backquotes."""
    text = text.replace("``", "`")
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(piece if piece.startswith("`") else re.sub(r"([*_<])", r"\\\1", piece) for piece in pieces)
