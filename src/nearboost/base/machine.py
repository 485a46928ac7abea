"""What a measurement was made with, and when: machine, versions, time."""

import importlib.metadata
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

LIBRARIES = ("nearboost", "numpy", "scipy", "scikit-learn", "numba")


def describe_machine() -> dict[str, Any]:
    """Processor, cores, memory and system."""
    return {
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": _memory_gib(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def describe_versions(libraries: Sequence[str] = LIBRARIES) -> dict[str, str | None]:
    """Versions of Python and of the libraries; None for those that are not there."""
    return {"python": platform.python_version(), **{library: _version(library) for library in libraries}}


def present_time() -> str:
    """Date and time as reports show them.

    In UTC, so that reports of two machines can be put in order.
    """
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _processor() -> str:
    """The model's name from Linux's table of processors, else what the platform says."""
    table = Path("/proc/cpuinfo")
    lines = table.read_text(encoding="utf-8").splitlines() if table.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _memory_gib() -> float | None:
    """Physical memory, if the system reports it."""
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, ValueError, OSError):
        return None


@cache
def _version(library: str) -> str | None:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return None
