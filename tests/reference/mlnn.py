"""MLNN and MAPBoost (Algorithm 1 of either paper) on one problem, from the edge matrix as printed."""

import math

import numpy as np
from scipy.optimize import brentq

from reference.choice import TIE_WINDOW, Run, choose


def symmetric_codes(classes, n_classes):
    """y_ic = 1 for the true class, −1/(C−1) elsewhere."""
    y = np.full((len(classes), n_classes), -1 / (n_classes - 1))
    y[np.arange(len(classes)), classes] = 1
    return y


def edge_matrix(indices, votes, classes, n_classes):
    """r_ij = K(x_i, x_j) (1/C) Σ_c y_ic y_jc, eq. (9); dense, zero where j does not vote on i."""
    y = symmetric_codes(classes, n_classes)
    r = np.zeros((len(classes), len(classes)))
    for i in range(len(classes)):
        for j, vote in zip(indices[i], votes[i], strict=True):
            r[i, j] = vote * (y[i] @ y[j]) / n_classes
    return r


def gaussian_kernel(distances, sigma):
    """exp(−d²/2σ²); σ is one number or one per row. A kernel value below 1e-6 of the row's largest is none."""
    sigma = np.broadcast_to(np.reshape(sigma, (-1, 1)), (len(distances), 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        K = np.where(sigma > 0, np.exp(-(distances**2) / (2 * sigma**2)), 1.0)
    return np.where(1e-6 * K.max(axis=1, keepdims=True) > K, 0.0, K)


def density_estimate(indices, distances, bandwidth):
    """f_j(x_i) of eq. (21): the kernel of j's own bandwidth over the sum of the voters' kernels on i."""
    h = bandwidth[indices]
    with np.errstate(divide="ignore", invalid="ignore"):
        K = np.where(h > 0, np.exp(-(distances**2) / (2 * h**2)), 1.0)
    K = np.where(1e-6 * K.max(axis=1, keepdims=True) > K, 0.0, K)
    return K / K.sum(axis=1, keepdims=True)


def smoothed_closed_form(agree, differ, n_classes, m):
    """Eq. (15) with 1/m added to the numerator and the denominator inside the logarithm."""
    C = n_classes
    return (C - 1) ** 2 / C * math.log(((C - 1) * agree + 1 / m) / (differ + 1 / m))


def exact_root(w, r):
    """δ with Σ w r e^(−δr) = 0, eq. (10)."""

    def total(delta):
        exponents = -delta * r
        return float(w * r @ np.exp(exponents - exponents.max()))

    reach = 1.0
    while total(-reach) < 0 or total(reach) > 0:
        reach *= 2
    return brentq(total, -reach, reach, xtol=1e-15, rtol=1e-15)


def mlnn(r, n_classes, *, n_rounds, example_weight=None, equal_votes=True, always_smooth=False):
    """Boost from w = 1/m; ``equal_votes`` says that all kernel values are the same, so eq. (15) holds.

    ``always_smooth`` adds to each side of eq. (10) one row of the voter's mean kernel value, with the weight that
    makes eq. (15) smoothed where kernel values are equal.
    """
    v = np.ones(len(r)) if example_weight is None else example_weight
    counted = v > 0
    m = int(counted.sum())
    w = v / v.sum()
    candidate = ((r != 0) & counted[:, None]).any(axis=0)
    alpha, picks, deltas, risk = np.zeros(len(r)), [], [], [float(w.sum())]
    for _ in range(n_rounds):
        deltas_now = np.zeros(len(r))
        for j in np.flatnonzero(candidate):
            rows = np.flatnonzero((r[:, j] != 0) & counted)
            agree, differ = w[rows][r[rows, j] > 0].sum(), w[rows][r[rows, j] < 0].sum()  # eq. (16)
            size = np.where(r[rows, j] > 0, r[rows, j], -r[rows, j] * (n_classes - 1)) * (n_classes - 1)
            mean_vote = size.mean()
            if always_smooth and not equal_votes:
                more = mean_vote * np.array([1 / (n_classes - 1), -1 / (n_classes - 1) ** 2])
                weight = np.array([1 / m / (n_classes - 1), 1 / m])
                deltas_now[j] = exact_root(np.append(w[rows], weight), np.append(r[rows, j], more))
            elif equal_votes or agree == 0 or differ == 0:
                deltas_now[j] = smoothed_closed_form(agree, differ, n_classes, m) / mean_vote
            else:
                deltas_now[j] = exact_root(w[rows], r[rows, j])
        j = choose(deltas_now, deltas_now, candidate, TIE_WINDOW)
        if j is None:
            break
        w = w * np.exp(-deltas_now[j] * r[:, j])  # eq. (13)
        alpha[j] += deltas_now[j]
        picks.append(j)
        deltas.append(float(deltas_now[j]))
        risk.append(float(w.sum()))
    return Run(picks, deltas, alpha, w, risk)
