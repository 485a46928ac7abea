"""What both readings share: the oracle's choice and the record of a run."""

from typing import NamedTuple

import numpy as np

TIE_WINDOW = 1e-10


class Run(NamedTuple):
    """One boosted class problem."""

    picks: list[int]
    deltas: list[float]  # the steps taken, learning rate included
    alpha: np.ndarray  # (m,), the sum of the steps of each example
    weights: np.ndarray  # (m,), after the last round
    risk: list[float]  # Σ v F(margin) at the start and after each round


def choose(worth: np.ndarray, delta: np.ndarray, candidate: np.ndarray, tie_window: float = TIE_WINDOW):
    """Lowest index among the best candidates with δ > 0; None when there is none.

    "Best" and "> 0" are both meant up to the window: a sum that cancels to 1e-17 is a zero.
    """
    candidate = candidate & (delta > tie_window)
    if not candidate.any():
        return None
    best = worth[candidate].max()
    tied = candidate & (worth >= best - tie_window * max(1.0, abs(best)))
    return int(np.flatnonzero(tied)[0])


def sum_by_voter(indices: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Σ over i ∈ R_j of the (m, k) values, for every j."""
    return np.bincount(indices.ravel(), weights=values.ravel(), minlength=len(indices))
