"""Codes by l1-regularised least squares over lists of samples: those near the query, or those that are needed."""

from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from nearboost.codes.bounds import sum_error
from nearboost.codes.near import NearestSamples
from nearboost.codes.pieces import Room
from nearboost.codes.shadow import multiply
from nearboost.neighbors import UNDERFLOW

SOLVERS = {"lasso": 0, "lars": 1, "fista": 2}  # the codes of the kernels
TOLERANCE = 1e-9  # of λ: how far slopes may be from where they should be
ROUNDING = 1e-13  # of the largest product that a sample can have with the query; this much is added
AT_ONCE = 32  # samples that join a list
MOST_ROUNDS = 10_000  # of joining; a few dozen are enough unless rounding makes samples come and go


class Lists(NamedTuple):
    """Samples that some queries are coded by, and their weights, which are zero beyond the first ``counts``.

    ``solved`` tells of codes that are within the tolerance.
    """

    samples: NDArray[np.int32]
    weights: NDArray[np.float64]
    counts: NDArray[np.int64]
    solved: NDArray[np.bool_]

    @classmethod
    def of(cls, samples: NDArray[np.int32], count: int) -> Self:
        """The first of each row, without weights."""
        counts = np.full(len(samples), count, dtype=np.int64)
        return cls(samples, np.zeros(samples.shape), counts, np.ones(len(samples), dtype=np.bool_))


class LeastSquares:
    """The problem to solve: the samples and λ. Slopes are products of samples with what a code leaves over."""

    def __init__(self, X: NDArray[Any], regularization: float, solver: str) -> None:
        self.X = X
        self.regularization, self.solver = regularization, SOLVERS[solver]
        self.radius = float(np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64).max()))

    def slacks(self, Q: NDArray[np.float64]) -> NDArray[np.float64]:
        """How far slopes may be off."""
        return TOLERANCE * self.regularization + ROUNDING * self.radius * np.linalg.norm(Q, axis=1)

    def values(self, weights: NDArray[np.float64], rests: NDArray[np.float64]) -> NDArray[np.float64]:
        """What is to be the least, ½|r|² + λ Σ|w|."""
        return (rests**2).sum(axis=1) / 2 + self.regularization * np.abs(weights).sum(axis=1)

    def solve(
        self, queries: NDArray[np.int64], Q: NDArray[np.float64], lists: Lists, rests: NDArray[np.float64]
    ) -> None:
        """Make the codes of some queries over their lists; ``rests`` become what these leave over."""
        from nearboost.kernels import l1 as kernels

        kernels.code_lists(
            queries, lists.samples, lists.counts, self.X, Q, self.regularization, self.slacks(Q), self.solver,
            lists.weights, rests, lists.solved,
        )  # fmt: skip


class ListCoder(Protocol):
    """A way to choose lists."""

    @property
    def columns(self) -> NDArray[np.float32]:
        """What queries are multiplied with."""

    def code(self, Q: NDArray[np.float64], own: NDArray[np.int32], room: Room) -> Lists:
        """Codes of a few queries."""


class NearLists:
    """Codes by the nearest samples alone."""

    def __init__(self, problem: LeastSquares, near: NearestSamples) -> None:
        self.problem, self.near = problem, near

    @property
    def columns(self) -> NDArray[np.float32]:
        return self.near.shadow.columns

    def code(self, Q: NDArray[np.float64], own: NDArray[np.int32], room: Room) -> Lists:
        samples = self.near.find(Q, own, room)
        lists = Lists.of(samples, samples.shape[1])
        self.problem.solve(np.arange(len(Q)), Q, lists, np.empty_like(Q))
        return lists


class GrowingLists:
    """Codes by all samples: lists grow by the steepest samples until none in the whole set is too steep."""

    def __init__(self, problem: LeastSquares) -> None:
        self.problem = problem

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the columns, which are made anew where they are needed."""
        return {name: value for name, value in self.__dict__.items() if name != "columns"}

    @cached_property
    def columns(self) -> NDArray[np.float32]:
        """The samples, none longer than 1."""
        return (self.problem.X / (self.problem.radius or 1.0)).T.astype(np.float32, order="C")

    def code(self, Q: NDArray[np.float64], own: NDArray[np.int32], room: Room) -> Lists:
        from nearboost.kernels import steep as kernels

        n_samples, n_features = self.problem.X.shape
        # A code has no more samples than features, for they are linearly independent.
        width = min(n_samples, 2 * n_features + AT_ONCE)
        lists, rests = Lists.of(np.empty((len(Q), width), dtype=np.int32), 0), Q.copy()
        # Twice the slack: samples that left a list do not come back for a rounding.
        limits = self.problem.regularization + 2 * self.problem.slacks(Q)
        open_, least = np.arange(len(Q)), np.full(len(Q), np.inf)
        for _ in range(MOST_ROUNDS):
            products, is_done = room.values[: len(open_)], np.empty(len(open_), dtype=np.bool_)
            cuts = self._multiply(rests[open_], limits[open_], products)
            kernels.list_steep(
                open_, products, cuts, self.problem.X, rests, limits, own, AT_ONCE,
                lists.samples, lists.weights, lists.counts, room.scores[0], is_done,
            )  # fmt: skip
            open_ = open_[~is_done]
            if not open_.size:
                break
            self.problem.solve(open_, Q, lists, rests)
            values = self.problem.values(lists.weights[open_], rests[open_])
            going = lists.solved[open_] | (values < least[open_])  # elsewhere rounding stands in the way
            least[open_] = values
            open_ = open_[going]
        lists.solved[open_] = False
        return lists

    def _multiply(
        self, rests: NDArray[np.float64], limits: NDArray[np.float64], products: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """Products of samples and rests, none longer than 1; how large they are at least where above the limit."""
        lengths = np.linalg.norm(rests, axis=1)
        units = rests / np.where(lengths > 0, lengths, 1.0)[:, np.newaxis]
        multiply(units.astype(np.float32), self.columns, products)
        n_features = len(self.columns)
        error = sum_error(n_features) + n_features * UNDERFLOW
        with np.errstate(divide="ignore"):  # where nothing is left over, nothing is steep
            return limits / (lengths * self.problem.radius) - error
