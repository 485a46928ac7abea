"""A cell: one method on one split, run in a process of its own, its result one JSON file.

``python -m nearboost.compare.runs`` is that process: it reads one task, a line of JSON, from standard input,
and ends early when its parent does. `running` is the parent's side.

What a task holds:

- ``identity``: all that the result depends on; its hash names the file
- ``rows``: npy file of all rows, ``table``: npz file of the split (see `write_arrays`)
- ``classes``: the class names, ``result``: where to write
- ``n_train``, ``n_test``: for a trial on so many rows only
"""

import hashlib
import json
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.disk import whole_file
from nearboost.base.validation import float_type

DONE, FAILED = "done", "failed"
WORST, MOST_PROTOTYPES = 24, 60  # shown in the report
WARM_CLASSES, WARM_ROWS = 3, 8

Task = dict[str, Any]
Result = dict[str, Any]


def name_of(identity: dict[str, Any]) -> str:
    """The file of a cell: equal for equal identities, other for any change."""
    text = json.dumps(identity, sort_keys=True)
    return f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"


def write_json(path: Path, content: Any) -> None:
    """Write a file as a whole."""
    with whole_file(path) as made, open(made, "w", encoding="utf-8") as file:
        json.dump(content, file, allow_nan=False)  # ASCII: names of files may hold bytes that are no text


def read_result(path: Path) -> Result | None:
    """The result in a file; None where there is none or where something else wrote it."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("status") in (DONE, FAILED) else None


def failed(identity: dict[str, Any], reason: str) -> Result:
    """The result of a cell that has none."""
    return {**identity, "status": FAILED, "reason": reason}


def run(task: Task) -> Result:
    """Fit and query one method; times leave out reading, the first compilation and the measures."""
    from nearboost.catalogue.methods import find_method

    identity = task["identity"]
    table = read_arrays(Path(task["table"]))
    if "n_train" in task:
        table = smaller(table, task["n_train"], task["n_test"])
    rows = np.load(task["rows"], mmap_mode="r")
    X, queries = prepared(rows[table["train"]], rows[table["test"]], identity["scale"])
    y, truth = table["train_labels"], table["test_labels"]
    estimator = find_method(identity["method"]).make(identity["seed"], identity["threads"])
    warm_up(estimator, X, y)
    with convergence_warnings() as warned:
        started = perf_counter()
        fit(estimator, X, y, table.get("train_groups"))
        fitted = perf_counter()
    answers = estimator.predict(queries)
    answered = perf_counter()
    result = {
        **identity,
        "status": DONE,
        "reason": None,
        "fit_seconds": fitted - started,
        "query_seconds": answered - fitted,
        "queries": len(queries),
        "train": len(X),
        "warnings": list(dict.fromkeys(first_line(warning.message) for warning in warned)),
        "peak_mib": peak_mib(),
    }
    if "n_train" in task:
        return result
    from nearboost.compare.judging import judge

    return {**result, **judge(estimator, queries, truth, answers, table, task["classes"])}


def prepared(
    X: NDArray[Any], queries: NDArray[Any], scale: bool
) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """Rows as float32 or float64; with ``scale``, mean 0 and deviation 1 on the training rows."""
    kind = float_type(X.dtype)
    X, queries = np.ascontiguousarray(X, dtype=kind), np.ascontiguousarray(queries, dtype=kind)
    if scale:
        mean, deviation = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
        deviation[deviation == 0] = 1
        X, queries = ((some - mean) / deviation for some in (X, queries))
        X, queries = X.astype(kind), queries.astype(kind)
    return X, queries


def fit(estimator: Any, X: Any, y: Any, groups: Any) -> None:
    """Fit; groups go to those that divide the training rows by them."""
    from sklearn.utils.validation import has_fit_parameter

    if groups is not None and has_fit_parameter(estimator, "groups"):
        estimator.fit(X, y, groups=groups)
    else:
        estimator.fit(X, y)


@contextmanager
def convergence_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """Collect complaints of solvers that were not done: a result to be read with care."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", ConvergenceWarning)
        yield caught


def first_line(message: object) -> str:
    return str(message).strip().partition("\n")[0]


def warm_up(estimator: Any, X: NDArray[Any], y: NDArray[Any]) -> None:
    """A small fit, so that loading kernels and libraries is not taken for the method's own time."""
    from sklearn.base import clone

    column = y if y.ndim == 1 else y[:, 0]
    labels, counts = np.unique(column, return_counts=True)
    largest = labels[np.argsort(-counts, kind="stable")[:WARM_CLASSES]]
    some = np.concatenate([np.flatnonzero(column == label)[:WARM_ROWS] for label in largest])
    try:
        clone(estimator).fit(X[some], y[some]).predict(X[some[:2]])
    except Exception:  # too few rows for it; all the rows will tell what is wrong, if anything is
        return


def peak_mib() -> float | None:
    """The most memory this process has held."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return _peak_of_other_systems()
    peak = [line.split()[1] for line in lines if line.startswith("VmHWM")]
    return int(peak[0]) / 1024 if peak else None


def _peak_of_other_systems() -> float | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 1024


def write_arrays(path: Path, **columns: NDArray[Any] | None) -> None:
    """The arrays of a split: ``train`` and ``test`` (numbers of rows), labels (codes or 0/1), names, groups."""
    with whole_file(path) as made, open(made, "wb") as file:
        np.savez(file, **{name: column for name, column in columns.items() if column is not None})  # type: ignore[arg-type]


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    with np.load(path) as stored:
        return dict(stored)


def smaller(table: dict[str, NDArray[Any]], n_train: int, n_test: int) -> dict[str, NDArray[Any]]:
    """So many rows of a split, spread over it: its order is often that of the classes."""
    sizes = {"train": n_train, "test": n_test}
    chosen = {
        part: np.linspace(0, len(table[part]) - 1, min(size, len(table[part]))).astype(np.int64)
        for part, size in sizes.items()
    }
    return {name: column[chosen[name.partition("_")[0]]] for name, column in table.items()}


def sentence_of(error: BaseException) -> str:
    """What an exception says, in one line."""
    said = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return f"Ran out of memory. {said}".strip()
    return said if isinstance(error, ValueError) and said else f"{type(error).__name__}: {said}"


def serve(work: Callable[[Task], Result]) -> None:
    """Read a task, let ``work`` make its result, write it: all that a process for cells does."""
    import joblib  # type: ignore[import-untyped]

    task = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    warnings.simplefilter("ignore")
    try:
        with joblib.parallel_backend("threading"):  # in this process, where memory is seen and threads are counted
            result = work(task)
    except Exception as error:
        result = failed(task["identity"], sentence_of(error))
    write_json(Path(task["result"]), result)


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    serve(run)
