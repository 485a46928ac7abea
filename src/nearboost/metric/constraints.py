"""Pairs of rows that are to be near or far, and the distances that count as near and far."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.random import sample_without_replacement

from nearboost.kernels.itml import NEGLIGIBLE

PERCENTILES = (5, 95)
MOST_SAMPLED = 5_000  # pairs of rows to take the percentiles of
SPREADS = (1e-140, 1e140)  # squares of these, and their reciprocals, are far from the ends of float64


def draw_pairs(n_rows: int, n_pairs: int, random_state: np.random.RandomState) -> NDArray[np.intp]:
    """So many different pairs of different rows, all equally likely; every pair where there are not as many.

    The number q·m + r stands for the pair of r and r + q + 1 (modulo m): each pair has one number.
    """
    n_all = n_rows * (n_rows - 1) // 2
    numbers = sample_without_replacement(n_all, min(n_pairs, n_all), random_state=random_state)
    q, r = np.divmod(numbers, n_rows)
    return np.stack([r, (r + q + 1) % n_rows], axis=1).astype(np.intp)


def choose_bounds(
    X: NDArray[np.floating], factor: NDArray[np.float64], random_state: np.random.RandomState
) -> NDArray[np.float64]:
    """The 5th and 95th percentile of ‖G(x_i − x_j)‖² over pairs of rows; equal rows do not count."""
    first, second = draw_pairs(len(X), MOST_SAMPLED, random_state).T
    differences = X[first].astype(np.float64) - X[second]
    squared = np.einsum("ij,ij->i", images := differences @ factor.T, images)
    squared = squared[squared > 0]
    if not len(squared):
        raise ValueError(f"All of {len(first)} pairs of rows drawn from X are equal; give bounds=(near, far).")
    far = np.percentile(squared, PERCENTILES[1])  # unlike the largest distance, not an outlier's
    return np.percentile(squared[squared > NEGLIGIBLE * far], PERCENTILES)


def check_bounds(bounds: ArrayLike) -> NDArray[np.float64]:
    """Two numbers, 0 < near ≤ far."""
    sentence = f"bounds={bounds!r} must be two squared distances, 0 < near <= far, or None."
    try:
        checked = np.array(bounds, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(sentence) from None
    if checked.shape != (2,) or not 0 < checked[0] <= checked[1] < np.inf:
        raise ValueError(sentence)
    return checked


def check_pairs(pairs: ArrayLike, same: ArrayLike, n_rows: int) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Pairs as indices of rows, and whether each is of one kind."""
    indices: NDArray[Any] = np.asarray(pairs)
    if indices.ndim != 2 or indices.shape[1] != 2 or not len(indices):
        raise ValueError(f"pairs has shape {indices.shape}; give two row numbers for each pair, shape (n, 2).")
    if not np.issubdtype(indices.dtype, np.integer):
        raise ValueError(f"pairs holds {indices.dtype} values; give whole numbers, the rows of X.")
    if indices.min() < 0 or indices.max() >= n_rows:
        raise ValueError(
            f"pairs names rows from {indices.min()} to {indices.max()}; X has rows 0 to {n_rows - 1}."
        )
    flags: NDArray[Any] = np.asarray(same)
    if flags.shape != (len(indices),):
        raise ValueError(f"same has shape {flags.shape} for {len(indices)} pairs; give one flag per pair.")
    if flags.dtype != np.bool_:  # −1 for "different" would count as True
        raise ValueError(f"same holds {flags.dtype} values; give True for pairs of one kind and False for others.")
    return indices.astype(np.intp), flags


def check_spread(X: NDArray[np.floating]) -> None:
    """Rows must differ, by amounts whose squares float64 can hold."""
    with np.errstate(over="ignore"):
        spread = np.max(X.max(axis=0).astype(np.float64) - X.min(axis=0))
    if spread == 0:
        raise ValueError("All rows of X are equal; give rows that differ.")
    if not SPREADS[0] < spread < SPREADS[1]:
        raise ValueError(
            f"The values of X spread over {spread:.1g}, too {'far' if spread > 1 else 'little'} for squared "
            "distances in float64; multiply X by a constant first."
        )
