"""Intervals and tests of differences, beside plain re-computations, known values and simulations."""

from math import sqrt

import numpy as np
import pytest
from scipy import stats

from nearboost.measures.differences import adjust_together, paired, summarise
from nearboost.measures.intervals import measure_interval, share_interval, wilson


def test_mean_and_deviation():
    values = [0.5, None, 0.75, 0.7]
    found = summarise(values)
    assert found.mean == pytest.approx(np.mean([0.5, 0.75, 0.7]))
    assert found.deviation == pytest.approx(np.std([0.5, 0.75, 0.7], ddof=1))
    assert found.values == values
    assert summarise([0.5]).deviation is None
    assert summarise([None]).mean is None


@pytest.mark.parametrize(
    ("n_right", "n", "low", "high"),
    [  # Newcombe (1998), table I, method 3; and the ends
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (20, 20, 0.8389, 1.0),
    ],
)
def test_known_values_of_wilson(n_right, n, low, high):
    assert wilson(n_right, n) == pytest.approx((low, high), abs=5e-5)


def test_wilson_is_where_the_score_test_turns():
    low, high = wilson(30, 40, level=0.9)
    for edge in (low, high):
        assert abs(0.75 - edge) / sqrt(edge * (1 - edge) / 40) == pytest.approx(stats.norm.isf(0.05))


def test_one_split_without_groups_is_wilsons():
    right = np.arange(50) < 43
    assert share_interval([right], 50) == wilson(43, 50)
    assert share_interval([right, []], 50) == wilson(43, 50)
    assert share_interval([[]], 50) is None


def test_a_group_is_one_unit():
    """Copies of items tell nothing new: the interval is about that of the items themselves, and far wider than
    if copies were items."""
    right = np.random.default_rng(0).random(60) < 0.7
    copies, groups = np.repeat(right, 5), np.repeat(np.arange(60), 5)
    low, high = share_interval([copies], 60, units=[groups])
    assert high - low == pytest.approx(np.subtract(*wilson(right.sum(), 60)[::-1]), rel=0.08)
    one = wilson(copies.sum(), 300)
    assert high - low > 2 * (one[1] - one[0])
    assert share_interval([np.ones(300)], 60, units=[groups]) == wilson(60, 60)
    assert share_interval([[1, 0, 1]], 60, units=[[7, 7, 7]]) == wilson(2 / 3, 1), "as little as one item"
    assert share_interval([[1, 0, 1, 0]], 60, units=[[1, 1, 2, 2]]) == wilson(2, 4), "groups that are alike"
    assert share_interval([[1, 0]] * 5, 60, units=[[7, 7]] * 5) == wilson(0.5, 1), "one group in all splits"


def plain_bootstrap(first, second, units, draws=4000, seed=1):
    """Units drawn one by one, each with all its answers; the mean over splits of each draw."""
    rng = np.random.default_rng(seed)
    names = np.unique(np.concatenate(units))
    found = []
    for _ in range(draws):
        times = dict(zip(*np.unique(rng.choice(names, len(names)), return_counts=True), strict=True))
        top = bottom = 0.0
        for a, b, of in zip(first, second, units, strict=True):
            weights = np.array([times.get(unit, 0) for unit in of]) / len(of)
            top, bottom = top + weights @ (a - b), bottom + weights.sum()
        found.append(top / bottom)
    return np.array(found)


@pytest.mark.parametrize("n_groups", [None, 12])
def test_few_splits_against_a_bootstrap_by_brute_force(n_groups):
    rng = np.random.default_rng(3)
    items = [rng.permutation(90)[:size] for size in (40, 45, 40)]  # many are tested in several splits
    skill = rng.random(90)
    first, second = ([(skill[some] < cut).astype(float) for some in items] for cut in (0.85, 0.7))
    first = [np.where(rng.random(len(one)) < 0.1, 1 - one, one) for one in first]
    units = [some if n_groups is None else some % n_groups for some in items]
    found = paired(first, second, n_train=45, units=units)
    mean = np.mean([np.mean(a - b) for a, b in zip(first, second, strict=True)])
    assert found.difference == pytest.approx(mean, abs=1e-12)
    assert found.deviation == pytest.approx(
        np.std([np.mean(a - b) for a, b in zip(first, second, strict=True)], ddof=1)
    )
    draws = plain_bootstrap(first, second, units)
    n_units = len(np.unique(np.concatenate(units)))
    assert found.spread.error == pytest.approx(draws.std() * sqrt(n_units / (n_units - 1)), rel=0.05)
    by_draws = np.quantile(np.abs(draws - mean), 0.95)
    by_shape = stats.t.isf(0.025, n_units - 1) * draws.std() * sqrt(n_units / (n_units - 1))
    margin = max(by_draws, by_shape)
    assert found.interval(0.95) == pytest.approx((mean - margin, mean + margin), abs=0.15 * margin)
    by_draws, by_shape = (
        np.mean(np.abs(draws - mean) >= mean),
        2 * stats.t.sf(mean / found.spread.error, n_units - 1),
    )
    assert found.p == pytest.approx(max(by_draws, by_shape), abs=0.01)


def test_ninety_four_and_thirty_seven_are_apart():
    """Two splits of 431 cells: however few splits, so many items leave no doubt."""
    rng = np.random.default_rng(0)
    first, second = ([rng.random(431) < share for _ in range(2)] for share in (0.944, 0.373))
    found = paired(first, second, n_train=431, units=[np.arange(431), np.arange(431)])
    assert found.p < 1e-9
    low, high = found.interval(1 - 0.05 / 630)
    assert 0.4 < low < found.difference < high < 0.7


def test_equal_accuracies_without_spread_are_no_proof():
    assert 0.2 < paired([0.90, 0.90], [0.89, 0.89], 100, 100).p < 0.6
    right = [np.arange(100) < 90] * 2
    other = [np.arange(100) < 89] * 2
    found = paired(right, other, 100, units=[np.arange(100)] * 2)
    assert found.p == 1.0, "one item is a coin"
    assert found.interval()[0] <= 0 < found.difference


def test_few_items_are_a_few_coins():
    assert paired([[1] * 4], [[0] * 4], 10).p == 2 * 0.5**4
    assert paired([[1]], [[0]], 10).p == 1.0
    assert paired([[1, 0]], [[1, 0]], 10).p == 1.0
    assert paired([[1] * 4], [[0] * 4], 10).interval()[0] <= 0


@pytest.mark.parametrize("n_splits", [1, 5])
def test_answers_that_never_vary_prove_little(n_splits):
    """As with one more item for each of the two: no interval is a point."""
    error = sqrt(2) / (10 + 2)
    units = [range(10)] * n_splits
    same = paired([[1] * 9 + [0]] * n_splits, [[1] * 9 + [0]] * n_splits, 10, units=units)
    assert same.spread.error == pytest.approx(error)
    assert same.p == 1.0
    assert same.interval() == pytest.approx((-same.interval()[1], same.interval()[1]))
    assert same.interval()[1] > 1.9 * error
    folds = paired([[1, 1]] * 5, [[1, 1]] * 5, 8)  # of ten items
    assert folds.spread.error == pytest.approx(error)
    apart = paired([[1] * 10] * n_splits, [[0] * 10] * n_splits, 10, units=units)
    low, high = apart.interval()
    assert (1 - low, high) == (pytest.approx(same.interval()[1]), 1.0)
    many = paired([[1] * 1000] * n_splits, [[1] * 1000] * n_splits, 1000)
    assert many.interval()[1] < 0.003
    assert paired([0.9, 0.8], [0.9, 0.8], 10, 10).interval()[1] > 0.05


def test_corrected_t_is_the_plain_one_with_a_larger_variance():
    rng = np.random.default_rng(0)
    first, second = rng.normal(0.8, 0.02, 10), rng.normal(0.79, 0.02, 10)
    plain = stats.ttest_rel(first, second)
    uncorrected = paired(first.tolist(), second.tolist(), n_train=1e12, n_test=10**6)
    assert uncorrected.t == pytest.approx(plain.statistic, rel=1e-4)
    assert uncorrected.p == pytest.approx(plain.pvalue, rel=1e-4)
    found = paired(first.tolist(), second.tolist(), n_train=9e5, n_test=10**5)
    assert found.difference == pytest.approx(np.mean(first - second), abs=1e-12)
    assert found.t == pytest.approx(plain.statistic * sqrt((1 / 10) / (1 / 10 + 10 / 90)), abs=1e-12)
    assert found.p == pytest.approx(2 * stats.t.cdf(-abs(found.t), 9), abs=1e-12)
    assert found.n == 10
    margin = stats.t.isf(0.025, 9) * found.spread.error
    assert found.interval(0.95) == pytest.approx((found.difference - margin, found.difference + margin))


def test_five_splits_by_hand():
    """Where splits differ as items must make them differ, or less, the least variance and normal tails rule."""
    rng = np.random.default_rng(5)
    first, second = ([rng.random(80) < share for _ in range(5)] for share in (0.9, 0.8))
    means = [np.mean(a) - np.mean(b) for a, b in zip(first, second, strict=True)]
    difference, discordant = np.mean(means), np.mean([np.mean(a != b) for a, b in zip(first, second, strict=True)])
    least = (discordant - difference**2) / 80
    found = paired(first, second, n_train=320)
    assert found.spread.error == pytest.approx(sqrt(max(least, np.var(means, ddof=1)) * (1 / 5 + 80 / 320)))
    assert found.spread.freedom == (np.inf if least >= np.var(means, ddof=1) else 4)
    still = paired([first[0]] * 5, [second[0]] * 5, n_train=320, units=[np.arange(80)] * 5)  # no spread at all
    difference, discordant = np.mean(first[0]) - np.mean(second[0]), np.mean(first[0] != second[0])
    error = sqrt((discordant - difference**2) / 80 * (1 / 5 + 80 / 320))
    assert still.p == pytest.approx(2 * stats.norm.sf(difference / error), abs=1e-12)
    wide = [np.arange(80) < 80 - 15 * (split % 2) for split in range(5)]  # a spread beyond that of items
    found = paired(wide, [np.arange(80) < 70] * 5, n_train=320)
    assert found.spread.freedom == 4
    assert found.spread.error == pytest.approx(
        np.std([np.mean(one) for one in wide], ddof=1) * sqrt(1 / 5 + 80 / 320)
    )


def test_other_measures_have_an_interval_from_five_splits_on():
    values = [0.5, 0.52, 0.47, 0.51, 0.5]
    margin = stats.t.isf(0.025, 4) * np.std(values, ddof=1) * sqrt(1 / 5 + 0.25)
    assert measure_interval(values, 40, 10) == pytest.approx((0.5 - margin, 0.5 + margin))
    assert measure_interval(values[:4], 40, 10) is None
    low, high = measure_interval([0.0, 0.9, 1.0, 0.1, 1.0], 40, 10, most=1.0)
    assert (low, high) == (0.0, 1.0), "no share lies beyond"
    assert measure_interval([0.5] * 5, 40, 10) is None, "what chance does was not seen"


def test_few_or_missing_differences():
    assert paired([0.9], [0.8], 10, 10).p is None
    assert paired([0.9], [0.8], 10, 10).difference == pytest.approx(0.1)
    assert paired([0.9], [0.8], 10, 10).interval() is None
    assert paired([], [], 10, 10).difference is None
    assert paired([0.9, None, 0.8], [0.8, 0.7, None], 10, 10).n == 1
    assert paired([0.9, 0.8], [0.9, 0.8], 10, 10).p == 1.0
    with pytest.raises(ValueError, match="2 and 1 results cannot be paired"):
        paired([1, 2], [1], 10, 10)
    with pytest.raises(ValueError, match="n_test=None is not enough"):
        paired([0.9, 0.8], [0.8, 0.7], 10)
    with pytest.raises(ValueError, match=r"Answers of shape \(2,\) and \(3,\) cannot be paired"):
        paired([[1, 0]], [[1, 0, 1]], 10)
    with pytest.raises(ValueError, match=r"units of shapes \[\(3,\)\] do not fit splits of \[2\] items"):
        paired([[1, 0]], [[1, 1]], 10, units=[[1, 2, 3]])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: paired([0.9, np.nan], [0.8, 0.7], 10, 10), "A measure of nan cannot be paired"),
        (lambda: paired([90.0, 91.0], [3.0, 2.0], 10, 10), "A measure of 90.0 cannot be paired"),
        (lambda: paired([[1, np.nan]], [[0, 1]], 10), "Answers hold NaN or infinity"),
        (lambda: share_interval([[1, np.nan]], 10), "Answers hold NaN or infinity"),
        (lambda: paired([0.9, 0.8], [0.8, 0.7], 0, 10), "n_train=0 must be a number of items above 0"),
        (lambda: paired([0.9, 0.8], [0.8, 0.7], 10, 0), "n_test=0 must be a number of items above 0"),
        (lambda: share_interval([[1]], 0), "n_train=0 must be"),
        (lambda: wilson(0, 0), "n=0 must be"),
    ],
)
def test_what_is_no_result_is_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        wrong()


def test_holm_by_hand():
    """Smallest first: 4 · 0.01, 3 · 0.015, 2 · 0.03 and 1 · 0.04, which must not fall below the one before."""
    assert adjust_together([0.04, 0.01, None, 0.03, 0.015]) == pytest.approx([0.06, 0.04, None, 0.06, 0.045])
    assert adjust_together([0.9, 0.8]) == [1.0, 1.0]
    assert adjust_together([]) == []


def test_corrected_t_is_level_on_splits_of_one_set():
    """Two equally good methods that differ by chance: the corrected test says otherwise in about one case of 20,
    the plain one far more often."""
    rng = np.random.default_rng(0)
    corrected, plain = [], []
    for _ in range(300):
        difference = rng.choice([-1, 0, 1], size=200, p=[0.15, 0.7, 0.15])  # per item, whoever trains
        splits = [difference[rng.permutation(200)[:100]] for _ in range(10)]
        corrected.append(paired(splits, np.zeros((10, 100)), n_train=100).p < 0.05)
        plain.append(stats.ttest_1samp([split.mean() for split in splits], 0).pvalue < 0.05)
    assert np.mean(corrected) < 0.12
    assert np.mean(plain) > 0.3


@pytest.mark.slow
@pytest.mark.parametrize("n_splits", [1, 2, 5])
@pytest.mark.parametrize("n_items", [60, 400])
def test_intervals_cover_the_truth(n_splits, n_items):
    """Items drawn from a population in which the truth is known, tested in random halves: 95 of 100 intervals hold
    it, or more where the test is careful."""
    rng = np.random.default_rng(n_items + n_splits)
    covered, alone, wrong = [], [], []
    for _ in range(600):
        skill = rng.random(n_items)
        kept = [rng.permutation(n_items)[: n_items // 2] for _ in range(n_splits)]
        first, second, level = ([skill[some] * cut < 0.7 for some in kept] for cut in (0.8, 0.9, 0.9))
        first = [
            np.where(rng.random(n_items)[some] < 0.1, ~one, one) for one, some in zip(first, kept, strict=True)
        ]
        found = paired(first, second, n_train=n_items // 2, units=kept)
        low, high = found.interval()
        truth = (0.9 * 0.7 / 0.8 + 0.1 * (1 - 0.7 / 0.8)) - 0.7 / 0.9
        covered.append(low <= truth <= high)
        low, high = share_interval(second, n_items // 2, units=kept)
        alone.append(low <= 0.7 / 0.9 <= high)
        noise = rng.random(n_items)
        swapped = [
            np.where(noise[some] < 0.5, one, one ^ (skill[some] < 0.2))
            for one, some in zip(level, kept, strict=True)
        ]
        other = [
            np.where(noise[some] >= 0.5, one, one ^ (skill[some] < 0.2))
            for one, some in zip(level, kept, strict=True)
        ]
        wrong.append(paired(swapped, other, n_train=n_items // 2, units=kept).p < 0.05)
    assert np.mean(covered) > 0.925
    assert np.mean(alone) > 0.925
    assert np.mean(wrong) < 0.075


def test_units_of_splits_may_be_an_array():
    units = np.array([[1, 2, 3], [1, 2, 4]])
    right = [[1, 0, 1], [1, 1, 0]]
    assert share_interval(right, 5, units=units) == share_interval(right, 5, units=units.tolist())
