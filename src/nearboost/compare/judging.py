"""What the report wants to know about one fitted method: measures, confusions, mistakes and who votes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.compare.runs import MOST_PROTOTYPES, WORST

SplitArrays = dict[str, NDArray[Any]]


def judge(
    estimator: Any,
    queries: NDArray[Any],
    truth: NDArray[Any],
    answers: NDArray[Any],
    table: SplitArrays,
    classes: Sequence[str],
) -> dict[str, Any]:
    """Everything but times and memory, as plain numbers and texts."""
    from nearboost.measures.metrics import confusion, measure, reliability

    answers = np.asarray(answers).astype(np.int64)
    probabilities = outputs(estimator, "predict_proba", queries, len(classes))
    scores = outputs(estimator, "decision_function", queries, len(classes)) if probabilities is None else None
    found: dict[str, Any] = {
        "prototypes": count_prototypes(estimator, len(table["train"])),
        "chosen": chosen_settings(estimator),
        "gallery": gallery(estimator, table, classes),
        "truth": truth.tolist(),
        "predictions": answers.tolist(),
    }
    if truth.ndim == 2:
        measures = measure(truth, answers, classes, probabilities=probabilities, scores=scores)
        return {**found, "measures": measures, "confusion": None, "reliability": None, "mistakes": []}
    true_names, said = class_names(truth, classes), class_names(answers, classes)
    return {
        **found,
        "measures": measure(true_names, said, classes, probabilities=probabilities, scores=scores),
        "confusion": confusion(true_names, said, classes),
        "reliability": None if probabilities is None else reliability(true_names, said, classes, probabilities),
        "mistakes": worst_mistakes(truth, answers, probabilities, table["test_names"], classes),
    }


def outputs(estimator: Any, name: str, queries: NDArray[Any], n_classes: int) -> NDArray[np.float64] | None:
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
) -> list[dict[str, Any]]:
    """The wrong answers that were given with the most confidence; the first ones where there is none to tell."""
    wrong = np.flatnonzero(truth != answers)
    sure = np.zeros(len(wrong)) if probabilities is None else probabilities[wrong, answers[wrong]]
    order = np.argsort(-sure, kind="stable")[:WORST]
    return [
        {
            "name": str(names[i]),
            "truth": classes[truth[i]],
            "said": classes[answers[i]],
            "probability": None if probabilities is None else float(sure[at]),
        }
        for at, i in zip(order.tolist(), wrong[order].tolist(), strict=True)
    ]


def count_prototypes(estimator: Any, n_train: int) -> int | None:
    """How many training rows an answer may need: those compared with, or support vectors; None for none."""
    model = getattr(estimator, "best_estimator_", estimator)
    if hasattr(model, "n_support_"):
        return int(np.sum(model.n_support_))
    if hasattr(model, "prototypes_"):
        from_few = model.vote_from == "prototypes" or (
            model.vote_from == "auto" and model.n_prototypes is not None
        )
        return len(model.prototypes_) if from_few else n_train
    compares = type(model).__module__.startswith(("nearboost.inn", "nearboost.boosting"))
    return n_train if compares else None


def chosen_settings(estimator: Any) -> dict[str, Any]:
    """What was chosen inside the training rows."""
    if hasattr(estimator, "best_params_"):
        return {name: np.asarray(value).item() for name, value in estimator.best_params_.items()}
    names = ("n_neighbors_", "n_rounds_", "rank_", "damping_", "step_")
    found = {name.rstrip("_"): getattr(estimator, name) for name in names if hasattr(estimator, name)}
    return {name: np.asarray(value).item() for name, value in found.items() if np.ndim(value) == 0}


def gallery(estimator: Any, table: SplitArrays, classes: Sequence[str]) -> list[dict[str, Any]]:
    """The training rows with the largest weights, for methods that learn weights of rows."""
    if not hasattr(estimator, "coefficients_") or not len(estimator.prototypes_):
        return []
    coefficients = estimator.coefficients_
    dense = coefficients.toarray() if hasattr(coefficients, "toarray") else np.asarray(coefficients)
    weights = np.abs(dense).reshape(len(dense), -1).sum(axis=1)
    order = np.argsort(-weights, kind="stable")[:MOST_PROTOTYPES]
    rows = np.asarray(estimator.prototypes_)[order]
    return [
        {"name": str(table["train_names"][row]), "weight": float(weight), "class": said}
        for row, weight, said in zip(
            rows.tolist(), weights[order].tolist(), class_names(table["train_labels"][rows], classes), strict=True
        )
    ]


def class_names(labels: NDArray[Any], classes: Sequence[str]) -> list[str]:
    """The class of each row; several labels are joined."""
    if labels.ndim == 1:
        return [classes[code] for code in labels.tolist()]
    return [", ".join(classes[c] for c in np.flatnonzero(row).tolist()) for row in labels]
