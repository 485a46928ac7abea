"""How right a model is on labelled data."""

from typing import Any

import numpy as np

from nearboost.datasets import Dataset
from nearboost.measures.metrics import class_accuracies, confusion, measure
from nearboost.models.items import LabelledRows, known_marks, labelled_rows
from nearboost.models.model import Model


def evaluate_model(
    model: Model, dataset: Dataset, *, n_jobs: int | None = None, verbose: int = 0
) -> dict[str, Any]:
    """Measures, confusions and what is right of each class, as plain numbers and texts."""
    found = labelled_rows(model, dataset, n_jobs=n_jobs, verbose=verbose)
    prediction = model.predict_rows(found.rows, n_jobs=n_jobs)
    scores = None
    if prediction.probabilities is None and hasattr(model.classifier, "decision_function"):
        scores = model.classifier.decision_function(found.rows)
    truth = found.dataset.codes(model.classes)
    several = truth.ndim == 2
    labels = truth if several else np.array(model.classes)[truth]
    answer: dict[str, Any] = {
        "data": dataset.name,
        "items": len(found.rows),
        "measures": measure(
            labels, prediction.labels, model.classes, probabilities=prediction.probabilities, scores=scores
        ),
        "classes": list(model.classes),
        "trained_on": count_known(model, found, n_jobs),
        "skipped": found.skipped,
    }
    if not several:
        counts = confusion(labels, prediction.labels, model.classes)
        answer |= {"confusion": counts, "class_accuracy": class_accuracies(counts)}
    return answer


def count_known(model: Model, found: LabelledRows, n_jobs: int | None = None) -> int:
    """How many of the items the model was fitted on."""
    known = known_marks(model)
    return int(np.isin(found.marks(n_jobs), known).sum()) if len(known) else 0


def as_lines(found: dict[str, Any]) -> list[str]:
    """An evaluation as text."""
    names = {
        "accuracy": "accuracy",
        "mean_class_accuracy": "mean class accuracy",
        "top5": "top 5",
        "log_loss": "log-loss",
        "ece": "calibration error",
        "mean_auc": "mean AUC",
        "mean_average_precision": "mean average precision",
    }
    lines = [f"{found['data']}: {found['items']} items"]
    for key, title in names.items():
        value = found["measures"].get(key)
        if value is not None:
            lines.append(f"{title:<24}{value:.4f}")
    wide = max(map(len, found["classes"]))
    for name, right, counts in zip(
        found["classes"], found.get("class_accuracy", []), found.get("confusion", []), strict=False
    ):
        if right is not None:
            lines.append(f"  {name:<{wide}}  {right:7.1%} of {sum(counts)}")
    return lines
