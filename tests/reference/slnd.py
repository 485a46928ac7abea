"""SLND (chapter 4 of the thesis), one printed step a line."""

import numpy as np

SLOPES = {  # F'
    "log": lambda x: -1 / (1 + np.exp(x)),
    "hinge": lambda x: -(1 + np.maximum(0, -x)) / (2 + np.abs(x)),
    "squared": lambda x: -np.clip(0.5 - x, 0, 1),
}
CURVATURES = {"log": 0.25, "hinge": 0.25, "squared": 1.0}  # F''(0)


def inverse_hessian(X, rank, loss, weights=None):
    """H* of eq. (4.13) from the second moments (4.12)."""
    weights = np.ones(len(X)) if weights is None else weights
    H = CURVATURES[loss] * (X * weights[:, None]).T @ X / weights.sum()
    d, P = np.linalg.eigh(H)
    P, d = P[:, ::-1][:, :rank], d[::-1][:rank]
    return P @ np.diag(1 / d) @ P.T


def slnd(X, y, order, eta, rank, loss, weights=None):
    """The weights of one class, y = ±1, after update (4.16) on the rows of ``order``."""
    weights = np.ones(len(X)) if weights is None else weights
    H = inverse_hessian(X, rank, loss, weights)
    w = np.zeros(X.shape[1])
    for i in order:
        x_star = H @ X[i]  # (4.15)
        w = w - eta * weights[i] * y[i] * SLOPES[loss](y[i] * w @ X[i]) * x_star
    return w
