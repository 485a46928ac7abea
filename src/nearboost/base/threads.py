"""Threads: how many, and the one way to use them.

Kernels release the GIL, so plain threads over disjoint pieces of work suffice. Results never depend
on the number of threads because no piece reads what another one writes.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from numbers import Integral
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from nearboost.base.progress import Advance, silent

WORTH_THREADS = 2**22  # multiplications; with fewer, starting threads would take most of the time
NUMBERS_AT_ONCE = 2**23  # of rows that are read once, by all threads together
READERS = 8  # threads that read as fast as more of them would

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def count_threads(n_jobs: int | None) -> int:
    """Threads to use: ``None`` and -1 mean every core this process may use, -2 all but one."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return 1 if _beside_others.get() else available
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool):
        raise ValueError(f"n_jobs={n_jobs!r} must be a whole number or None.")
    if n_jobs == 0:
        raise ValueError("n_jobs=0 has no meaning; use a positive number, or -1 for all cores.")
    if _beside_others.get():
        return 1
    return n_jobs if n_jobs > 0 else max(1, available + 1 + n_jobs)


_beside_others: ContextVar[bool] = ContextVar("beside_others", default=False)
_limits = Lock(), list[Any]()  # of the matrix library, one for each of the tasks that run


@contextmanager
def beside_other_tasks() -> Iterator[None]:
    """A task beside others keeps to its own thread, whatever ``n_jobs`` is, and so does the matrix library."""
    lock, limits = _limits
    with lock:
        limits.append(_matrix_library().limit(limits=1, user_api="blas"))
    token = _beside_others.set(True)
    try:
        yield
    finally:
        _beside_others.reset(token)
        with lock:
            found_first = limits[0]
            limits.pop()
            if not limits:
                found_first.restore_original_limits()


def count_useful_threads(n_jobs: int | None, n_multiplications: int) -> int:
    """As `count_threads`, but one where there is little to do."""
    return count_threads(n_jobs) if n_multiplications >= WORTH_THREADS else 1


def map_in_threads(
    work: Callable[[Piece], Result], pieces: Iterable[Piece], n_jobs: int | None, advance: Advance = silent
) -> list[Result]:
    """``[work(piece) for piece in pieces]``, several at a time; the first error stops the rest."""

    def work_and_advance(piece: Piece) -> Result:
        result = work(piece)
        advance()
        return result

    threads = count_threads(n_jobs)
    if threads == 1:
        return [work_and_advance(piece) for piece in pieces]
    with ThreadPoolExecutor(threads) as pool:
        try:
            return list(pool.map(work_and_advance, pieces))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def map_parts(work: Callable[[slice], Result], shape: tuple[int, int], n_jobs: int | None) -> list[Result]:
    """What ``work`` makes of rows that follow one another, from the first of all rows to the last.

    For work that takes little longer than reading the rows: parts are as large as the threads have room for
    together, so results must not depend on where rows are cut.
    """
    n_rows, n_features = shape
    threads = min(READERS, count_useful_threads(n_jobs, n_rows * n_features))
    size = max(1, NUMBERS_AT_ONCE // (threads * max(1, n_features)))
    parts = [slice(start, min(start + size, n_rows)) for start in range(0, max(1, n_rows), size)]
    return map_in_threads(work, parts, threads if len(parts) > 1 else 1)


@cache
def _matrix_library() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  (numba's products are scipy's, which has a matrix library of its own)

    return ThreadpoolController()  # looks through all loaded libraries: once


def matrix_threads(n_jobs: int | None) -> Any:
    """The matrix library keeps to so many threads."""
    return _matrix_library().limit(limits=count_threads(n_jobs), user_api="blas")


def one_matrix_thread() -> Any:
    """The matrix library keeps to one thread, because each of our own threads calls it."""
    return matrix_threads(1)
