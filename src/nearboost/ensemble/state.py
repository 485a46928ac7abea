"""What a model file keeps of `NearBoostClassifier`: what queries need, and the held-out figures."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from nearboost.base.entries import Array, Flag, ListOf, Misfit, Nullable, Number, Text, Texts
from nearboost.base.schema import CLASSES, Schema, of_rows
from nearboost.ensemble.answers import HEADS, Answers
from nearboost.ensemble.code_heads import CodedRows
from nearboost.ensemble.report import Report
from nearboost.ensemble.scaling import Components, Scaling

LARGEST = 1e9  # far beyond what is learned, and products of a few stay finite


def float32s(*shape: int | str | None) -> Array:
    """An array of numbers that kernels may multiply."""
    return Array("float32", shape, low=-LARGEST, high=LARGEST, by_rows=True)


def check_answers(state: Mapping[str, Any]) -> None:
    """What lengths by name cannot say."""
    if len(state["classes_"]) < 2:
        raise Misfit("must have two classes or more")
    if (state["knots"] is None) != (state["heights"] is None):
        raise Misfit("must have heights for its knots")
    if state["knots"] is not None and (np.diff(state["knots"], axis=1) < 0).any():
        raise Misfit("must have knots in order")
    if (state["component_mean"] is None) != (state["component_matrix"] is None):
        raise Misfit("must have a mean for its components")
    components = state["component_matrix"]
    n_coordinates = len(state["centre"]) if components is None else components.shape[1]
    n_landmarks, n_seen = state["landmarks"].shape
    n_mapped = len(state["matrix"])
    if n_seen > n_coordinates or (n_mapped != n_landmarks if state["of_kernel"] else n_mapped > n_coordinates):
        raise Misfit("must have landmarks and a metric for its coordinates")
    if not len(state["rows"]) or not len(state["matrix"]):
        raise Misfit("must have rows to compare with")


SCHEMA: Schema = of_rows(
    {
        **CLASSES,
        "centre": Array("float64", ("n_features",)),
        "factor": Array("float64", ("n_features",), low=0),
        "knots": Nullable(Array("float64", ("n_features", "n_knots"), least=1)),
        "heights": Nullable(Array("float64", ("n_features", "n_knots"))),
        "component_mean": Nullable(float32s("n_features")),
        "component_matrix": Nullable(float32s("n_features", "n_reduced")),
        "landmarks": float32s("n_landmarks", None),
        "landmark_rows": Array("int64", ("n_landmarks",), low=0),
        "gamma": Number(above=0),
        "of_kernel": Flag(),
        "matrix": float32s(None, "n_metric"),
        "offset": float32s("n_metric"),
        "linear": float32s("n_landmarks", "n_classes"),
        "stack": Array("float64", (len(HEADS),), low=0, high=LARGEST),
        "rows": float32s("n_rows", "n_metric"),
        "row_classes": Array("int64", ("n_rows",), low=0, below="n_classes"),
        "row_weights": Array("float64", ("n_rows",), low=0, high=LARGEST),
        "representatives": Array("int64", ("n_rows",), low=0),
        "held_out_rows_": Array("int64", ("n_held",), low=0, rising=True),
        "held_out_scores_": Array("float64", ("n_held", "n_classes")),
        "held_out_accuracy_": Number(0, 1, finite=False),
        "held_out_error_": Number(0, 1, finite=False),
        "held_out_log_loss_": Number(0, finite=False),
        "tried_steps": Texts("n_tried"),
        "tried": Texts("n_tried"),
        "tried_losses": Array("float64", ("n_tried",), finite=False),
        "chosen_steps": ListOf(Text(), "n_chosen"),  # in the header, for whoever reads that alone
        "chosen": ListOf(Text(), "n_chosen"),
        "notes": ListOf(Text()),
        "on_sphere": Flag(),
    },
    ("on_sphere",),
    check=check_answers,
)


def collect(model: Any) -> dict[str, Any]:
    """The entries of a fitted classifier, rows class by class; nothing of one that is not fitted.

    The seconds that steps took are not kept: equal fits make equal files.
    """
    if not hasattr(model, "_answers"):
        return {}
    answers: Answers = model._answers
    coded, report = answers.coded, model.report_
    scaling, components = answers.scaling, answers.components
    steps, candidates, losses = zip(*report.tried, strict=True) if report.tried else ((), (), ())
    return {
        **vars(model),
        "centre": scaling.centre,
        "factor": scaling.factor,
        "knots": scaling.knots,
        "heights": scaling.heights,
        "component_mean": None if components is None else components.mean,
        "component_matrix": None if components is None else components.matrix,
        "landmarks": answers.landmarks,
        "landmark_rows": model._landmark_rows,
        "gamma": answers.gamma,
        "of_kernel": answers.of_kernel,
        "matrix": answers.matrix,
        "offset": answers.offset,
        "linear": answers.linear,
        "stack": answers.stack,
        "rows": coded.rows,
        "on_sphere": coded.on_sphere,
        "row_classes": coded.classes,
        "row_weights": coded.weight,
        "representatives": model._representatives[coded.order],
        "tried_steps": np.array(steps, dtype=str),
        "tried": np.array(candidates, dtype=str),
        "tried_losses": np.array(losses, dtype=np.float64),
        "chosen_steps": list(report.chosen),
        "chosen": list(report.chosen.values()),
        "notes": report.notes,
    }


def restore(model: Any, state: Mapping[str, Any]) -> None:
    """Take the entries of a file back; ``set_fitted`` has put back the public ones."""
    components = state["component_matrix"]
    model._answers = Answers(
        Scaling(state["centre"], state["factor"], state["knots"], state["heights"]),
        None if components is None else Components(state["component_mean"], components),
        state["landmarks"],
        state["gamma"],
        state["of_kernel"],
        state["matrix"],
        state["offset"],
        state["linear"],
        state["stack"],
        CodedRows(
            state["rows"],
            state["row_classes"],
            len(state["classes_"]),
            state["row_weights"],
            state.get("on_sphere", False),
        ),
    )
    model._representatives = state["representatives"][model._answers.coded.order]
    model._landmark_rows = state["landmark_rows"]
    model.report_ = Report(
        list(zip(*(state[name].tolist() for name in ("tried_steps", "tried", "tried_losses")), strict=True)),
        dict(zip(state["chosen_steps"], state["chosen"], strict=True)),
        {},
        state["notes"],
    )
