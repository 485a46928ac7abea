"""How many labels are wrong, and which: held-out probabilities, and labels that some of them cannot explain."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit, softmax
from sklearn.base import clone

from nearboost.base.progress import progress_bar
from nearboost.ensemble.nearboost import NearBoostClassifier
from nearboost.problem.held_out import LARGE, spread_folds, whole_groups

N_FOLDS = 5
SHARPEST, MOST_WRONG, START_WRONG = 4.0, 0.3, 0.02
LIKELY = 0.5  # a label is likely wrong where that is more probable than not
TINY = 1e-12

Probabilities = NDArray[np.float64]


class Judged(NamedTuple):
    """Labels beside what the others say.

    Attributes
    ----------
    order : items, those that are said to be of another class before all others, the least probable label first
    said : the class that the others say, of each item
    own, other : probability of each item's own label, and of the class that is said
    wrong : probability that it is wrong
    n_likely : so many at the front of the order are likely wrong
    share : how many of these should be, of 1; None where there are none
    """

    order: NDArray[np.intp]
    said: NDArray[np.intp]
    own: Probabilities
    other: Probabilities
    wrong: Probabilities
    n_likely: int
    share: float | None


def judge_labels(chances: Probabilities, truth: NDArray[np.integer]) -> Judged:
    """Rank items by the held-out probability of their labels, and estimate which are wrong."""
    own = chances[np.arange(len(truth)), truth]
    said, wrong = chances.argmax(axis=1), wrong_probabilities(chances, truth)
    order = np.lexsort(
        (own, said == truth)
    )  # of many classes, the one that is said may have less than another's own
    n_likely = int((wrong > LIKELY).sum())
    share = float(wrong[order[:n_likely]].mean()) if n_likely else None
    return Judged(order, said, own, chances.max(axis=1), wrong, n_likely, share)


def wrong_probabilities(chances: Probabilities, truth: NDArray[np.integer]) -> Probabilities:
    """The probability that each label is wrong, where a share ε of labels is drawn at random.

    A label then has the probability (1 − ε) q + ε/C of C classes, q ∝ p^β being the held-out probabilities without
    the doubt that wrong labels put into them. β and ε are those under which the labels are most probable.
    """
    n_items, n_classes = chances.shape
    logs, items = np.log(np.maximum(chances, TINY)), np.arange(n_items)

    def label_probabilities(parameters: NDArray[np.float64]) -> tuple[Probabilities, Probabilities, float]:
        own = softmax(np.exp(parameters[0]) * logs, axis=1)[items, truth]
        share = MOST_WRONG * float(expit(parameters[1]))
        return own, (1 - share) * own + share / n_classes, share

    def cost(parameters: NDArray[np.float64]) -> float:
        return -float(np.log(np.maximum(label_probabilities(parameters)[1], TINY)).mean())

    start = np.array([0.0, logit(START_WRONG / MOST_WRONG)])
    best = minimize(cost, start, method="L-BFGS-B", bounds=[(0, np.log(SHARPEST)), (-12, 12)]).x
    own, whole, share = label_probabilities(best)
    return np.asarray(share / n_classes * (1 - own) / np.maximum(whole, TINY))


def judge_rows(
    X: NDArray[Any], y: NDArray[Any], n_classes: int, groups: NDArray[Any] | None, n_jobs: int | None, verbose: int
) -> Probabilities:
    """Held-out probabilities of each row by the best calibrated method, `NearBoostClassifier`.

    Its fit judges all rows where they are few; of more rows, it is fitted on folds. No row is judged by its group
    or its copies.
    """
    together = whole_groups(X, groups)
    if min(len(np.unique(together[y == code])) for code in np.unique(y)) < 2:
        raise ValueError(
            "A class has one item or group only, which nobody else can judge; leave it out or give more."
        )
    judge = NearBoostClassifier(n_jobs=n_jobs, verbose=verbose)
    chances = np.zeros((len(X), n_classes))
    if len(X) <= LARGE:
        fitted = judge.fit(X, y, groups=groups)
        chances[np.ix_(fitted.held_out_rows_, fitted.classes_)] = fitted.held_out_proba_
        return chances
    folds = spread_folds(X, y, groups, N_FOLDS, 0)
    with progress_bar("Judging folds", int(folds.max()) + 1, verbose) as advance:
        for fold in range(folds.max() + 1):
            train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            known = None if groups is None else groups[train]
            fitted = clone(judge).set_params(verbose=0).fit(X[train], y[train], groups=known)
            chances[np.ix_(test, fitted.classes_)] = fitted.predict_proba(X[test])
            advance()
    return chances
