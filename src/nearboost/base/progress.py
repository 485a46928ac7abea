"""Progress: one bar, shown by rich, for whoever asked with ``verbose``."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Advance(Protocol):
    """Takes one step, or several at once, from any thread."""

    def __call__(self, n_steps: int = 1) -> None: ...


def silent(n_steps: int = 1) -> None:
    """Take a step and show nothing."""


@contextmanager
def progress_bar(title: str, total: int, verbose: int) -> Iterator[Advance]:
    """Yield a function that reports how many of ``total`` steps have been taken.

    The bar goes to standard error, with an estimate of the time left; ``verbose=0`` shows nothing.
    """
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
