"""The papers' numbers, read from ``papers.toml``: each with its place in print and what it measures."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Number:
    """One number in print.

    Attributes
    ----------
    place : where it stands, such as "Table 4" or "section 6.1"
    measure : what it measures, with its unit
    row, column : its cell, in the names that we give to rows and columns; empty for most that prose states
    text : what prose says it is of; empty for a cell of a table
    relation : how print compares: "=", "more than", "up to", …
    deviation : what print has after ±
    """

    value: float
    place: str
    measure: str
    row: str = ""
    column: str = ""
    text: str = ""
    relation: str = "="
    deviation: float | None = None

    def __str__(self) -> str:
        value = f"{self.value:g}" if self.deviation is None else f"{self.value:g} ± {self.deviation:g}"
        return value if self.relation == "=" else f"{self.relation} {value}"


@dataclass(frozen=True)
class Printed:
    """A table or figure of a paper, as far as its numbers are in print."""

    name: str
    paper: str
    place: str
    measure: str
    columns: tuple[str, ...] = ()
    cells: tuple[Number, ...] = ()
    stated: tuple[Number, ...] = ()

    @property
    def numbers(self) -> tuple[Number, ...]:
        """All of them: those in cells and those that prose states."""
        return self.cells + self.stated

    def at(self, row: str, column: str) -> Number | None:
        """The number of a cell, also where prose states it."""
        return next((one for one in self.numbers if (one.row, one.column) == (row, column)), None)


@dataclass(frozen=True)
class Paper:
    """A publication."""

    authors: str
    title: str
    year: int
    where: str

    def __str__(self) -> str:
        return f"{self.authors}: {self.title} ({self.where}, {self.year})"


@dataclass(frozen=True)
class Library:
    """All papers and what they print."""

    papers: dict[str, Paper] = field(default_factory=dict)
    printed: dict[str, Printed] = field(default_factory=dict)

    def find(self, name: str) -> Printed:
        """What is in print under a name; an experiment of our own has no numbers there."""
        return self.printed.get(name, Printed(name, "", "not in print", ""))


@cache
def library() -> Library:
    """The data file, read once."""
    text = (files(__package__) / "papers.toml").read_text(encoding="utf-8")
    content = tomllib.loads(text)
    papers = {key: Paper(**value) for key, value in content.pop("papers").items()}
    return Library(papers, {name: _printed(name, entry) for name, entry in content.items()})


def _printed(name: str, entry: dict[str, Any]) -> Printed:
    columns = tuple(entry.get("columns", ()))
    stated = tuple(Number(**one) for one in entry.get("stated", ()))
    return Printed(name, entry["paper"], entry["place"], entry["measure"], columns, tuple(_cells(entry)), stated)


def _cells(entry: dict[str, Any]) -> Iterator[Number]:
    for row in entry.get("rows", ()):
        for column, value in zip(entry["columns"], row["values"], strict=True):
            if value != "":
                mean, deviation = value if isinstance(value, list) else (value, None)
                yield Number(mean, entry["place"], entry["measure"], row["name"], column, deviation=deviation)
