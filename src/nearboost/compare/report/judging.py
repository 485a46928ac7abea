"""What chance leaves of a comparison: intervals of methods and classes, and the differences of all pairs."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearboost.compare.records import FinishedRun
from nearboost.compare.report.facts import Difference
from nearboost.measures.differences import PairedTest, Summary, adjust_together, paired, summarise
from nearboost.measures.intervals import ENOUGH_SPLITS, Interval, measure_interval, share_interval

CHANCE = 0.05  # that anything at all is called a difference where there is none

Runs = Sequence[FinishedRun]
Units = Mapping[int, NDArray[Any]]  # what each test item of a split is counted as: itself, or its group


def right_answers(run: FinishedRun) -> NDArray[np.bool_]:
    """Of each test item, whether it was answered rightly."""
    return np.equal(run.assessment.truth, run.assessment.predictions)


def has_answers(runs: Runs, units: Units) -> bool:
    """Whether the answers of all runs are there, one label for each of their items."""
    return all(
        np.ndim(run.assessment.truth) == 1
        and len(run.assessment.truth) == len(units.get(run.identity.split, run.assessment.truth))
        for run in runs
    )


def units_of(runs: Runs, units: Units) -> list[NDArray[Any]] | None:
    return [units[run.identity.split] for run in runs] if units else None


def summarise_measure(runs: Runs, name: str, units: Units) -> Summary | None:
    """A measure over splits with its interval; None where a value is missing."""
    values = [run.assessment.measures[name] for run in runs]
    if None in values:
        return None
    n_train, n_test = sizes(runs)
    if name == "accuracy" and has_answers(runs, units):
        found = share_interval(list(map(right_answers, runs)), n_train, units=units_of(runs, units))
    else:
        found = measure_interval(values, n_train, n_test, most=inf if name == "log_loss" else 1.0)
    return summarise(values, found)


def class_interval(runs: Runs, code: int, units: Units) -> Interval | None:
    """Where a class's share of right answers lies; None without its answers."""
    if not has_answers(runs, units):
        return None
    chosen = [np.equal(run.assessment.truth, code) for run in runs]
    right = [right_answers(run)[some] for run, some in zip(runs, chosen, strict=True)]
    drawn = units_of(runs, units)
    counted = None if drawn is None else [one[some] for one, some in zip(drawn, chosen, strict=True)]
    n_train, n_test = sizes(runs)
    n_class = float(np.mean([len(one) for one in right]))
    return share_interval(right, n_train * n_class / n_test, units=counted)


def sizes(runs: Runs) -> tuple[float, float]:
    """Training and test items of a split, on average."""
    return float(np.mean([run.costs.train for run in runs])), float(np.mean([run.costs.queries for run in runs]))


def judge_pairs(groups: Sequence[Runs], measure: str, units: Units) -> dict[tuple[int, int], Difference]:
    """The differences of all pairs of groups, first − second, by their places.

    p is adjusted by Holm's rule and intervals by Bonferroni's for all pairs together: the best was found by
    looking at all of them.
    """
    pairs = list(combinations(range(len(groups)), 2))
    tests = [compare_two(groups[i], groups[j], measure, units) for i, j in pairs]
    chances = adjust_together([test.p for test in tests])
    level = 1 - CHANCE / max(sum(p is not None for p in chances), 1)
    return {
        pair: Difference(test.difference, p, test.interval(level), test.n >= ENOUGH_SPLITS)
        for pair, test, p in zip(pairs, tests, chances, strict=True)
    }


def compare_two(first: Runs, second: Runs, measure: str, units: Units) -> PairedTest:
    """Two methods on the splits that both finished."""
    others = {run.identity.split: run for run in second}
    pairs = [(run, others[run.identity.split]) for run in first if run.identity.split in others]
    if not pairs:
        return PairedTest(None, None, None, 0)
    mine, its = ([pair[side] for pair in pairs] for side in (0, 1))
    n_train, n_test = sizes(mine)
    if measure == "accuracy" and has_answers([*mine, *its], units):
        answers = [[right_answers(run) for run in side] for side in (mine, its)]
        return paired(answers[0], answers[1], n_train, units=units_of(mine, units))
    values = [[run.assessment.measures[measure] for run in side] for side in (mine, its)]
    return paired(values[0], values[1], n_train, n_test)


def turned(difference: Difference) -> Difference:
    """Second − first."""
    ends = difference.interval
    return Difference(
        None if difference.difference is None else -difference.difference,
        difference.p,
        None if ends is None else (-ends[1], -ends[0]),
        difference.retrained,
    )
