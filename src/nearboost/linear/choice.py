"""What is not given is chosen on rows held out: first the step, then the damping, then the rank."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nearboost.base.progress import Advance, progress_bar

MOST_HELD_OUT, MOST_LEARNED = 4_096, 8_192  # rows that trials are measured on and learn from
FIRST_FACTOR = 16.0  # of the step, in units of `step_unit`
STRIDE, MOST_STRIDES = 4.0, 5  # by which step and damping are raised or lowered, and how often
RANKS = (64, 512)
KEPT = 0.99  # of the second moments, by a rank that is preferred for being small


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


TryAll = Callable[[list[Setting], Advance], list[Trial]]


def choose(
    start: Setting,
    second_moments: NDArray[np.float64],
    free: set[str],
    try_all: TryAll,
    n_held_out: int,
    room: float = np.inf,
    verbose: int = 0,
) -> tuple[Setting, list[Trial]]:
    """The choice, and all trials in order of the search.

    Step and damping go where the held-out risk is least. Of ranks that are as accurate, the smallest is taken that
    leaves out next to nothing: what it leaves out may count once there are more rows than in a trial. Ranks with
    which all rows can be kept in memory (``room``) go before others.
    """
    trials: list[Trial] = []
    with progress_bar("Choosing", 9, verbose) as advance:  # trials as a rule

        def tried(settings: list[Setting]) -> list[Trial]:
            known = [trial.setting for trial in trials]
            new = [setting for setting in dict.fromkeys(settings) if setting not in known]
            trials.extend(try_all(new, advance))
            return [trial for trial in trials if trial.setting in settings]

        def climb(best: Setting, change: Callable[[Setting, float], Setting], *others: Setting) -> Setting:
            """Up or down by strides from the best, until that is no better."""
            lower, higher = change(best, 1 / STRIDE), change(best, STRIDE)
            found = least_risk(tried([best, lower, higher, *others]))
            if found not in (lower, higher):
                return found
            by = STRIDE if found == higher else 1 / STRIDE
            for _ in range(MOST_STRIDES - 1):
                best, found = found, least_risk(tried([found, change(found, by)]))
                if found == best:
                    break
            return found

        best = start
        if "step" in free:
            best = climb(best, lambda setting, by: replace(setting, factor=by * (setting.factor or 1.0)))
        if "damping" in free:
            undamped = replace(best, damping=0.0, factor=best.factor and 1.0)  # for scales that differ without end
            best = climb(best, lambda setting, by: replace(setting, damping=by * setting.damping), undamped)
        if "rank" in free:
            ranks = [replace(best, rank=min(rank, len(second_moments))) for rank in RANKS]
            good = [trial.setting for trial in most_accurate(tried([best, *ranks]), n_held_out)]
            best = smallest_rank([one for one in good if one.rank <= room] or good, second_moments)
    return best, trials


def most_accurate(trials: list[Trial], n_held_out: int) -> list[Trial]:
    """Those within half a standard error of the best."""
    top = max(trial.accuracy for trial in trials)
    enough = top - 0.5 * np.sqrt(max(0.0, top * (1 - top)) / n_held_out)
    return [trial for trial in trials if trial.accuracy >= enough]


def smallest_rank(settings: list[Setting], second_moments: NDArray[np.float64]) -> Setting:
    """The one of smallest rank whose coordinates keep what those of the largest do, but for a hundredth."""
    by_rank = sorted(settings, key=lambda setting: setting.rank)
    enough = KEPT * second_moments[: by_rank[-1].rank].sum()
    return next(setting for setting in by_rank if second_moments[: setting.rank].sum() >= enough)


def least_risk(trials: list[Trial]) -> Setting:
    """The surest of them."""
    return min(trials, key=lambda trial: trial.risk).setting
