"""What the pictures of ``benchmarks.flagship_pictures`` measure, on scikit-learn's digits."""

from functools import cache
from time import process_time

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score, train_test_split
from sklearn.svm import SVC

from nearboost import NearBoostClassifier

X, Y = load_digits(return_X_y=True)
Rows = NDArray[np.float64]


@cache
def halves() -> tuple[Rows, Rows, Rows, Rows]:
    """Every other digit to learn from, the rest as new ones."""
    return X[::2], Y[::2], X[1::2], Y[1::2]


def drawn_split(seed: int, n_rows: int) -> list[Rows]:
    """Digits drawn at random to learn from, evenly over classes, and all others: rows, rows, labels, labels."""
    return train_test_split(X, Y, train_size=n_rows, stratify=Y, random_state=seed)


def estimates_with_copies(seed: int) -> tuple[float, float, float]:
    """Of 100 digits three times each: ordinary folds, held-out accuracy, and the truth."""
    learned, new, labels, truth = drawn_split(seed, 100)
    learned, labels = np.tile(learned, (3, 1)), np.tile(labels, 3)
    cut = StratifiedKFold(5, shuffle=True, random_state=seed)
    ordinary = cross_val_score(NearBoostClassifier(), learned, labels, cv=cut).mean()
    model = NearBoostClassifier().fit(learned, labels)
    return float(ordinary), model.held_out_accuracy_, float(model.score(new, truth))


def held_and_true(seed: int, n_rows: int) -> tuple[float, float]:
    """Of one draw of digits."""
    learned, new, labels, truth = drawn_split(seed, n_rows)
    model = NearBoostClassifier().fit(learned, labels)
    return model.held_out_accuracy_, float(model.score(new, truth))


def tuned_svm(learned: Rows, labels: Rows) -> CalibratedClassifierCV:
    """A Gaussian SVM with C and γ by a grid, and probabilities by a temperature fitted on folds."""
    scale = 1 / (learned.shape[1] * learned.var())
    grid = {"C": (1, 10, 100), "gamma": (scale / 4, scale, 4 * scale)}
    best = GridSearchCV(SVC(), grid, cv=3).fit(learned, labels).best_estimator_
    return CalibratedClassifierCV(best, method="temperature", ensemble=False, cv=3).fit(learned, labels)


def accuracy_and_time(seed: int, share: float | None) -> tuple[float, float]:
    """With half of the digits; the best of seven times."""
    learned, new, labels, truth = drawn_split(seed, len(Y) // 2)
    model = NearBoostClassifier(share, n_jobs=1).fit(learned, labels)
    seconds = []
    for _ in range(7):
        start = process_time()
        model.predict_proba(new)
        seconds.append(process_time() - start)
    return float(model.score(new, truth)), 1e6 * min(seconds) / len(new)


def between_share(rows: Rows, labels: Rows) -> float:
    """The share of the variance that is one of class means."""
    within = sum(rows[labels == label].var(axis=0).sum() * np.mean(labels == label) for label in np.unique(labels))
    return float(1 - within / rows.var(axis=0).sum())
