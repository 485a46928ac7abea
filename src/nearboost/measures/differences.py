"""Results over several splits, and whether two methods differ."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nearboost.measures.intervals import (
    Answers,
    Floats,
    Interval,
    Spread,
    answers_of,
    check_sizes,
    mean_over_splits,
    spread_of_splits,
)


@dataclass(frozen=True)
class Summary:
    """A measure over several splits: mean and sample deviation, None where there is too little, and all values.

    ``interval`` is where the mean lies at 95 %, where that is known.
    """

    mean: float | None
    deviation: float | None
    values: list[float | None]
    interval: Interval | None = None


@dataclass(frozen=True)
class PairedTest:
    """Two methods on n splits: mean difference, its deviation over them, and the two-sided p.

    ``spread`` is what chance does to the difference, None where one cannot say.
    """

    difference: float | None
    deviation: float | None
    p: float | None
    n: int
    spread: Spread | None = None

    @property
    def t(self) -> float | None:
        """The difference in standard errors."""
        if self.spread is None or self.difference is None or not self.spread.error:
            return None
        return self.difference / self.spread.error

    def interval(self, level: float = 0.95) -> Interval | None:
        """Where the true difference lies."""
        if self.spread is None or self.difference is None:
            return None
        margin = self.spread.reach(level)
        if self.p is not None and self.p > 1 - level:  # both say the same of no difference
            margin = max(margin, abs(self.difference))
        return max(self.difference - margin, -1.0), min(self.difference + margin, 1.0)


def summarise(values: Sequence[float | None], interval: Interval | None = None) -> Summary:
    """The summary of what is there."""
    there = np.array([value for value in values if value is not None], dtype=np.float64)
    mean = float(there.mean()) if len(there) else None
    return Summary(mean, float(there.std(ddof=1)) if len(there) > 1 else None, list(values), interval)


def paired(
    first: Sequence[Any],
    second: Sequence[Any],
    n_train: float,
    n_test: float | None = None,
    *,
    units: Sequence[ArrayLike] | None = None,
) -> PairedTest:
    """The difference of two methods on the same splits.

    Below five splits, test items are drawn anew (paired bootstrap). What training on other items would change is
    left out: so few splits do not show it. From five on it is the corrected resampled t test. Splits of one set
    share training items, so their results are not independent and the plain t test finds differences that are
    none; Nadeau and Bengio (2003) put 1/J + n_test/n_train in place of 1/J. The variance of a split's difference
    is taken for at least (share of items that one method alone has right − difference²)/n_test: less is luck. No
    error is less than that of two more items, one of which speaks for each method: that nothing varies among a few
    proves little.

    Parameters
    ----------
    first, second : for each split whether each test item was answered rightly, in the same order; or a measure of
        each split, from 0 to 1, which says less: pairs with a None are left out, the share above is taken for the
        difference
    n_train, n_test : how many items train and test in a split; answers say the latter themselves
    units : for each split what each test item belongs to: the item itself, to be known again in other splits, or
        its group. What is drawn anew is a unit, with all its answers; None means that no item comes twice

    Returns
    -------
    PairedTest : of first − second

    Examples
    --------
    >>> found = paired([[1, 1, 1, 1, 1, 0, 1, 1]], [[1, 0, 0, 1, 0, 0, 0, 1]], n_train=8)
    >>> found.difference, bool(found.p < 0.2), [round(edge, 2) for edge in found.interval()]
    (0.5, True, [0.0, 1.0])
    >>> round(paired([0.90, 0.90], [0.89, 0.89], n_train=100, n_test=100).p, 2)
    0.56
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} results cannot be paired; give both on the same splits.")
    check_sizes(n_train=n_train, n_test=n_test)
    if all(np.ndim(value) == 0 for value in (*first, *second) if value is not None):
        return _paired_measures(first, second, n_train, n_test)
    answers = answers_of([_subtract(a, b) for a, b in zip(first, second, strict=True)], units)
    difference, spread = mean_over_splits(answers, n_train)
    deviation = summarise([float(values.mean()) for values in answers.values]).deviation
    n_units = len(np.unique(np.concatenate(answers.units)))
    n_tested = float(np.mean([len(values) for values in answers.values]))
    n_items = max(n_units, n_tested)  # groups are fewer than items
    spread = replace(spread, error=max(spread.error, sqrt(2) / (n_items + 2)))
    # Were both equally good, each unit that tells them apart would be a fair coin.
    p = max(spread.beyond(abs(difference)), min(1.0, 2.0 ** (1 - _n_discordant(answers))))
    return PairedTest(difference, deviation, p, len(first), spread)


def _subtract(first: ArrayLike, second: ArrayLike) -> Floats:
    mine, its = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if mine.shape != its.shape or mine.ndim != 1 or not mine.size:
        raise ValueError(
            f"Answers of shape {mine.shape} and {its.shape} cannot be paired; give one for each item."
        )
    return mine - its


def _n_discordant(answers: Answers) -> int:
    """How many units speak for one of the two."""
    values, units = np.concatenate(answers.values), np.concatenate(answers.units)
    return int(np.count_nonzero(np.bincount(units, weights=values)))


def _paired_measures(
    first: Sequence[float | None], second: Sequence[float | None], n_train: float, n_test: float | None
) -> PairedTest:
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    for value in (one for pair in pairs for one in pair):
        if not 0 <= value <= 1:
            raise ValueError(f"A measure of {value} cannot be paired; give shares from 0 to 1, or None.")
    found = summarise([a - b for a, b in pairs])
    if found.mean is None or len(pairs) < 2:
        return PairedTest(found.mean, None, None, len(pairs))
    if n_test is None:
        raise ValueError("n_test=None is not enough for measures of splits; give the number of test items.")
    size = min(abs(found.mean), 1.0)
    least = max((size - size**2) / n_test, 2 / (n_test + 2) ** 2)
    spread = spread_of_splits([a - b for a, b in pairs], least, n_test / n_train)
    return PairedTest(found.mean, found.deviation, spread.beyond(abs(found.mean)), len(pairs), spread)


def adjust_together(chances: Sequence[float | None]) -> list[float | None]:
    """Holm's adjustment: each p-value as it stands among all that were looked at; None stays and is not counted.

    >>> [round(p, 3) for p in adjust_together([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    known = [place for place, p in enumerate(chances) if p is not None]
    adjusted: list[float | None] = [None] * len(chances)
    largest = 0.0
    for rank, place in enumerate(sorted(known, key=lambda place: chances[place] or 0.0)):
        largest = max(largest, min(1.0, (len(known) - rank) * (chances[place] or 0.0)))
        adjusted[place] = largest
    return adjusted
