"""Probabilities from scores: a temperature and a share that is even over classes, fitted to held-out rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax, xlogy

from nearboost.base.errors import warn_caller
from nearboost.problem.targets import Labels

Scores = NDArray[np.float64]
_MOST_ENTRIES = 300_000  # of scores looked at: one number needs no more, and `fit` stays fast
GUARD = 1 / 3  # of a row that could be of any class: scores that never err would be trusted without end
GRID = 2.0 ** np.arange(-20, 21)  # inverse temperatures, in units of the scores
MOST_BEND, STIFFNESS = 4.0, 5.0  # of leads: so far at most, and so many rows' worth against one by a factor e
DIGITS = 12  # that are kept: scores that differ by a rounding, as with other threads, are to be calibrated alike
WIDTH = 1e-4  # of differences of slopes, and of the steps that are taken by them
N_SHARES, MOST_SHARE = 20, 0.999  # uniform shares that are tried with each, from the least on


class Probabilities(Protocol):
    """Makes probabilities of scores that include the intercept; the leading class stays the most probable."""

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """One column per class, rows sum to 1; multilabel: one probability per label."""


@dataclass(frozen=True)
class Calibration:
    """Scores H become (1 − ε) softmax(H / temperature) + ε / C; of several labels, each (1 − ε) σ(H / temperature)
    + ε / 2.

    A single column stands for two classes with scores −H and H. ``uniform_share`` is ε: scores may have nothing to
    say of some rows, and no class is impossible because a few rows did not show it. With another ``bend`` than 1
    softmax is of −(L / temperature)^bend, L being the lead of the best class over each: votes that agree may tell
    more, or less, than in proportion.
    """

    temperature: float
    uniform_share: float = 0.0
    multilabel: bool = False
    bend: float = 1.0

    def probabilities(self, scores: Scores) -> NDArray[np.float64]:
        """See `Probabilities`."""
        scores = np.asarray(scores, dtype=np.float64)
        with np.errstate(over="ignore"):  # to ∞ for labels, to −∞ behind the leader
            if self.multilabel:
                return keep_decided(self._mixed(expit(scores / self.temperature), 2), scores)
            sided = two_sided(scores)
            behind = (sided.max(axis=1, keepdims=True) - sided) / self.temperature
            behind = behind if self.bend == 1 else behind**self.bend
        return keep_leader(self._mixed(softmax(-behind, axis=1), sided.shape[1]), scores)

    def _mixed(self, sure: NDArray[np.float64], n_answers: int) -> NDArray[np.float64]:
        return (1 - self.uniform_share) * sure + self.uniform_share / n_answers


def fit_calibration(
    scores: Scores,
    classes: NDArray[np.integer],
    weight: NDArray[np.float64] | None = None,
    unknown: float = 1.0,
    *,
    may_bend: bool = False,
) -> Calibration:
    """Temperature and ε with the least log-loss on n held-out rows of some class numbers, ε at least 1/(n + 2).

    ``scores`` have a column for each class, or one for two classes. Where leads ``may_bend``, how much is fitted
    too. Without any row the temperature is ``unknown`` and ε = 1/2; then say so by `warn_uncalibrated`.
    """
    weight = np.ones(len(scores)) if weight is None else weight
    counted = np.flatnonzero(weight > 0)
    least = doubt_of(len(counted))
    if not len(counted):
        return Calibration(unknown, least)
    found = fit_softmax(scores[counted], classes[counted], weight[counted], least, may_bend)
    return Calibration(found[0], found[1], bend=found[2])


def fit_label_calibration(
    scores: Scores, members: NDArray[np.bool_], weight: NDArray[np.float64] | None = None
) -> tuple[Calibration, NDArray[np.float64]]:
    """The same for rows with several labels, and what is to be added to each label's scores."""
    weight = np.ones(len(scores)) if weight is None else weight
    counted = np.flatnonzero(weight > 0)
    temperature, intercept = fit_platt(scores[counted], members[counted], weight[counted])
    return Calibration(temperature, doubt_of(len(counted)), multilabel=True), intercept


def calibrate(
    scores: Scores, labels: Labels, weight: NDArray[np.float64], *, may_bend: bool = False
) -> tuple[Calibration, NDArray[np.float64]]:
    """Calibration and intercepts from held-out scores and the labels of their rows, of either kind."""
    if labels.multilabel:
        return fit_label_calibration(scores, labels.members.toarray() > 0, weight)
    found = fit_calibration(scores, labels.classes(), weight, may_bend=may_bend)
    return found, np.zeros(labels.n_columns)


def doubt_of(n_rows: int) -> float:
    """The share of the truth that n rows leave open, as Platt has it: one row in all."""
    return 1 / (n_rows + 2)


def warn_uncalibrated() -> None:
    """Tell whoever called the library that nothing could be held out."""
    warn_caller(
        "No class has two different samples of different groups to hold one of them out, so probabilities are not "
        "calibrated and the held-out accuracy is unknown (NaN); give at least two samples of each class."
    )


def fit_softmax(
    scores: Scores, truth: NDArray[np.integer], weight: NDArray[np.float64], least: float, may_bend: bool
) -> tuple[float, float, float]:
    """The temperature, the uniform share ε and the bend with the least log-loss on held-out single-label rows.

    What scores are wrong about without a doubt, ε explains; a temperature alone would make all rows doubtful.
    Two pseudo-rows keep both finite where scores never err, or always: `GUARD`, and −ln(1 − ε) for one row that
    scores know all about. The bend, if any, is held near 1 by `STIFFNESS`. The loss need not be convex: the best
    of a grid without a bend, and from there to the minimum.
    """
    from scipy.optimize import minimize

    keep = _spread(len(scores), scores.shape[1])
    scores, truth, weight = two_sided(scores[keep]), truth[keep], weight[keep] / weight[keep].mean()
    scores = scores - scores.mean(axis=1, keepdims=True)
    scale = np.abs(scores).mean()
    if scale == 0:
        return 1.0, least, 1.0
    leads = (scores.max(axis=1, keepdims=True) - scores) / scale
    rows, even = np.arange(len(truth)), 1 / scores.shape[1]

    def softmax_of(beta: float, bend: float) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """How far classes are behind, their parts of each row, and the guard."""
        behind = (beta * leads) ** bend if may_bend else beta * leads
        parts = np.exp(-behind)
        sums = parts.sum(axis=1, keepdims=True)
        guard = GUARD * (np.log(sums[:, 0]) + behind.mean(axis=1)).mean()
        return behind, parts / sums, float(guard)

    def losses(own: NDArray[np.float64], guard: float, share: float) -> float:
        return guard - float(weight @ np.log((1 - share) * own + share * even)) - float(np.log1p(-share))

    def risk(logs: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Of ln β, ln ε and the logarithm of the bend, with its slopes."""
        beta, share, bend = np.exp(logs)
        behind, parts, guard = softmax_of(beta, bend)
        own = parts[rows, truth]
        mixed = (1 - share) * own + share * even

        def slope(moves: NDArray[np.float64]) -> float:
            """By what moves every class back by so much."""
            mean = (parts * moves).sum(axis=1)
            of_guard = GUARD * (moves.mean(axis=1) - mean).mean()
            return float(of_guard + weight @ ((1 - share) * own / mixed * (moves[rows, truth] - mean)))

        by_share = weight @ ((own - even) / mixed) + 1 / (1 - share)
        by_bend = slope(xlogy(behind, behind)) + STIFFNESS * logs[2] if may_bend else 0.0
        stiff = STIFFNESS / 2 * logs[2] ** 2
        return losses(own, guard, share) + stiff, np.array([bend * slope(behind), share * by_share, by_bend])

    shares = np.geomspace(least, MOST_SHARE, N_SHARES)
    found = (softmax_of(beta, 1.0) for beta in GRID)
    tried = [[losses(parts[rows, truth], guard, share) for share in shares] for _, parts, guard in found]
    best = np.unravel_index(np.argmin(tried), np.shape(tried))
    start = np.log(np.array([GRID[best[0]], shares[best[1]], 1.0]))
    most = MOST_BEND if may_bend else 1.0
    bounds = np.log(np.array([GRID[[0, -1]], shares[[0, -1]], [1 / most, most]]))
    logs = minimize(
        risk, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-15, "gtol": 1e-9}
    ).x
    inside = (bounds[:, 0] < logs) & (logs < bounds[:, 1])
    logs = polished(lambda logs: risk(logs)[1], logs, np.flatnonzero(inside))
    numbers = scale / np.exp(logs[0]), np.exp(logs[1]), np.exp(logs[2])
    temperature, share, bend = (float(f"{number:.{DIGITS}g}") for number in numbers)
    return temperature, max(least, share), bend


def polished(
    slopes: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    point: NDArray[np.float64],
    free: NDArray[np.integer],
) -> NDArray[np.float64]:
    """A minimum nearby, to more than `DIGITS`, by short steps of Newton in some of the coordinates."""
    for _ in range(3 if len(free) else 0):
        shifts = WIDTH * np.eye(len(point))[free]
        bends = np.array([slopes(point + shift) - slopes(point - shift) for shift in shifts])[:, free]
        step = 2 * WIDTH * np.linalg.lstsq(bends, slopes(point)[free])[0]
        if np.abs(step).max() > WIDTH:
            break
        point = point.copy()
        point[free] -= step
    return point


def fit_platt(
    scores: Scores, truth: NDArray[np.bool_], weight: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Temperature and intercepts of multilabel scores: one logistic regression with a shared slope."""
    from scipy.optimize import minimize

    keep = _spread(len(scores), scores.shape[1])
    scores, signs = scores[keep], np.where(truth[keep], 1.0, -1.0)
    shares = (weight[keep] / weight[keep].mean())[:, np.newaxis]
    scale = max(float(np.abs(scores).mean()), np.finfo(float).tiny)
    doubt = doubt_of(len(scores)) / 2  # the share of the other answer

    def risk(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margins = signs * (np.exp(parameters[0]) * scores / scale + parameters[1:])
        slope = shares * signs * (doubt - expit(-margins))
        by_label = slope.sum(axis=0) + 1e-3 * parameters[1:]  # a label never seen must stay finite
        by_scale = (slope * np.exp(parameters[0]) * scores / scale).sum()
        losses = shares * (np.logaddexp(0, -margins) + doubt * margins)
        return losses.sum() + 5e-4 * (parameters[1:] ** 2).sum(), np.concatenate([[by_scale], by_label])

    start = np.zeros(1 + scores.shape[1])
    best = minimize(risk, start, jac=True, method="L-BFGS-B", bounds=[(-7, 7)] + [(-50, 50)] * scores.shape[1]).x
    temperature = float(scale / np.exp(best[0]))
    return temperature, best[1:] * temperature


def keep_decided(probabilities: NDArray[np.float64], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """A label whose score is above zero by less than a rounding is still above 1/2."""
    hidden = (scores > 0) & (probabilities <= 0.5)
    return np.where(hidden, np.nextafter(0.5, 1.0), probabilities)


def keep_leader(probabilities: NDArray[np.float64], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows that sum to 1, in which the class with the largest score leads.

    Where another is more probable, the two trade places; where the lead is less than a rounding, it is a rounding.
    """
    probabilities = probabilities / probabilities.sum(axis=1, keepdims=True)
    leader, likeliest = leading_class(scores), probabilities.argmax(axis=1)
    hidden = np.flatnonzero(likeliest != leader)
    pairs = np.stack([leader, likeliest])[:, hidden]
    probabilities[hidden, pairs] = probabilities[hidden, pairs[::-1]]
    level = hidden[probabilities[hidden].argmax(axis=1) != leader[hidden]]
    probabilities[level, leader[level]] = np.nextafter(probabilities[level].max(axis=1), 2.0)
    return probabilities


def two_sided(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """One column of two-class scores as two; more columns as they are."""
    return np.hstack([-scores, scores]) if scores.shape[1] == 1 else scores


def leading_class(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """The class with the largest score; the first of equals."""
    return np.argmax(two_sided(scores), axis=1)


def exact_matches(scores: NDArray[np.float64], labels: Labels) -> NDArray[np.bool_]:
    """Whether the scores of each row give the right class, or exactly the right labels."""
    if labels.multilabel:
        return np.asarray(((scores > 0) == (labels.members.toarray() > 0)).all(axis=1))
    return leading_class(scores) == labels.classes()


def exact_match(scores: NDArray[np.float64], labels: Labels) -> float:
    """The share of rows whose scores give the right class, or exactly the right labels."""
    return float(exact_matches(scores, labels).mean())


def log_losses(probabilities: NDArray[np.float64], labels: Labels) -> NDArray[np.float64]:
    """−ln of the probability given to the class of each row; of several labels, the mean over them."""
    if labels.multilabel:
        there = labels.members.toarray() > 0
        return -np.log(np.where(there, probabilities, 1 - probabilities)).mean(axis=1)
    return -np.log(probabilities[np.arange(len(probabilities)), labels.classes()])


def _spread(n_rows: int, n_columns: int) -> slice:
    """Evenly spread rows, so many that their scores stay within the bound."""
    return slice(None, None, max(1, -(-n_rows * n_columns // _MOST_ENTRIES)))
