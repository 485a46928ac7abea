"""How much memory there is to work in."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

UNKNOWN_MEMORY = 2 * 10**9  # taken for free where the system does not report it


_most: ContextVar[float] = ContextVar("most", default=float("inf"))


@contextmanager
def memory_for_task(n_bytes: float) -> Iterator[None]:
    """No more than this counts as free, for a task beside others."""
    token = _most.set(n_bytes)
    try:
        yield
    finally:
        _most.reset(token)


def free_memory() -> float:
    """Bytes that programs can have: of the machine, or of the container or the task this one runs in."""
    return min(_most.get(), _free_of_machine())


def _free_of_machine() -> float:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(1024.0 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        try:
            free = float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        except (AttributeError, ValueError, OSError):
            free = float(UNKNOWN_MEMORY)
    group = Path("/sys/fs/cgroup")
    try:
        limit, used = (int((group / f"memory.{name}").read_text()) for name in ("max", "current"))
    except (OSError, ValueError):  # no container, or no limit
        return free
    return min(free, float(max(0, limit - used)))
