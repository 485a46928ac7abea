"""Progress: one bar, shown by rich, for whoever asked with ``verbose``, or told to whoever listens."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Protocol

Listener = Callable[[str, int, int], None]  # title, steps taken, steps in all; an error of it ends the work
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


class Advance(Protocol):
    """Takes one step, or several at once, from any thread."""

    def __call__(self, n_steps: int = 1) -> None: ...


def silent(n_steps: int = 1) -> None:
    """Take a step and show nothing."""


@contextmanager
def progress_bar(title: str, total: int, verbose: int) -> Iterator[Advance]:
    """Yield a function that reports how many of ``total`` steps have been taken.

    The bar goes to standard error, with an estimate of the time left; ``verbose=0`` shows nothing. Where somebody
    listens, it is told to them instead.
    """
    listener = _listener.get()
    if listener is not None:
        yield _told(listener, title, total)
        return
    if not verbose:
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=total)

        def advance(n_steps: int = 1) -> None:
            bar.advance(task, n_steps)

        yield advance


@contextmanager
def progress_told_to(listener: Listener) -> Iterator[None]:
    """All progress of this thread's work goes to ``listener`` instead of the screen.

    An error that the listener raises ends the work as any other error does: that is how work is cancelled.
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def _told(listener: Listener, title: str, total: int) -> Advance:
    lock, taken = Lock(), 0

    def advance(n_steps: int = 1) -> None:
        nonlocal taken
        with lock:
            taken += n_steps
            listener(title, taken, total)

    listener(title, 0, total)
    return advance
