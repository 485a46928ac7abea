"""What is not given is chosen on rows held out: first the scaling, then the step, the damping, the rank."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from nearboost.base.progress import Advance, progress_bar

FIRST_FACTOR = 16.0  # of the step, in units of `step_unit`
STRIDE, MOST_STRIDES = 4.0, 5  # by which step and damping are raised or lowered, and how often
FLAT = 0.64  # a damping with which most directions are alike
MOST_DAMPING = 10.0  # from here on all directions are alike
RANKS = (64, 512)
DOUBT = 0.5
WORTH = 0.99  # of the risk of a setting, by one that it is left for
KEPT = 0.99  # of the second moments, by a rank that is preferred for being small


@dataclass(frozen=True)
class Setting:
    """One way to learn. ``factor`` counts steps in units of `step_unit`; None where the step itself is given."""

    rank: int
    damping: float
    factor: float | None
    scaling: str = "none"

    def within(self, second_moments: Mapping[str, NDArray[np.float64]]) -> "Setting":
        """With no more coordinates than there are."""
        return replace(self, rank=min(self.rank, len(second_moments[self.scaling])))


@dataclass(frozen=True)
class Trial:
    """A setting and how well it did on the rows held out."""

    setting: Setting
    step: float
    accuracy: float
    risk: float
    losses: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))  # of the rows, whose mean is the risk

    def surer_than(self, other: "Trial") -> bool:
        """Whether the risk is less by half a standard error of the difference, row by row, and not by a trifle."""
        if not np.isfinite([self.risk, other.risk]).all():
            return self.risk < other.risk
        doubt = 0.0
        if len(self.losses) > 1:
            doubt = float(np.std(self.losses - other.losses, ddof=1) / np.sqrt(len(self.losses)))
        return self.risk < min(WORTH * other.risk, other.risk - DOUBT * doubt)


TryAll = Callable[[list[Setting], Advance], list[Trial]]


def choose(
    start: Setting,
    second_moments: Mapping[str, NDArray[np.float64]],
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
            """Up or down by strides from the best, until that is hardly better."""
            lower, higher = change(best, 1 / STRIDE), change(best, STRIDE)
            found = better(best, tried([best, lower, higher, *others]))
            if found not in (lower, higher):
                return found
            by = STRIDE if found == higher else 1 / STRIDE
            for _ in range(MOST_STRIDES - 1):
                best, found = found, better(found, tried([found, change(found, by)]))
                if found == best:
                    break
            return found

        starts = [start]
        if "damping" in free:
            starts.append(replace(start, damping=FLAT, factor=start.factor and start.factor / STRIDE))
        if "scaling" in free:
            starts = [replace(one, scaling=scaling) for one in starts for scaling in second_moments]
        starts = [one.within(second_moments) for one in starts]
        best = least_risk(tried(starts)) if len(starts) > 1 else starts[0]
        for _ in range(2):  # what is best for one depends on the other
            if "step" in free:
                best = climb(best, lambda setting, by: replace(setting, factor=by * (setting.factor or 1.0)))
            if "damping" in free:
                undamped = replace(best, damping=0.0, factor=best.factor and 1.0)
                best = climb(best, dampened, undamped)
        if "rank" in free:
            moments = second_moments[best.scaling]
            ranks = [replace(best, rank=rank).within(second_moments) for rank in RANKS]
            good = [trial.setting for trial in most_accurate(tried([best, *ranks]), n_held_out)]
            best = smallest_rank([one for one in good if one.rank <= room] or good, moments)
    return best, trials


def dampened(setting: Setting, by: float) -> Setting:
    """With another damping."""
    return replace(setting, damping=min(by * setting.damping, MOST_DAMPING))


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


def better(best: Setting, trials: list[Trial]) -> Setting:
    """The surest of those that are surer than the best so far by more than chance may do."""
    by_setting = {trial.setting: trial for trial in trials}
    surer = [trial for trial in trials if trial.surer_than(by_setting[best])]
    return least_risk(surer) if surer else best


def least_risk(trials: list[Trial]) -> Setting:
    """The surest of them."""
    return min(trials, key=lambda trial: trial.risk).setting
