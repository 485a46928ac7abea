"""Where displays draw, and the row that they draw of."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOR, AGAINST, QUIET = "#1f6fb4", "#c4590a", "#8a94a3"  # apart for colour-blind eyes too, on white and on dark


def find_axes(ax: Any, size: tuple[float, float] | None = None) -> "Axes":
    """The axes given, or those of a new figure."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError('Pictures need matplotlib: pip install "nearboost[plot]"') from error
    if ax is not None:
        return ax
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def dense_rows(name: str, rows: Any) -> NDArray[Any]:
    """Rows as an array."""
    if issparse(rows):
        raise ValueError(f"{name} is sparse, and pictures are of dense rows; give {name}.toarray().")
    return np.asarray(rows)


def one_row(x: ArrayLike) -> NDArray[Any]:
    """A row, given as such or as a table of one row, as a table of one row."""
    row = dense_rows("x", x)
    if row.ndim == 1:
        row = row[np.newaxis]
    if row.ndim != 2 or len(row) != 1:
        raise ValueError(f"x has shape {np.shape(x)}; give one row, such as X[0] or X[:1].")
    return row
