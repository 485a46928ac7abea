"""Errors that the command line tells apart, and warnings that point at the caller's own line."""

import sys
import warnings


class UsageError(ValueError):
    """A name or a way of writing that is not known: the command line ends with the code for wrong usage."""


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called this package, however deep inside it the cause was found."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("nearboost.", "sklearn.")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
