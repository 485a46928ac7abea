"""Windows of an image on a grid of places: how many places they have, and means over their cells."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

CELLS = 4  # of the finest grid over a window, in a row
N_AVERAGES = 1 + 4 + 16  # of each filter
MOST_RESPONSES, MOST_RANKS = 2**25, 2**21  # of a square image, and of its windows


class Windows(Protocol):
    """What says how windows lie; see `Nimble`."""

    n_fixations: int
    short_side: int
    window: int
    stride: int


def places_in_a_row(how: Windows) -> int:
    """Responses in a row of a window, so many that all cells have as many."""
    return CELLS * max(1, round(how.window / how.stride / CELLS))


def check_work(how: Windows, n_filters: int, filter_size: int) -> None:
    """Refuse windows that do not fit, and settings by which a single image would fill the memory."""
    needed = filter_size + (places_in_a_row(how) - 1) * how.stride
    if needed > how.short_side:
        raise ValueError(
            f"short_side={how.short_side} has no room for a window of {needed} pixels; use a smaller window "
            "or a larger short_side."
        )
    per_place = max(n_filters, 3 * filter_size**2)
    if (how.short_side // how.stride) ** 2 * per_place > MOST_RESPONSES:
        raise ValueError(
            f"stride={how.stride} gives too many places for filters of {filter_size} pixels on "
            f"short_side={how.short_side}; use a larger stride, or smaller filters or images."
        )
    if how.n_fixations * n_filters > MOST_RANKS:
        raise ValueError(
            f"n_fixations={how.n_fixations} is too many for {n_filters} filters; use "
            f"{MOST_RANKS // n_filters:,} or fewer."
        )


def averaged(
    ranks: NDArray[np.float32], rows: NDArray[np.intp], columns: NDArray[np.intp], size: int
) -> NDArray[np.float32]:
    """Means over 1, 2 x 2 and 4 x 4 cells of the windows that begin at places; cells are ``size`` places wide."""
    from nearboost.kernels.images import add_up

    sums = np.zeros((ranks.shape[0] + 1, ranks.shape[1] + 1, ranks.shape[2]))
    add_up(ranks, sums)
    edges = size * np.arange(CELLS + 1)
    tops, lefts = (first[:, np.newaxis] + edges for first in (rows, columns))
    corners = sums[tops[:, :, np.newaxis], lefts[:, np.newaxis, :]]
    cells = np.diff(np.diff(corners, axis=1), axis=2) / size**2
    quarters = cells.reshape(len(rows), 2, 2, 2, 2, -1).mean(axis=(2, 4))
    grids = [cells.mean(axis=(1, 2)), quarters, cells]
    return np.hstack([grid.reshape(len(rows), -1) for grid in grids]).astype(np.float32)
