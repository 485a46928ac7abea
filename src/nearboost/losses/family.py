"""Calibrated losses: value, transfer, generator, weights and constants in one place.

A calibrated loss is F(x) = −x + ∫f with a transfer function f that turns a margin into a posterior,
increasing and symmetric, f(x) + f(−x) = 1. Then F' = −(1 − f), and with the generator g, a concave
function of the posterior, F(x) = max over p of g(p) − p·x: the conjugate form F(x) = (−g)*(−x).
Boosting keeps weights instead of margins: K·w = −F'(margin), where K makes the printed weights come out.

>>> import numpy as np
>>> from nearboost.losses import get_loss
>>> loss = get_loss("mat")
>>> loss.weight_from_margin(np.array([-1.0, 0.0, 1.0])).round(3)
array([1.707, 1.   , 0.293])
>>> loss.newton_constant
1.0
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearboost.base import loss_formulas as formulas
from nearboost.base.loss_formulas import LN2

Array = NDArray[np.float64]
Formula = Callable[[Array], Array]


@dataclass(frozen=True)
class Loss:
    """One calibrated loss F with everything that follows from it. Methods take scalars or arrays.

    Attributes
    ----------
    name : str
        The name that `get_loss` takes.
    code : int
        The number that kernels know it by.
    weight_scale : float
        K in K·w = −F'(margin); weights lie between 0 and 1/K.
    curvature_at_zero : float
        F''(0), the largest curvature.
    note : str
        What to know about its domain.
    """

    name: str
    code: int
    weight_scale: float
    curvature_at_zero: float
    note: str
    _value: Formula = field(repr=False)
    _slope: Formula = field(repr=False)
    _curvature: Formula = field(repr=False)
    _margin: Formula = field(repr=False)  # the x at which −F'(x) is this
    _generator: Formula | None = field(repr=False)

    @property
    def newton_constant(self) -> float:
        """L = K / F''(0): the step L·η/n of N3 is then a Newton step that never overshoots."""
        return self.weight_scale / self.curvature_at_zero

    @property
    def has_generator(self) -> bool:
        """Whether the loss belongs to the calibrated family; `exp` alone does not."""
        return self._generator is not None

    def value(self, margin: ArrayLike) -> Array:
        """F(margin)."""
        return self._value(_floats(margin))

    def derivative(self, margin: ArrayLike) -> Array:
        """F'(margin), negative or zero."""
        return -self._slope(_floats(margin))

    def second_derivative(self, margin: ArrayLike) -> Array:
        """F''(margin)."""
        return self._curvature(_floats(margin))

    def transfer(self, margin: ArrayLike) -> Array:
        """f(margin), the posterior; computed as 1 − f(−margin) = −F'(−margin), which cannot cancel."""
        return self._slope(-_floats(margin))

    def generator(self, probability: ArrayLike) -> Array:
        """g(probability); g' is the margin at which −F' is this."""
        if self._generator is None:
            raise ValueError(f"The loss {self.name!r} has no generator; use one of {_calibrated_names()}.")
        return self._generator(_within(probability, 1.0, "probability"))

    def weight_from_margin(self, margin: ArrayLike) -> Array:
        """w = −F'(margin) / K."""
        return self._slope(_floats(margin)) / self.weight_scale

    def margin_from_weight(self, weight: ArrayLike) -> Array:
        """g'(K·w), the margin an example of this weight has; infinite at 0 and 1/K where no margin has them."""
        share = self.weight_scale * _within(weight, 1.0 / self.weight_scale, "weight")
        return self._margin(np.minimum(share, 1.0))

    def model_state(self) -> dict[str, str]:
        """What a model file keeps: the name."""
        return {"name": self.name}

    @staticmethod
    def from_model_state(state: dict[str, str]) -> "Loss":
        return get_loss(state["name"])


@dataclass(frozen=True)
class ExponentialLoss(Loss):
    """e^−x: not −x + ∫f for any f, so it has no generator, and N3 does not offer it."""

    def value(self, margin: ArrayLike) -> Array:
        """e^−margin; infinite, without a warning, where that overflows."""
        with np.errstate(over="ignore"):
            return self._value(_floats(margin))

    def derivative(self, margin: ArrayLike) -> Array:
        """−e^−margin."""
        return -self.value(margin)

    def second_derivative(self, margin: ArrayLike) -> Array:
        """e^−margin."""
        return self.value(margin)

    def transfer(self, margin: ArrayLike) -> Array:
        """1 / (1 + e^(−2·margin)), the posterior under which e^−margin is least on average."""
        return formulas.log_slope(-2.0 * np.clip(_floats(margin), -1e300, 1e300))

    def weight_from_margin(self, margin: ArrayLike) -> Array:
        """w = e^−margin."""
        return self.value(margin)

    def margin_from_weight(self, weight: ArrayLike) -> Array:
        """−ln w."""
        return self._margin(_within(weight, np.inf, "weight"))


def get_loss(name: str) -> Loss:
    """The loss of a given name.

    Parameters
    ----------
    name : {"exp", "log", "binlog", "mat", "hinge", "squared"}
        One of `LOSSES`.

    Returns
    -------
    Loss
        The loss.

    Examples
    --------
    >>> from nearboost import get_loss
    >>> loss = get_loss("log")
    >>> print(f"{loss.value(0.0):.3f} at a margin of 0, posterior {loss.transfer(0.0):.1f}")
    0.693 at a margin of 0, posterior 0.5
    """
    if name not in LOSSES:
        raise ValueError(f"Unknown loss {name!r}; known losses are {', '.join(map(repr, LOSSES))}.")
    return LOSSES[name]


def _floats(values: ArrayLike) -> Array:
    return np.asarray(values, dtype=np.float64)


def _within(values: ArrayLike, upper: float, noun: str) -> Array:
    array = _floats(values)
    # A weight made from a margin may pass 1/K by rounding.
    if not np.all((array >= 0.0) & (array <= upper * (1.0 + 1e-12))):
        raise ValueError(f"Each {noun} must lie between 0 and {upper:.6g}; given {values!r}.")
    return np.minimum(array, upper)


def _calibrated_names() -> str:
    return ", ".join(repr(loss.name) for loss in LOSSES.values() if loss.has_generator)


def _exp_margin(slope: Array) -> Array:
    with np.errstate(divide="ignore"):
        return -np.log(slope)


def _log_margin(slope: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log1p(-slope) - np.log(slope)


def _binlog_margin(slope: Array) -> Array:
    return _log_margin(slope) / LN2


def _entropy(probability: Array) -> Array:
    smallest = np.finfo(np.float64).tiny  # 0 · ln 0 = 0
    rest = 1.0 - probability
    return -probability * np.log(np.maximum(probability, smallest)) - rest * np.log(np.maximum(rest, smallest))


def _binary_entropy(probability: Array) -> Array:
    return _entropy(probability) / LN2


def _mat_margin(slope: Array) -> Array:
    with np.errstate(divide="ignore"):
        return (0.5 - slope) / np.sqrt(slope * (1.0 - slope))


def _mat_generator(probability: Array) -> Array:
    return np.sqrt(probability * (1.0 - probability))


def _hinge_margin(slope: Array) -> Array:
    with np.errstate(divide="ignore"):
        return (1.0 - 2.0 * slope) / np.minimum(slope, 1.0 - slope)


def _hinge_generator(probability: Array) -> Array:
    error = np.minimum(probability, 1.0 - probability)
    with np.errstate(divide="ignore"):
        return np.log(2.0 * error) + 1.0 - 2.0 * error


def _squared_margin(slope: Array) -> Array:
    return 0.5 - slope


def _squared_generator(probability: Array) -> Array:
    return 0.5 * probability * (1.0 - probability)


_FAMILY = (
    ExponentialLoss(
        name="exp",
        code=formulas.EXP,
        weight_scale=1.0,
        curvature_at_zero=1.0,
        note="any margin; the curvature has no bound, so there is no safe Newton step: not for N3.",
        _value=formulas.exp_value,
        _slope=formulas.exp_value,
        _curvature=formulas.exp_value,
        _margin=_exp_margin,
        _generator=None,
    ),
    Loss(
        name="log",
        code=formulas.LOG,
        weight_scale=LN2,
        curvature_at_zero=0.25,
        note="any margin.",
        _value=formulas.log_value,
        _slope=formulas.log_slope,
        _curvature=formulas.log_curvature,
        _margin=_log_margin,
        _generator=_entropy,
    ),
    Loss(
        name="binlog",
        code=formulas.BINLOG,
        weight_scale=1.0,
        curvature_at_zero=LN2 / 4.0,
        note="any margin; the log loss with both axes in units of ln 2.",
        _value=formulas.binlog_value,
        _slope=formulas.binlog_slope,
        _curvature=formulas.binlog_curvature,
        _margin=_binlog_margin,
        _generator=_binary_entropy,
    ),
    Loss(
        name="mat",
        code=formulas.MAT,
        weight_scale=0.5,
        curvature_at_zero=0.5,
        note="any margin.",
        _value=formulas.mat_value,
        _slope=formulas.mat_slope,
        _curvature=formulas.mat_curvature,
        _margin=_mat_margin,
        _generator=_mat_generator,
    ),
    Loss(
        name="hinge",
        code=formulas.HINGE,
        weight_scale=1.0,
        curvature_at_zero=0.25,
        note="any margin; the generator is −∞ at 0 and 1, and F is its conjugate less ln 2.",
        _value=formulas.hinge_value,
        _slope=formulas.hinge_slope,
        _curvature=formulas.hinge_curvature,
        _margin=_hinge_margin,
        _generator=_hinge_generator,
    ),
    Loss(
        name="squared",
        code=formulas.SQUARED,
        weight_scale=1.0,
        curvature_at_zero=1.0,
        note="weights tell margins within ±½ only, where F is strictly curved: keep margins.",
        _value=formulas.squared_value,
        _slope=formulas.squared_slope,
        _curvature=formulas.squared_curvature,
        _margin=_squared_margin,
        _generator=_squared_generator,
    ),
)

LOSSES: Mapping[str, Loss] = MappingProxyType({loss.name: loss for loss in _FAMILY})
