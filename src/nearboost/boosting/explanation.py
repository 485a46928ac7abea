"""Who voted on a row, and how much."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Explanation:
    """The vote on one row.

    Attributes
    ----------
    prototypes : ndarray of shape (n_voters,)
        Training rows that voted, nearest first.
    distances : ndarray of shape (n_voters,)
        Distance of each voter.
    votes : ndarray of shape (n_voters,)
        Weight b that each voter has by its rank or distance.
    contributions : ndarray of shape (n_voters, n_columns)
        What each voter adds to each class's score (one column for two classes).
    intercept : ndarray of shape (n_columns,)
        What is added to each class's score at the end.
    classes : ndarray of shape (n_classes,)
        Class labels.
    """

    prototypes: NDArray[np.int64]
    distances: NDArray[np.float64]
    votes: NDArray[np.float64]
    contributions: NDArray[np.float64]
    intercept: NDArray[np.float64]
    classes: NDArray[Any]

    def total(self) -> NDArray[np.float64]:
        """The score: contributions added one by one, nearest voter first, then the intercept.

        In this order the floating-point sum equals `decision_function` to the last bit.

        Returns
        -------
        ndarray of shape (n_columns,)
            Score of each class.
        """
        score = np.zeros(self.contributions.shape[1])
        for contribution in self.contributions:
            score = score + contribution
        return score + self.intercept
