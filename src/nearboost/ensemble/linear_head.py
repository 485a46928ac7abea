"""A linear score in kernel coordinates: ridge regression of classes, or multinomial regression."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from nearboost.ensemble.stacking import posteriors
from nearboost.metric.moments import ClassMoments

RIDGES = (10.0, 1.0, 0.1, 0.01, 0.001)
PENALTIES = (1.0, 0.1, 0.01)
START = 0.1  # of either, from which the best is looked for
N_STEPS = 30
Numbers = NDArray[np.float64]


def ridge_weights(moments: ClassMoments, ridge: float) -> Numbers:
    """One column for each class: the regression of one-hot codes less their mean."""
    shares = moments.weights / moments.weights.sum()
    targets = moments.sums.T - np.outer(moments.sums.sum(axis=0), shares)
    matrix = moments.squares + ridge * np.eye(len(moments.squares))
    weights: Numbers = cho_solve(cho_factor(matrix, overwrite_a=True), targets)
    return weights


def multinomial_weights(
    rows: NDArray[np.float32], classes: NDArray[np.integer], weight: Numbers, n_classes: int, penalty: float
) -> Numbers:
    """The least Σ w·log-loss + penalty/2·‖W‖², nearly: some steps of L-BFGS on coordinates of equal curvature."""
    from scipy.optimize import minimize

    units = np.sqrt(0.25 * (weight @ rows.astype(np.float64) ** 2) + penalty)
    scaled = (rows / units).astype(np.float32)
    here = np.arange(len(rows))

    def objective(flat: Numbers) -> tuple[float, Numbers]:
        W = flat.reshape(-1, n_classes)
        scores = (scaled @ W.astype(np.float32)).astype(np.float64)
        plain = W / units[:, np.newaxis]
        slope, logs = posteriors(scores)
        losses = logs - scores[here, classes]
        slope[here, classes] -= 1.0
        weighted = (slope * weight[:, np.newaxis]).astype(np.float32)
        gradient = scaled.T @ weighted + penalty * plain / units[:, np.newaxis]
        return float(weight @ losses + 0.5 * penalty * (plain**2).sum()), gradient.ravel()

    start = np.zeros(rows.shape[1] * n_classes)
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": N_STEPS})
    best: Numbers = found.x.reshape(-1, n_classes) / units[:, np.newaxis]
    return best
