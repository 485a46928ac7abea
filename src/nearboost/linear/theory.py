"""The step of eq. (C.8), with which the risk falls at each step by at least what (4.20) promises."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.base.progress import Advance, silent
from nearboost.linear.objectives import Objective
from nearboost.linear.rows import Problem

Array = NDArray[np.float64]

MOST_ROWS = 10_000  # every step sums over all rows
QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


@dataclass
class TheoryRun:
    """Weights of the coordinates, the risk after each step, one column for each class, and every γ_t and η_t."""

    V: Array
    risks: Array
    gammas: Array
    etas: Array


def run_theory(
    problem: Problem, Z: Array, objective: Objective, metric: Array, epsilon: float, order: NDArray[np.intp],
    advance: Advance = silent,
) -> TheoryRun:  # fmt: skip
    """One step for each entry of ``order``, rows of Z, for all classes at once.

    With q_j = z_jᵀ B z_i, p = −F' and s_j = y_j q_j, (C.8) is η = 2(1 − ε) y_i (p·s) / (F''(0) p_i ‖s‖²) and may
    be negative. All sums count rows by their weights.
    """
    loss, curvature = objective.loss, objective.curvature
    shares = problem.weights[problem.ids].astype(np.float64)
    shares /= shares.sum()
    signs = problem.labels.signs(problem.ids)
    scores = np.zeros_like(signs)
    V = np.zeros((Z.shape[1], signs.shape[1]))
    risks, gammas, etas = (np.zeros((len(order) + extra, signs.shape[1])) for extra in (1, 0, 0))
    risks[0] = shares @ loss.value(signs * scores)
    for t, i in enumerate(order):
        p = -loss.derivative(signs * scores)
        direction = metric * Z[i]
        q = Z @ direction
        fit = (shares * q) @ (p * signs)  # p·s
        size, length = shares @ (q * q), shares @ np.abs(q)
        if size > 0:
            move = 2 * (1 - epsilon) * fit / (curvature * size)  # η y_i p_i
            V += direction[:, np.newaxis] * move
            scores += q[:, np.newaxis] * move
            gammas[t] = np.abs(fit) / length
            with np.errstate(divide="ignore"):
                etas[t] = np.where(p[i] > 0, signs[i] * move / p[i], 0.0)
        risks[t + 1] = shares @ loss.value(signs * scores)
        advance()
    return TheoryRun(V, risks, gammas, etas)


def diagnose(run: TheoryRun) -> dict[str, Any]:
    """Quantiles of γ_t of the weak separability assumption, and the share of negative steps."""
    values = np.quantile(run.gammas, QUANTILES)
    return {
        "gamma": {f"{quantile:g}": float(value) for quantile, value in zip(QUANTILES, values, strict=True)},
        "negative_steps": float((run.etas < 0).mean()),
        "largest_rise": float(np.diff(run.risks, axis=0).max(initial=-np.inf)),
    }
