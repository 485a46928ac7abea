"""What a model file keeps of boosted neighbours: rows, labels, weights, coefficients; the rest is made of these.

Training rows and their graph are kept only where all of them vote on queries. What a fit used is written as it
was, because parameters may have been set to something else since.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from nearboost.base.device import DEVICE_NAMES
from nearboost.base.entries import (
    Array,
    Choice,
    Csr,
    Either,
    Fields,
    Flag,
    Integer,
    ListOf,
    Misfit,
    Nullable,
    Number,
    Spec,
    Text,
)
from nearboost.base.entries import Labels as ClassLabels
from nearboost.base.schema import CLASSES, Schema, of_rows, set_fitted
from nearboost.neighbors import METHODS, METRICS, Neighbors, NeighborSearch, check_graph, find_method, method_here
from nearboost.problem.calibration import Calibration
from nearboost.problem.given import check_kept
from nearboost.problem.targets import ExampleWeights, Labels, TrainingSet
from nearboost.votes import KERNELS, VOTE_WEIGHTS, CodeVotes, KernelVotes, PlainVotes, VoteRule

SEARCH = Either(Choice(*METHODS), Text(12, DEVICE_NAMES))
ROWS: dict[str, Spec] = {"rows": Array("float", ("n_voters", "n_features"), by_rows=True)}
VOTERS: dict[str, Spec] = {
    "row_numbers": Array("int64", ("n_voters",), low=0, rising=True),
    "members": Csr(("n_voters", "n_columns"), "int8", low=1, high=1),
    "multilabel": Flag(),
    "start": Array("float64", ("n_voters",), low=0),
    "prior": Array("float64", ("n_columns",), low=0),
    "only_prototypes_vote": Flag(),
    "metric": Choice(*METRICS),
    "search": SEARCH,
    "vote_rule": Choice("plain", "kernel", "density", "inn"),
    "vote_kind": Choice(*VOTE_WEIGHTS, *KERNELS, None),
    "sigma": Nullable(Either(Choice("sqrt"), Number(low=0))),
    "soft_lambda": Nullable(Number(above=0)),
}
LEARNED: dict[str, Spec] = {
    "n_neighbors_": Integer(1),
    "n_rounds_": Integer(),
    "prototypes_": Array("int64", ("n_prototypes",), low=0, rising=True),
    "coefficients_": Either(Csr(("n_prototypes", "n_columns")), Array("float64", ("n_prototypes",))),
    "start_coefficient_": Number(low=0),
    "temperature_": Number(above=0),
    "intercept_": Array("float64", ("n_columns",)),
    "calibrated_by": Choice("temperature", "posterior"),
    "history_": ListOf(Array("float64", (None,), finite=False)),
}
HELD_OUT: dict[str, Spec] = {
    "held_out_rows_": Array("int64", ("n_held_out",), low=0),
    "held_out_scores_": Csr(("n_held_out", "n_columns")),
    "held_out_accuracy_": Number(low=0, high=1, finite=False),  # NaN where it cannot be known
    "held_out_risk_": Nullable(Array("float64", (None,), finite=False)),
}
OPEN: dict[str, Spec] = {  # of the calibration; older files have none
    "uniform_share": Number(low=0, high=1),
    "bend": Number(above=0),
}
TRAINING: dict[str, Spec] = {
    "sample_weight": Array("float64", ("n_voters",), above=0),
    "class_weight_of_rows": Array("float64", ("n_voters",), low=0),
    "groups": Array("int32", ("n_voters",), low=0),
    "graph_indices": Array("int32", ("n_voters", "n_listed"), low=0, below="n_voters"),
    "graph_distances": Array("float64", ("n_voters", "n_listed"), low=0),
    "graph_given": Flag(),
}
GIVEN: dict[str, Spec] = {
    "given_weight": Nullable(Array("float64", ("n_given",), low=0)),
    "group_names": Nullable(ClassLabels("n_groups")),
    "left_out_classes": Array("int32", ("n_left_out",), low=0, below="n_classes"),
}
OF_CENTROIDS: dict[str, Spec] = {"of_centroids": Flag()}
THEORY = Fields(
    {
        **{name: Array("float64", ("n_rounds",), finite=False) for name in ("gamma", "eta", "factors", "bound")},
        **{name: Array("int32", ("n_rounds",), low=0) for name in ("n_roots", "n_steps")},
    }
)
FRACTION = "-?[0-9a-f]+/0*[1-9a-f][0-9a-f]*"  # of hexadecimal digits, read in one way only: no text takes long
MOST_SQUARED = 10**11  # digits, squared and added up over all fractions: so long does it take to reduce these
FRACTIONS = Fields(
    {"rows": Array("int64", ("n_rows",), low=0), "values": ListOf(Text(300_000, FRACTION), "n_rows")}
)


def boosted(**more: Spec) -> Schema:
    """The schema of a boosted classifier; ``more`` are entries of its own, which need not be there."""
    optional = {**HELD_OUT, **OPEN, **TRAINING, **GIVEN, **OF_CENTROIDS, **more}
    return of_rows({**ROWS, **CLASSES, **VOTERS, **LEARNED, **optional}, tuple(optional), check=check_boosted)


def check_boosted(state: Mapping[str, Any]) -> None:
    """What ties the entries of a boosted classifier together, beyond kinds and lengths."""
    n_classes, n_columns = len(state["classes_"]), state["members"].shape[1]
    if n_classes < 2 - state["multilabel"]:
        raise Misfit("must have two classes at least, or one label")
    if n_columns != (n_classes if n_classes > 2 or state["multilabel"] else 1):
        raise Misfit("must have a column for each class, or one for two classes")
    if not state["multilabel"] and n_columns > 1 and (np.diff(state["members"].indptr) != 1).any():
        raise Misfit("must have one class for each row")
    if not np.isin(state["prototypes_"], state["row_numbers"]).all():
        raise Misfit("must have prototypes that are among its rows")
    if state["metric"] == "cosine" and state["vote_rule"] == "inn":
        raise Misfit("must not code rows by the cosine")
    if state["metric"] not in find_method(state["search"]).metrics:
        raise Misfit("must search by a metric that its search knows")
    _check_votes(state["vote_rule"], state["vote_kind"], state["sigma"])
    _check_all_or_none(state, TRAINING)
    _check_all_or_none(state, HELD_OUT)
    tables = state.get("exact_coefficients_", [])
    if sum(len(text) ** 2 for table in tables for text in table["values"]) > MOST_SQUARED:
        raise Misfit("must have fractions that can be reduced in some seconds")
    if "graph_indices" in state:
        if state.get("of_centroids"):
            raise Misfit("must have the training rows, or centroids of them, not both")
        _check_training(state)


def _check_votes(rule: str, kind: str | None, sigma: Any) -> None:
    kinds = {"plain": VOTE_WEIGHTS, "inn": (None,)}.get(rule, KERNELS)
    if kind not in kinds:
        raise Misfit(f"must have {rule} votes of a kind that there is")
    if kinds is KERNELS and (
        (kind == "gaussian") > (type(sigma) is float) or (sigma == "sqrt") > (kind == "adaptive")
    ):
        raise Misfit("must know the width of its kernel")


def _check_all_or_none(state: Mapping[str, Any], names: Iterable[str]) -> None:
    if 0 < sum(name in state for name in names) < len(list(names)):
        raise Misfit(f"must have all of {', '.join(names)}, or none")


def _check_training(state: Mapping[str, Any]) -> None:
    try:
        check_graph((state["graph_indices"], state["graph_distances"]), len(state["rows"]), state["n_neighbors_"])
    except ValueError as error:
        raise Misfit(f"must have a sound graph ({error})") from None
    _check_all_or_none(state, GIVEN)
    if "given_weight" not in state:
        return
    weight, names = state["given_weight"], state["group_names"]
    check_kept(weight, state["row_numbers"])
    if names is not None and (state["groups"] >= len(names)).any():
        raise Misfit("must have a name for each group")
    n_left_out = 0 if weight is None or state["multilabel"] else len(weight) - len(state["rows"])
    if len(state["left_out_classes"]) != n_left_out:
        raise Misfit("must have a class for each row without a weight")


def collect_boosted(model: Any) -> dict[str, Any]:
    """The entries of a fitted classifier."""
    rule, search = model._vote_rule, model._search
    rows = np.empty((0, model.n_features_in_)) if search is None else rows_to_keep(search)
    public = {name: value for name, value in vars(model).items() if name.endswith("_")}
    if "diagnostics_" in public:
        public["diagnostics_"] = [asdict(one) for one in public["diagnostics_"]]
    if "exact_coefficients_" in public:
        public["exact_coefficients_"] = [_as_texts(table) for table in public["exact_coefficients_"]]
    calibration = model._calibration
    tempered = isinstance(calibration, Calibration)
    return {
        **public,
        **_collect_votes(rule),
        **_collect_training(model),
        **({"of_centroids": True} if model._of_centroids else {}),
        "rows": rows,
        "row_numbers": model._searched_rows,
        "members": model._voter_labels.members,
        "multilabel": model._voter_labels.multilabel,
        "start": model._start,
        "prior": model._prior,
        "only_prototypes_vote": model._may_vote is not None,
        "metric": model.metric if search is None else search.rows.metric,
        "search": model.search if search is None else search.method,
        "calibrated_by": "temperature" if tempered else "posterior",
        "uniform_share": calibration.uniform_share if tempered else 0.0,
        "bend": calibration.bend if tempered else 1.0,
    }


def _collect_votes(rule: VoteRule) -> dict[str, Any]:
    if isinstance(rule, KernelVotes):
        named = {"vote_rule": "density" if rule.density else "kernel", "vote_kind": rule.kernel}
        return {**named, "sigma": rule.sigma, "soft_lambda": None}
    if isinstance(rule, PlainVotes):
        return {"vote_rule": "plain", "vote_kind": rule.kind, "sigma": None, "soft_lambda": rule.soft_lambda}
    return {"vote_rule": "inn", "vote_kind": None, "sigma": None, "soft_lambda": None}


def _collect_training(model: Any) -> dict[str, Any]:
    if not model._holds_training_rows:
        return {}
    data, graph = model._data, model._graph
    return {
        "sample_weight": data.weights.sample,
        "class_weight_of_rows": data.weights.by_class,
        "groups": data.groups,
        "graph_indices": graph.indices,
        "graph_distances": graph.distances,
        "graph_given": model._graph_given,
        **{name: getattr(model, f"_{name}") for name in GIVEN if hasattr(model, f"_{name}")},  # not of older files
    }


def restore_boosted(model: Any, state: Mapping[str, Any]) -> None:
    """Make everything else from what a model file keeps."""
    set_fitted(model, state)
    model._voter_labels = Labels(state["members"], len(model.classes_), state["multilabel"])
    model._labels, model._searched_rows = model._voter_labels, state["row_numbers"]
    model._start, model._prior = state["start"], state["prior"]
    positions = np.searchsorted(model._searched_rows, model.prototypes_)
    model._of_centroids = state.get("of_centroids", False)
    model._may_vote = positions if state["only_prototypes_vote"] else None
    model._vote_rule = restore_vote_rule(state, model.n_jobs)
    model._calibration = model._restore_calibration(
        state["calibrated_by"], state.get("uniform_share", 0.0), state.get("bend", 1.0)
    )
    coefficients = coefficients_of_voters(state)
    rule = model._restore_step_rule()
    model._leverage = rule.leverage(coefficients, model._voter_labels, model._start, model._prior)
    how = model.n_jobs, model.memory, model.verbose
    model._search = restore_search(state, *how) if len(state["rows"]) else None
    if "graph_indices" in state:
        restore_training(model, state)


def restore_vote_rule(state: Mapping[str, Any], n_jobs: int | None) -> VoteRule:
    """The rule that a fit used."""
    if state["vote_rule"] == "inn":
        return CodeVotes(state["metric"], n_jobs)
    if state["vote_rule"] == "plain":
        return PlainVotes(state["vote_kind"], state["soft_lambda"])
    return KernelVotes(state["vote_kind"], state["sigma"], density=state["vote_rule"] == "density")


def rows_to_keep(search: NeighborSearch) -> NDArray[Any]:
    """The searched rows as model files keep them: in float32 or float64, row by row."""
    return np.ascontiguousarray(search.rows.X, dtype=search.rows.source.dtype)


def restore_search(
    state: Mapping[str, Any], n_jobs: int | None, memory: float | None, verbose: int = 0
) -> NeighborSearch:
    """A search over the rows, which are nobody else's."""
    how: dict[str, Any] = {"n_jobs": n_jobs, "memory": memory, "verbose": verbose}
    method = method_here(state["search"])
    return NeighborSearch(state["rows"], state["metric"], method=method, copy=False, **how)


def restore_training(model: Any, state: Mapping[str, Any]) -> None:
    """The training set, its graph, and what the fit was given; older files lack the last."""
    weights = ExampleWeights(state["sample_weight"], state["class_weight_of_rows"], np.zeros(len(state["rows"])))
    model._data = TrainingSet(state["rows"], model._labels, weights, state["groups"])
    model._kept, model._graph_given = state["row_numbers"], state["graph_given"]
    model._graph = Neighbors(state["graph_indices"], state["graph_distances"])
    model.neighbors_ = model._graph.first(model.n_neighbors_)
    for name in (name for name in GIVEN if name in state):
        setattr(model, f"_{name}", state[name])


def coefficients_of_voters(state: Mapping[str, Any]) -> csr_array:
    """Coefficients of all voters, of whom the prototypes have some."""
    given = state["coefficients_"]
    given = csr_array(given[:, np.newaxis]) if isinstance(given, np.ndarray) else given
    n_entries = np.zeros(len(state["row_numbers"]) + 1, dtype=given.indptr.dtype)
    n_entries[1 + np.searchsorted(state["row_numbers"], state["prototypes_"])] = np.diff(given.indptr)
    shape = len(state["row_numbers"]), given.shape[1]
    return csr_array((given.data, given.indices, np.cumsum(n_entries, dtype=given.indptr.dtype)), shape=shape)


def _as_texts(table: Mapping[int, Fraction]) -> dict[str, Any]:
    """Fractions in hexadecimal, which is read in no time however long they are."""
    values = [f"{one.numerator:x}/{one.denominator:x}" for one in table.values()]
    return {"rows": np.fromiter(table, np.int64, len(table)), "values": values}


def restore_fractions(coded: Mapping[str, Any]) -> dict[int, Fraction]:
    """The exact coefficient of each row."""
    halves = (text.split("/") for text in coded["values"])
    values = [Fraction(int(over, 16), int(under, 16)) for over, under in halves]
    return dict(zip(coded["rows"].tolist(), values, strict=True))
