"""Naive Bayes by local descriptors (Boiman et al.; McCann and Lowe; Timofte and Van Gool), as plain loops."""

import numpy as np

from reference import inn
from reference.lasso import lasso_code


def nbnn(X, classes, image, n_classes):
    """Minus the squared distances to the nearest descriptor of each class, added up."""
    totals = np.zeros(n_classes)
    for d in image:
        for c in range(n_classes):
            totals[c] -= inn.distances(X[classes == c].astype(float), d.astype(float)).min()
    return totals


def local_nbnn(X, classes, image, n_classes, n_near):
    """The same among the nearest descriptors; the last one's distance stands for classes without any."""
    totals = np.zeros(n_classes)
    for d in image:
        squares = inn.distances(X.astype(float), d.astype(float))
        near = np.argsort(squares, kind="stable")[:n_near]
        for c in range(n_classes):
            own = near[classes[near] == c]
            totals[c] -= squares[own].min() if len(own) else squares[near[-1]]
    return totals


def nbinn(X, classes, image, n_classes, lam, K, n_near=None):
    """Weights of INN codes by class, eqs. (15) and (16)."""
    totals = np.zeros(n_classes)
    for d in image:
        w = inn.local_code(X, d, lam, K, n_near)
        for c in range(n_classes):
            totals[c] += w[classes == c].sum()
    return totals


def nbsr(X, classes, image, n_classes, lam, n_near=None):
    """Absolute weights of sparse codes, of sum 1, by class, eqs. (14) to (16)."""
    totals = np.zeros(n_classes)
    for d in image:
        w = np.abs(lasso_code(X, d, lam, n_near))
        if w.sum() > 0:
            w = w / w.sum()
        for c in range(n_classes):
            totals[c] += w[classes == c].sum()
    return totals
