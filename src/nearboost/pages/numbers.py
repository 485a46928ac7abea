"""Measures as text. A measure is a number, None, or a summary over splits with a mean and perhaps an interval."""

import math
from typing import Any


def mean(measure: Any) -> float | None:
    """The number itself, or the mean over splits; None where it is unknown or not finite."""
    value = measure if measure is None or isinstance(measure, int | float) else measure.mean
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def interval(measure: Any) -> tuple[float, float] | None:
    """Where the mean lies, as far as that is known."""
    ends = getattr(measure, "interval", None)
    return None if ends is None or None in map(mean, ends) else (float(ends[0]), float(ends[1]))


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


def with_interval(measure: Any) -> str:
    """A mean in per cent and where it lies, in one piece.

    >>> from nearboost.measures.differences import Summary
    >>> with_interval(Summary(0.831, 0.004, [0.827, 0.835], (0.812, 0.85)))
    '83.1\\xa0%\\xa0(81.2\\xa0to\\xa085.0)'
    """
    middle, ends = mean(measure), interval(measure)
    if middle is None:
        return "–"
    around = "" if ends is None else f"\u00a0({percent(ends[0])}\u00a0to\u00a0{percent(ends[1])})"
    return f"{percent(middle)}\u00a0%{around}"


def _signed(text: str) -> str:
    """A true minus sign, as wide as the figures; no minus before zero."""
    return text.lstrip("-") if not text.strip("-0.,") else text.replace("-", "−")
