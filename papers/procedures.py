"""How the points of a line are measured."""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearboost.compare.processes import error_sentence
from nearboost.compare.runs import class_outputs, fit_estimator, warm_up
from nearboost.measures.metrics import class_accuracies, confusion, measure
from papers.experiment import Line, Size

CHOICE_PASSES = 8
STEPS = tuple(4.0**power for power in range(-3, 3))  # times the step that is safe for the features

Measures = dict[str, Any]


class Samples(NamedTuple):
    """Training rows and queries with their labels: codes, or a matrix of 0 and 1."""

    X: Any
    y: NDArray[Any]
    queries: Any
    truth: NDArray[Any]
    classes: Sequence[str]
    groups: NDArray[Any] | None = None


class LineRun(NamedTuple):
    """One line on one split: ``rows(x)`` are its rows at a value of what varies, ``label(x)`` names it."""

    line: Line
    xs: Sequence[Any]
    rows: Callable[[Any], Samples]
    label: Callable[[Any], str]
    size: Size


def fits(run: LineRun) -> list[dict[str, Any]]:
    """A fit for each value, or several with different seeds; what is not possible on these rows says why."""
    points: list[dict[str, Any]] = []
    for x in run.xs:
        try:
            rows = run.rows(x)
            found = [_fit_once(run, x, rows, draw) for draw in range(run.line.draws)]
        except ValueError as error:
            points.append({"x": run.label(x), "reason": error_sentence(error)})
            continue
        measures = averaged(found)
        if len(found) > 1:
            spread = np.std([one["mean_class_accuracy"] for one in found], ddof=1)
            measures["draw_deviation"] = float(spread)
        points.append({"x": run.label(x), "measures": measures})
    return points


def _fit_once(run: LineRun, x: Any, rows: Samples, draw: int) -> Measures:
    seed = run.size.seed * run.line.draws + draw
    model = run.line.make(x, run.size._replace(seed=seed, n_rows=len(rows.y)))
    if isinstance(rows.X, np.ndarray):
        warm_up(model, rows.X, rows.y)
    started = perf_counter()
    fit_estimator(model, rows.X, rows.y, rows.groups)
    fitted = perf_counter()
    answers = model.predict(rows.queries)
    answered = perf_counter()
    return {
        **evaluate(model, rows, np.asarray(answers)),
        "fit_seconds": fitted - started,
        "query_seconds": answered - fitted,
    }


def evaluate(model: Any, rows: Samples, answers: NDArray[Any]) -> Measures:
    """The measures of a fitted model, also of each class."""
    n_classes = len(rows.classes)
    scores = probabilities = class_outputs(model, "predict_proba", rows.queries, n_classes)
    if scores is None:
        scores = class_outputs(model, "decision_function", rows.queries, n_classes)
    truth, predicted = rows.truth, answers
    if truth.ndim == 1:
        names = np.array(rows.classes)
        truth, predicted = names[truth], names[predicted.astype(np.int64)]
    found = measure(truth, predicted, rows.classes, probabilities=probabilities, scores=scores)
    if truth.ndim == 1:
        shares = class_accuracies(confusion(truth, predicted, rows.classes))
        found["class_accuracy"] = dict(zip(rows.classes, shares, strict=True))
    if hasattr(model, "prototypes_"):
        found["prototypes"] = len(model.prototypes_)
        found |= prototype_shares(np.asarray(model.prototypes_), rows)
    return found


def prototype_shares(prototypes: NDArray[Any], rows: Samples) -> Measures:
    """Prototypes as a share of the training rows, also by class; nothing where they are no such rows."""
    if rows.y.ndim != 1 or prototypes.ndim != 1 or prototypes.dtype.kind not in "iu":
        return {}
    counts = np.bincount(rows.y[prototypes], minlength=len(rows.classes)) / len(rows.y)
    by_class = dict(zip(rows.classes, map(float, counts), strict=True))
    return {"prototype_share": len(prototypes) / len(rows.y), "class_prototypes": by_class}


def averaged(found: Sequence[Measures]) -> Measures:
    """The mean of each measure, also of those by class."""
    if len(found) == 1:
        return found[0]
    means: Measures = {}
    for key, first in found[0].items():
        if isinstance(first, dict):
            means[key] = averaged([one[key] for one in found])
        else:
            known = [one[key] for one in found if one[key] is not None]
            means[key] = float(np.mean(known)) if known else None
    return means


def passes(run: LineRun) -> list[dict[str, Any]]:
    """One model, judged after each pass; its constant step is the best of six on held-out training rows."""
    rows = run.rows(None)
    step = _best_step(run, rows)
    points = []
    model = run.line.make(step, run.size)
    for number in range(1, max(run.xs) + 1):
        model.partial_fit(rows.X, rows.y, classes=np.arange(len(rows.classes)))
        if number in run.xs:
            measures = evaluate(model, rows, np.asarray(model.predict(rows.queries)))
            points.append({"x": run.label(number), "measures": measures | {"step": step}})
    return points


def _hold_out(rows: Samples, seed: int) -> list[NDArray[np.intp]]:
    """A fifth of the rows, or of the groups, to judge by, and the others; in random order."""
    groups = np.arange(len(rows.y)) if rows.groups is None else np.unique(rows.groups, return_inverse=True)[1]
    n_groups = int(groups.max()) + 1
    places = np.argsort(np.random.default_rng(seed).permutation(n_groups))[groups]
    return np.array_split(np.argsort(places, kind="stable"), [int(np.sum(places < n_groups // 5))])


def _best_step(run: LineRun, rows: Samples) -> float:
    held, learn = _hold_out(rows, run.size.seed)
    unit = _safe_step(run, rows)
    right = {}
    for factor in STEPS:
        model = run.line.make(unit * factor, run.size)
        for _ in range(min(CHOICE_PASSES, max(run.xs))):
            model.partial_fit(rows.X[learn], rows.y[learn], classes=np.arange(len(rows.classes)))
        right[unit * factor] = float(np.mean(model.predict(rows.X[held]) == rows.y[held]))
    return max(right, key=lambda step: right[step])


def _safe_step(run: LineRun, rows: Samples) -> float:
    """1/√m for SLND, whose coordinates are white; for the others the least of the steps that `fit` tries."""
    probe = run.line.make("auto", run.size)
    if not hasattr(probe, "scaling"):
        return float(len(rows.y) ** -0.5)
    probe.set_params(max_passes=1).fit(rows.X, rows.y)
    return min(float(trial["step"]) for trial in probe.report_["trials"])


def spectrum(run: LineRun) -> list[dict[str, Any]]:
    """The eigenvalues of the second moment, by their number."""
    rows = run.rows(None)
    values = run.line.make(None, run.size).fit(rows.X, rows.y).eigenvalues_
    return [
        {"x": run.label(x), "measures": {"eigenvalue": float(values[x - 1])}} for x in run.xs if x <= len(values)
    ]


def terms(run: LineRun) -> list[dict[str, Any]]:
    """The terms of one query's INN code, one by one: weight, whether of the query's class, what is left."""
    rows = run.rows(None)
    coder = run.line.make(None, run.size)
    X, query = np.asarray(rows.X, dtype=np.float64), np.asarray(rows.queries[0], dtype=np.float64)
    moved, rebuilt, own, points = query.copy(), np.zeros_like(query), 0.0, []
    for x in run.xs:  # eqs. (1) to (3)
        nearest = int(np.argmin(((X - moved) ** 2).sum(axis=1)))
        weight = coder.regularization / (1 + coder.regularization) ** x
        rebuilt += weight * X[nearest]
        moved += coder.regularization * (moved - X[nearest])
        own += weight * bool(rows.y[nearest] == rows.truth[0])
        left = float(np.linalg.norm(query - rebuilt) / np.linalg.norm(query))
        measures = {"weight": float(weight), "own_weight": own, "residual": left, "sample": nearest}
        points.append({"x": run.label(x), "measures": measures})
    return points


PROCEDURES: dict[str, Callable[[LineRun], list[dict[str, Any]]]] = {
    "fit": fits,
    "passes": passes,
    "spectrum": spectrum,
    "terms": terms,
}
