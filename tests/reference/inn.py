"""Iterative nearest neighbours (Timofte and Van Gool), one printed step a line."""

import math

import numpy as np


def n_terms(lam, beta):
    """Eq. (8)."""
    return math.ceil(-math.log(1 - beta) / math.log(1 + lam))


def distances(X, q, metric="l2"):
    """Squared, for l2."""
    return np.abs(X - q).sum(axis=1) if metric == "l1" else ((X - q) ** 2).sum(axis=1)


def inn(X, q, lam, K, *, eps=0.0, metric="l2", allowed=None):
    """The samples and the weights of the INN algorithm; ``allowed`` lists the samples to choose from."""
    X, q = X.astype(float), q.astype(float)
    allowed = np.arange(len(X)) if allowed is None else np.sort(allowed)
    samples, weights = [], []
    k, moved, approximation, w = 0, q, np.zeros_like(q), lam  # 0
    while True:
        k, s, w = k + 1, allowed[np.argmin(distances(X[allowed], moved, metric))], w / (1 + lam)  # 1
        samples.append(int(s))
        weights.append(w)
        approximation = approximation + w * X[s]  # 2
        r = np.linalg.norm(q - approximation)
        moved = moved + lam * (moved - X[s])  # 3
        if k >= K or (eps > 0 and r <= eps):  # 4
            return samples, weights


def code(X, q, lam, K, **choices):
    """The weights by sample, those of repeated samples added up."""
    w = np.zeros(len(X))
    np.add.at(w, *inn(X, q, lam, K, **choices))
    return w


def local_code(X, q, lam, K, n_near, *, metric="l2", **choices):
    """A code by the nearest samples alone."""
    near = np.argsort(distances(X.astype(float), q.astype(float), metric), kind="stable")[:n_near]
    return code(X, q, lam, K, metric=metric, allowed=near, **choices)


def code_by_others(X, i, lam, K, **choices):
    """A sample's code without itself."""
    return code(X, X[i], lam, K, allowed=np.delete(np.arange(len(X)), i), **choices)


def class_sums(X, classes, q, lam, K, sample_weight=None, **choices):
    """INNC: the weights added up by class."""
    w = code(X, q, lam, K, **choices) * (1.0 if sample_weight is None else sample_weight)
    return np.bincount(classes, w, minlength=classes.max() + 1)


def class_residuals(X, classes, q, lam, K, **choices):
    """|q − Σ w s| of a code made by each class alone."""
    residuals = []
    for c in range(classes.max() + 1):
        w = code(X, q, lam, K, allowed=np.flatnonzero(classes == c), **choices)
        residuals.append(np.linalg.norm(q - w @ X.astype(float)))
    return np.array(residuals)
