"""The method of SLND: its coordinates and its metric, measured on some rows."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import issparse

from nearboost.linear.choice import RANKS, Setting
from nearboost.linear.coordinates import Coordinates, Eigenvectors, WithRemainder
from nearboost.linear.descent import FixedMetric, Metric
from nearboost.linear.moments import SMALL, draw_sample, leading_eigenpairs, measure_moment, standardize
from nearboost.linear.objectives import Objective
from nearboost.linear.recipe import Method, Recipe
from nearboost.linear.rows import Problem

SCALINGS = ("none", "standard")
FIRST_FACTOR_BESIDE = 0.5  # of the step, where the remainder is learned as well
LEADING = 16  # eigenvectors of wide sparse rows, whose remainder is learned as well


@dataclass(frozen=True)
class LowRankNewton(Method):
    """The leading eigenvectors of the second moment, each direction scaled by 1/(F''(0)(D + μ D₁))."""

    scalings: tuple[str, ...]
    rank: int | None
    n_samples: int | None
    intercept: bool
    remainder: bool = False  # of wide sparse rows is learned as well

    def coordinates(self, problem: Problem, recipe: Recipe) -> dict[str, Coordinates]:
        whole = self.remainder and issparse(problem.rows.X) and problem.rows.n_features > SMALL
        sample = draw_sample(problem.ids, self.n_samples, recipe.options.seed)
        moment, factor = measure_moment(
            problem.rows,
            sample,
            problem.weights,
            intercept=self.intercept,
            memory=recipe.memory,
            n_jobs=recipe.n_jobs,
            device=recipe.device,
        )
        n_features, found = problem.rows.n_features, dict[str, Coordinates]()
        rank = self.rank or (LEADING if whole else max(RANKS))
        for scaling in self.scalings:  # "none" before "standard", which changes the moment
            centre, scale = np.zeros(n_features), np.ones(n_features)
            if scaling == "standard":
                moment, centre, scale = standardize(moment, self.intercept)
            values, vectors = leading_eigenpairs(moment, rank)
            self._check(len(values))
            vectors[-1:] -= (centre / scale) @ vectors[:n_features] if self.intercept else 0.0
            vectors[:n_features] *= factor / scale[:, np.newaxis]
            if whole:
                scales = np.append(factor / scale, 1.0) if self.intercept else factor / scale
                about_zero = moment.diagonal() / scales**2
                found[scaling] = WithRemainder(vectors, values, scales, about_zero, self.intercept)
            else:
                found[scaling] = Eigenvectors(vectors, values, self.intercept)
        return found

    def _check(self, n_directions: int) -> None:
        if not n_directions:
            raise ValueError("X is zero everywhere, so there is no direction to learn in; check X.")
        if self.rank is not None and n_directions < self.rank:
            warnings.warn(
                f"rank={self.rank} is more than the {n_directions} directions in which the rows differ from zero; "
                f"{n_directions} are used.",
                UserWarning,
                stacklevel=2,
            )

    def metric(self, coordinates: Coordinates, objective: Objective, damping: float) -> Metric:
        assert isinstance(coordinates, Eigenvectors | WithRemainder)
        moments = coordinates.eigenvalues
        rates = 1.0 / (objective.curvature * (moments + damping * moments[0]))
        if isinstance(coordinates, WithRemainder):
            rates = coordinates.with_rates(rates, rates[-1])
        return FixedMetric(rates[:, np.newaxis])

    def narrowed(self, coordinates: Coordinates, start: Setting, free: set[str]) -> tuple[Setting, set[str]]:
        if not isinstance(coordinates, WithRemainder):
            return start, free
        return replace(start, factor=start.factor and FIRST_FACTOR_BESIDE), free - {"rank", "damping"}
