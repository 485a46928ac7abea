"""UNN (Algorithm 1 of the thesis) on one class problem, in the weight form of Table 2.2."""

import math

import numpy as np
from scipy.optimize import brentq

from reference.choice import TIE_WINDOW, Run, choose, sum_by_voter


def start_weights(y, example_weight=None, balance="half"):
    """Half of the mass on each side of the class (§2.4.1), or with balance="none" one mass for all."""
    v = np.ones(len(y)) if example_weight is None else example_weight
    if balance == "none":
        return v / v.sum()
    w = v / np.where(y > 0, v[y > 0].sum(), v[y < 0].sum())
    return w / w.sum()


def start_margins(loss, w):
    """F'⁻¹(−w); for mat with F = −x + √(1+x²), as in Table 2.1."""
    if loss == "exp":
        return -np.log(w)
    if loss == "log":
        return np.log((1 - w) / w)
    return (1 - w) / np.sqrt(w * (2 - w))


def move_weights(loss, w, shift):
    """Table 2.2, last column, with shift = δ b y_ic y_jc."""
    if loss == "exp":
        return w * np.exp(-shift)
    if loss == "log":
        return w * np.exp(-shift) / (1 - w * (1 - np.exp(-shift)))
    s = np.sqrt(w * (2 - w))
    return 1 - (1 - w + s * shift) / np.sqrt(1 + shift**2 * s**2 + 2 * (1 - w) * s * shift)


def closed_form(loss, agree, differ):
    """Table 2.2, middle column; agree and differ are W⁺ and W⁻, smoothed."""
    if loss == "exp":
        return math.log(agree / differ) / 2
    if loss == "log":
        return math.log(agree / differ)
    share = agree / (agree + differ)
    return (2 * share - 1) / (2 * math.sqrt(share * (1 - share)))


def exact_root(loss, w, signed_votes):
    """δ with Σ b s w(δ b s) = 0 over R_j: eq. (2.15). The sum falls in δ, from + to −."""

    def total(delta):
        return float(signed_votes @ move_weights(loss, w, delta * signed_votes))

    reach = 1.0
    while total(-reach) < 0 or total(reach) > 0:
        reach *= 2
    return brentq(total, -reach, reach, xtol=1e-15, rtol=1e-15)


def loss_value(loss, x):
    """F; mat halved, as everywhere in the package."""
    if loss == "exp":
        return np.exp(-x)
    return np.logaddexp(0, -x) if loss == "log" else (-x + np.sqrt(1 + x**2)) / 2


def unn(
    indices, y, w, *, loss, n_rounds, votes=None, delta="closed_form", learning_rate=1.0, oracle="delta",
    min_reverse_neighbors=1, tie_window=TIE_WINDOW,
):  # fmt: skip
    """Boost the class problem y ∈ ±1 from the weights w, which sum to 1; zero weight is left out."""
    m = len(y)
    counted = w > 0
    b = counted[:, None] * (np.ones(indices.shape) if votes is None else votes)
    exact = delta == "exact" or (votes is not None and np.any(votes != 1))  # no closed form for b ≠ 1
    n = sum_by_voter(indices, (b > 0).astype(float))
    candidate = n >= max(1, min_reverse_neighbors)
    epsilon = 1 / m
    margins = start_margins(loss, w[counted])
    alpha, picks, deltas, risk = np.zeros(m), [], [], [float(loss_value(loss, margins).sum())]
    for _ in range(n_rounds):
        agreeing = y[:, None] == y[indices]
        agree = sum_by_voter(indices, w[:, None] * b * agreeing)  # (2.17)
        differ = sum_by_voter(indices, w[:, None] * b * ~agreeing)  # (2.18)
        deltas_now = np.zeros(m)
        for j in np.flatnonzero(candidate):
            if exact and agree[j] > 0 and differ[j] > 0:
                rows, ranks = np.nonzero((indices == j) & (b > 0))
                deltas_now[j] = exact_root(loss, w[rows], b[rows, ranks] * y[rows] * y[j])
            else:
                mean_vote = b[indices == j].sum() / n[j]
                deltas_now[j] = closed_form(loss, agree[j] + epsilon, differ[j] + epsilon) / mean_vote
        decrease = (np.sqrt(agree) - np.sqrt(differ)) ** 2
        j = choose(deltas_now if oracle == "delta" else decrease, deltas_now, candidate, tie_window)
        if j is None:
            break
        step = learning_rate * deltas_now[j]
        shift = step * np.where(indices == j, b, 0).sum(axis=1) * y * y[j]
        w = np.where((indices == j).any(axis=1) & counted, move_weights(loss, w, shift), w)
        w = w / w.sum()
        margins = margins + shift[counted]
        candidate[j] = False  # once only
        alpha[j] = step
        picks.append(j)
        deltas.append(float(step))
        risk.append(float(loss_value(loss, margins).sum()))
    return Run(picks, deltas, alpha, w, risk)
