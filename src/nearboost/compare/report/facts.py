"""All that the report shows, as records; as JSON they are what ``results.json`` holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nearboost.compare.records import Json, Mistake, Prototype, as_json
from nearboost.measures.differences import Summary
from nearboost.measures.intervals import Interval


@dataclass(frozen=True)
class DataFacts:
    """What was compared on."""

    name: str
    kind: str
    items: int
    classes: list[str]
    counts: dict[str, int]
    notes: list[str]


@dataclass(frozen=True)
class ProtocolFacts:
    """How it was split."""

    name: str
    splits: int
    repeats: int
    seed: int
    training_items: int
    test_items: int
    scaling: str


@dataclass(frozen=True)
class Difference:
    """How far a method is from the best, and the probability of as much by chance alone.

    ``p`` and ``interval`` (at 95 %) hold for all pairs of methods together, because the best is known only from
    the same splits. ``retrained`` is whether they know what training on other items changes.
    """

    difference: float | None
    p: float | None
    interval: Interval | None = None
    retrained: bool = False


@dataclass(frozen=True)
class Entry:
    """A method with one kind of features, over all splits; ``measures`` are by name.

    ``held_out_accuracy`` is what the method expects, by folds of its training items.
    """

    method: str
    features: str | None = None
    splits: int = 1
    measures: Mapping[str, Summary | None] = field(default_factory=dict)
    held_out_accuracy: Summary | None = None
    prototypes: Summary | None = None
    fit_seconds: Summary | None = None
    query_ms: Summary | None = None
    peak_mib: Summary | None = None
    chosen: Sequence[Json] = ()
    against_best: Difference | None = None


@dataclass(frozen=True)
class Failure:
    """A failed run."""

    method: str
    features: str | None
    reason: str
    split: int


@dataclass(frozen=True)
class ClassFacts:
    """A class: its test items, the accuracy of each method by label with its interval, and the best one's AUC."""

    class_: str
    n: int
    accuracy: dict[str, float]
    auc: float | None
    intervals: dict[str, Interval] = field(default_factory=dict)


@dataclass(frozen=True)
class ConfusionFacts:
    """Confusions over all splits: of the best method, and of each by label."""

    classes: list[str]
    counts: list[list[int]]
    methods: dict[str, list[list[int]]] = field(default_factory=dict)


@dataclass(frozen=True)
class CurvePoint:
    """A method by label, fitted to a share of the training items: how many these are, and its accuracy."""

    label: str
    share: float
    train: int
    accuracy: Summary


@dataclass(frozen=True)
class MethodFacts:
    """What a method is, in a sentence, and the page of the documentation that says more."""

    method: str
    about: str
    guide: str


@dataclass(frozen=True)
class FitFacts:
    """How to fit the best method that a model file can hold: what `nearboost fit` is given, and the command."""

    data: str
    method: str
    features: str | None
    scale: bool
    layout: str
    classes: list[str]
    command: str


@dataclass(frozen=True)
class Timing:
    """What one run cost."""

    method: str
    features: str | None
    fit_seconds: float
    query_seconds: float
    queries: int
    peak_mib: float | None
    threads: int
    split: int
    query_ms: float


@dataclass(frozen=True)
class Facts:
    """All that the report shows.

    ``best`` is the name of the best method, ``gallery_of`` and ``mistakes_of`` whose prototypes and mistakes are
    shown. ``reliability`` has bins by label: a method, with its features where there are several. A bin is its
    mean confidence, accuracy, count, and the two ends of the accuracy's interval.
    """

    title: str
    command: str = ""
    created: str = ""
    machine: Json = field(default_factory=dict)
    versions: Json = field(default_factory=dict)
    data: DataFacts | None = None
    protocol: ProtocolFacts | None = None
    leaderboard: Sequence[Entry] = ()
    best: str | None = None
    failed: Sequence[Failure] = ()
    per_class: Sequence[ClassFacts] = ()
    confusion: ConfusionFacts | None = None
    reliability: Mapping[str, Any] = field(default_factory=dict)
    gallery: Sequence[Prototype] = ()
    gallery_of: str | None = None
    mistakes: Sequence[Mistake] = ()
    mistakes_of: str | None = None
    skipped: Mapping[str, str] = field(default_factory=dict)
    timings: Sequence[Timing] = ()
    curve: Sequence[CurvePoint] = ()
    methods: Sequence[MethodFacts] = ()
    fit: FitFacts | None = None

    def as_json(self) -> Json:
        """For programs: measures beside the other columns of the leaderboard, and no pictures."""
        plain: Json = as_json(self)
        plain["leaderboard"] = [entry | entry.pop("measures") for entry in plain["leaderboard"]]
        return plain
