"""Boosted neighbours of formats 1 and 2: the entries of today, out of what estimators kept in their attributes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from nearboost.base.entries import ModelFileError
from nearboost.models.old_records import Picked, Record, kept_parameters, same_attributes

SHAPES = {"PlainVotes": "plain", "CodeVotes": "inn"}
TRAINING = {
    "sample_weight": "_data.weights.sample",
    "class_weight_of_rows": "_data.weights.by_class",
    "groups": "_data.groups",
    "graph_indices": "_graph.indices",
    "graph_distances": "_graph.distances",
    "graph_given": "_graph_given",
}


def method_of(search: Record) -> str:
    """How a search finds neighbours; format 1 kept the index of HNSW, or None."""
    return str(search.get("method")) if "method" in search.attributes else _has_index(search)


def _has_index(search: Record) -> str:
    return "exact" if search.get("hnsw") is None else "hnsw"


def _of_plain_neighbors(record: Record) -> Picked:
    search = record["_search"]
    state = {name: record.get(name) for name in ("n_features_in_", "feature_names_in_", "classes_")}
    state |= {"rows": search["rows.X"], "metric": search["rows.metric"], "search": method_of(search)}
    state["codes"] = np.asarray(record["_members"].indices).astype(np.int64)
    return kept_parameters(record), {name: one for name, one in state.items() if one is not None}


def _of_boosted(record: Record) -> Picked:
    parameters, state = same_attributes(record)
    diagnostics = [one.attributes for one in record.get("diagnostics_", [])]
    state |= _voters(record) | _votes(record["_vote_rule"])
    state |= {"diagnostics_": diagnostics} if "diagnostics_" in record.attributes else {}
    if "_data" in record.attributes:
        state |= {name: record[path] for name, path in TRAINING.items()}
    by_temperature = record["_calibration"].name == "Calibration"
    return parameters, state | {"calibrated_by": "temperature" if by_temperature else "posterior"}


def _voters(record: Record) -> dict[str, Any]:
    """What is searched, and what each row of it says."""
    numbers, search, labels = record["_searched_rows"], record["_search"], record["_labels"]
    places = np.searchsorted(record["_kept"], numbers)
    if len(np.unique(places)) < len(places):  # SciPy would write beside its arrays where rows come many times
        raise ModelFileError("holds rows that vote twice; it was changed or damaged.")
    rows = np.empty((0, record["n_features_in_"])) if search is None else search["rows.X"]
    rest = np.abs(record["_leverage.rest"])
    return {
        "rows": rows,
        "row_numbers": numbers,
        "members": labels["members"][places],
        "multilabel": labels["multilabel"],
        "start": rest if record["start_coefficient_"] else np.zeros_like(rest),
        "prior": _prior(record),
        "only_prototypes_vote": record["_may_vote"] is not None,
        "metric": record["_kept_recipe.metric"],
        "search": record["_kept_recipe.search"],
    }


def _prior(record: Record) -> Any:
    """Of one weight for all classes, from the score where nobody votes, (C P − 1)/(C − 1); others need none."""
    silence = record["_leverage.silence"]
    n_classes = 2 if record.get("_kept_recipe.rule.one_vs_all") else record["_labels.n_classes"]
    if not isinstance(silence, np.ndarray):
        return np.zeros(min(record["_labels.members"].shape[1], len(record["classes_"])))
    return np.maximum((silence * (n_classes - 1) + 1) / n_classes, 0.0)


def _votes(rule: Record) -> dict[str, Any]:
    by_kernel = "density" if rule.get("density") else "kernel"
    return {
        "vote_rule": SHAPES.get(rule.name, by_kernel),
        "vote_kind": rule.get("kind") or rule.get("kernel"),
        "sigma": rule.get("sigma"),
        "soft_lambda": rule.get("soft_lambda"),
    }


BOOSTING: dict[str, Callable[[Record], Picked]] = {
    "KNNClassifier": _of_plain_neighbors,
    **dict.fromkeys(("UNNClassifier", "N3Classifier", "MLNNClassifier", "MAPBoostClassifier"), _of_boosted),
}
