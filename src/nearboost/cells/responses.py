"""What wells say together: how far controls lie apart, and which dose has half of the effect."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEAST_DOSES = 5  # above 0: a curve has four parameters
LEVEL = 0.95
SLOPES = (0.5, 1.0, 2.0, 4.0)  # to start from
STEEPEST = 10.0


class Separation(NamedTuple):
    """Z′ of controls, or a sentence why there is none."""

    value: float | None
    note: str


@dataclass(frozen=True)
class DoseFit:
    """A curve of Hill: low + (high − low)·d^slope/(ec50^slope + d^slope).

    Parameters
    ----------
    ec50 : float or None, default=None
        The dose of half of the effect; None with a sentence in ``note``.
    ec50_low : float or None, default=None
        Lower end of its 95% interval.
    ec50_high : float or None, default=None
        Upper end of it.
    low : float or None, default=None
        The answer without dose.
    high : float or None, default=None
        The answer to more and more of it.
    slope : float or None, default=None
        How steep it is.
    note : str, default=""
        Why there is no EC50, or what to know of it.

    Examples
    --------
    >>> from nearboost.cells import fit_dose
    >>> doses = [0, 0, 1, 1, 3, 3, 10, 10, 30, 30, 100, 100]
    >>> found = fit_dose(doses, [100 * dose / (5 + dose) for dose in doses])
    >>> round(found.ec50, 2), round(found.slope, 2), found.note
    (5.0, 1.0, '')
    """

    ec50: float | None = None
    ec50_low: float | None = None
    ec50_high: float | None = None
    low: float | None = None
    high: float | None = None
    slope: float | None = None
    note: str = ""

    def at(self, doses: ArrayLike) -> NDArray[np.float64]:
        """The curve.

        Parameters
        ----------
        doses : array-like
            Doses of 0 or more.

        Returns
        -------
        ndarray
            The answer to each.
        """
        if self.ec50 is None or self.low is None or self.high is None or self.slope is None:
            raise ValueError(f"There is no curve: {self.note}")
        return hill(np.asarray(doses, dtype=float), self.low, self.high, np.log(self.ec50), self.slope)


def hill(
    doses: NDArray[np.float64], low: float, high: float, log_ec50: float, slope: float
) -> NDArray[np.float64]:
    """The answer to doses, 0 included.

    Parameters
    ----------
    doses : ndarray
        Doses.
    low, high : float
        Answer at 0 and at infinity.
    log_ec50 : float
        Natural logarithm of the dose of half of the effect.
    slope : float
        Exponent.

    Returns
    -------
    ndarray
        Answers.
    """
    with np.errstate(divide="ignore"):
        steps = slope * (np.log(doses) - log_ec50)
    return low + (high - low) / (1 + np.exp(-np.clip(steps, -700, 700)))


def z_prime(positive: ArrayLike, negative: ArrayLike) -> Separation:
    """``Z′ = 1 − 3(σ₊ + σ₋)/|μ₊ − μ₋|`` over wells (Zhang, Chung and Oldenburg 1999).

    Parameters
    ----------
    positive : array-like
        A number for each positive control well.
    negative : array-like
        The same of the negative ones.

    Returns
    -------
    Separation
        At most 1; 0.5 and more is called excellent.

    Examples
    --------
    >>> round(z_prime([9.9, 10.1], [0.9, 1.1]).value, 3)
    0.906
    """
    up, down = (np.asarray(one, dtype=float) for one in (positive, negative))
    if min(len(up), len(down)) < 2:
        return Separation(
            None,
            f"Z′ needs two control wells of each kind; there are {len(up)} positive and {len(down)} negative.",
        )
    apart = abs(float(up.mean() - down.mean()))
    if apart == 0:
        return Separation(None, "Z′ has no meaning where controls do not differ.")
    return Separation(float(1 - 3 * (up.std(ddof=1) + down.std(ddof=1)) / apart), "")


def fit_dose(doses: ArrayLike, answers: ArrayLike) -> DoseFit:
    """Fit a curve of Hill to wells.

    Parameters
    ----------
    doses : array-like
        Dose of each well.
    answers : array-like
        What was measured.

    Returns
    -------
    DoseFit
        With EC50 and its interval, or a sentence why there is none.

    Examples
    --------
    >>> from nearboost.cells import fit_dose
    >>> found = fit_dose([0, 0.3, 1, 3, 10, 30, 100], [10, 14, 25, 45, 70, 83, 87])
    >>> round(found.ec50, 1), round(found.low), round(found.high)
    (3.6, 10, 89)
    >>> fit_dose([0, 1, 3], [12, 20, 42]).note
    '2 of the doses are above 0; a curve takes 5.'
    """
    x, y = (np.asarray(one, dtype=float) for one in (doses, answers))
    sound = np.isfinite(x) & np.isfinite(y) & (x >= 0)
    x, y = x[sound], y[sound]
    tested = np.unique(x[x > 0])
    if len(tested) < LEAST_DOSES:
        return DoseFit(note=f"{len(tested)} of the doses are above 0; a curve takes {LEAST_DOSES}.")
    if np.ptp(y) == 0:
        return DoseFit(note="the answer is the same at all doses.")
    best = _least_squares(x, y, tested)
    if best is None:
        return DoseFit(note="no curve could be fitted.")
    return _judged(x, y, tested, *best)


def _least_squares(
    x: NDArray[np.float64], y: NDArray[np.float64], tested: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Parameters and Jacobian of the best of several starts."""
    from scipy.optimize import least_squares

    bottom, top = float(y[x == x.min()].mean()), float(y[x == x.max()].mean())
    span = float(np.ptp(y))
    edges = np.log(tested[[0, -1]])
    lower = [y.min() - span, y.min() - span, edges[0] - 5, 0.1]
    upper = [y.max() + span, y.max() + span, edges[1] + 5, STEEPEST]
    best = None
    for middle in np.log(tested):
        for slope in SLOPES:
            found = least_squares(
                lambda p: hill(x, *p) - y, [bottom, top, middle, slope], bounds=(lower, upper), method="trf"
            )
            if np.isfinite(found.cost) and (best is None or found.cost < best.cost * (1 - 1e-9)):
                best = found
    return None if best is None else (best.x, best.jac)


def _judged(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    tested: NDArray[np.float64],
    found: NDArray[np.float64],
    jacobian: NDArray[np.float64],
) -> DoseFit:
    """The curve where it says something: better than no curve, and with half of its effect among the doses."""
    from scipy.stats import f, t

    low, high, log_ec50, slope = map(float, found)
    left, flat = float(((hill(x, *found) - y) ** 2).sum()), float(((y - y.mean()) ** 2).sum())
    free = len(y) - 4
    if free < 1:
        return DoseFit(note=f"{len(y)} wells are too few for a curve of four parameters.")
    if left > 0 and f.sf((flat - left) / 3 / (left / free), 3, free) > 1 - LEVEL:
        return DoseFit(note="the answer does not change with the dose more than wells differ anyway.")
    if not tested[0] <= np.exp(log_ec50) <= tested[-1]:
        return DoseFit(note=f"half of the effect would lie outside of the doses, {tested[0]:g} to {tested[-1]:g}.")
    covariance = np.linalg.pinv(jacobian.T @ jacobian) * left / free
    half = float(t.ppf((1 + LEVEL) / 2, free)) * float(np.sqrt(max(covariance[2, 2], 0.0)))
    ec50 = float(np.exp(log_ec50))
    if half > np.log(1e6):
        return DoseFit(
            note=f"EC50 near {ec50:.3g}, but its interval spans more than all doses; test more of them."
        )
    interval = ec50 * float(np.exp(-half)), ec50 * float(np.exp(half))
    steep = "the slope is the steepest allowed." if slope > 0.99 * STEEPEST else ""
    return DoseFit(ec50, *interval, low, high, slope, steep)
