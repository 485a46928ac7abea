"""From scores to probabilities: one temperature, and for multilabel problems one intercept per label."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

_MOST_ENTRIES = 1_000_000  # of scores looked at: one number needs no more, and `fit` stays fast
_LARGEST_INVERSE = 1e6
ROUNDING = 1e-12  # a posterior below it is made of rounding


class Probabilities(Protocol):
    """Makes probabilities of scores that include the intercept; the leading class stays the most probable."""

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """One column per class, rows sum to 1; multilabel: one probability per label."""


@dataclass(frozen=True)
class Calibration:
    """Scores H become softmax(H / temperature), or σ((H + intercept) / temperature) for each label.

    A single column stands for two classes with scores −H and H.
    """

    temperature: float
    intercept: NDArray[np.float64]
    multilabel: bool

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Probabilities`."""
        scaled = scores / self.temperature
        if self.multilabel:
            return _decided(expit(scaled), scores)
        return _led(softmax(two_sided(scaled), axis=1), scores)


@dataclass(frozen=True)
class MapPosterior:
    """P(c|x) of eq. (2) of MAPBoost from its scores h of eq. (3): h = (C P − 1)/(C − 1).

    ``n_classes`` is C of the problems solved, 2 for one versus all; their posteriors are then scaled to sum to 1.
    """

    n_classes: int
    multilabel: bool

    def posteriors(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """One number per class, as estimated; those of one-versus-all problems need not sum to 1."""
        sided = scores if self.multilabel else two_sided(scores)
        posteriors = np.clip((1 + (self.n_classes - 1) * sided) / self.n_classes, 0.0, 1.0)
        return np.where(posteriors < ROUNDING, 0.0, posteriors)

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """See `Probabilities`."""
        posteriors = self.posteriors(scores)
        if self.multilabel:
            return _decided(posteriors, scores)
        nobody = posteriors.sum(axis=1) == 0  # every class is ruled out: an even guess
        posteriors[nobody] = 1.0
        return _led(posteriors, scores)


def _decided(probabilities: NDArray[np.float64], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """A label whose score is above zero by less than a rounding is still above 1/2."""
    hidden = (scores > 0) & (probabilities <= 0.5)
    return np.where(hidden, np.nextafter(0.5, 1.0), probabilities)


def _led(probabilities: NDArray[np.float64], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows that sum to 1; where the leader's lead is less than a rounding, it still leads."""
    probabilities = probabilities / probabilities.sum(axis=1, keepdims=True)
    leader = leading_class(scores)
    hidden = np.flatnonzero(probabilities.argmax(axis=1) != leader)
    probabilities[hidden, leader[hidden]] = np.nextafter(probabilities[hidden].max(axis=1), 2.0)
    return probabilities


def two_sided(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """One column of two-class scores as two; more columns as they are."""
    return np.hstack([-scores, scores]) if scores.shape[1] == 1 else scores


def fit_temperature(scores: NDArray[np.float64], truth: NDArray[np.integer], weight: NDArray[np.float64]) -> float:
    """The temperature with the least log-loss on held-out scores of single-label rows.

    The log-loss is convex in the inverse temperature β: Newton steps kept inside a bracket.
    """
    keep = _spread(len(scores), scores.shape[1])
    scores, truth, weight = two_sided(scores[keep]), truth[keep], weight[keep]
    scale = np.abs(scores - scores.mean(axis=1, keepdims=True)).mean()
    if scale == 0:
        return 1.0
    scores = scores / scale
    # As Platt does: the truth is sure but for one row in all, or separable scores would be trusted without end.
    doubt = 1 / (len(truth) + 2)
    right = (1 - doubt) * scores[np.arange(len(truth)), truth] + doubt * scores.mean(axis=1)

    def slopes(beta: float) -> tuple[float, float]:
        p = softmax(beta * scores, axis=1)
        mean = (p * scores).sum(axis=1)
        spread = (p * scores**2).sum(axis=1) - mean**2
        return float(weight @ (mean - right)), float(weight @ np.maximum(spread, 0))

    low, high, beta = 0.0, _LARGEST_INVERSE, 1.0
    for _ in range(60):
        slope, curvature = slopes(beta)
        low, high = (low, beta) if slope > 0 else (beta, high)
        following = beta - slope / curvature if curvature > 0 else np.inf
        if not low < following < high:
            following = 0.5 * (low + high) if high < _LARGEST_INVERSE else 4 * beta
        if abs(following - beta) <= 1e-9 * beta or following >= _LARGEST_INVERSE:
            break
        beta = following
    # Even votes that say nothing about the truth must not claim to be surer than an even guess.
    return float(scale / max(beta, 1e-6))


def fit_platt(scores: NDArray[np.float64], truth: NDArray[np.bool_]) -> tuple[float, NDArray[np.float64]]:
    """Temperature and intercepts of multilabel scores: one logistic regression with a shared slope."""
    from scipy.optimize import minimize

    keep = _spread(len(scores), scores.shape[1])
    scores, signs = scores[keep], np.where(truth[keep], 1.0, -1.0)
    scale = max(float(np.abs(scores).mean()), np.finfo(float).tiny)

    def risk(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margins = signs * (np.exp(parameters[0]) * scores / scale + parameters[1:])
        slope = -signs * expit(-margins)
        by_label = slope.sum(axis=0) + 1e-3 * parameters[1:]  # a label never seen must stay finite
        by_scale = (slope * np.exp(parameters[0]) * scores / scale).sum()
        value = np.logaddexp(0, -margins).sum() + 5e-4 * (parameters[1:] ** 2).sum()
        return value, np.concatenate([[by_scale], by_label])

    start = np.zeros(1 + scores.shape[1])
    best = minimize(risk, start, jac=True, method="L-BFGS-B", bounds=[(-7, 7)] + [(-50, 50)] * scores.shape[1]).x
    temperature = float(scale / np.exp(best[0]))
    return temperature, best[1:] * temperature


def leading_class(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """The class with the largest score; the first of equals."""
    return np.argmax(two_sided(scores), axis=1)


def _spread(n_rows: int, n_columns: int) -> slice:
    """Evenly spread rows, so many that their scores stay within the bound."""
    return slice(None, None, max(1, -(-n_rows * n_columns // _MOST_ENTRIES)))
