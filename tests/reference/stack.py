"""The heads and the stack of NearBoostClassifier, one query and one row at a time."""

import numpy as np

from reference.inn import distances, inn


def nearest(X, q, rows, n_near):
    """Of some rows; all where there are no more."""
    order = np.argsort(distances(X[rows].astype(float), q.astype(float)), kind="stable")
    return rows[order[:n_near]]


def vote(X, classes, weight, q, allowed, lam, K, n_near=None):
    """H_c = Σ w_t over terms of class c, each times its row's weight."""
    scores = np.zeros(classes.max() + 1)
    for s, w in zip(*inn(X, q, lam, K, allowed=nearest(X, q, allowed, n_near)), strict=True):
        scores[classes[s]] += w * weight[s]
    return scores


def squared_residual(X, q, allowed, lam, K):
    """‖q − Σ v_t x_t‖² with v_t = w_t / Σ w."""
    samples, weights = inn(X, q, lam, K, allowed=allowed)
    mean = np.zeros(X.shape[1])
    for s, w in zip(samples, weights, strict=True):
        mean += w / sum(weights) * X[s]
    return np.sum((q - mean) ** 2)


def residual(X, classes, q, allowed, lam, K, n_near=None):
    """R_c = 1 − r_c² / mean r²; a class with no row allowed has the farthest residual."""
    squares = np.full(classes.max() + 1, np.nan)
    for c in range(len(squares)):
        own = allowed[classes[allowed] == c]
        if len(own):
            squares[c] = squared_residual(X, q, nearest(X, q, own, n_near), lam, K)
    squares[np.isnan(squares)] = np.nanmax(squares)
    return 1 - squares / squares.mean()


def smoothed_loss(a, heads, truth, weight):
    """Log-loss of softmax(Σ a_h S_h) against (1 − δ)·one-hot + δ/C, δ = 1/(n + 2)."""
    total, delta = 0.0, 1 / (len(truth) + 2)
    for i, c in enumerate(truth):
        scores = sum(a_h * (S[i] - S[i].mean()) for a_h, S in zip(a, heads, strict=True))
        logs = scores - np.log(np.exp(scores).sum())
        total -= weight[i] * ((1 - delta) * logs[c] + delta * logs.mean())
    return total / weight.sum()
