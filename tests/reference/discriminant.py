"""The soft discriminant metric, sample by sample."""

import numpy as np
from scipy.linalg import fractional_matrix_power


def soft_discriminant(X, y, shrinkage, rest):
    """z for every row of X."""
    m, d = X.shape
    mu, classes = X.mean(axis=0), sorted(set(y))
    S = np.zeros((d, d))
    for x, label in zip(X, y, strict=True):
        v = x - X[y == label].mean(axis=0)
        S += np.outer(v, v) / m
    S_eps = (1 - shrinkage) * S + shrinkage * np.trace(S) / d * np.eye(d)
    W = fractional_matrix_power(S_eps, -0.5)
    B = [np.sqrt(np.mean(y == c)) * (X[y == c].mean(axis=0) - mu) @ W for c in classes]
    U = np.linalg.svd(np.array(B))[2][: min(d, len(classes) - 1)].T
    return (X - mu) @ W @ (rest * np.eye(d) + (1 - rest) * U @ U.T)
