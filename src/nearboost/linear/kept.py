"""What model files keep of linear classifiers: weights, what was chosen, and where learning stands."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import clone

from nearboost.base.entries import (
    Array,
    Choice,
    Coded,
    Csr,
    Either,
    Fields,
    Flag,
    Integer,
    ListOf,
    Misfit,
    Nullable,
    Number,
    Part,
    Sizes,
    Spec,
    Writer,
)
from nearboost.base.rows import RowSource
from nearboost.base.schema import CLASSES, Schema, of_rows, set_fitted
from nearboost.linear.coordinates import Coordinates
from nearboost.linear.descent import Metric, PassOptions, Schedule, State
from nearboost.linear.objectives import NAMES, Objective
from nearboost.linear.rows import Problem
from nearboost.problem.calibration import Calibration
from nearboost.problem.targets import Coding, Labels, number_groups

MOST_COUNTED = 2**53  # steps and passes
# What may change between two calls of `partial_fit`, or has no part in it.
FREE_LATER = {"max_passes", "early_stopping", "tol", "class_weight", "memory", "n_jobs", "verbose", "device"}


class Figures(Spec):
    """Numbers by name."""

    def check(self, value: Any, sizes: Sizes) -> None:
        if type(value) is not dict or not all(type(name) is str for name in value):
            raise Misfit("must be numbers by name")
        for one in value.values():
            Number().check(one, sizes)

    def encode(self, value: Any, where: str, writer: Writer) -> Coded:
        return {name: float(one) for name, one in value.items()}


SCALING = Choice("none", "standard", "diagonal", "quasi-newton")
TRIAL = Fields(
    {
        "scaling": SCALING,
        "rank": Integer(1),
        "damping": Number(low=0),
        "step": Number(finite=False),
        "accuracy": Number(0, 1),
        "risk": Number(finite=False),
    },
    optional=("scaling",),
)
REPORT = Fields(
    {
        "loss": Choice(*NAMES),
        "scaling": SCALING,
        "rank": Integer(1),
        "damping": Number(low=0),
        "step": Number(above=0),
        "n_held_out": Integer(),
        "trials": ListOf(TRIAL),
        "seconds": Figures(),
    },
    optional=("scaling",),
)
CALIBRATION = {
    "held_out_accuracy_": Number(0, 1, finite=False),
    "temperature": Nullable(Number(above=0)),  # None where probabilities are the loss's own
    "uniform_share": Number(0, 1),
}
FIRST = {  # rows of first blocks, where they are too few to begin with for good
    "first_rows": Either(Csr(("n_first", "n_features"), "float"), Array("float", ("n_first", "n_features"))),
    "first_members": Csr(("n_first", "n_columns"), "int8", low=1, high=1),
    "first_weights": Array("float", ("n_first",), low=0),  # 0 where it is too small for its precision
    "n_begun": Integer(1),
}


def linear_schema(name: str, coordinates: Mapping[str, Spec], optional: tuple[str, ...] = ()) -> Schema:
    """The schema of a class, which adds what its coordinates are made of."""
    of_weights = ("n_coordinates", "n_columns")
    entries = {
        **CLASSES,
        "multilabel": Flag(),
        "as_fitted": Part((name,), fitted=False),
        "coef_": Array("float", ("n_columns", "n_features"), by_rows=True),
        "intercept_": Array("float", ("n_columns",)),
        "risks": Array("float64", ("n_passes",), finite=False),
        "accuracies": Array("float64", ("n_passes",), finite=False),
        "report_": REPORT,
        "weights": Array("float", of_weights, by_rows=True),
        "total": Nullable(Array("float64", of_weights, by_rows=True)),
        "n_averaged": Integer(0, MOST_COUNTED),
        "n_steps": Integer(0, MOST_COUNTED),
        "n_passes": Integer(1, MOST_COUNTED),
        "first_step": Number(above=0),
        "steps_to_zero": Nullable(Integer(1, MOST_COUNTED)),
        "horizon": Nullable(Integer(1, MOST_COUNTED)),
        "seed": Integer(),
        "unit": Number(above=0),
        **coordinates,
        **CALIBRATION,
        **FIRST,
    }
    return of_rows(entries, (*optional, *CALIBRATION, *FIRST), check=_check_ties)


def _check_ties(state: Mapping[str, Any]) -> None:
    coding = Coding(state["classes_"], state["multilabel"])
    if len(coding.classes) < 2 - coding.multilabel or len(state["coef_"]) != coding.n_columns:
        raise Misfit("must have a row of weights for each class, or one for two classes")
    if not state["coef_"].dtype == state["intercept_"].dtype == state["weights"].dtype:
        raise Misfit("must have all its weights in one precision")
    if (state["total"] is None) != (state["n_averaged"] == 0):
        raise Misfit("must have a sum of weights where steps are averaged, and only there")
    if state.get("temperature") is not None and "uniform_share" not in state:
        raise Misfit("must have a uniform share where it has a temperature")
    if 0 < len(FIRST.keys() & state.keys()) < len(FIRST):
        raise Misfit("must have labels and weights of its first rows")
    if "first_rows" in state and state["first_rows"].dtype != state["weights"].dtype:
        raise Misfit("must have its first rows in the precision of its weights")
    if state["steps_to_zero"] is not None and state["horizon"] is not None:
        raise Misfit("must have steps that fall in one way")


class Resumable:
    """A linear classifier that goes on learning after a file as if it had never left."""

    random_state: Any
    history_: dict[str, list[float]]
    report_: dict[str, Any]
    held_out_accuracy_: float
    _calibration: Calibration | None
    _coding: Coding
    _kept: Problem | None
    _n_begun: int
    _objective: Objective
    _settled: dict[str, Any]
    _state: State

    def _objective_of(self, coding: Coding) -> Objective:
        raise NotImplementedError

    def model_state(self) -> dict[str, Any]:
        """What is kept in a file; nothing before `fit`."""
        if not hasattr(self, "_state"):
            return {}
        return {
            **vars(self),
            "multilabel": self._coding.multilabel,
            "as_fitted": clone(self).set_params(**self._settled),
            "risks": np.array(self.history_["risk"]),
            "accuracies": np.array(self.history_["held_out_accuracy"]),
            "report_": {**self.report_, "seconds": {}},  # equal fits give equal files
            "temperature": None if self._calibration is None else self._calibration.temperature,
            "uniform_share": 0.0 if self._calibration is None else self._calibration.uniform_share,
            **({} if self._kept is None else first_entries(self._kept, self._n_begun)),
            **learning_entries(self._state),
            **self._coordinate_entries(),
        }

    def _coordinate_entries(self) -> dict[str, Any]:
        """What `_resume` makes coordinates and metric from."""
        raise NotImplementedError

    def _resume(self, state: Mapping[str, Any], objective: Objective) -> tuple[Coordinates, Metric]:
        """Coordinates and metric as they were; called on an estimator with the settings of the first block."""
        raise NotImplementedError

    def restore_model_state(self, state: Mapping[str, Any]) -> None:
        """Go on from where a file stands."""
        set_fitted(self, state)
        as_fitted, self._coding = state["as_fitted"], Coding(state["classes_"], state["multilabel"])
        self._objective = as_fitted._objective_of(self._coding)
        coordinates, metric = as_fitted._resume(state, self._objective)
        self._state = learning_state(state, as_fitted, self._objective, coordinates, metric)
        self.history_ = {"risk": state["risks"].tolist(), "held_out_accuracy": state["accuracies"].tolist()}
        self.n_passes_ = len(state["risks"])
        self.held_out_accuracy_ = state.get("held_out_accuracy_", float("nan"))
        temperature = state.get("temperature")  # older files have none
        self._calibration = None if temperature is None else Calibration(temperature, state["uniform_share"])
        if "first_rows" in state:
            self._kept, self._n_begun = first_problem(state), state["n_begun"]
        self._settled = settled_of(as_fitted)
        if isinstance(self._settled["random_state"], np.random.RandomState):
            self._settled["random_state"] = self.random_state  # one generator, which was written twice


def settled_of(estimator: Any) -> dict[str, Any]:
    """The parameters that may not change any more."""
    parameters = estimator.get_params(deep=False)
    return {name: value for name, value in parameters.items() if name not in FREE_LATER}


def first_entries(kept: Problem, n_begun: int) -> dict[str, Any]:
    """Rows of first blocks that count, with labels and weights, and how many of them learning began with."""
    members, rows = csr_array(kept.labels.members[kept.ids]), kept.rows.take(kept.ids)
    if issparse(rows):
        rows = csr_array(rows)
        rows.sum_duplicates()
    return {
        "first_rows": rows,
        "first_members": members,
        "first_weights": kept.weights[kept.ids],
        "n_begun": n_begun,
    }


def first_problem(state: Mapping[str, Any]) -> Problem:
    """The rows that `first_entries` came from."""
    coding, ids = Coding(state["classes_"], state["multilabel"]), np.arange(len(state["first_weights"]))
    labels = Labels(state["first_members"], len(coding.classes), coding.multilabel)
    groups = number_groups(None, len(ids))
    return Problem(RowSource(state["first_rows"]), labels, state["first_weights"], groups, ids, state["unit"])


def learning_entries(state: State) -> dict[str, Any]:
    """Where learning stands; coordinates are kept by the class that made them."""
    return {
        "weights": state.V,
        "total": state.total if len(state.total) else None,
        "n_averaged": state.n_averaged,
        "n_steps": state.n_steps,
        "n_passes": state.n_passes,
        "first_step": state.schedule.first,
        "steps_to_zero": state.schedule.n_steps,
        "horizon": state.schedule.horizon,
        "seed": state.options.seed,
        "unit": state.unit,
    }


def learning_state(
    kept: Mapping[str, Any], settings: Any, objective: Objective, coordinates: Coordinates, metric: Metric
) -> State:
    """The state that `learning_entries` came from; ``settings`` are those of the first block."""
    total = {} if kept["total"] is None else {"total": kept["total"]}
    return State(
        coordinates,
        objective,
        metric,
        Schedule(kept["first_step"], kept["steps_to_zero"], kept["horizon"]),
        PassOptions(settings.batch_size, settings.balanced, settings.average, kept["seed"]),
        kept["weights"],
        kept["unit"],
        n_averaged=kept["n_averaged"],
        n_steps=kept["n_steps"],
        n_passes=kept["n_passes"],
        **total,
    )
