"""What the documentation is built from: public modules, docstrings, and scripts that are no package."""

import inspect
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, NamedTuple

from numpydoc.docscrape import NumpyDocString

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = [
    "nearboost",
    "nearboost.cells",
    "nearboost.datasets",
    "nearboost.distributed",
    "nearboost.features",
    "nearboost.models",
    "nearboost.plotting",
]


def script(path: str) -> Any:
    """A file of ``docs`` as a module."""
    spec = spec_from_file_location(Path(path).stem, ROOT / "docs" / path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


leave_out = script("conf.py").leave_out


def public_methods(cls: type) -> Iterator[tuple[str, Any]]:
    """The methods that stand on a class's page."""
    for name, method in inspect.getmembers(cls):
        hidden = name.startswith("_") or leave_out(None, "class", name, method, False, None)
        if not hidden:
            yield name, inspect.unwrap(method)


class Entry(NamedTuple):
    """``name : kind, default=default`` and the indented lines below it; what is not there is empty."""

    name: str
    kind: str
    default: str
    meaning: str


def summary_of(thing: Any) -> list[str]:
    return NumpyDocString(inspect.getdoc(thing) or "")["Summary"]


def entries_of(thing: Any, section: str) -> list[Entry]:
    """The entries of a section of the docstring; none where there is no such section."""
    entries = []
    for name, about, lines in NumpyDocString(inspect.getdoc(thing) or "")[section]:
        kind, _, default = about.partition(", default=")
        entries.append(Entry(name, kind, default, " ".join(map(str.strip, lines))))
    return entries
