"""Measures as text. A measure is a number, None, or a summary over splits with mean, deviation and values."""

import math
from typing import Any


def mean(measure: Any) -> float | None:
    """The number itself, or the mean over splits; None where it is unknown or not finite."""
    value = measure if measure is None or isinstance(measure, int | float) else measure.mean
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def deviation(measure: Any) -> float | None:
    """The deviation over splits; None where there was one split only."""
    if measure is None or isinstance(measure, int | float) or len(measure.values) < 2:
        return None
    return mean(measure.deviation)


def percent(value: float) -> str:
    """A share in per cent, with one decimal.

    >>> percent(0.8312)
    '83.1'
    """
    return _signed(f"{100 * value:.1f}")


def points(value: float) -> str:
    """A difference of shares, with its sign.

    >>> points(-0.0231)
    '−2.3'
    """
    return _signed(f"{100 * value:+.1f}")


def count(value: float) -> str:
    """A whole number with its thousands apart.

    >>> count(4485)
    '4,485'
    """
    return _signed(f"{value:,.0f}")


def fraction(value: float) -> str:
    """A number near one, such as a log-loss.

    >>> fraction(0.5)
    '0.500'
    """
    return _signed(f"{value:.3f}")


def chance(value: float) -> str:
    """A p-value.

    >>> chance(0.04), chance(1e-9)
    ('0.040', '< 0.001')
    """
    return "< 0.001" if value < 0.001 else fraction(value)


def quantity(value: float) -> str:
    """Three figures of any positive number, never with an exponent.

    >>> [quantity(value) for value in (1234.5, 12.345, 0.012345)]
    ['1,234', '12.3', '0.0123']
    """
    if value == 0:
        return "0"
    decimals = min(max(2 - math.floor(math.log10(abs(value))), 0), 9)
    return _signed(f"{value:,.{decimals}f}")


def with_deviation(measure: Any) -> str:
    """Mean and deviation in per cent, in one piece.

    >>> from nearboost.measures.differences import Summary
    >>> with_deviation(Summary(0.831, 0.004, [0.827, 0.835]))
    '83.1\\xa0±\\xa00.4\\xa0%'
    """
    middle, spread = mean(measure), deviation(measure)
    if middle is None:
        return "–"
    parts = [percent(middle)] if spread is None else [percent(middle), "±", percent(spread)]
    return "\u00a0".join([*parts, "%"])


def _signed(text: str) -> str:
    """A true minus sign, as wide as the figures; no minus before zero."""
    return text.lstrip("-") if not text.strip("-0.,") else text.replace("-", "−")
