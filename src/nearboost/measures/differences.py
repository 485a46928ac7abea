"""Results over several splits, and whether two methods differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Summary:
    """A measure over several splits: mean and sample deviation, None where there is too little, and all values."""

    mean: float | None
    deviation: float | None
    values: list[float | None]


@dataclass(frozen=True)
class PairedTest:
    """Two methods on n splits: mean difference, its deviation, the t statistic and the two-sided p."""

    difference: float | None
    deviation: float | None
    t: float | None
    p: float | None
    n: int


@dataclass(frozen=True)
class McNemarTest:
    """Two methods on the same items: difference of accuracies, items that only one got right, two-sided p."""

    difference: float
    only_first: int
    only_second: int
    p: float


def summarise(values: Sequence[float | None]) -> Summary:
    """The summary of what is there."""
    there = np.array([value for value in values if value is not None], dtype=np.float64)
    mean = float(there.mean()) if len(there) else None
    return Summary(mean, float(there.std(ddof=1)) if len(there) > 1 else None, list(values))


def paired(
    first: Sequence[float | None], second: Sequence[float | None], n_train: float, n_test: float
) -> PairedTest:
    """The difference of two methods on the same splits, by the corrected resampled t test.

    Splits of one set share training items, so their results are not independent and the plain t test finds
    differences that are none. Nadeau and Bengio (2003) put 1/J + n_test/n_train in place of 1/J.

    Parameters
    ----------
    first, second : a measure on each split, in the same order; pairs with a None are left out
    n_train, n_test : how many items train and test in a split

    Returns
    -------
    PairedTest : of first − second; None where one pair says nothing

    Examples
    --------
    >>> found = paired([0.90, 0.92, 0.91], [0.88, 0.91, 0.90], n_train=100, n_test=50)
    >>> round(found.difference, 4), round(found.p, 4)
    (0.0133, 0.1271)
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} results cannot be paired; give both on the same splits.")
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    differences = np.array([a - b for a, b in pairs], dtype=np.float64)
    found = summarise(differences.tolist())
    t = p = None
    if found.mean is not None and found.deviation is not None:
        t, p = _student(found.mean, found.deviation * sqrt(1 / len(pairs) + n_test / n_train), len(pairs) - 1)
    return PairedTest(found.mean, found.deviation, t, p, len(pairs))


def _student(mean: float, spread: float, freedom: int) -> tuple[float | None, float]:
    """A spread of nothing is either no difference or a certain one; rounding counts as nothing."""
    from scipy.stats import t as student

    if spread <= 1e-12:
        return None, 1.0 if abs(mean) <= 1e-12 else 0.0
    t = mean / spread
    return t, float(2 * student.sf(abs(t), freedom))


def mcnemar(first_is_right: ArrayLike, second_is_right: ArrayLike) -> McNemarTest:
    """The difference of two methods on one split, by McNemar's exact test.

    Only items that one method gets right and the other wrong tell them apart. Were the methods equally good, each
    such item would be a fair coin.

    Parameters
    ----------
    first_is_right, second_is_right : for each test item, in the same order

    Returns
    -------
    McNemarTest : of first − second

    Examples
    --------
    >>> mcnemar([1, 1, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0, 1]).p
    0.125
    """
    first, second = np.asarray(first_is_right, dtype=bool), np.asarray(second_is_right, dtype=bool)
    if first.shape != second.shape or first.ndim != 1 or not first.size:
        raise ValueError(
            f"Answers of shape {first.shape} and {second.shape} cannot be paired; give one for each item."
        )
    from scipy.stats import binomtest

    only_first, only_second = int((first & ~second).sum()), int((~first & second).sum())
    n = only_first + only_second
    p = float(binomtest(only_first, n).pvalue) if n else 1.0
    return McNemarTest((only_first - only_second) / first.size, only_first, only_second, p)
