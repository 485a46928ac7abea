"""How far a share of right answers, or a difference of two, may lie from the truth."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

ENOUGH_SPLITS = 5  # from so many on, what differs between them stands for training on other items
N_DRAWS = 10_000
NOTHING = 1e-12  # rounding

Interval = tuple[float, float]
Floats = NDArray[np.float64]


class Answers(NamedTuple):
    """For each split, a value of each test item (1 where right, or a difference of two) and the unit it is of."""

    values: list[Floats]
    units: list[NDArray[np.intp]]


@dataclass(frozen=True)
class Spread:
    """What chance does to a mean: its standard error with degrees of freedom, and sizes of errors that were drawn.

    Of both, the one that says more is believed: drawn errors know the shape, but not how rare the rarest are.
    """

    error: float
    freedom: float = inf
    drawn: Floats = field(default_factory=lambda: np.empty(0))  # sorted

    def beyond(self, distance: float) -> float:
        """The chance of an error as large as this, or larger."""
        from scipy.stats import t as student

        if distance <= NOTHING:
            return 1.0
        by_shape = float(2 * student.sf(distance / self.error, self.freedom)) if self.error > NOTHING else 0.0
        n_as_large = len(self.drawn) - np.searchsorted(self.drawn, distance - NOTHING)
        return max(by_shape, float(n_as_large / max(len(self.drawn), 1)))

    def reach(self, level: float) -> float:
        """What the error stays within at this level."""
        from scipy.stats import t as student

        by_shape = float(student.isf((1 - level) / 2, self.freedom)) * self.error
        return max(by_shape, float(np.quantile(self.drawn, level)) if len(self.drawn) else 0.0)


def wilson(n_right: float, n: float, level: float = 0.95) -> Interval:
    """Wilson's interval of a share: where the truth lies if so many of n independent items were right.

    >>> [round(edge, 3) for edge in wilson(9, 10)]
    [0.596, 0.982]
    """
    from scipy.stats import norm

    check_sizes(n=n)
    z = float(norm.isf((1 - level) / 2))
    share = n_right / n
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    margin = z / (1 + z**2 / n) * sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    # What was seen lies within, whatever rounding says.
    return min(max(middle - margin, 0.0), share), max(min(middle + margin, 1.0), share)


def share_interval(
    right: Sequence[ArrayLike],
    n_train: float,
    *,
    units: Sequence[ArrayLike] | None = None,
    level: float = 0.95,
) -> Interval | None:
    """Where the share of right answers lies; None where nothing was answered.

    One split whose items are all of their own has Wilson's interval, and so have answers that are all alike or of
    one group. Few splits, or groups, have that of as many items as would spread as much; from five splits on it is
    the corrected resampled t, as in `paired`.

    Parameters
    ----------
    right : for each split whether each test item was answered rightly; splits without items are left out
    n_train : how many items train in a split
    units : for each split what each test item belongs to (see `paired`)
    level : of confidence

    Examples
    --------
    >>> [round(edge, 3) for edge in share_interval([[1] * 9 + [0]], n_train=10)]
    [0.596, 0.982]
    """
    check_sizes(n_train=n_train)
    there = [place for place, values in enumerate(right) if np.size(values)]
    if not there:
        return None
    there_units = None if units is None else [units[place] for place in there]
    answers = answers_of([right[place] for place in there], there_units)
    flat, every = np.concatenate(answers.values), np.unique(np.concatenate(answers.units))
    share, spread = mean_over_splits(answers, n_train)
    if flat.min() == flat.max() or len(every) == 1 or len(flat) == len(every) == len(answers.values[0]):
        return wilson(share * len(every), len(every), level)  # of units that are all alike, one, or single items
    if len(there) < ENOUGH_SPLITS:
        n_like = share * (1 - share) / max(spread.error, NOTHING) ** 2  # items of their own that spread as much
        n_like = min(max(n_like, 1.0), len(flat))
        return wilson(share * n_like, n_like, level)
    margin = spread.reach(level)
    return max(share - margin, 0.0), min(share + margin, 1.0)


def measure_interval(
    values: Sequence[float], n_train: float, n_test: float, level: float = 0.95, most: float = inf
) -> Interval | None:
    """Where a measure from 0 to ``most`` lies, by the corrected resampled t.

    None below five splits, and where all have the same value: what chance does to it was not seen.
    """
    if len(values) < ENOUGH_SPLITS or max(values) - min(values) <= NOTHING:
        return None
    mean, margin = float(np.mean(values)), spread_of_splits(values, 0.0, n_test / n_train).reach(level)
    return max(mean - margin, 0.0), min(mean + margin, most)


def check_sizes(**numbers: float | None) -> None:
    """Refuse numbers of items that are none."""
    for name, number in numbers.items():
        if number is not None and not number > 0:
            raise ValueError(f"{name}={number} must be a number of items above 0.")


def answers_of(values: Sequence[ArrayLike], units: Sequence[ArrayLike] | None) -> Answers:
    """Values with their units numbered from 0 over all splits; without units, each item is one."""
    arrays = [np.asarray(one, dtype=np.float64) for one in values]
    if not all(np.isfinite(one).all() for one in arrays):
        raise ValueError("Answers hold NaN or infinity; give 1 where an item was answered rightly, else 0.")
    sizes = [len(one) for one in arrays]
    if units is None:
        numbers = np.arange(sum(sizes))
    else:
        if [np.shape(one) for one in units] != [(size,) for size in sizes]:
            raise ValueError(
                f"units of shapes {[np.shape(one) for one in units]} do not fit splits of {sizes} items."
            )
        numbers = np.unique(np.concatenate([np.asarray(one) for one in units]), return_inverse=True)[1]
    return Answers(arrays, np.split(numbers, np.cumsum(sizes)[:-1]))


def mean_over_splits(answers: Answers, n_train: float) -> tuple[float, Spread]:
    """The mean of the splits' means, and its spread: by items below five splits, by splits from five on."""
    means = [float(values.mean()) for values in answers.values]
    mean = float(np.mean(means))
    if len(means) < ENOUGH_SPLITS:
        return mean, spread_of_items(answers, mean)
    n_test = float(np.mean([len(values) for values in answers.values]))
    # Without groups this is (share of items with a value − mean²)/n_test.
    least = np.mean(
        [
            np.square(np.bincount(units, weights=values - mean)).sum() / len(values) ** 2
            for values, units in zip(*answers, strict=True)
        ]
    )
    return mean, spread_of_splits(means, float(least), n_test / n_train)


def spread_of_splits(means: Sequence[float], least: float, ratio: float) -> Spread:
    """Of the mean over splits, by the corrected resampled t; ``least`` is what a split's variance cannot be below.

    ``ratio`` is n_test/n_train. Where the least variance rules nothing was estimated: the normal law holds.
    """
    n = len(means)
    found = float(np.var(means, ddof=1))
    return Spread(sqrt(max(found, least) * (1 / n + ratio)), inf if found <= least else n - 1)


def spread_of_items(answers: Answers, mean: float) -> Spread:
    """Of the mean over splits if other items were tested: units are drawn anew, with all their answers."""
    n_splits = len(answers.values)
    shares = [np.full(len(values), 1 / (n_splits * len(values))) for values in answers.values]  # of an answer
    weights, units = np.concatenate(shares), np.concatenate(answers.units)
    table = np.column_stack(
        [np.bincount(units, weights=weights * np.concatenate(answers.values)), np.bincount(units, weights=weights)]
    )
    n_units = len(table)
    if n_units == 1:
        return Spread(inf)  # it says nothing
    # Units with equal answers are drawn together: how many of each kind come is multinomial.
    kinds, counts = np.unique(table.round(15), axis=0, return_counts=True)
    drawn = np.random.default_rng(0).multinomial(n_units, counts / n_units, size=N_DRAWS) @ kinds
    errors = drawn[:, 0] / drawn[:, 1] - mean
    error = sqrt(float(np.mean(errors**2)) * n_units / (n_units - 1))
    return Spread(error, n_units - 1, np.sort(np.abs(errors)))
