"""N3 (Algorithm 1 of the N3 paper) on one class problem, in the printed weight form."""

import math

import numpy as np

from reference.choice import TIE_WINDOW, Run, choose, sum_by_voter

LN2 = math.log(2)
# K with K·w = −F'(margin), and the safe constant L = K / F''(0).
K = {"log": LN2, "binlog": 1.0, "mat": 0.5, "hinge": 1.0, "squared": 1.0}
L = {"log": 4 * LN2, "binlog": 4 / LN2, "mat": 1.0, "hinge": 4.0, "squared": 1.0}


def start_weights(codes):
    """w_ic = 1 / ‖1 + y_ic y_i‖₁ from the (m, C) matrix of ±1 codes, one or several +1 a row."""
    return 1 / np.abs(1 + codes[:, :, None] * codes[:, None, :]).sum(axis=2)


def start_margins(loss, w):
    """g'(K w), the margin that a start weight stands for."""
    p = K[loss] * w
    if loss == "log":
        return np.log((1 - p) / p)
    if loss == "binlog":
        return np.log2((1 - p) / p)
    if loss == "mat":
        return (0.5 - p) / np.sqrt(p * (1 - p))
    if loss == "hinge":
        return (1 - 2 * p) / np.minimum(p, 1 - p)
    return 0.5 - p


def move_weights(loss, w, shift):
    """Eq. (8) with shift = δ b y_ic y_jc."""
    if loss == "log":
        p = w * LN2
        return p / (p + (1 - p) * np.exp(shift)) / LN2
    if loss == "binlog":
        return w / (w + (1 - w) * 2**shift)
    if loss == "mat":
        s = np.sqrt(w * (2 - w))
        return 1 - (1 - w + s * shift) / np.sqrt(1 + shift**2 * s**2 + 2 * (1 - w) * s * shift)
    z = shift + (1 - 2 * w) / np.minimum(w, 1 - w)  # hinge
    return (1 + np.maximum(0, -z)) / (2 + np.abs(z))


def loss_value(loss, x):
    """F, naively."""
    if loss == "log":
        return np.logaddexp(0, -x)
    if loss == "binlog":
        return np.logaddexp2(0, -x)
    if loss == "mat":
        return (-x + np.sqrt(1 + x**2)) / 2
    if loss == "hinge":
        return np.maximum(0, -x) - np.log(2 + np.abs(x))
    return np.where(x > 0.5, 0, np.where(x < -0.5, -x, (0.5 - x) ** 2 / 2))


def n3(
    indices, y, w, *, loss, n_rounds, votes=None, example_weight=None, learning_rate=1.0, oracle="delta",
    min_reverse_neighbors=1, tie_window=TIE_WINDOW,
):  # fmt: skip
    """Boost the class problem y ∈ ±1 from the weights w on the neighbour lists (m, k)."""
    m = len(y)
    b = np.ones(indices.shape) if votes is None else votes
    v = np.ones(m) if example_weight is None else example_weight
    n = sum_by_voter(indices, (v[:, None] * b > 0).astype(float))
    squares = sum_by_voter(indices, v[:, None] * b**2)
    candidate = (n >= max(1, min_reverse_neighbors)) & (squares > 0)
    margins = start_margins(loss, w)  # only for the risk, except that squared cannot do without
    alpha, picks, deltas, risk = np.zeros(m), [], [], [float(v @ loss_value(loss, margins))]
    for _ in range(n_rounds):
        eta = y * sum_by_voter(indices, (v * w * y)[:, None] * b)
        delta = learning_rate * L[loss] * np.divide(eta, squares, out=np.zeros(m), where=squares > 0)
        decrease = np.divide(eta**2, squares, out=np.zeros(m), where=squares > 0)  # (B.3)
        j = choose(delta if oracle == "delta" else decrease, delta, candidate, tie_window)
        if j is None:
            break
        shift = delta[j] * np.where(indices == j, b, 0).sum(axis=1) * y * y[j]
        touched = (indices == j).any(axis=1)
        margins = margins + shift
        moved = np.clip(0.5 - margins, 0, 1) if loss == "squared" else move_weights(loss, w, shift)
        w = np.where(touched, moved, w)
        alpha[j] += delta[j]
        picks.append(j)
        deltas.append(float(delta[j]))
        risk.append(float(v @ loss_value(loss, margins)))
    return Run(picks, deltas, alpha, w, risk)
