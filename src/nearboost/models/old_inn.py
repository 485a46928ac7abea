"""Classifiers by codes and the coder of formats 1 and 2: the entries of today, out of what they decided by."""

from collections.abc import Callable
from dataclasses import replace
from math import expm1, log1p
from typing import Any

import numpy as np

from nearboost.base.entries import ModelFileError
from nearboost.inn.decisions import in_first_order
from nearboost.models.old_records import Picked, Record, same_attributes

MOST_COVERAGE = 1 - 2.0**-53
REMOVED_SOLVERS = ("lars", "fista")  # of SRC; the one that is left finds the same codes


def _of_coder(record: Record) -> Picked:
    parameters, state = same_attributes(record)
    return parameters, state | {"as_fitted": Record(record.name, parameters | _series(record["_dictionary"]))}


def _of_codes(record: Record) -> Picked:
    parameters, state = same_attributes(record)
    decision = record["_decision"]
    used = {"decision": record["_fitted_decision"], "normalize": record["_fitted_normalize"]}
    classes = np.searchsorted(record["classes_"], record["_labels"])
    if decision.name == "ClassSums":
        dictionary = _inner(decision["_coder"])
        rows = dictionary["samples"]
    else:
        dictionary = _inner(decision.get("dictionary") or decision["_coder"])
        rows = in_first_order(dictionary["samples"], np.argsort(classes, kind="stable"))
    used |= _series(dictionary) if record.name == "INNClassifier" else _lasso(dictionary)
    state |= {"kept": record["_kept"], "rows": rows, "row_classes": classes, "weights": decision.get("_weights")}
    return parameters, state | {"as_fitted": Record(record.name, parameters | used)}


def _of_sparse_codes(record: Record) -> Picked:
    if record.get("solver") in REMOVED_SOLVERS:
        record = replace(record, attributes=record.attributes | {"solver": "lasso"})
    return _of_codes(record)


def _of_ridge_codes(record: Record) -> Picked:
    parameters, state = same_attributes(record)
    decision, members = record["_decision"], record.get("_decision._members")
    used = {"decision": record["_fitted_decision"], "normalize": record["_fitted_normalize"]}
    return parameters, state | {
        "as_fitted": Record(record.name, parameters | used),
        "kept": record["_kept"],
        "rows": decision["codes.X"],
        "row_classes": decision["classes"],
        "weights": None if members is None else members.data,
    }


def _of_descriptors(record: Record) -> Picked:
    parameters, state = same_attributes(record)
    evidence, used = record["_evidence"], {"representation": record["_fitted_representation"]}
    if evidence.name == "ClassSums":
        dictionary = _inner(evidence["_coder"])
        found = _series(dictionary) if used["representation"] == "inn" else _lasso(dictionary)
        used |= {name: one for name, one in found.items() if name in parameters}
        rows, classes = dictionary["samples"], evidence["_members"].indices.astype(np.int64)
    elif evidence.name == "NearestNearby":
        used |= {"neighborhood": evidence["_n_near"], "regularization": None}
        rows, classes = evidence["_search.rows.X"], evidence["_classes"]
    else:
        used |= {"neighborhood": None, "regularization": None}
        parts = [search["rows.X"] for search in evidence["_searches"]]
        if len({id(part) for part in parts}) < len(parts):
            raise ModelFileError("holds the descriptors of a class twice; it was changed or damaged.")
        rows, classes = np.concatenate(parts), np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    state |= {"as_fitted": Record(record.name, parameters | used)}
    return parameters, state | {"descriptors": rows, "descriptor_classes": classes}


def _inner(coder: Record) -> Record:
    """The dictionary itself, which may stand in another object."""
    found = coder.get("dictionary", coder)
    if not isinstance(found, Record):
        raise ModelFileError("holds codes without a dictionary; it was changed or damaged.")
    return found


def _series(dictionary: Record) -> dict[str, Any]:
    """The settings that INN codes were made with."""
    regularization, n_terms = dictionary["series.regularization"], dictionary["series.n_terms"]
    metric, neighborhood = _nearness(dictionary["_picker"])
    return {
        "regularization": regularization,
        "coverage": min(-expm1(-n_terms * log1p(regularization)), MOST_COVERAGE),  # what so many terms make up
        "max_terms": None,
        "tolerance": dictionary["series.tolerance"],
        "metric": metric,
        "neighborhood": neighborhood,
    }


def _nearness(picker: Record) -> tuple[str, int | None]:
    """Metric and neighbourhood, by the way in which terms were picked."""
    if picker.name == "ProductTerms":
        return "l2", None
    parts = picker["pickers"]
    if parts[0].name == "SearchedTerms":
        return "l1", None
    if parts[0].name == "LocalSearchedTerms":
        return "l1", max(part["n_near"] for part in parts)
    return "l2", max(part["near.n_near"] for part in parts)


def _lasso(dictionary: Record) -> dict[str, Any]:
    """The settings that l1-regularised codes were made with."""
    coder = dictionary["_coder"]
    return {"regularization": coder["problem.regularization"], "neighborhood": coder.get("near.n_near")}


INN: dict[str, Callable[[Record], Picked]] = {
    "CRCClassifier": _of_ridge_codes,
    "INNClassifier": _of_codes,
    "INNCoder": _of_coder,
    "NaiveBayesNN": _of_descriptors,
    "SRCClassifier": _of_sparse_codes,
}
