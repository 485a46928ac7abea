"""What the pictures of ``benchmarks.flagship_pictures`` show: digits, and where others are better."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from time import process_time

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.data import Split
from benchmarks.flagship import folds_of, tuned_svm
from nearboost import NearBoostClassifier
from nearboost.ensemble.code_heads import Codes

X, Y = load_digits(return_X_y=True)
N_NOISE = 1_000
N_COLUMNS, N_CATEGORIES = 6, 12
Rows = NDArray[np.float64]


def halves() -> tuple[Rows, Rows, Rows, Rows]:
    """Every other digit to learn from, the rest as new ones."""
    return X[::2], Y[::2], X[1::2], Y[1::2]


@cache
def fitted() -> NearBoostClassifier:
    """The classifier that most pictures look into."""
    learned, labels, _, _ = halves()
    return NearBoostClassifier().fit(learned, labels)


@cache
def unsure() -> tuple[int, list[int]]:
    """The new digit with the least sure of the right answers, and its three most probable classes."""
    _, _, new, truth = halves()
    p = fitted().predict_proba(new)
    row = int(np.argmin(np.where(p.argmax(axis=1) == truth, p.max(axis=1), 2.0)))
    return row, np.argsort(-p[row])[:3].tolist()


@cache
def code_of_unsure() -> Codes:
    """The codes of that digit."""
    row, _ = unsure()
    return fitted()._answers.look_at(halves()[2][row : row + 1]).codes


def named(picks: NDArray[np.integer]) -> NDArray[np.int64]:
    """Training rows behind picks among the coded rows."""
    model = fitted()
    return model._representatives[model._answers.coded.order[picks]]


def joined(picks: NDArray[np.integer]) -> list[tuple[int, float]]:
    """Picked training rows with their weights, those picked several times added up; the heaviest first."""
    rows, places = np.unique(named(picks), return_inverse=True)
    weights = np.bincount(places, fitted()._answers.coded.terms)
    return [(int(rows[i]), float(weights[i])) for i in np.argsort(-weights, kind="stable")]


def drawn(seed: int, share: int | float, X: Rows = X, y: Rows = Y) -> Split:
    """Rows drawn at random to learn from, a number or a share, evenly over classes; the others are new."""
    train, test, y_train, y_test = train_test_split(X, y, train_size=share, stratify=y, random_state=seed)
    return Split("drawn", train, y_train, test, y_test)


def copied(seed: int) -> tuple[float, float, float]:
    """Of 100 digits three times each: accuracy by ordinary folds, held out, and of new digits."""
    split = drawn(seed, 100)
    learned, labels = np.tile(split.X_train, (3, 1)), np.tile(split.y_train, 3)
    cut = StratifiedKFold(5, shuffle=True, random_state=seed)
    ordinary = cross_val_score(NearBoostClassifier(), learned, labels, cv=cut).mean()
    model = NearBoostClassifier().fit(learned, labels)
    return float(ordinary), model.held_out_accuracy_, float(model.score(split.X_test, split.y_test))


def held_and_true(seed: int, n_rows: int) -> tuple[float, float]:
    """Held-out accuracy and that of new digits."""
    split = drawn(seed, n_rows)
    model = NearBoostClassifier().fit(split.X_train, split.y_train)
    return model.held_out_accuracy_, float(model.score(split.X_test, split.y_test))


def svm_probabilities(split: Split) -> Rows:
    """Of an SVM with C and γ by a grid, and a temperature as scikit-learn fits it."""
    best = tuned_svm(split).fit(split.X_train, split.y_train).best_estimator_
    tempered = CalibratedClassifierCV(best, method="temperature", ensemble=False, cv=folds_of(split))
    return np.asarray(tempered.fit(split.X_train, split.y_train).predict_proba(split.X_test))


def accuracy_and_time(seed: int, share: float | None) -> tuple[float, float]:
    """With half of the digits; the best of seven times."""
    split = drawn(seed, 0.5)
    model = NearBoostClassifier(share, n_jobs=1).fit(split.X_train, split.y_train)
    seconds = []
    for _ in range(7):
        start = process_time()
        model.predict_proba(split.X_test)
        seconds.append(process_time() - start)
    return float(model.score(split.X_test, split.y_test)), 1e6 * min(seconds) / len(split.y_test)


def between_share(rows: Rows, labels: Rows) -> float:
    """The share of the variance that is one of class means."""
    within = sum(rows[labels == label].var(axis=0).sum() * np.mean(labels == label) for label in np.unique(labels))
    return float(1 - within / rows.var(axis=0).sum())


def iris(seed: int) -> Split:
    """Half of the flowers."""
    return drawn(seed, 0.5, *load_iris(return_X_y=True))


def categories(seed: int) -> Split:
    """Two classes by a sum of what the categories of three columns of six are worth; categories are numbers."""
    generator = np.random.default_rng(seed)
    table = generator.integers(0, N_CATEGORIES, (1500, N_COLUMNS))
    worth = generator.normal(size=(3, N_CATEGORIES))
    sums = sum(worth[column, table[:, column]] for column in range(3))
    return drawn(seed, 0.5, table.astype(np.float64), (sums > np.median(sums)).astype(int))


def noisy_digits(seed: int) -> Split:
    """300 digits beside features that tell nothing, of the pixels' common deviation."""
    noise = np.random.default_rng(seed).normal(0, X.std(), (len(X), N_NOISE))
    return drawn(seed, 300, np.hstack([X, noise]))


LIMITS: dict[str, Callable[[int], Split]] = {
    "iris": iris,
    "categories as numbers": categories,
    f"digits, {N_NOISE:,} noise features": noisy_digits,
}


def beside_others(split: Split) -> tuple[float, ...]:
    """Accuracies of ours, of the tuned SVM on standardised rows, and of gradient boosting."""
    scaled = StandardScaler().fit(split.X_train)
    rows = replace(split, X_train=scaled.transform(split.X_train), X_test=scaled.transform(split.X_test))
    pairs = (
        (NearBoostClassifier(), split),
        (tuned_svm(rows), rows),
        (HistGradientBoostingClassifier(random_state=0), split),
    )
    return tuple(one.fit(of.X_train, of.y_train).score(of.X_test, of.y_test) for one, of in pairs)
