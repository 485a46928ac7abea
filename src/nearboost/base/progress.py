"""Progress: one bar, shown by rich, for whoever asked with ``verbose``."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[], None]


def silent() -> None:
    """Take one step and show nothing."""


@contextmanager
def progress_bar(title: str, total: int, verbose: int) -> Iterator[Advance]:
    """Yield a function to call after each of ``total`` steps, from any thread.

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
        yield lambda: bar.advance(task)
