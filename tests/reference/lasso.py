"""Codes by l1-regularised least squares: scikit-learn finds who has a weight, one linear system says how much."""

import numpy as np
from sklearn.linear_model import Lasso


def lasso_code(X, q, lam, n_near=None):
    """w with the least ½|q − Σ w_i x_i|² + λ Σ|w_i|, by the nearest samples alone where ``n_near``."""
    X, q = X.astype(float), q.astype(float)
    near = np.argsort(((X - q) ** 2).sum(axis=1), kind="stable")[:n_near]
    A = X[near].T  # samples are columns
    rough = Lasso(lam / len(q), fit_intercept=False, tol=1e-13, max_iter=10**6).fit(A, q).coef_
    held, signs = np.flatnonzero(rough), np.sign(rough[rough != 0])
    w = np.zeros(len(X))
    w[near[held]] = np.linalg.solve(A[:, held].T @ A[:, held], A[:, held].T @ q - lam * signs)
    slopes = X[near] @ (q - w @ X)
    assert np.all(np.abs(slopes) <= lam * (1 + 1e-9))  # it is the least, not only near it
    assert np.all(np.sign(w[near[held]]) == signs)
    return w
