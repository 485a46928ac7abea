"""The reference of the public API, from docstrings: ``::: module`` becomes a section for each public name."""

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from docstrings import LISTS, Docstring, Entry, read_docstring

DIRECTIVE = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by mkdocs with the page's text; what stands in two modules is shown once."""
    shown: set[int] = set()
    return DIRECTIVE.sub(lambda found: "\n\n".join(_module(found[1], shown)), markdown)


def _module(name: str, shown: set[int]) -> Iterator[str]:
    module = import_module(name)
    for public in sorted(module.__all__, key=str.lower):
        thing = getattr(module, public)
        if id(thing) not in shown:
            shown.add(id(thing))
            yield from _entry(public, thing)


def _entry(name: str, thing: Any) -> Iterator[str]:
    yield f"### {name}"
    if not callable(thing):
        yield f"`{thing!r}`"
        return
    if not (inspect.isclass(thing) and issubclass(thing, Exception)):  # whose arguments say nothing
        yield f"```text\n{name}{_signature(thing)}\n```"
    yield from _docstring(read_docstring(thing))
    if inspect.isclass(thing):
        yield from _methods(thing)


def _signature(thing: Any) -> str:
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in inspect.signature(thing).parameters.values()
        if parameter.name != "self"
    ]
    return str(inspect.Signature(parameters))


OF_FILES = ("model_state", "restore_model_state")  # what saving and loading call


def public_methods(cls: type) -> Iterator[tuple[str, Any]]:
    """The methods that a reader may call, those of scikit-learn left out."""
    for name, method in inspect.getmembers(cls, inspect.isroutine):
        ours = str(getattr(method, "__module__", "")).startswith("nearboost")
        if ours and not name.startswith("_") and name not in OF_FILES and method.__doc__:
            yield name, inspect.unwrap(method)


def _methods(cls: type) -> Iterator[str]:
    """One line each, which opens to show the rest."""
    for name, method in public_methods(cls):
        doc = read_docstring(method)
        first, _, rest = doc.summary.partition("\n\n")
        title = f"<code>{name}{_signature(method)}</code>: {_html(' '.join(first.split()))}"
        if not doc.sections:
            yield f"<p>{title}</p>"
            continue
        yield f'<details markdown="1">\n<summary>{title}</summary>'
        yield from _docstring(Docstring(rest, doc.sections))
        yield "</details>"


def _docstring(doc: Docstring) -> Iterator[str]:
    """Sections get bold titles; their entries become lists of definitions, examples code."""
    if doc.summary:
        yield _escape(doc.summary)
    for title, text in doc.sections.items():
        yield f"**{title}**"
        if title == "Examples":
            yield f"```python\n{text}\n```"
        elif title in LISTS:
            yield "\n\n".join(map(_definition, doc.entries(title)))
        else:
            yield _escape(text)


def _definition(entry: Entry) -> str:
    default = f", default=`{entry.default}`" if entry.default else ""
    kind = f" : {_escape(entry.kind)}{default}" if entry.kind else ""
    return f"`{entry.name}`{kind}\n:   {_escape(entry.meaning)}"


def _html(text: str) -> str:
    """Backquotes as HTML, where Markdown does not reach."""
    return re.sub(r"``?([^`]*)``?", r"<code>\1</code>", text)


def _escape(text: str) -> str:
    """Docstrings are plain text: underscores, stars and angle brackets mean themselves outside of backquotes."""
    text = text.replace("``", "`")
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(piece if piece.startswith("`") else re.sub(r"([*_<])", r"\\\1", piece) for piece in pieces)
