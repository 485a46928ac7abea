"""What is not given is chosen on rows held out: first the step, then the damping, then the rank."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nearboost.base.progress import Advance, progress_bar
from nearboost.linear.problem import Problem

SHARE, MOST_JUDGES = 5, 10_000  # a fifth of the rows is held out, or so many
MOST_LEARNERS = 16_384  # rows that a trial learns from
FACTORS = (4.0, 16.0, 1.0, 64.0)  # of the step, in units of `step_unit`; the first wins ties
DAMPINGS = (1 / 4, 4.0)  # times the one so far
RANKS = (64, 512)


@dataclass(frozen=True)
class Setting:
    """One way to learn. ``factor`` counts steps in units of `step_unit`; None where the step itself is given."""

    rank: int
    damping: float
    factor: float | None


@dataclass(frozen=True)
class Trial:
    """A setting and how well it did on the rows held out."""

    setting: Setting
    step: float
    accuracy: float
    risk: float


Try = Callable[[list[Setting], Advance], list[Trial]]


def hold_out(problem: Problem, groups: NDArray[np.integer] | None, seed: int) -> NDArray[np.int64]:
    """Rows to judge by: a fifth of the groups, spread evenly over classes. Without groups, a fifth of the rows."""
    ids = problem.ids
    groups = ids if groups is None else groups[ids]
    _, first_row, group_of_row = np.unique(groups, return_index=True, return_inverse=True)
    if len(first_row) < 2:
        return ids[:0]
    classes = problem.targets.classes(ids[first_row])
    order = np.lexsort((np.random.default_rng(seed).random(len(first_row)), classes))
    share = max(SHARE, -(-len(ids) // MOST_JUDGES))
    held = np.zeros(len(order), dtype=bool)
    held[order[share // 2 :: share]] = True
    return ids[held[group_of_row]]


def choose(
    start: Setting, largest_rank: int, free: set[str], try_all: Try, n_judges: int, verbose: int = 0
) -> list[Trial]:
    """Trials in order of the search; the best of them is the choice.

    A change of the damping changes the step alike, because directions with little variance move by their ratio.
    """
    trials: list[Trial] = []
    with progress_bar("Choosing", len(FACTORS) + len(DAMPINGS) + len(RANKS), verbose) as advance:

        def look(settings: list[Setting]) -> Setting:
            tried = [trial.setting for trial in trials]
            trials.extend(try_all([setting for setting in settings if setting not in tried], advance))
            return best_of(trials, n_judges).setting

        factors = FACTORS if "step" in free else (start.factor,)
        best = look([replace(start, factor=factor) for factor in factors])
        if "damping" in free:
            scaled = [(best.damping * by, best.factor * by if best.factor else None) for by in DAMPINGS]
            best = look([replace(best, damping=damping, factor=factor) for damping, factor in scaled])
        if "rank" in free:
            look([replace(best, rank=min(rank, largest_rank)) for rank in RANKS])
    return trials


def best_of(trials: list[Trial], n_judges: int) -> Trial:
    """The one with the least risk among the most accurate: those within half a standard error of the best."""
    top = max(trial.accuracy for trial in trials)
    enough = top - 0.5 * np.sqrt(max(0.0, top * (1 - top)) / n_judges)
    return min((trial for trial in trials if trial.accuracy >= enough), key=lambda trial: trial.risk)
