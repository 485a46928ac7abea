"""Codes by l1-regularised least squares with accelerated gradient steps, many queries at a time."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh

from nearboost.codes.lists import LeastSquares, Lists
from nearboost.codes.pieces import Room

GAP = 1e-6  # of ½|q|²: how far codes may be from the least
MOST_STEPS = 5000
STEPS_BETWEEN_LOOKS = 10


class GradientSteps:
    """FISTA (Beck and Teboulle 2009), begun anew where its momentum points uphill (O'Donoghue and Candès 2015)."""

    def __init__(self, problem: LeastSquares) -> None:
        self.problem = problem

    @property
    def columns(self) -> NDArray[np.floating]:
        return self.problem.X.T

    @cached_property
    def step(self) -> float:
        """1 over the largest curvature."""
        X = self.problem.X.astype(np.float64)
        products = X.T @ X if X.shape[1] <= len(X) else X @ X.T
        last = len(products) - 1
        return 1.0 / max(float(eigvalsh(products, subset_by_index=[last, last])[0]), np.finfo(np.float64).tiny)

    def code(self, Q: NDArray[np.float64], own: NDArray[np.int32], room: Room) -> Lists:
        X, step = self.problem.X.astype(np.float64), self.step
        barred = np.flatnonzero(own >= 0)
        weights = np.zeros((len(Q), len(X)))
        open_, ahead, momentum = np.arange(len(Q)), weights.copy(), np.ones(len(Q))
        for n_steps in range(1, MOST_STEPS + 1):
            before = weights[open_]
            moved = ahead - step * ((ahead @ X - Q[open_]) @ X.T)
            after = np.sign(moved) * np.maximum(abs(moved) - step * self.problem.regularization, 0.0)
            places = np.searchsorted(open_, barred)
            here = (places < len(open_)) & (open_[np.minimum(places, len(open_) - 1)] == barred)
            after[places[here], own[barred[here]]] = 0.0
            weights[open_] = after
            uphill = np.einsum("ij,ij->i", ahead - after, after - before) > 0
            grown = np.where(uphill, 1.0, (1 + np.sqrt(1 + 4 * momentum**2)) / 2)
            ahead = after + (np.where(uphill, 0.0, (momentum - 1) / grown))[:, np.newaxis] * (after - before)
            momentum = grown
            if n_steps % STEPS_BETWEEN_LOOKS == 0:
                going = self._gaps(Q[open_], after, own[open_]) > GAP
                open_, ahead, momentum = open_[going], ahead[going], momentum[going]
            if not len(open_):
                break
        return as_lists(weights, open_)

    def _gaps(
        self, Q: NDArray[np.float64], weights: NDArray[np.float64], own: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """The duality gap of each code, over ½|q|²."""
        regularization = self.problem.regularization
        rests = Q - weights @ self.problem.X
        slopes = abs(rests @ self.problem.X.T)
        barred = np.flatnonzero(own >= 0)
        slopes[barred, own[barred]] = 0.0
        steepest = slopes.max(axis=1)
        scales = np.divide(regularization, steepest, out=np.ones(len(Q)), where=steepest > regularization)
        primal = (rests**2).sum(axis=1) / 2 + regularization * abs(weights).sum(axis=1)
        size = (Q**2).sum(axis=1) / 2
        dual = size - ((Q - scales[:, np.newaxis] * rests) ** 2).sum(axis=1) / 2
        return np.divide(primal - dual, size, out=np.zeros(len(Q)), where=size > 0)


def as_lists(weights: NDArray[np.float64], unsolved: NDArray[np.int64]) -> Lists:
    """The samples with a weight; codes that are not exact are marked."""
    counts = np.count_nonzero(weights, axis=1)
    samples = np.argsort(weights == 0, axis=1, kind="stable")[:, : max(1, counts.max(initial=0))].astype(np.int32)
    solved = np.ones(len(weights), dtype=np.bool_)
    solved[unsolved] = False
    return Lists(samples, np.take_along_axis(weights, samples, axis=1), counts, solved)
