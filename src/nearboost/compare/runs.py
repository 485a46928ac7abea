"""One run of a comparison: one method on one split, in a process of its own.

``python -m nearboost.compare.runs`` is that process (see `processes`), its task a `RunTask`.
"""

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.disk import read_arrays
from nearboost.base.validation import float_type
from nearboost.compare.processes import DONE, Result, Task, serve
from nearboost.compare.records import Assessment, Costs, FinishedRun, Mistake, Prototype, RunTask, as_json

N_MISTAKES, N_PROTOTYPES = 24, 60  # shown in the report
WARM_CLASSES, WARM_ROWS = 3, 8

SplitArrays = dict[str, NDArray[Any]]


def run(task: Task) -> Result:
    """Fit and query one method; times leave out reading, the first compilation and the measures."""
    from nearboost.catalogue.methods import find_method

    given = RunTask.from_task(task)
    identity, table = given.identity, read_arrays(given.table)
    if given.n_train is not None and given.n_test is not None:
        table = subsample(table, given.n_train, given.n_test)
    rows = np.load(given.rows, mmap_mode="r")
    X, queries = prepare_rows(rows[table["train"]], rows[table["test"]], identity.scale)
    estimator = find_method(identity.method).make(identity.seed, identity.threads)
    warm_up(estimator, X, table["train_labels"])
    with convergence_warnings() as warned:
        started = perf_counter()
        fit_estimator(estimator, X, table["train_labels"], table.get("train_groups"))
        fitted = perf_counter()
    answers = estimator.predict(queries)
    answered = perf_counter()
    complaints = list(dict.fromkeys(first_line(warning.message) for warning in warned))
    costs = Costs(fitted - started, answered - fitted, len(queries), len(X), peak_mib(), complaints)
    if given.is_trial:
        return {**as_json(identity), "status": DONE, "reason": None, **as_json(costs)}
    return FinishedRun(identity, costs, assess(estimator, queries, answers, table, identity.classes)).as_result()


def prepare_rows(
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


def fit_estimator(estimator: Any, X: Any, y: Any, groups: Any) -> None:
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
    except Exception:  # too few rows for it; if anything is wrong, the real fit will say so
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


def subsample(table: dict[str, NDArray[Any]], n_train: int, n_test: int) -> dict[str, NDArray[Any]]:
    """So many rows of a split, spread over it: its order is often that of the classes."""
    sizes = {"train": n_train, "test": n_test}
    chosen = {
        part: np.linspace(0, len(table[part]) - 1, min(size, len(table[part]))).astype(np.int64)
        for part, size in sizes.items()
    }
    return {name: column[chosen[name.partition("_")[0]]] for name, column in table.items()}


def assess(
    estimator: Any, queries: NDArray[Any], answers: NDArray[Any], table: SplitArrays, classes: Sequence[str]
) -> Assessment:
    """Everything but times and memory."""
    from nearboost.measures.metrics import confusion, measure, reliability

    truth, answers = table["test_labels"], np.asarray(answers).astype(np.int64)
    probabilities = class_outputs(estimator, "predict_proba", queries, len(classes))
    scores = None
    if probabilities is None:
        scores = class_outputs(estimator, "decision_function", queries, len(classes))
    several = truth.ndim == 2
    true, said = (labels if several else class_names(labels, classes) for labels in (truth, answers))
    has_bins = probabilities is not None and not several
    return Assessment(
        prototypes=count_prototypes(estimator),
        chosen=chosen_settings(estimator),
        gallery=gallery(estimator, table, classes),
        truth=truth.tolist(),
        predictions=answers.tolist(),
        measures=measure(true, said, classes, probabilities=probabilities, scores=scores),
        confusion=None if several else confusion(true, said, classes),
        reliability=reliability(true, said, classes, np.asarray(probabilities)) if has_bins else None,
        mistakes=[] if several else worst_mistakes(truth, answers, probabilities, table["test_names"], classes),
        held_out_accuracy=held_out_accuracy(estimator),
    )


def class_outputs(estimator: Any, name: str, queries: NDArray[Any], n_classes: int) -> NDArray[np.float64] | None:
    """Probabilities or scores with a column for each class; those that the training rows lack come last."""
    if not hasattr(estimator, name):
        return None
    given = np.asarray(getattr(estimator, name)(queries), dtype=np.float64)
    if given.ndim == 1:
        given = np.column_stack([-given, given])
    if given.shape[1] == n_classes:
        return given
    full = np.full((len(given), n_classes), 0.0 if name == "predict_proba" else given.min() - 1)
    full[:, np.asarray(estimator.classes_, dtype=np.int64)] = given
    return full


def worst_mistakes(
    truth: NDArray[np.int64],
    answers: NDArray[np.int64],
    probabilities: NDArray[np.float64] | None,
    names: NDArray[Any],
    classes: Sequence[str],
) -> list[Mistake]:
    """The most confident wrong answers; the first ones where there are no probabilities."""
    wrong = np.flatnonzero(truth != answers)
    sure = np.zeros(len(wrong)) if probabilities is None else probabilities[wrong, answers[wrong]]
    order = np.argsort(-sure, kind="stable")[:N_MISTAKES]
    return [
        Mistake(
            str(names[i]),
            classes[truth[i]],
            classes[answers[i]],
            None if probabilities is None else float(sure[at]),
        )
        for at, i in zip(order.tolist(), wrong[order].tolist(), strict=True)
    ]


def count_prototypes(estimator: Any) -> int | None:
    """How many training rows an answer may come from: those compared with, or support vectors; None for none."""
    from nearboost.problem.classifier import voters_of

    return len(voters_of(getattr(estimator, "best_estimator_", estimator))) or None


def held_out_accuracy(estimator: Any) -> float | None:
    """What a method expects of itself; None where it does not say or does not know."""
    found = getattr(getattr(estimator, "best_estimator_", estimator), "held_out_accuracy_", None)
    return float(found) if found is not None and np.isfinite(found) else None


def chosen_settings(estimator: Any) -> dict[str, Any]:
    """What was chosen inside the training rows."""
    if hasattr(estimator, "best_params_"):
        return {name: np.asarray(value).item() for name, value in estimator.best_params_.items()}
    if hasattr(getattr(estimator, "report_", None), "chosen"):
        return dict(estimator.report_.chosen)
    names = ("n_neighbors_", "n_rounds_", "rank_", "damping_", "step_")
    found = {name.rstrip("_"): getattr(estimator, name) for name in names if hasattr(estimator, name)}
    return {name: np.asarray(value).item() for name, value in found.items() if np.ndim(value) == 0}


def gallery(estimator: Any, table: SplitArrays, classes: Sequence[str]) -> list[Prototype]:
    """The training rows with the largest weights, for methods that learn weights of rows."""
    if not hasattr(estimator, "coefficients_") or not len(estimator.prototypes_):
        return []
    coefficients = estimator.coefficients_
    dense = coefficients.toarray() if hasattr(coefficients, "toarray") else np.asarray(coefficients)
    weights = np.abs(dense).reshape(len(dense), -1).sum(axis=1)
    order = np.argsort(-weights, kind="stable")[:N_PROTOTYPES]
    rows = np.asarray(estimator.prototypes_)[order]
    return [
        Prototype(str(table["train_names"][row]), float(weight), said)
        for row, weight, said in zip(
            rows.tolist(), weights[order].tolist(), class_names(table["train_labels"][rows], classes), strict=True
        )
    ]


def class_names(labels: NDArray[Any], classes: Sequence[str]) -> list[str]:
    """The class of each row; several labels are joined."""
    if labels.ndim == 1:
        return [classes[code] for code in labels.tolist()]
    return [", ".join(classes[c] for c in np.flatnonzero(row).tolist()) for row in labels]


if __name__ == "__main__":
    serve(run)
