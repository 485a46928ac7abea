"""What an experiment is: panels (data and features), lines (methods), and what varies along them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from papers.results import Results


class Size(NamedTuple):
    """What a method may have to know before it is made."""

    n_rows: int
    n_classes: int
    seed: int = 0
    n_jobs: int | None = 1


def limit_neighbors(k: int, size: Size) -> int:
    """k, or a quarter of the rows where they are few."""
    return min(k, max(1, size.n_rows // 4))


Make = Callable[[Any, Size], Any]  # an estimator for one value of what varies
NOMINAL = Size(1000, 10)  # to read off the settings of a method before there are rows


@dataclass(frozen=True)
class Panel:
    """Data as the methods see them.

    Attributes
    ----------
    name : as in tables
    data : a key of `SOURCES`
    features : a key of `FEATURES`
    protocol : which items train and which test
    n_classes : so many of the set's classes; None for all
    transformer : ``transformer(x)`` makes one, fitted to the training rows before any method sees them
    """

    name: str
    data: str
    features: str
    protocol: str
    n_classes: int | None = None
    transformer: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class Line:
    """A method, with the settings in print.

    Attributes
    ----------
    name : as in tables
    make : ``make(x, size)`` gives the estimator for one value of what varies
    procedure : how points are measured, a key of `PROCEDURES`
    draws : fits with different seeds on the same rows, of which the mean counts
    on : the panels it runs on; none named means all
    """

    name: str
    make: Make
    procedure: str = "fit"
    draws: int = 1
    on: tuple[str, ...] = ()


@dataclass(frozen=True)
class Measure:
    """A measure in the table: its key among a point's measures, its title, and what it is multiplied by.

    A measure that has a number for each class becomes a column for each class. What counts something else than the
    others, such as the number of a sample, stands in the table only: it is not ``drawn``.
    """

    key: str
    title: str
    scale: float = 100.0
    drawn: bool = True


ACCURACY = Measure("accuracy", "top-1")
PER_CLASS = Measure("mean_class_accuracy", "mean per-class accuracy")
TOP5 = Measure("top5", "top-5")


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper: what runs to make ours.

    Attributes
    ----------
    name : of the table or figure, also in ``papers.toml``
    about : what it shows, in a sentence
    panels, lines : a line runs on every panel, unless it names some
    measures : what the table shows
    varies, xs : what varies along a line, and its values
    label : how a value is written
    row, column : templates of their names, with ``{panel}``, ``{line}``, ``{x}`` and ``{measure}``
    repeats : splits, as in print; where print is silent, three
    claims : for each text that ``papers.toml`` has from the prose, how to compute our number
    minutes : for one split on the stand-in, on one core; for the estimate before it starts
    missing : why it cannot run yet
    beside : names in ``papers.toml`` whose numbers stand beside ours, where it is not its own name; cells of the
        first, claims of all
    notes : what print leaves open and what was chosen
    """

    name: str
    about: str
    panels: tuple[Panel, ...]
    lines: tuple[Line, ...]
    measures: tuple[Measure, ...] = (ACCURACY,)
    varies: str = ""
    xs: tuple[Any, ...] = (None,)
    label: Callable[[Any], str] = str
    row: str = "{line}"
    column: str = "{x}"
    repeats: int = 3
    claims: Mapping[str, "Callable[[Results], float | None]"] = field(default_factory=dict)
    minutes: float = 1.0
    missing: str | None = None
    beside: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def panel(self, name: str) -> Panel:
        """The panel of this name."""
        return next(panel for panel in self.panels if panel.name == name)

    def line(self, name: str) -> Line:
        """The line of this name."""
        return next(line for line in self.lines if line.name == name)

    def pairs(self) -> list[tuple[Panel, Line]]:
        """Which line runs on which panel."""
        return [
            (panel, line) for panel in self.panels for line in self.lines if not line.on or panel.name in line.on
        ]

    @property
    def is_figure(self) -> bool:
        """Whether it is drawn: curves over numbers."""
        return "figure" in self.name and len(self.xs) > 1


def share(x: float) -> str:
    """A share as it is written.

    >>> share(0.2)
    '20%'
    """
    return f"{x:.0%}"
