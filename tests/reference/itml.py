"""ITML (Algorithm 1 of Davis et al. 2007) on given pairs, one printed step a line."""

import numpy as np


def itml(X, pairs, same, bounds, *, gamma=1.0, n_sweeps=1, prior=None):
    """A and λ after so many sweeps in the order of the pairs."""
    A = np.eye(X.shape[1]) if prior is None else prior.copy()
    lam = np.zeros(len(pairs))
    xi = np.where(same, bounds[0], bounds[1]).astype(float)
    for _ in range(n_sweeps):
        for k, (i, j) in enumerate(pairs):
            v = X[i] - X[j]
            p = v @ A @ v  # 3.2
            if p == 0:  # one row twice: no A can move it
                continue
            delta = 1 if same[k] else -1  # 3.3
            alpha = min(lam[k], delta * gamma / (gamma + 1) * (1 / p - 1 / xi[k]))  # 3.4, the authors' program
            beta = delta * alpha / (1 - delta * alpha * p)  # 3.5
            xi[k] = gamma * xi[k] / (gamma + delta * alpha * xi[k])  # 3.6
            lam[k] -= alpha  # 3.7
            A = A + beta * np.outer(A @ v, A @ v)  # 3.8
    return A, lam
