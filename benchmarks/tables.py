"""Tables in Markdown, as they stand in ``docs/benchmarks.md``."""

from collections.abc import Iterable, Sequence

import numpy as np


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with columns of even width; the first column is text, the others are numbers."""
    table = [tuple(header), *(tuple(row) for row in rows)]
    widths = [max(4, *map(len, column)) for column in zip(*table, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    lines = [
        [cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(pairs)]
        for pairs in (zip(row, widths, strict=True) for row in (table[0], rule, *table[1:]))
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def percent(values: Sequence[float]) -> str:
    """Mean in per cent; with several values ± their standard deviation."""
    mean = f"{100 * np.mean(values):.1f}"
    return mean if len(values) == 1 else f"{mean} ± {100 * np.std(values, ddof=1):.1f}"
