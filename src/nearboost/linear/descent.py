"""Stochastic steps: the state that moves, and one pass over the rows."""

from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from nearboost.base.device import is_tensor
from nearboost.base.progress import Advance, silent
from nearboost.linear import tensors
from nearboost.linear.coordinates import Coordinates
from nearboost.linear.objectives import Objective
from nearboost.linear.projection import Projection, ShuffledRows
from nearboost.linear.rows import Problem

Array = NDArray[np.float64]

MEASURED = 64  # batches of a pass whose loss is measured, at least

_EVERYONE = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32))
_NO_TOTAL = np.empty((0, 0))


@dataclass(frozen=True)
class Schedule:
    """Steps: constant, falling in a line to zero after ``n_steps``, or falling as 1/√(1 + t/``horizon``)."""

    first: float
    n_steps: int | None = None
    horizon: int | None = None

    def steps(self, start: int, count: int) -> Array:
        """``count`` steps after ``start`` others."""
        t = start + np.arange(count)
        if self.n_steps is not None:
            return self.first * np.maximum(1 - t / self.n_steps, 0.0)
        if self.horizon is not None:
            return self.first / np.sqrt(1 + t / self.horizon)
        return np.full(count, self.first)

    @property
    def constant(self) -> bool:
        """Whether the step stays as it was given."""
        return self.n_steps is None and self.horizon is None

    def halved(self) -> "Schedule":
        """Steps half as long."""
        return replace(self, first=self.first / 2)


class Metric(Protocol):
    """The diagonal B of the metric, one column for all classes or one for each."""

    values: Array
    interval: int | None  # batches after which it wants to see where things stand

    def observe(self, Z: NDArray[Any], V: NDArray[Any]) -> None:
        """Learn from the last batch."""


@dataclass
class FixedMetric:
    """A metric that stays."""

    values: Array
    interval: int | None = None

    def observe(self, Z: NDArray[Any], V: NDArray[Any]) -> None:
        """Nothing to learn."""


@dataclass(frozen=True)
class PassOptions:
    """How a pass goes."""

    batch_size: int
    balanced: bool
    average: bool
    seed: int


@dataclass
class State:
    """Everything that passes move or need, but for the rows: V are the weights of the coordinates.

    ``unit`` is that of the weights of rows.
    """

    coordinates: Coordinates
    objective: Objective
    metric: Metric
    schedule: Schedule
    options: PassOptions
    V: NDArray[Any]
    unit: float = 1.0
    total: Array = field(default_factory=lambda: _NO_TOTAL)
    n_averaged: int = 0
    n_steps: int = 0
    n_passes: int = 0

    def copy(self) -> "State":
        """Another state to move; coordinates never change and are shared."""
        return replace(self, V=self.V.copy(), total=self.total.copy(), metric=deepcopy(self.metric))

    @property
    def weights(self) -> NDArray[Any]:
        """V, or its mean over the steps since the first pass."""
        return self.total / self.n_averaged if self.n_averaged else self.V


def run_pass(state: State, projection: Projection, advance: Advance = silent) -> float:
    """Once through all rows; returns the mean loss of rows before their step, over a part of the batches."""
    problem, options = projection.problem, state.options
    generator = np.random.default_rng((options.seed, state.n_passes))
    chosen = draw_balanced(problem, generator) if options.balanced else _EVERYONE
    if options.average and state.n_passes == 1:
        state.total = np.zeros(state.V.shape)
    n_batches = -(-len(problem.ids) // options.batch_size)
    every = max(1, n_batches // MEASURED)
    loss, counted, interval = 0.0, 0.0, state.metric.interval
    for part in projection.shuffled(options.batch_size, generator):
        for some in [part] if interval is None else part.split(interval * options.batch_size):
            sums = descend_part(state, problem, some, chosen, every)
            loss, counted = loss + sums[0], counted + sums[1]
            if interval is not None:
                state.metric.observe(some.Z[some.places[-options.batch_size :], : len(state.V)], state.V)
        advance(len(part.rows))
    if len(state.total):
        state.n_averaged += n_batches
    state.n_passes += 1
    terms = 1.0 if state.objective.softmax else state.V.shape[1]
    if options.balanced:
        terms = len(chosen[1]) / len(problem.ids)
    return loss / max(counted * terms, np.finfo(float).tiny)  # a block may have no label to draw


def descend_part(
    state: State, problem: Problem, part: ShuffledRows, chosen: Any, every: int
) -> tuple[float, float]:
    """Steps over these rows; loss and weight of those measured."""
    from nearboost.kernels.linear import descend, descend_sparse

    size, members, dtype = state.options.batch_size, problem.labels.members, state.V.dtype
    n_batches = -(-len(part.rows) // size)
    steps = state.schedule.steps(state.n_steps, n_batches).astype(dtype)
    state.n_steps += n_batches
    if is_tensor(part.Z):
        whose = part.rows, state.V.shape[1], part.Z.device
        own = tensors.Memberships(members.indptr, members.indices, *whose)
        some = tensors.Memberships(chosen[0], chosen[1], *whose) if len(chosen[0]) else None
        rest = (problem.weights[part.rows], state.objective, state.V, state.metric.values.astype(dtype))
        return tensors.descend(part.Z, part.places, own, some, *rest, steps, size, every, state.total)
    labels = (part.rows, members.indptr, members.indices, *chosen, problem.weights, state.objective.code, state.V)
    size, Z = min(size, len(part.rows)), part.Z
    if issparse(Z):
        metric = state.metric.values[:, 0].astype(dtype)
        return descend_sparse(Z.indptr, Z.indices, Z.data, part.places, *labels, metric, steps, size, every)
    metric = np.ascontiguousarray(np.broadcast_to(state.metric.values, state.V.shape), dtype=dtype)
    return descend(Z, part.places, *labels, metric, steps, size, every, state.total)


def draw_balanced(problem: Problem, generator: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The classes that learn from each row, as starts and columns.

    A class learns from its own rows and from as many others, drawn afresh, or all others where these are fewer.
    """
    labels, ids = problem.labels, problem.ids
    rows, columns = [], []
    for column in range(labels.n_columns):
        own = labels.members_of(column)
        inside, outside = np.intersect1d(ids, own), np.setdiff1d(ids, own)
        drawn = generator.choice(outside, min(len(inside), len(outside)), replace=False)
        rows += [inside, drawn]
        columns.append(np.full(len(inside) + len(drawn), column, dtype=np.int32))
    row, column_of = np.concatenate(rows), np.concatenate(columns)
    starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=labels.n_rows))])
    return starts, column_of[np.argsort(row, kind="stable")]
