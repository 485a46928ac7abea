"""Linear and split classifiers of formats 1 and 2: the entries of today, out of where learning stood."""

from collections.abc import Callable
from typing import Any

import numpy as np

from nearboost.models.old_records import Picked, Record, same_attributes

LEARNING = {
    "weights": "V",
    "n_averaged": "n_averaged",
    "n_steps": "n_steps",
    "n_passes": "n_passes",
    "first_step": "schedule.first",
    "steps_to_zero": "schedule.n_steps",
    "horizon": "schedule.horizon",
    "seed": "options.seed",
    "unit": "unit",
}


def _of_linear(record: Record) -> Picked:
    parameters, state = same_attributes(record)
    learning, history, total = record["_state"], record["history_"], record["_state.total"]
    state |= {name: learning[path] for name, path in LEARNING.items()}
    return parameters, state | {
        "multilabel": record["_coding.multilabel"],
        "as_fitted": Record(record.name, parameters | record["_settled"]),
        "risks": np.array(list(map(float, history["risk"]))),
        "accuracies": np.array(list(map(float, history["held_out_accuracy"]))),
        "report_": _with_floats(record["report_"]),
        "total": total if len(total) else None,
    }


def _with_floats(report: dict[str, Any]) -> dict[str, Any]:
    """A damping that was given as a whole number was kept as one."""
    trials = [{**trial, "damping": float(trial["damping"])} for trial in report["trials"]]
    return {**report, "damping": float(report["damping"]), "trials": trials}


def _of_eigenvectors(record: Record) -> Picked:
    parameters, state = _of_linear(record)
    return parameters, state | {"vectors": record["_state.coordinates.vectors"]}


def _of_features(record: Record) -> Picked:
    parameters, state = _of_linear(record)
    measured = ("about_zero", "centre", "scale", "factor")
    return parameters, state | {
        **{name: record[f"_state.coordinates.{name}"] for name in measured},
        "curvatures": None,  # a metric that learns could not be saved
        "n_looks": 1,
    }


def _of_parts(record: Record) -> Picked:
    parameters, state = same_attributes(record)
    return parameters, state | {"normalization_used": record["_normalization"]}


LINEAR: dict[str, Callable[[Record], Picked]] = {
    "LinearSGDClassifier": _of_features,
    "SLNDClassifier": _of_eigenvectors,
    "SplitClassifier": _of_parts,
}
