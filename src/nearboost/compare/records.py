"""What is known of a run, one method on one split: what it depends on, its costs and its results.

Files of runs hold all fields side by side in one JSON object.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Self, get_args, get_origin

from nearboost.compare.processes import DONE, FAILED, Task, file_name, read_result

Json = dict[str, Any]


def as_json(value: Any) -> Any:
    """Records as JSON knows them: fields by their names, ``class_`` as "class", and no pictures."""
    if is_dataclass(value) and not isinstance(value, type):
        names = [one.name for one in fields(value) if one.name != "thumbnail"]
        return {name.rstrip("_"): as_json(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {key: as_json(one) for key, one in value.items()}
    return [as_json(one) for one in value] if isinstance(value, list | tuple) else value


class FromJson:
    """Records that are made from the JSON of a run, which holds other fields as well."""

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        """The record; a TypeError says that a field is missing or of another kind."""
        kinds = {one.name: one.type for one in fields(cls)}  # type: ignore[arg-type]
        given = {name: found[name.rstrip("_")] for name in kinds if name.rstrip("_") in found}
        wrong = [name for name, value in given.items() if not _is_of(value, kinds[name])]
        if wrong:
            raise TypeError(f"{cls.__name__} has no {wrong[0]}={given[wrong[0]]!r}.")
        return cls(**given)


def _is_of(value: Any, kind: Any) -> bool:
    """Whether a value is of a field's kind, whatever it holds inside; JSON writes 1.0 as 1."""
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    plain = [get_origin(one) or one for one in kinds]
    return isinstance(value, tuple(plain)) or (float in plain and isinstance(value, int))


@dataclass(frozen=True)
class RunIdentity(FromJson):
    """All that a result depends on.

    Attributes
    ----------
    data, content : name of the data set; hash of the split's items, names and labels
    classes : class names
    features, rows : name of the descriptor; what made the rows
    scale : whether features are scaled on the training rows
    method, parameters : name as on the command line; all settings
    protocol, split, seed : how the split was drawn, and its number
    threads : of the process
    version, libraries : of nearboost, Python and the libraries
    """

    data: str
    content: str
    classes: list[str]
    features: str
    rows: str
    scale: bool
    method: str
    parameters: Json
    protocol: str
    split: int
    seed: int
    threads: int
    version: str
    libraries: dict[str, str | None]


@dataclass(frozen=True)
class RunTask:
    """What the process of a run is given.

    Attributes
    ----------
    identity : names the file of the result
    rows : npy file of all rows
    table : npz file of the split: numbers of rows, labels (codes or 0/1), names and groups
    result : where to write
    n_train, n_test : for a trial on so many rows only
    """

    identity: RunIdentity
    rows: Path
    table: Path
    result: Path
    n_train: int | None = None
    n_test: int | None = None

    @classmethod
    def make(cls, identity: RunIdentity, rows: Path, table: Path, folder: Path) -> Self:
        """A task whose result goes to a folder, named by all that it depends on."""
        return cls(identity, rows.resolve(), table.resolve(), folder / file_name(as_json(identity)))

    @property
    def is_trial(self) -> bool:
        return self.n_train is not None

    def as_task(self) -> Task:
        """As `run_task` wants it."""
        files = {name: str(getattr(self, name)) for name in ("rows", "table", "result")}
        return {"identity": as_json(self.identity), **files, "n_train": self.n_train, "n_test": self.n_test}

    @classmethod
    def from_task(cls, task: Task) -> Self:
        """The other way round."""
        rows, table, result = (Path(task[name]) for name in ("rows", "table", "result"))
        identity = RunIdentity.from_json(task["identity"])
        return cls(identity, rows, table, result, task["n_train"], task["n_test"])


@dataclass(frozen=True)
class Mistake(FromJson):
    """A wrong answer, and its probability if there is one."""

    name: str
    truth: str
    said: str
    probability: float | None
    thumbnail: str | None = None


@dataclass(frozen=True)
class Prototype(FromJson):
    """A training item with a learned weight."""

    name: str
    weight: float
    class_: str
    thumbnail: str | None = None


@dataclass(frozen=True)
class Costs(FromJson):
    """Seconds to fit and to query, numbers of test and training rows, memory, and what solvers warned of."""

    fit_seconds: float
    query_seconds: float
    queries: int
    train: int
    peak_mib: float | None
    warnings: list[str] = field(default_factory=list)

    @property
    def query_ms(self) -> float:
        return 1000 * self.query_seconds / self.queries


@dataclass(frozen=True)
class Assessment(FromJson):
    """What came out.

    Attributes
    ----------
    prototypes : number of training rows that an answer may come from, if any
    chosen : settings chosen inside the training rows
    gallery : the training rows with the largest weights
    truth, predictions : class numbers of the test rows, or 0 and 1 for each label
    measures : see `nearboost.measures.metrics.measure`
    confusion : rows are true classes; None for several labels
    reliability : mean confidence, accuracy and count of each bin, if there are probabilities
    mistakes : the most confident ones
    held_out_accuracy : what the method expects by folds of the training rows, if it says so
    """

    prototypes: int | None
    chosen: Json
    gallery: list[Prototype]
    truth: list[Any]
    predictions: list[Any]
    measures: Json
    confusion: list[list[int]] | None
    reliability: list[list[float]] | None
    mistakes: list[Mistake]
    held_out_accuracy: float | None = None

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        gallery = [Prototype.from_json(one) for one in found["gallery"]]
        mistakes = [Mistake.from_json(one) for one in found["mistakes"]]
        return super().from_json({**found, "gallery": gallery, "mistakes": mistakes})


@dataclass(frozen=True)
class FailedRun:
    """A run without a result, and why."""

    identity: RunIdentity
    reason: str

    def as_result(self) -> Json:
        """The JSON of its file."""
        return {**as_json(self.identity), "status": FAILED, "reason": self.reason}


@dataclass(frozen=True)
class FinishedRun:
    """A run with its result."""

    identity: RunIdentity
    costs: Costs
    assessment: Assessment

    def as_result(self) -> Json:
        """The JSON of its file."""
        found = {**as_json(self.identity), "status": DONE, "reason": None}
        return found | as_json(self.costs) | as_json(self.assessment)


Run = FinishedRun | FailedRun


def run_from(result: Mapping[str, Any]) -> Run:
    """The run of a result."""
    identity = RunIdentity.from_json(result)
    if result["status"] == FAILED:
        return FailedRun(identity, result["reason"])
    return FinishedRun(identity, Costs.from_json(result), Assessment.from_json(result))


def read_run(path: Path) -> FinishedRun | None:
    """The finished run of a file; None where there is none."""
    result = read_result(path)
    if result is None or result["status"] != DONE:
        return None
    try:
        found = run_from(result)
    except (KeyError, TypeError):  # written by something else
        return None
    return found if isinstance(found, FinishedRun) else None
