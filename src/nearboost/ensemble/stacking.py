"""Weights of several scores in one softmax, by the log-loss of held-out rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Scores = NDArray[np.floating[Any]]
Weights = NDArray[np.float64]
EQUAL_AT = 500  # rows at which the fitted weights count as much as equal ones
MOST_STEPS, CLOSE = 100, 1e-5
MOST_SCORES = 500_000


def centred(scores: Scores) -> Scores:
    """Less the mean over classes, which softmax does not notice."""
    return scores - scores.mean(axis=-1, keepdims=True)


def fit_weights(heads: Scores, truth: NDArray[np.integer], weight: Weights) -> Weights:
    """a ≥ 0 with the least log-loss of softmax(Σ a_h S_h); ``heads`` has shape (heads, rows, classes).

    The truth is sure but for one row in all, or separable scores would be trusted without end. Convex: Newton
    steps over the weights that are free to move, halved until the loss falls.
    """
    some = slice(None, None, -(-heads[0].size // MOST_SCORES))  # a few weights need no more
    heads, truth, weight = heads[:, some], truth[some], weight[some]
    heads = centred(np.asarray(heads, dtype=np.float64))
    units = np.sqrt((heads**2).mean(axis=(1, 2)))
    units[units == 0] = 1.0
    heads = heads / units[:, np.newaxis, np.newaxis]
    shares, n_rows = weight / weight.sum(), len(truth)
    right = heads[:, np.arange(n_rows), truth] * (1 - 1 / (n_rows + 2))  # scores are centred: their mean is 0

    def evaluate(a: Weights) -> tuple[float, Scores]:
        p, logs = posteriors(np.tensordot(a, heads, 1))
        return float(shares @ (logs - a @ right)), p

    a = np.ones(len(heads))
    value, p = evaluate(a)
    for _ in range(MOST_STEPS):
        slope, curvature = derivatives(p, heads, right, shares)
        free = (a > 0) | (slope < 0)
        step = np.zeros(len(a))
        damped = curvature[np.ix_(free, free)] + 1e-9 * np.eye(free.sum())
        step[free] = -np.linalg.solve(damped, slope[free])
        if np.abs(step).max(initial=0.0) < CLOSE * (1 + np.abs(a).max()):
            break
        before = value
        for halving in range(30):
            following = np.maximum(a + step / 2**halving, 0.0)
            value, p = evaluate(following)
            if value < before:
                break
        else:
            break
        a = following
    return a / units


def posteriors(scores: Scores) -> tuple[Scores, Weights]:
    """Softmax, and the logarithm of its denominator."""
    tops = scores.max(axis=1)
    exponentials = np.exp(scores - tops[:, np.newaxis])
    sums = exponentials.sum(axis=1)
    exponentials /= sums[:, np.newaxis]
    return exponentials, np.log(sums) + tops


def derivatives(p: Scores, heads: Scores, right: Scores, shares: Weights) -> tuple[Weights, Weights]:
    """Slope and curvature of the log-loss in the weights."""
    weighted = heads * (p * shares[:, np.newaxis])
    means = weighted.sum(axis=2)
    slope = means.sum(axis=1) - right @ shares
    flat = heads.reshape(len(heads), -1)
    curvature = weighted.reshape(len(heads), -1) @ flat.T - (means / shares) @ means.T
    return slope, curvature


def fit_stack(heads: Scores, truth: NDArray[np.integer], weight: Weights, n_training: int) -> Weights:
    """Fitted weights, drawn towards those of the heads' equal mean: few rows tell little of who is better."""
    fitted = fit_weights(heads, truth, weight)
    single = np.array([fit_weights(head[np.newaxis], truth, weight)[0] for head in heads])
    together = fit_weights(np.tensordot(single, heads, 1)[np.newaxis], truth, weight)[0]
    share = EQUAL_AT / (EQUAL_AT + n_training)
    return (1 - share) * fitted + share * together * single


def log_loss(scores: Scores, truth: NDArray[np.integer], weight: Weights) -> float:
    """Mean of −log softmax at the true class."""
    scores = np.asarray(scores, dtype=np.float64)
    losses = logsumexp(scores, axis=1) - scores[np.arange(len(truth)), truth]
    return float(losses @ weight / weight.sum())


def stacked_loss(heads: Scores, truth: NDArray[np.integer], weight: Weights) -> float:
    """The log-loss with the best weights."""
    return log_loss(np.tensordot(fit_weights(heads, truth, weight), heads, 1), truth, weight)
