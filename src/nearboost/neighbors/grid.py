"""The grid of 16-bit integers on which bounds of L1 distances add up fast."""

import numpy as np
from numpy.typing import NDArray

GRID_QUANTILES = (0.5, 0.9, 0.99, 0.999, 0.9999, 1.0)  # of values, for the grid's half-width
TRIAL_QUERIES, TRIAL_ROWS, TRIAL_NEAR = 12, 396, 8  # on which the half-width is tried
GRID = 2047  # the largest L1 grid coordinate: eight gaps then add up in 16 bits


def choose_grid(centred: NDArray[np.float64]) -> float:
    """Grid steps per unit for L1: of some half-widths, the one whose bounds rule out most on a trial of rows.

    Values beyond the grid are moved to its rim. A wide grid is coarse, a narrow one cannot tell far values apart;
    which matters more depends on how often near rows have far values.
    """
    sizes = np.abs(centred)
    widths = np.unique(np.quantile(sizes, GRID_QUANTILES))
    scales = GRID / widths[widths > 2.0**-900]
    if len(scales) < 2 or len(centred) < 2 * TRIAL_QUERIES:
        return float(scales[0]) if len(scales) else 1.0
    queries, rows = centred[:TRIAL_QUERIES], centred[TRIAL_QUERIES:TRIAL_ROWS]
    survivors = np.zeros(len(scales), dtype=int)
    for query in queries:
        distances = np.abs(rows - query).sum(axis=1)
        near = np.partition(distances, TRIAL_NEAR)[TRIAL_NEAR]
        for number, scale in enumerate(scales):
            points, moves = to_grid(rows * scale)
            point, move = to_grid(query[np.newaxis] * scale)
            bounds = np.abs(points - point).sum(axis=1) - moves - move
            survivors[number] += np.count_nonzero(bounds <= near * scale)
    return float(scales[np.argmin(survivors)])


def to_grid(scaled: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nearest grid points, and how far each row moved to get there from where the rim had put it."""
    inside = np.clip(scaled, -GRID, GRID)
    points = np.rint(inside)
    inside -= points
    return points, np.abs(inside, out=inside).sum(axis=1)


def padded(array: NDArray[np.int16], axis: int, multiple: int) -> NDArray[np.int16]:
    """Zeros appended until the length of an axis is a multiple."""
    missing = -array.shape[axis] % multiple
    return np.pad(array, [(0, missing if a == axis else 0) for a in range(2)]) if missing else array
